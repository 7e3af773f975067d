"""The files of data agree with each other and with the config; what open settings decide."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from kreinflow.config.configuration import complete_configuration
from papers.experiments import load_experiments
from papers.page import TITLES
from papers.run import run_experiment
from papers.tables import read_published, summarise

EXPERIMENTS = load_experiments()
PUBLISHED = read_published()


def accuracies(name, only, folder):
    """The mean accuracies of some recipes of an experiment."""
    experiment = EXPERIMENTS[name]
    recipes = [recipe for recipe in experiment.config["recipes"] if recipe["name"] in only]
    chosen = replace(experiment, config={**experiment.config, "recipes": recipes}).measured
    return summarise(run_experiment(**chosen, data_folder=folder, seed=1))["our_accuracy"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_is_a_config(name):
    experiment = EXPERIMENTS[name]
    config = complete_configuration({**experiment.config, "seed": 1})
    assert list(config["datasets"]) == [name]
    assert [recipe["name"] for recipe in config["recipes"]] == experiment.recipes
    assert len(set(experiment.recipes)) == len(experiment.recipes)
    assert set(experiment.why) <= set(experiment.recipes)
    assert bool(experiment.files) == bool(experiment.wants)
    assert not experiment.hours or experiment.files  # all that is generated runs at once


def test_no_published_figure_is_silent():
    """Each has an experiment that is generated or names its files, wants a file, or cannot be."""
    assert set(PUBLISHED["source"]) == set(TITLES)
    found = Counter()
    for row in PUBLISHED.itertuples():
        if row.experiment:
            experiments = [EXPERIMENTS[name] for name in row.experiment.split()]
            assert all(row.recipe in experiment.recipes for experiment in experiments)
            assert row.reason == ""
            files = all(experiment.files for experiment in experiments)
            found["a file of an experiment" if files else "generated"] += 1
        elif re.match(r"wants [\w.]+\.dat\.gz of SwissProt release 1[01]/2010", row.reason):
            found["a release"] += 1
        else:
            assert row.method.startswith("CVM")
            assert row.method.endswith("no correction")
            found["not concave"] += 1
    counts = {"generated": 47, "a file of an experiment": 219, "a release": 4, "not concave": 28}
    assert found == counts


def test_published_figures_are_keyed():
    keys = ["source", "table", "dataset", "method"]
    assert not PUBLISHED.duplicated(keys).any()
    assert (PUBLISHED[keys] != "").all(axis=None)
    assert (PUBLISHED["accuracy"].isna() == PUBLISHED["note"].eq("the paper says: failed")).all()
    assert (PUBLISHED["seconds"].notna() == PUBLISHED["seconds_of"].ne("")).all()
    assert np.isclose(PUBLISHED["accuracy"].sum(), 24178.216)


def test_landmarks_of_a_row_are_those_of_its_recipe():
    """A budget that is a number stands in the paper too, but for what the page says."""
    others = set()
    for row in PUBLISHED[PUBLISHED["experiment"] != ""].itertuples():
        config = EXPERIMENTS[row.experiment.split()[0]].config
        (recipe,) = (r for r in config["recipes"] if r["name"] == row.recipe)
        budget = config["selectors"][recipe["selector"]].get("budget")
        if isinstance(budget, int) and row.landmarks not in ("", str(budget)):
            others.add((row.dataset, row.landmarks, budget))
    whole = {"satellite": 6435, "usps": 11000, "adult": 30162, "mnist": 70000, "ringnorm": 7400}
    whole |= {"twonorm": 7400, "waveform": 5000}
    expected = {(name, str(n), 2000) for name, n in whole.items()}
    assert others == expected | {("ball", "8", 10), ("banana", "5300", 500)}


@pytest.mark.parametrize(("name", "centre"), [("three-gaussians", 0), ("three-gaussians-moved", 1)])
def test_the_place_of_the_large_gaussian_decides_what_is_left(tmp_path, name, centre):
    """Without landmarks in the small ones it is a formula; with them nothing is lost anywhere."""
    found = accuracies(name, ["ikfd-meb", "ikfd-kmeans-meb", "ikfd-entropy-meb"], tmp_path)
    expected = 100 * (40 + 500 * norm.cdf(centre / 2**0.5)) / 540
    assert found["ikfd-entropy-meb"] == pytest.approx(expected, abs=4)
    assert found["ikfd-kmeans-meb"] == pytest.approx(expected, abs=4)
    assert found["ikfd-meb"] == 100


def test_a_gap_between_squares_brings_the_balls_to_the_paper(tmp_path):
    """The published figure is 90.2 with a standard deviation of 8.5."""
    touching, apart = (
        accuracies(name, ["ikfd-meb"], tmp_path)["ikfd-meb"]
        for name in ("checkerboard", "checkerboard-gap")
    )
    assert apart > touching + 2
    assert apart == pytest.approx(90.22, abs=8.52 / 2)


def test_ny_epcvm_over_unit_columns_is_that_over_the_kernel(tmp_path):
    """schleif2015epcvm approximates the normalised matrix, which is asymmetric: K~ diag(1/rho)."""
    source = {"type": "generated", "generator": {"name": "ringnorm", "objects": 240}}
    recipe = {"transform": "raw", "rank": 1.0, "selector": "uniform", "learner": "epcvm"}
    config = {
        "datasets": {"it": {"source": {**source, "kernel": {"name": "elm"}}, "folds": {"k": 4}}},
        "selectors": {"uniform": {"method": "uniform", "budget": 40}},
        "learners": {"epcvm": {"method": "ny_epcvm", "basis": "all"}},
        "recipes": [
            {**recipe, "name": "svd"},
            {**recipe, "name": "generalised", "correction": "landmark_basis"},
        ],
    }
    plain, unit = (
        run_experiment(config, False, "landmarks", tmp_path, 3, unit) for unit in (False, True)
    )
    figures = ["recipe", "accuracy", "landmarks", "rank", "basis_used"]
    pd.testing.assert_frame_equal(plain[figures], unit[figures])
    assert unit["accuracy"].mean() > 0.85
    assert (unit["negative"] == 0).all()
    assert (unit["positive"] == 40).all()
