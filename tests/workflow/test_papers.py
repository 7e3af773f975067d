"""The target ``paper``: one experiment through Snakemake, and which are wanted."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kreinflow.files.artifacts import read_table, table_text
from kreinflow.papers.experiments import load_experiments
from kreinflow.papers.plots.approximations import measure_spectra
from kreinflow.papers.run import run_experiment

EXPERIMENT = "gaussians-r11"
FIGURE = "results/paper/figures/spectra.png"
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


@pytest.mark.filterwarnings("ignore:the factor misses:UserWarning")
def test_a_figure_is_drawn_through_the_workflow(run, small_config):
    run.run("--keep-going", FIGURE)
    assert (run.folder / FIGURE).read_bytes().startswith(b"\x89PNG")
    found = (run.folder / FIGURE).with_suffix(".tsv").read_text()
    assert found == table_text(measure_spectra(small_config["seed"], Path(run.folder)))
    assert run.jobs(FIGURE) == {}


def test_experiments_wait_for_their_files(workflow, small_config, tmp_path):
    run = workflow({**small_config, "data": str(tmp_path / "data")})
    generated = [e for e in load_experiments().values() if not e.files]
    assert run.jobs("paper")["run_experiment"] == len(generated)
    (tmp_path / "data").mkdir()
    zongker = [e for e in load_experiments().values() if "zongker.csv" in e.files]
    for name in zongker[0].files:
        shutil.copy(__file__, tmp_path / "data" / name)
    assert run.jobs("paper")["run_experiment"] == len(generated) + len(zongker)


def test_what_takes_hours_waits_until_it_is_asked_for(workflow, small_config, tmp_path):
    run = workflow({**small_config, "data": str(tmp_path)})
    generated = [e for e in load_experiments().values() if not e.files]
    swissprot = [e for e in load_experiments().values() if "swissprot.npy" in e.files]
    long = [e for e in swissprot if e.hours]
    assert 0 < len(long) < len(swissprot)
    for name in long[0].files:
        shutil.copy(__file__, tmp_path / name)
    short = len(generated) + len(swissprot) - len(long)
    assert run.jobs("paper")["run_experiment"] == short
    asked = Path("results/paper/experiments") / f"{long[0].name}.tsv"
    assert run.jobs(str(asked)) == {"run_experiment": 1}
    (run.folder / asked).parent.mkdir(parents=True)
    shutil.copy(__file__, run.folder / asked)
    inputs = run.run("-n", "--forcerun", "run_experiment", "--", "paper").stdout
    assert str(asked) in inputs
