"""A source is one file and one line: the one of the documentation, from config to scores."""

import re

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.report.methods import methods_text
from kreinflow.report.reading import DatasetResults
from kreinflow.sequences.dataset import read_dataset, write_dataset
from kreinflow.sequences.scores import open_scores
from kreinflow.sequences.sources.registry import SOURCES, make_source
from registries import documented
from small_inputs import configuration

PAGE = "a-method-of-your-own.md"


@pytest.fixture(autouse=True)
def line():
    with documented(PAGE, SOURCES, "line", "LineSource") as source:
        yield source


@pytest.fixture
def settings():
    return configuration({"type": "line", "numbers": "x.txt"}, "raw")


def test_from_the_config_to_scores(line, settings, tmp_path, monkeypatch):
    (tmp_path / "x.txt").write_text("".join(f"{i} {'ab'[i > 4]}\n" for i in range(10)))
    config = complete_configuration(settings)
    part = config["datasets"]["mine"]
    assert part["source"] == {"type": "line", "numbers": "x.txt", "width": 2, "min_class_size": 2}
    source = make_source(part["source"], tmp_path)
    assert source.files() == [tmp_path / "x.txt"]
    source.check()
    with pytest.raises(InputError, match="y.txt: no such file"):
        make_source(part["source"] | {"numbers": "y.txt"}, tmp_path).check()
    write_dataset(tmp_path / "out", source.load(source.alphabet(part["scoring"]), 1))
    assert (tmp_path / "out" / source.array).exists()
    rows = np.arange(3)
    scores = open_scores(read_dataset(tmp_path / "out")).rectangle(rows, rows)
    np.testing.assert_array_equal(scores, np.exp(-np.abs(rows[:, None] - rows) / 2))
    data = DatasetResults(tmp_path, "mine", config)
    data.final_recipe, data.statistics = "one", {}
    assert methods_text(data).startswith("<p>The data are numbers, whose")
    monkeypatch.setattr(line, "describe", lambda self: "Numbers < 9 [@le2008; @holm1979].")
    described = methods_text(data).splitlines()[0]
    link = r'<a href="#reference-\d+">\d+</a>'
    assert re.fullmatch(rf"<p>Numbers &lt; 9 \[{link}, {link}\]\.</p>", described)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": {"width": 0}}, "source.width: 0 is not more than 0 .of the kernel"),
        ({"source": {"type": "lime"}}, "'lime' is none of .*; did you mean 'line'"),
        ({"source": {"numbers": "x{1}.txt"}}, "source.numbers: .* has '{'"),
        ({"folds": {"method": "grouped"}}, "numbers: no sequences to group by identity"),
    ],
)
def test_its_settings_are_checked(settings, changes, message):
    for key, more in changes.items():
        settings["datasets"]["mine"][key] |= more
    with pytest.raises(InputError, match=message):
        complete_configuration(settings)
