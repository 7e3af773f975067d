"""The files of data agree with each other and with the config."""

import re
from collections import Counter
from copy import deepcopy

import numpy as np
import pytest
import yaml

from kreinflow.base.errors import InputError
from kreinflow.base.references import REFERENCES
from kreinflow.config.configuration import complete_configuration
from kreinflow.papers.experiments import DATA, FIGURES, LEFT_OUT, load_experiments
from kreinflow.papers.page import TITLES
from kreinflow.papers.tables import read_published

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


def test_no_published_figure_is_silent():
    """Each has an experiment that is generated or names its files, wants a file, or cannot be."""
    assert len(PUBLISHED) == 298
    assert set(PUBLISHED["source"]) == set(TITLES)
    found = Counter()
    for row in PUBLISHED.itertuples():
        if row.experiment:
            experiments = [EXPERIMENTS[name] for name in row.experiment.split()]
            assert all(row.recipe in experiment.recipes for experiment in experiments)
            assert row.reason == ""
            files = all(experiment.files for experiment in experiments)
            found["a file of an experiment" if files else "generated"] += 1
        else:
            assert row.recipe == ""
            if re.match(
                r"wants [\w.]+\.dat\.gz of SwissProt release 1[01]/2010, [\d,]+ ", row.reason
            ):
                found["a release"] += 1
            else:
                assert "not concave" in row.reason
                assert row.method.startswith("CVM")
                assert row.method.endswith("no correction")
                found["not concave"] += 1
    assert (found["generated"], found["a file of an experiment"]) == (47, 219)
    assert (found["a release"], found["not concave"]) == (4, 28)


def test_the_core_vector_machine_is_refused_without_a_correction():
    """So that the reason of its rows is true."""
    config = deepcopy(dict(EXPERIMENTS["ball-30000"].config))
    config["recipes"][0]["correction"] = "none"
    with pytest.raises(InputError, match="correction"):
        complete_configuration({**config, "seed": 1})


def test_experiments_beside_one_figure_have_settings_that_differ():
    beside = set(PUBLISHED["experiment"])
    several = {name for names in beside for name in names.split() if " " in names}
    assert several == {name for name, e in EXPERIMENTS.items() if e.setting}
    for names in beside:
        settings = [EXPERIMENTS[name].setting for name in names.split()]
        assert len(set(settings)) == len(settings)
    generators = {
        name: EXPERIMENTS[name].config["datasets"][name]["source"].get("generator")
        for name in several
    }
    assert generators["checkerboard-gap"] == generators["checkerboard"] | {"gap": 0.1}
    assert generators["three-gaussians-moved"] == generators["three-gaussians"] | {"centre": 1}


def test_what_takes_hours_wants_a_file():
    """So the target alone never waits for it: all that is generated is part of it."""
    long = [e for e in EXPERIMENTS.values() if e.hours]
    assert long
    for experiment in long:
        assert experiment.files
        assert experiment.memory_mb >= 4000


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
        config = EXPERIMENTS[row.experiment.split()[0]].config
        (recipe,) = (r for r in config["recipes"] if r["name"] == row.recipe)
        budget = config["selectors"][recipe["selector"]].get("budget")
        if isinstance(budget, int) and row.landmarks not in ("", str(budget)):
            others.add((row.dataset, row.landmarks, budget))
    assert others == {
        ("ball", "8", 10),
        ("banana", "5300", 500),
        ("satellite", "6435", 2000),
        ("usps", "11000", 2000),
        ("adult", "30162", 2000),
        ("mnist", "70000", 2000),
        ("ringnorm", "7400", 2000),
        ("twonorm", "7400", 2000),
        ("waveform", "5000", 2000),
    }


def test_all_that_is_defined_is_used():
    defined = yaml.safe_load((DATA / "experiments.yaml").read_text())
    assert set(defined["recipes"]) <= {name for e in EXPERIMENTS.values() for name in e.recipes}
    selectors = {name for e in EXPERIMENTS.values() for name in e.config["selectors"]}
    methods = {
        name if name in defined["selectors"] else name.rpartition("-")[0] for name in selectors
    }
    assert methods == set(defined["selectors"])
    learners = {name for e in EXPERIMENTS.values() for name in e.config["learners"]}
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
    figures = [*FIGURES.values(), *LEFT_OUT]
    assert {f.source for f in figures} <= set(REFERENCES)
    assert len({(f.source, f.number) for f in figures}) == len(figures)
    assert all(bool(f.caption) != bool(f.reason) for f in figures)
