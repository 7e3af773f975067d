"""kreinflow inside another workflow: with a prefix and without, from a folder and from a server."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from copy import deepcopy

import pytest
import yaml

import kreinflow
from small_inputs import configuration, write_input
from warm.server import warm_python
from workflow.conftest import ROOT, Workflow

TINY = configuration({"type": "simulated", "families": 2, "sequences": 24}) | {
    "selectors": {"few": {"method": "uniform", "budget": 4}},
    "recipes": [{"name": "nearest", "selector": "few", "learner": "nearest"}],
    "learners": {"nearest": {"method": "nearest_landmark"}},
    "alignment": {"blocks": 1, "threads": 1},
}
OUTER = f"""
configfile: "outer.yaml"

rule everything:
    input:
        "one/results/report.html",
        "one/results/mine/model.safetensors",
        "two/deep/results/mine/folds.tsv",
        "three/mine/folds.tsv",

onstart:
    print("begun")

rule make:
    output: "made/x.fasta"
    shell: "cp data/x.fasta made"

module a:
    snakefile: "{ROOT}/Snakefile"
    config: config["kreinflow"]
    prefix: "one"

module b:
    snakefile: "{ROOT}/workflow/Snakefile"
    config: config["again"]
    prefix: "two/deep"

from kreinflow.files.workflow_folder import WORKFLOW_FOLDER

module c:
    snakefile: f"{{WORKFLOW_FOLDER}}/Snakefile"
    config: config["chained"]

use rule * from a as a_*
use rule * from b as b_*
use rule assign_folds from b as b_assign_folds with:
    priority: 1
use rule * from c as c_*
"""


def snakemake(folder, *arguments, library=ROOT / "lib", **more):
    cold = more or library != ROOT / "lib"
    return subprocess.run(
        [sys.executable if cold else warm_python(), "-m", "snakemake", "--cores", "2", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(library)} | more,
    )


@pytest.fixture(scope="module")
def outer(tmp_path_factory):
    """Three uses of kreinflow in one workflow, which has run."""
    folder = tmp_path_factory.mktemp("outer")
    (folder / "data").mkdir()
    datasets = {"mine": {"source": write_input(folder / "data"), "folds": {"k": 2}}}
    again = TINY | {"data": "data", "datasets": datasets}
    configs = {
        "kreinflow": TINY,
        "again": again,
        "chained": again | {"data": "made", "results": "three"},
    }
    (folder / "outer.yaml").write_text(yaml.safe_dump({"keys": "of its own"} | deepcopy(configs)))
    (folder / "Snakefile").write_text(OUTER)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_prefix_leaves_the_bytes_as_they_are(outer, tmp_path):
    direct = Workflow(tmp_path / "direct", TINY)
    direct.run("--", "results/mine/model.safetensors")
    direct.assert_same(Workflow(outer / "one", TINY), "model.safetensors")


def test_two_uses_have_a_config_and_a_folder_each(outer):
    """Files of `data` start at the working folder; a rule of the other workflow may make them."""
    for file in ("folds.tsv", "dataset/records.tsv"):
        (with_prefix, chained) = (
            outer / f"{use}/mine/{file}" for use in ("two/deep/results", "three")
        )
        assert with_prefix.read_bytes() == chained.read_bytes()
        assert with_prefix.read_bytes() != (outer / "one/results/mine" / file).read_bytes()
    assert {path.name for path in outer.iterdir() if not path.name.startswith(".")} == {
        *("Snakefile", "outer.yaml", "data", "made", "one", "two", "three")
    }


def test_the_hooks_of_a_module_hold_the_lock_and_say_why_a_job_failed(outer):
    with (outer / "data" / "x.fasta").open("a") as fasta:
        fasta.write(">z family=a;\nMK1L\n")
    with (outer / "one/results/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = snakemake(outer)
    assert held.returncode == 2
    assert "kreinflow input error: one/results: another run is writing there." in held.stderr
    configs = (outer / "outer.yaml").read_text()
    (outer / "outer.yaml").write_text(configs.replace("again:\n", "again:\n  sead: 3\n"))
    done = snakemake(outer, "--dry-run")
    assert done.returncode == 2
    assert "kreinflow input error: module b: " in done.stderr
    (outer / "outer.yaml").write_text(configs)
    done = snakemake(outer, "two/deep/results/mine/folds.tsv")
    assert done.returncode == 1
    assert done.stderr.count("kreinflow: jobs that failed, and why:\nb_read_dataset (") == 1
    assert "begun" in done.stdout
    assert re.findall(r"^(?:local)?rule (\w+):", done.stderr, re.MULTILINE) == ["b_read_dataset"]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The workflow without its library, as a server has it, in a repository of git."""
    folder = tmp_path_factory.mktemp("served")
    for part in ("rules", "scripts", "envs", "report", "workflow"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / file, folder)
    return folder


def test_a_workflow_from_a_server_has_the_installed_library(served, tmp_path):
    if not shutil.which("git"):
        pytest.skip("there is no git")
    for command in (
        "init",
        "add .",
        "-c user.name=x -c user.email=x commit -m 1",
        f"tag v{kreinflow.__version__}",
    ):
        subprocess.run(["git", *command.split()], cwd=served, check=True, capture_output=True)
    page = (ROOT / "docs" / "module.md").read_text()
    (tmp_path / "Snakefile").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    configs = {"proteins": TINY, "genes": TINY | {"seed": 6}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(deepcopy(configs)))
    done = snakemake(
        tmp_path,
        *("proteins_folds", "genes_folds"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0=f"url.{served}.insteadOf",
        GIT_CONFIG_VALUE_0="https://github.com/kreinflow/kreinflow",
    )
    assert done.returncode == 0, done.stderr
    one, other = (tmp_path / use / "results/mine/folds.tsv" for use in configs)
    assert one.read_bytes() != other.read_bytes()


def test_rules_and_library_have_one_version(served, tmp_path):
    (version,) = re.findall(r'^VERSION = "(.+)"', (ROOT / "rules/common.smk").read_text(), re.M)
    assert version == kreinflow.__version__
    (tmp_path / "kreinflow").mkdir()
    (tmp_path / "kreinflow" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    done = snakemake(tmp_path, "-s", str(served / "Snakefile"), "--dry-run", library=tmp_path)
    assert done.returncode == 2
    assert f"pip install kreinflow=={version}" in done.stderr
