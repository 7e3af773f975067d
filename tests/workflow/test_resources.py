"""The memory and the minutes that rules ask a cluster for, by figures made up for them."""

import json
import subprocess
import sys

import pytest

from kreinflow.artifacts import write_json
from workflow.conftest import ROOT, SMALL

ASKED = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, ResourceSettings

class Input(list):
    pass

snakefile, config, questions = sys.argv[1:]
with SnakemakeApi(OutputSettings()) as api:
    workflow = api.workflow(
        resource_settings=ResourceSettings(cores=1),
        config_settings=ConfigSettings(configfiles=[Path(config)]),
        snakefile=Path(snakefile),
    )
    rules = {rule.name: rule for rule in workflow._workflow.rules}
    answers = []
    for rule, resource, wildcards, files, named, attempt, threads in json.loads(questions):
        given = Input(files)
        vars(given).update(named)
        wildcards = SimpleNamespace(dataset="small", **wildcards)
        found = rules[rule].resources[resource].evaluate(
            wildcards, input=given, attempt=attempt, threads=threads
        )
        answers.append(found.value)
print(json.dumps(answers))
"""
"""What resources of rules are, of inputs that need not be those of a run."""

CONFIG = SMALL | {
    # Of the learners with the selector uniform one needs all rows at once.
    "recipes": [*SMALL["recipes"], {"name": "svc", "selector": "uniform", "learner": "svc"}]
}
STATISTICS = {
    "distinct": 100_000,
    "class_sizes": {"a": 60_000, "b": 45_000},
    "lengths": {"mean": 3000.0},
    "unknown": {"c": 50_000, "d": 20_000},
}
CELLS = 3000.0**2
CELLS_A_MINUTE = 60 * 2e9
CLUSTERED = (60_000**2 + 45_000**2) / 2
FEW, MANY = 1000, 2000
BLOCKS = 2  # of the small config; 512 and 2048 MB are the defaults of its memory
SQUARES = 16 * 8 * MANY**2 / 1e6


def minutes(pairs, blocks=BLOCKS, threads=1):
    return 10 + pairs / blocks * CELLS / (CELLS_A_MINUTE * threads)


QUESTIONS = {
    "class_scores": ("align_class_scores", "runtime", {}, "candidates"),
    "class_scores_threads": ("align_class_scores", "runtime", {}, "candidates", 1, 3),
    "columns": ("align_columns", "runtime", {}, "tables"),
    "columns_again": ("align_columns", "runtime", {}, "tables", 2),
    "columns_memory": ("align_columns", "mem_mb", {}, "tables", 2),
    "unknown": ("score_unknown", "runtime", {}, "table"),
    "unknown_memory": ("score_unknown", "mem_mb", {}, "table", 3),
    "clusters": ("assign_homology_folds", "runtime", {}, "table", 2),
    "reading": ("read_dataset", "mem_mb", {}, "table"),
    "factor": ("make_factor", "mem_mb", {}, "table", 2),
    "map": ("map_landmarks", "mem_mb", {}, "tables"),
    "model_by_tiles": ("train_models", "mem_mb", {"selector": "meb"}, "table"),
    "model_of_all_rows": ("train_models", "mem_mb", {"selector": "uniform"}, "table"),
    "model_of_a_dry_run": ("train_models", "mem_mb", {"selector": "uniform"}, "nothing"),
    "evaluation": ("evaluate", "mem_mb", {}, "table"),
    "evaluation_minutes": ("evaluate", "runtime", {}, "table", 3),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The answers, and the megabytes of the inputs."""
    folder = tmp_path_factory.mktemp("resources")
    write_json(folder / "summary.json", {"statistics": STATISTICS})
    (folder / "candidates.tsv").write_text("class\trow\na\t1\na\t2\nb\t3\n\t4\n")
    for name, count in (("few", FEW), ("many", MANY)):
        (folder / name).write_text("row\n" + "5\n" * count)
    with (folder / "columns.npy").open("wb") as file:
        file.truncate(150_000_000)  # without a byte on the disk
    few, many, absent = (str(folder / name) for name in ("few", "many", "absent"))
    summary = {"summary": str(folder / "summary.json")}
    kinds = {
        "candidates": summary | {"candidates": str(folder / "candidates.tsv")},
        "tables": summary | {"landmarks": [few, many]},
        "table": summary | {"landmarks": many},
        "nothing": {"landmarks": absent},
    }
    files = [str(folder / "columns.npy"), few, absent]
    questions = []
    for rule, resource, wildcards, kind, *more in QUESTIONS.values():
        attempt, threads = (*more, *[1, 1][len(more) :])
        inputs = [absent] if kind == "nothing" else files
        questions.append((rule, resource, wildcards, inputs, kinds[kind], attempt, threads))
    (folder / "config.yaml").write_text(json.dumps(CONFIG))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            ASKED,
            str(ROOT / "Snakefile"),
            "config.yaml",
            json.dumps(questions),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answers = dict(zip(QUESTIONS, json.loads(done.stdout.splitlines()[-1]), strict=True))
    return answers, 150 + (folder / "few").stat().st_size / 1e6


def test_minutes_of_alignment_are_those_of_the_share_of_a_block(asked):
    answers, _ = asked
    pairs = 2 * 60_000 + 45_000 + 100_000
    assert answers["class_scores"] == int(minutes(pairs))
    assert answers["class_scores_threads"] == int(minutes(pairs, threads=3))
    pairs = 100_000 * (FEW + MANY)
    assert answers["columns"] == int(minutes(pairs))
    assert answers["columns_again"] == int(2 * minutes(pairs))
    assert answers["unknown"] == int(minutes(70_000 * MANY, blocks=1))
    assert answers["clusters"] == int(2 * (30 + CLUSTERED * (1e-4 + 3 * CELLS / 2e9) / 60))


def test_memory_follows_the_inputs_that_are_there_and_the_attempt(asked):
    answers, mb = asked
    assert answers["reading"] == int(1000 + 40 * mb)
    assert answers["columns_memory"] == int(2 * (1000 + 512 + 40 * mb))
    assert answers["unknown_memory"] == 512 + int(3 * (1000 + 40 * mb))
    assert answers["evaluation"] == int(1000 + 60 * mb)
    assert answers["evaluation_minutes"] == int(3 * (10 + mb))


def test_memory_of_learning_has_a_bound_where_rows_are_read_by_tiles(asked):
    answers, mb = asked
    assert 24 * mb > 2048
    assert answers["factor"] == int(2 * (1000 + 2048 + SQUARES))
    assert answers["map"] == answers["model_by_tiles"] == int(1000 + 2048 + SQUARES)
    assert answers["model_of_all_rows"] == int(1000 + 24 * mb + SQUARES)
    assert answers["model_of_a_dry_run"] == 1000  # the landmarks are yet to be chosen
