"""The workflow of the papers: one experiment, and what is part of the target."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np

from kreinflow.files.tables import read_table
from papers.experiments import in_target, load_experiments
from papers.run import run_experiment
from warm.server import warm_python

SNAKEFILE = Path(__file__).parents[2] / "benchmarks" / "papers" / "Snakefile"
NAME = "gaussians-r11"


def snakemake(folder, *arguments):
    command = [warm_python(), "-m", "snakemake", "-s", SNAKEFILE, "--cores", "1"]
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return {rule: int(n) for rule, n in re.findall(r"^(\w+)\s+(\d+)$", said, re.MULTILINE)}


def test_an_experiment_runs_through_the_workflow(tmp_path):
    path = f"results/paper/experiments/{NAME}.tsv"
    snakemake(tmp_path, path, "--config", "seed=3")
    found = read_table(tmp_path / path, ["recipe", "accuracy"], ["recipe"])
    expected = run_experiment(load_experiments()[NAME].config, False, "landmarks", tmp_path, 3)
    assert found["recipe"].tolist() == expected["recipe"].tolist()
    np.testing.assert_array_equal(found["accuracy"], expected["accuracy"])
    assert snakemake(tmp_path, path, "--dry-run", "--config", "seed=3") == {}


def test_what_takes_hours_waits_until_it_is_asked_for(tmp_path):
    experiments = load_experiments().values()
    swissprot = [e for e in experiments if "swissprot.npy" in e.files]
    (long,) = [e for e in swissprot if e.hours]
    for name in long.files:
        (tmp_path / name).touch()
    short = {e.name for e in experiments if not e.files or e in swissprot} - {long.name}
    assert set(in_target(tmp_path, tmp_path)) == short
    (tmp_path / f"{long.name}.tsv").touch()
    assert set(in_target(tmp_path, tmp_path)) == {*short, long.name}
