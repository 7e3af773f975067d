"""The target ``paper``: one experiment through Snakemake, and which are wanted."""

import shutil
from pathlib import Path

import numpy as np

from kreinflow.artifacts import read_table
from kreinflow.papers.experiments import load_experiments
from kreinflow.papers.run import run_experiment

EXPERIMENT = "gaussians-r11"
TABLE = f"results/paper/experiments/{EXPERIMENT}.tsv"


def test_an_experiment_runs_through_the_workflow(workflow, small_config):
    run = workflow(small_config)
    run.run("--keep-going", TABLE)
    found = read_table(run.folder / TABLE, ["recipe", "accuracy"], ["recipe"])
    experiment = load_experiments()[EXPERIMENT]
    expected = run_experiment(
        experiment.config, False, "landmarks", Path(run.folder), small_config["seed"]
    )
    assert found["recipe"].tolist() == expected["recipe"].tolist()
    np.testing.assert_array_equal(found["accuracy"], expected["accuracy"])
    assert run.jobs(TABLE) == {}


def test_experiments_wait_for_their_files(workflow, small_config, tmp_path):
    run = workflow({**small_config, "data": str(tmp_path / "data")})
    generated = [e for e in load_experiments().values() if not e.files]
    assert run.jobs("paper")["run_experiment"] == len(generated)
    (tmp_path / "data").mkdir()
    zongker = [e for e in load_experiments().values() if "zongker.csv" in e.files]
    for name in zongker[0].files:
        shutil.copy(__file__, tmp_path / "data" / name)
    assert run.jobs("paper")["run_experiment"] == len(generated) + len(zongker)
