"""A selector is one file and one line: the one of the documentation, from config to landmarks."""

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.report.methods import methods_text
from kreinflow.report.reading import DatasetResults
from landmarks.made_up import problem_of
from registries import documented, one_recipe

PAGE = "a-method-of-your-own.md"


@pytest.fixture(autouse=True)
def outliers():
    with documented(PAGE, SELECTORS, "outliers", "Outliers") as selector:
        yield selector


def test_the_config_accepts_it_and_the_report_describes_it(tmp_path):
    config = complete_configuration(one_recipe({"method": "outliers", "budget": {"rank": 4}}))
    assert config["selectors"]["it"]["sketch"] == 300
    data = DatasetResults(tmp_path, "demo", config)
    data.final_recipe, data.statistics = "it", {}
    text = methods_text(data)
    assert "it, the objects least similar to the others, 4 ln n of n training obj" in text
    with pytest.raises(InputError, match="unknown key 'scetch'; did you mean 'sketch'"):
        complete_configuration(one_recipe({"method": "outliers", "budget": 9, "scetch": 1}))


def test_it_chooses():
    X = np.array([[1.0], [1.1], [0.9], [-1.5], [1.0], [-1.2]])
    table = make_selector({"method": "outliers"}).select(problem_of(X @ X.T, list("aabbab"), 2))
    assert table["row"].tolist() == [3, 5]
    assert table["class"].tolist() == ["b", "b"]
