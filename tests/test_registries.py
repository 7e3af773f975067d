"""What the config can name describes itself; another is one file and one line, as documented."""

import re

import numpy as np
import pytest
import yaml

from krein_problems import problem_of
from kreinflow.base.errors import InputError
from kreinflow.base.references import REFERENCES
from kreinflow.config.configuration import complete_configuration
from kreinflow.kernels.registry import KERNELS
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.learners.registry import LEARNERS, make_learner
from kreinflow.report.methods import methods_text
from kreinflow.report.reading import DatasetResults
from landmarks import made_up
from registries import DOCS, documented, one_recipe

DESCRIPTIONS = {
    **{name: make_learner({"method": name}).describe() for name in LEARNERS},
    **{name: make_selector({"method": name, "budget": 5}).describe("scores") for name in SELECTORS},
}
PAGE = "a-method-of-your-own.md"


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_each_method_describes_itself_and_cites_what_is_listed(name):
    assert re.fullmatch(r"[^\n<>]{10,400}[^.\s]", DESCRIPTIONS[name])
    assert set({**SELECTORS, **LEARNERS}[name].references) <= set(REFERENCES)
    if name in LEARNERS:
        complete_configuration(one_recipe(learner={"method": name}, correction="flip"))


def test_all_settings_are_explained():
    for entry in (*SELECTORS.values(), *LEARNERS.values(), *KERNELS.values()):
        for key, part in entry.settings_schema.items():
            assert part["description"], (entry, key)


@pytest.fixture
def nearest_mean():
    with documented(PAGE, LEARNERS, "nearest_mean", "NearestMeanLearner") as learner:
        yield learner


@pytest.fixture
def outliers():
    with documented(PAGE, SELECTORS, "outliers", "Outliers") as selector:
        yield selector


@pytest.mark.usefixtures("nearest_mean", "outliers")
@pytest.mark.parametrize(
    ("part", "settings", "message"),
    [
        ("selector", {"method": "outlier"}, "'outlier' is none of"),
        ("learner", {"method": "outliers"}, "'outliers' is none of"),
        ("learner", {"method": "nearest_mean", "shrinkige": 0.1}, "did you mean 'shrinkage'"),
        ("learner", {"method": "nearest_mean", "shrinkage": 1}, "shrinkage: 1 "),
        ("selector", {"method": "outliers", "budget": 9, "scetch": 1}, "did you mean 'sketch'"),
        ("learner", {"method": "ny_ikfd", "ridge": -1.0}, "ridge: -1.0"),
        ("learner", {"method": "ny_pcvm", "basis": "some"}, "basis"),
        ("learner", {"method": "krein_lsm", "lambda_minus": 0.0}, "lambda_minus: 0.0"),
        ("learner", {"method": "krein_sh_svm", "lambda_plus": np.nan}, "lambda_plus: nan"),
        ("learner", {"method": "cvm", "penalty": 1e9}, "penalty: 1"),
        ("learner", {"method": "cvm", "epsilon": 1.0}, "epsilon: 1.0"),
    ],
)
def test_the_config_refuses_what_methods_do_not_know(part, settings, message):
    with pytest.raises(InputError, match=f"{part}s.it.*{message}"):
        complete_configuration(one_recipe(**{part: settings}))


@pytest.mark.usefixtures("nearest_mean")
def test_the_learner_of_the_page_is_accepted_with_its_recipe_and_decides_by_the_means():
    content = one_recipe(learner={"method": "nearest_mean"})
    learners = complete_configuration(content)["learners"]
    assert learners["it"] == {"method": "nearest_mean", "shrinkage": 0}
    (text,) = re.findall(r"```yaml\n(.*?)```", (DOCS / PAGE).read_text(), re.DOTALL)
    content |= {"selectors": {"meb": {"method": "meb"}}, **yaml.safe_load(text)}
    config = complete_configuration(content)
    assert [recipe["name"] for recipe in config["recipes"]] == ["means-meb"]
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(40, 4)), np.arange(40) % 3
    signs = np.array([1.0, 1.0, -1.0, 1.0])
    problem, learner = problem_of(X, signs, labels), make_learner(config["learners"]["means"])
    choices = learner.choices()
    assert choices[-1] == {"shrinkage": 0.0}
    fitted = learner.fit(problem, choices)[-1]
    means = np.array([X[labels == code].mean(axis=0) for code in range(3)])
    distances = (((X[:, None] - means) ** 2) * signs).sum(axis=2)
    found = ((X**2) * signs).sum(axis=1)[:, None] - learner.decide(fitted, problem)
    np.testing.assert_allclose(found, distances, atol=1e-9)


@pytest.mark.usefixtures("outliers")
def test_the_selector_of_the_page_is_accepted_described_and_chooses(tmp_path):
    config = complete_configuration(one_recipe({"method": "outliers", "budget": {"rank": 4}}))
    assert config["selectors"]["it"]["sketch"] == 300
    data = DatasetResults(tmp_path, "demo", config)
    data.final_recipe, data.statistics = "it", {}
    text = methods_text(data)
    assert "it, the objects least similar to the others, 4 ln n of n training obj" in text
    X = np.array([[1.0], [1.1], [0.9], [-1.5], [1.0], [-1.2]])
    problem = made_up.problem_of(X @ X.T, list("aabbab"), 2)
    table = make_selector({"method": "outliers"}).select(problem)
    assert table["row"].tolist() == [3, 5]
    assert table["class"].tolist() == ["b", "b"]
