"""A learner is one file and one line: the one of the documentation, from config to decisions."""

import re
import types
from pathlib import Path

import numpy as np
import pytest
import yaml

from krein_problems import problem_of
from kreinflow.configuration import complete_configuration
from kreinflow.errors import InputError
from kreinflow.learners.registry import LEARNERS, make_learner
from kreinflow.references import REFERENCES
from kreinflow.schema import schema

PAGE = Path(__file__).parents[2] / "docs" / "a-method-of-your-own.md"


@pytest.fixture
def documented(monkeypatch):
    code, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = types.ModuleType("nearest_mean")
    exec(code, module.__dict__)
    monkeypatch.setitem(LEARNERS, "nearest_mean", module.NearestMeanLearner)
    schema.cache_clear()
    yield
    schema.cache_clear()


def configuration(**learner):
    return {
        "datasets": {"demo": {"source": {"type": "simulated"}}},
        "selectors": {"meb": {"method": "meb"}},
        "learners": {"means": {"method": "nearest_mean", **learner}},
        "recipes": [{"name": "it", "selector": "meb", "learner": "means"}],
    }


def test_the_config_accepts_it_with_its_settings(documented):
    config = complete_configuration(configuration())
    assert config["learners"]["means"] == {"method": "nearest_mean", "shrinkage": 0}
    with pytest.raises(InputError, match="unknown key 'shrinkige'; did you mean 'shrinkage'"):
        complete_configuration(configuration(shrinkige=0.1))
    with pytest.raises(InputError, match=r"learners.means.shrinkage: 1 "):
        complete_configuration(configuration(shrinkage=1))


def test_the_recipe_of_the_page_is_accepted(documented):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    config = complete_configuration(configuration() | yaml.safe_load(text))
    assert config["learners"]["means"]["shrinkage"] == "inner"
    assert [recipe["name"] for recipe in config["recipes"]] == ["means-meb"]


def test_without_its_line_the_config_refuses_it():
    with pytest.raises(InputError, match="'nearest_mean' is none of"):
        complete_configuration(configuration())


def test_its_decisions_are_the_distances_to_the_means(documented):
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(40, 4)), np.arange(40) % 3
    signs = np.array([1.0, 1.0, -1.0, 1.0])
    problem = problem_of(X, signs, labels)
    learner = make_learner({"method": "nearest_mean", "shrinkage": "inner"})
    choices = learner.choices()
    fitted = learner.fit(problem, choices)[-1]
    assert choices[-1] == {"shrinkage": 0.0}
    means = np.array([X[labels == code].mean(axis=0) for code in range(3)])
    distances = (((X[:, None] - means) ** 2) * signs).sum(axis=2)
    own = ((X**2) * signs).sum(axis=1)
    found = own[:, None] - learner.decide(fitted, problem)
    np.testing.assert_allclose(found, distances, atol=1e-9)


@pytest.mark.parametrize("method", LEARNERS)
def test_each_learner_describes_itself_and_cites_what_is_listed(method):
    learner = make_learner({"method": method})
    assert learner.method == method
    assert re.fullmatch(r"[^\n<>]{10,400}[^.\s]", learner.describe())
    assert set(learner.references) <= set(REFERENCES)
    for key, part in learner.settings_schema.items():
        assert part["description"], key


@pytest.mark.parametrize("method", LEARNERS)
def test_default_settings_are_allowed(method):
    content = configuration()
    content["learners"]["means"] = {"method": method}
    content["recipes"][0]["correction"] = "flip"
    complete_configuration(content)
