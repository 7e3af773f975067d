"""The target ``paper``: one experiment through Snakemake, and which are wanted."""

import shutil
from pathlib import Path

import numpy as np

from kreinflow.files.tables import read_table
from kreinflow.papers.experiments import load_experiments
from kreinflow.papers.run import run_experiment

EXPERIMENT = "gaussians-r11"
TABLE = f"results/paper/experiments/{EXPERIMENT}.tsv"


def test_an_experiment_runs_through_the_workflow(run, small_config):
    run.run("--keep-going", TABLE)
    found = read_table(run.folder / TABLE, ["recipe", "accuracy"], ["recipe"])
    experiment = load_experiments()[EXPERIMENT]
    expected = run_experiment(
        experiment.config, False, "landmarks", Path(run.folder), small_config["seed"]
    )
    assert found["recipe"].tolist() == expected["recipe"].tolist()
    np.testing.assert_array_equal(found["accuracy"], expected["accuracy"])
    assert run.jobs(TABLE) == {}


def test_what_takes_hours_waits_until_it_is_asked_for(workflow, small_config, tmp_path):
    run = workflow({**small_config, "data": str(tmp_path)})
    swissprot = [e for e in load_experiments().values() if "swissprot.npy" in e.files]
    long = [e for e in swissprot if e.hours]
    assert 0 < len(long) < len(swissprot)
    for name in long[0].files:
        shutil.copy(__file__, tmp_path / name)
    asked = f"results/paper/experiments/{long[0].name}.tsv"
    assert run.jobs(asked) == {"run_experiment": 1}
    generated = [e for e in load_experiments().values() if not e.files]
    short = len(generated) + len(swissprot) - len(long)
    assert run.jobs("paper")["run_experiment"] == short
