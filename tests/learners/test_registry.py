"""A learner is one file and one line: the one of the documentation, from config to decisions."""

import re

import numpy as np
import pytest
import yaml

from krein_problems import problem_of
from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.learners.registry import LEARNERS, make_learner
from registries import DOCS, documented, one_recipe

PAGE = "a-method-of-your-own.md"


@pytest.fixture(autouse=True)
def nearest_mean():
    with documented(PAGE, LEARNERS, "nearest_mean", "NearestMeanLearner") as learner:
        yield learner


def configuration(**settings):
    return one_recipe(learner={"method": "nearest_mean", **settings})


def test_the_config_accepts_it_with_its_settings():
    config = complete_configuration(configuration())
    assert config["learners"]["it"] == {"method": "nearest_mean", "shrinkage": 0}
    with pytest.raises(InputError, match="unknown key 'shrinkige'; did you mean 'shrinkage'"):
        complete_configuration(configuration(shrinkige=0.1))
    with pytest.raises(InputError, match=r"learners.it.shrinkage: 1 "):
        complete_configuration(configuration(shrinkage=1))


def test_the_recipe_of_the_page_is_accepted():
    selectors = {"selectors": {"meb": {"method": "meb"}}}
    (text,) = re.findall(r"```yaml\n(.*?)```", (DOCS / PAGE).read_text(), re.DOTALL)
    config = complete_configuration(configuration() | selectors | yaml.safe_load(text))
    assert config["learners"]["means"]["shrinkage"] == "inner"
    assert [recipe["name"] for recipe in config["recipes"]] == ["means-meb"]


def test_its_decisions_are_the_distances_to_the_means():
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
def test_default_settings_are_allowed(method):
    complete_configuration(one_recipe(learner={"method": method}, correction="flip"))
