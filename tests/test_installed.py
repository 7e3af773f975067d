"""From the wheel to a report on an own FASTA, as somebody does it who has no clone.

The wheel is installed in a new environment, which finds its dependencies in the one that runs the
tests, and is read-only from then on.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from types import SimpleNamespace

import pytest

from files.test_workflow_folder import wheel  # noqa: F401
from small_inputs import families, write_fasta, write_labels

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
SHORT = """
selectors: {few: {method: uniform, budget: 6}}
learners: {lsm: {method: sf_lsm, ridge: 0.1}}
recipes: [{name: lsm, transform: log, selector: few, learner: lsm}]
"""
"""Stands behind what init wrote. Init leaves the recipes out: the automatic ones on five folds take
two minutes where nothing can be written, as each job compiles anew."""


def where_it_is_read_only(environment):
    """What to put before a command, so that it cannot write to the environment, as root neither."""
    subprocess.run(["chmod", "-R", "a-w", environment], check=True)
    before = ["unshare", "--mount", "sh", "-c", READ_ONLY, environment]
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return []
    return before if subprocess.run([*before, "true"], capture_output=True).returncode == 0 else []


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):  # noqa: F811
    """A folder with data, and a function that runs the installed command in it."""
    home = tmp_path_factory.mktemp("installed")
    environment, folder = home / "environment", home / "Proteine für später"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", "-q", "--python", environment / "bin" / "python"]
    offline = ["--no-index", "--no-deps", "--disable-pip-version-check"]
    compiled = os.environ | {"PIP_NO_COMPILE": "0"}  # nothing can be compiled there later
    subprocess.run([*pip, "install", *offline, wheel], check=True, env=compiled)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    folder.mkdir()
    records = families(4, each=12)
    write_fasta(folder / "proteins.fasta", records, header="{id}")
    write_labels(folder / "labels.tsv", records)
    own = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / ".cache"), "PYTHONPATH": ""}
    before = where_it_is_read_only(environment)

    def command(*arguments, cwd=folder):
        return subprocess.run(
            [*before, environment / "bin" / "kreinflow", *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            env={**os.environ, **own},
        )

    yield SimpleNamespace(
        run=command,
        folder=folder,
        packages=packages,
        read_only=before or os.geteuid() != 0,
    )
    subprocess.run(["chmod", "-R", "u+w", environment], check=True)  # so that pytest can remove it


@pytest.fixture(scope="module")
def finished(installed):
    done = installed.run("init", "proteins.fasta", "--labels", "labels.tsv")
    assert done.returncode == 0, done.stderr
    path = installed.folder / "kreinflow.yaml"
    text = path.read_text()
    assert "k: 5" in text
    path.write_text(text.replace("k: 5", "k: 2") + SHORT)  # all else as it is
    done = installed.run("run", "kreinflow.yaml", "--cores", "2")
    assert done.returncode == 0, done.stderr
    return done


def test_a_report_on_an_own_fasta_in_three_commands(installed, finished):
    results = installed.folder / "results-proteins"
    assert "This is the figure to quote." in finished.stdout
    assert "The model: results-proteins/proteins/model.safetensors\n" in finished.stdout
    assert finished.stdout.endswith("The report: results-proteins/report.html\n")
    assert "rule " not in finished.stderr, "no pages of Snakemake"
    assert "<h3" in (results / "report.html").read_text()
    assert "What to do next" in (results / "report.txt").read_text()
    model = next(results.glob("*/model.safetensors"))
    done = installed.run("classify", model, "proteins.fasta", "-o", "predictions.tsv")
    assert done.returncode == 0, done.stderr


def test_a_second_run_has_nothing_to_do_and_still_shows_the_report(installed, finished):
    if installed.read_only:
        assert not list(installed.packages.rglob("*.nbi")), "which numba writes where it can"
    done = installed.run("run", "kreinflow.yaml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kreinflow: nothing to do, all that was asked for is there.\n")
    assert done.stdout.endswith("The report: results-proteins/report.html\n")


def test_the_page_is_made_again_from_the_results_alone(installed, finished):
    moved = installed.folder / "kept results"
    shutil.copytree(installed.folder / "results-proteins", moved)
    files = {name: (moved / name).read_bytes() for name in ("report.html", "report.txt")}
    for name in files:
        (moved / name).unlink()
    done = installed.run("report", moved, cwd="/")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"The report: {moved / 'report.html'}\n"
    assert {name: (moved / name).read_bytes() for name in files} == files
    config = moved / "config.yaml"
    config.write_text(re.sub("^prefer:.*\n", "", config.read_text(), flags=re.M))
    (moved / "workflow.smk").write_text("of an older version")
    assert installed.run("report", moved).returncode == 0
    assert (moved / "workflow.smk").read_text() == "of an older version"
    assert "\nprefer: " in config.read_text()


def test_the_shipped_demonstration_is_found_from_any_folder(installed):
    done = installed.run("demo", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "write_report" in done.stdout


def test_the_shipped_profile_is_found_by_its_name(installed, finished):
    pytest.importorskip("snakemake_executor_plugin_slurm")
    done = installed.run("run", "kreinflow.yaml", "--profile", "slurm", "-n", "--verbose")
    assert done.returncode == 0, done.stderr
    assert "kreinflow/workflow/profiles/slurm" in done.stderr
