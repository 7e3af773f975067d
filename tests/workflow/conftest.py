"""Small runs of the whole workflow, in folders of their own."""

import copy
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml

from kreinflow.classify.model_file import Model
from kreinflow.fitting.fold_models import load_fold_model
from small_inputs import configuration, without_times
from warm.server import warm_python

ROOT = Path(__file__).parents[2]

SMALL = configuration({}) | {
    "seed": 3,
    "alignment": {"blocks": 2, "threads": 2},
    "datasets": {
        "small": {
            "source": {"type": "simulated", "families": 3, "sequences": 60},
            "folds": {"k": 2},
        }
    },
    "selectors": {
        "meb": {"method": "meb", "epsilon": 0.1},
        "uniform": {"method": "uniform", "budget": "meb"},
        "few": {"method": "uniform", "budget": 4},
    },
    "recipes": [
        {"name": "ikfd", "selector": "meb", "learner": "ikfd"},
        {"name": "ikfd-flip", "selector": "meb", "correction": "flip", "learner": "ikfd"},
        {"name": "pcvm", "selector": "meb", "learner": "pcvm"},
        {"name": "nearest-uniform", "selector": "uniform", "learner": "nearest"},
        {
            "name": "asks",
            "selector": "few",
            "learner": "nearest",
            "cascade": {"alignments": 25},
        },
    ],
}


class Workflow:
    """One folder with a config, in which the workflow is run.

    It begins where the imports of this library are done, if it need not be ``cold``.
    """

    def __init__(self, folder, config, root=ROOT, cold=False):
        self.folder = folder
        self.root = root
        self.cold = cold
        folder.mkdir(parents=True, exist_ok=True)
        if config is not None:
            self.configure(config)

    def configure(self, config):
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config))

    def start_from(self, other):
        """Take over what another run left behind."""
        for name in ("results", ".snakemake"):
            shutil.copytree(other.folder / name, self.folder / name)

    def command(self, *arguments, cores="2", snakemake=("-m", "snakemake")):
        return [
            *(sys.executable, *snakemake, "--cores", cores),
            *("--snakefile", str(self.root / "Snakefile"), "--directory", str(self.folder)),
            *("--configfile", str(self.folder / "config.yaml"), *arguments),
        ]

    def run(self, *arguments, check=True, **how):
        _, *command = self.command(*arguments, **how)
        done = subprocess.run(
            [sys.executable if self.cold else warm_python(), *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": ""},
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def jobs(self, *arguments):
        """The rules that a dry run would run, with how often."""
        done = self.run("--dry-run", *arguments)
        found = re.findall(r"^(\w+)\s+(\d+)$", done.stdout + done.stderr, re.MULTILINE)
        return {rule: int(count) for rule, count in found if rule != "total"}

    def digests(self):
        """The sha256 of each result, the times and whatever shows them left out."""
        found = {}
        for path in sorted((self.folder / "results").rglob("*")):
            name = path.relative_to(self.folder / "results").as_posix()
            if not path.is_file() or re.search(
                r"(^|/)(logs|times|scores|alignment)/|times\.|(^|/)\.lock$", name
            ):
                continue
            found[name] = hashlib.sha256(without_times(path)).hexdigest()
        return found

    def assert_same(self, reference, *part):
        """All results have another run's bytes; ``part`` names some, if only a part was run."""
        ours, theirs = self.digests(), reference.digests()
        if not part:
            assert sorted(ours) == sorted(theirs)
        names = {name.rpartition("/")[2] for name in ours}
        assert set(part or ["report.html", "model.safetensors"]) <= names
        assert {name for name in ours if ours[name] != theirs.get(name)} == set()
        assert list((self.folder / "results").rglob("*.part")) == []


def write_bad_fasta(run, config):
    """Make a run's input one that only its first job finds to be wrong: x.fasta has a 1 in it."""
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"table": "x.tsv"}}
    config["data"] = "data"
    config["datasets"]["small"]["source"] = source
    run.configure(config)
    (run.folder / "data").mkdir()
    (run.folder / "data" / "x.fasta").write_text(">a\nMKVL\n>b\nMK1L\n")
    (run.folder / "data" / "x.tsv").write_text("id\tlabel\na\tone\nb\ttwo\n")


def read(path):
    return pd.read_csv(path, sep="\t", dtype={"id": str, "true": str, "predicted": str})


def fold_model(results, selector, recipe):
    """The final model's file with the model of a fold in it, to which tested records are new."""
    ids = read(results / "dataset" / "records.tsv").drop_duplicates("row").set_index("row")["id"]
    distinct = read(results / "dataset" / "distinct.tsv")["sequence"]
    rows = read(results / "landmarks" / selector / "r0f0.tsv")["row"].tolist()
    classifier = load_fold_model(results / "models" / selector / "r0f0.safetensors", recipe)
    records = [] if classifier.records is None else classifier.records.rows
    return replace(
        Model.load(results / "model.safetensors"),
        classifier=classifier,
        record_ids=tuple(ids[records]),
        inducing_ids=() if classifier.lift is None else tuple(ids[classifier.inducing_rows]),
        landmark_ids=tuple(ids[rows]),
        landmarks=tuple(distinct[row].encode() for row in rows),
    )


@pytest.fixture
def small_config():
    """The small config, for a test to change."""
    return copy.deepcopy(SMALL)


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """An undisturbed run of the small config on two cores, to be copied and left as it is.

    Processes that share the tests share it too: the first to ask makes it.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    with (base / "reference.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (base / "reference" / "results" / "report.html").exists():
            return Workflow(base / "reference", SMALL)
        workflow = Workflow(base / "reference", SMALL)
        workflow.run("--skip-script-cleanup")  # for kills of single jobs
        return workflow


@pytest.fixture
def workflow(tmp_path):
    """A function that makes a workflow in a new folder."""
    return lambda config, name="run", **more: Workflow(tmp_path / name, config, **more)


@pytest.fixture
def run(workflow, small_config):
    """The small config in a new folder."""
    return workflow(small_config)


@pytest.fixture
def finished(run, reference):
    """The small config in a new folder, with all that the undisturbed run left behind."""
    run.start_from(reference)
    return run
