"""The files of data agree with each other and with the config."""

import numpy as np
import pytest
import yaml

from kreinflow.configuration import complete_configuration
from kreinflow.papers.experiments import FILE, load_experiments
from kreinflow.papers.figures import FIGURES, LEFT_OUT
from kreinflow.papers.page import TITLES
from kreinflow.papers.published import read_published
from kreinflow.references import REFERENCES

EXPERIMENTS = load_experiments()
PUBLISHED = read_published()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_is_a_config(name):
    experiment = EXPERIMENTS[name]
    config = complete_configuration({**experiment.config, "seed": 1})
    assert list(config["datasets"]) == [name]
    assert [recipe["name"] for recipe in config["recipes"]] == experiment.recipes
    assert len(set(experiment.recipes)) == len(experiment.recipes)
    assert set(experiment.why) <= set(experiment.recipes)
    assert bool(experiment.files) == bool(experiment.wants)
    if experiment.signature:
        assert len(experiment.signature) == 3


def test_each_published_figure_has_an_experiment_or_a_reason():
    assert len(PUBLISHED) == 298
    assert set(PUBLISHED["source"]) == set(TITLES)
    for row in PUBLISHED.itertuples():
        if row.experiment:
            assert row.recipe in EXPERIMENTS[row.experiment].recipes
            assert row.reason == ""
        else:
            assert row.recipe == ""
            assert row.reason


def test_published_figures_are_keyed_and_in_range():
    keys = ["source", "table", "dataset", "method"]
    assert not PUBLISHED.duplicated(keys).any()
    assert (PUBLISHED[keys] != "").all(axis=None)
    accuracy = PUBLISHED["accuracy"].dropna()
    assert accuracy.between(2, 100).all()
    assert (PUBLISHED["accuracy"].isna() == PUBLISHED["note"].eq("the paper says: failed")).all()
    assert PUBLISHED["accuracy_sd"].dropna().between(0, 30).all()
    assert (PUBLISHED["seconds"].notna() == PUBLISHED["seconds_of"].ne("")).all()
    # table 6 of schleif2018 has ten times 100 +- 0, and the eleven others
    assert PUBLISHED["complexity"].notna().sum() == PUBLISHED["complexity_sd"].notna().sum() == 22
    assert np.isclose(PUBLISHED["accuracy"].sum(), 24178.216)


def test_landmarks_of_a_row_are_those_of_its_recipe():
    """A budget that is a number stands in the paper too, but for what the page says."""
    others = set()
    for row in PUBLISHED[PUBLISHED["experiment"] != ""].itertuples():
        config = EXPERIMENTS[row.experiment].config
        (recipe,) = (r for r in config["recipes"] if r["name"] == row.recipe)
        budget = config["selectors"][recipe["selector"]].get("budget")
        if isinstance(budget, int) and row.landmarks not in ("", str(budget)):
            others.add((row.dataset, row.landmarks, budget))
    assert others == {
        ("ball", "8", 10),
        ("ringnorm", "7400", 2000),
        ("twonorm", "7400", 2000),
        ("waveform", "5000", 2000),
    }


def test_all_that_is_defined_is_used():
    recipes = {name for e in EXPERIMENTS.values() for name in e.recipes}
    selectors = {name for e in EXPERIMENTS.values() for name in e.config["selectors"]}
    learners = {name for e in EXPERIMENTS.values() for name in e.config["learners"]}
    defined = yaml.safe_load(FILE.read_text())
    assert recipes == set(defined["recipes"])
    assert selectors == set(defined["selectors"])
    assert learners == set(defined["learners"])


def test_all_rows_of_balls_have_one_generator():
    sources = [
        e.config["datasets"][name]["source"] for name, e in EXPERIMENTS.items() if "ball" in name
    ]
    assert len(sources) == 4
    for source in sources:
        assert source["kernel"] == {"name": "ball"}
        assert set(source["generator"]) == {"name", "objects"}


def test_figures_name_papers():
    sources = [f.source for f in (*FIGURES.values(), *LEFT_OUT)]
    assert set(sources) <= set(REFERENCES)
    numbers = [(f.source, f.figure) for f in (*FIGURES.values(), *LEFT_OUT)]
    assert len(set(numbers)) == len(numbers)
