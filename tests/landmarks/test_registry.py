"""A selector is one file and one line: the one of the documentation, from config to landmarks."""

import re
import types
from pathlib import Path

import numpy as np
import pytest

from kreinflow.configuration import complete_configuration
from kreinflow.errors import InputError
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.references import REFERENCES
from kreinflow.report.methods import methods_text
from kreinflow.schema import schema
from landmarks.made_up import problem_of

PAGE = Path(__file__).parents[2] / "docs" / "a-method-of-your-own.md"


@pytest.fixture
def documented(monkeypatch):
    _, code, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = types.ModuleType("outliers")
    exec(code, module.__dict__)
    monkeypatch.setitem(SELECTORS, "outliers", module.Outliers)
    schema.cache_clear()
    yield
    schema.cache_clear()


def configuration(**selector):
    return {
        "datasets": {"demo": {"source": {"type": "simulated"}}},
        "selectors": {"odd": {"method": "outliers", **selector}},
        "learners": {"nearest": {"method": "nearest_landmark"}},
        "recipes": [{"name": "it", "selector": "odd", "learner": "nearest"}],
    }


def test_the_config_accepts_it_and_the_report_describes_it(documented):
    config = complete_configuration(configuration(budget={"rank": 4}))
    assert config["selectors"]["odd"]["sketch"] == 300
    text = " ".join(methods_text(config["datasets"]["demo"], config, "it"))
    assert "odd, the objects least similar to the others, 4 ln n of n training obj" in text
    with pytest.raises(InputError, match="unknown key 'scetch'; did you mean 'sketch'"):
        complete_configuration(configuration(budget=9, scetch=1))


def test_without_its_line_the_config_refuses_it():
    with pytest.raises(InputError, match="'outliers' is none of"):
        complete_configuration(configuration(budget=9))


def test_it_chooses(documented):
    X = np.array([[1.0], [1.1], [0.9], [-1.5], [1.0], [-1.2]])
    table = make_selector({"method": "outliers"}).select(problem_of(X @ X.T, list("aabbab"), 2))
    assert table["row"].tolist() == [3, 5]
    assert table["class"].tolist() == ["b", "b"]


@pytest.mark.parametrize("method", SELECTORS)
def test_each_selector_describes_itself_and_cites_what_is_listed(method):
    selector = make_selector({"method": method, "budget": 5})
    assert selector.method == method
    assert re.fullmatch(r"[^\n<>]{10,400}[^.\s]", selector.describe("alignments"))
    assert set(selector.references) <= set(REFERENCES)
    for key, part in selector.settings_schema.items():
        assert part["description"], key
