"""A source of one's own: one class and one line, from the config to scores."""

from typing import ClassVar

import numpy as np
import pytest

from kreinflow import configuration
from kreinflow.cli import main
from kreinflow.configuration import complete_configuration
from kreinflow.errors import InputError
from kreinflow.report.methods import methods_text
from kreinflow.scores import open_scores
from kreinflow.sequences.collapse import Records
from kreinflow.sequences.dataset import read_dataset, write_dataset
from kreinflow.sequences.files import check_file
from kreinflow.sequences.payload import MATRIX_FILE, Matrix
from kreinflow.sequences.sources.registry import SOURCES, make_source
from kreinflow.sequences.sources.source import MIN_CLASS_SIZE, Source
from kreinflow.settings import SettingsSchema
from small_inputs import configuration as config_of


class LineSource(Source):
    """Numbers, one a line with its label; the similarity of two is that of the nearer."""

    type = "line"
    noun = "numbers"
    path_key = "numbers"
    settings_schema: ClassVar[SettingsSchema] = {
        "numbers": {"description": "a text file", "type": "string", "minLength": 1},
        "width": {"description": "of the kernel", "type": "number", "default": 2.0},
        **MIN_CLASS_SIZE,
    }
    kind = "similarity"
    array = MATRIX_FILE

    def faults(self):
        if self.settings["width"] == 0:
            yield "width", "is 0."

    def check(self):
        for path in self.files():
            check_file(path)

    def load(self, alphabet, seed, unknown=()):
        (path,) = self.files()
        fields = [line.split() for line in path.read_text().splitlines()]
        x = np.array([float(number) for number, _ in fields])
        K = np.exp(-np.abs(x[:, None] - x) / self.settings["width"])
        ids = [f"n{i}" for i in range(len(x))]
        labels = [label for _, label in fields]
        payload = Matrix(K, kind=self.kind)
        return self._collapse(Records(ids, labels, payload, len(ids), [path]), unknown)

    def describe(self):
        return "The data are numbers <on a line> [@le2008]."


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Registered; the schema that was made before is not used again."""
    monkeypatch.setitem(SOURCES, "line", LineSource)
    configuration.schema.cache_clear()
    yield config_of({"type": "line", "numbers": "x.txt"}, "raw")
    configuration.schema.cache_clear()


def test_from_the_config_to_scores(settings, tmp_path, capsys):
    (tmp_path / "x.txt").write_text("".join(f"{i} {'ab'[i > 4]}\n" for i in range(10)))
    config = complete_configuration(settings)
    part = config["datasets"]["mine"]
    assert part["source"] == {
        "type": "line",
        "numbers": "x.txt",
        "width": 2.0,
        "min_class_size": 2,
    }
    source = make_source(part["source"], tmp_path)
    assert source.files() == [tmp_path / "x.txt"]
    source.check()
    write_dataset(tmp_path / "out", source.load(source.alphabet(part["scoring"]), 1))
    assert (tmp_path / "out" / source.array).exists()
    dataset = read_dataset(tmp_path / "out")
    rows = np.arange(3)
    np.testing.assert_array_equal(
        open_scores(dataset).rectangle(rows, rows), np.exp(-np.abs(rows[:, None] - rows) / 2)
    )
    first = str(methods_text(part, config, "one")[0])
    assert first.startswith('The data are numbers &lt;on a line&gt; [<a href="#reference-')
    main(["schema"])
    assert '"a text file"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0}, "source.width: is 0"),
        ({"widht": 1}, "unknown key 'widht'; did you mean 'width'"),
        ({"type": "lime"}, "'lime' is none of .*; did you mean 'line'"),
        ({"numbers": "x{1}.txt"}, "source.numbers: .* has a brace"),
    ],
)
def test_its_settings_are_checked(settings, changes, message):
    settings["datasets"]["mine"]["source"] |= changes
    with pytest.raises(InputError, match=message):
        complete_configuration(settings)


def test_numbers_are_not_grouped_by_identity(settings):
    settings["datasets"]["mine"]["folds"] = {"method": "grouped"}
    with pytest.raises(InputError, match="numbers: no sequences to group by identity"):
        complete_configuration(settings)
