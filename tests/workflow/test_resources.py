"""The memory and the minutes that rules ask a cluster for, of inputs that are made up.

The figures themselves are those of ``tests/config``; here is what each rule makes of its inputs.
"""

import json
import subprocess
import sys

import numpy as np
import pytest
import yaml

from kreinflow.files.arrays import write_array, write_arrays
from kreinflow.files.json_files import write_json
from kreinflow.papers.experiments import load_experiments
from workflow.conftest import ROOT, SMALL

ASKED = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from snakemake.api import SnakemakeApi
from snakemake.resources import GroupResources
from snakemake.settings.types import ConfigSettings, GroupSettings, OutputSettings, ResourceSettings

class Input(list):
    pass

snakefile, config, given = sys.argv[1:]
given = json.loads(given)
with SnakemakeApi(OutputSettings()) as api:
    workflow = api.workflow(
        resource_settings=ResourceSettings(cores=given["cores"], resources=given["resources"]),
        config_settings=ConfigSettings(configfiles=[Path(config)]),
        snakefile=Path(snakefile),
    )._workflow
    workflow.group_settings = GroupSettings(given["groups"], given["components"])
    # The small config is one of proteins, of which nobody may ask it.
    workflow.globals["CONFIG"]["classify"]["turned"] = {"strand": "both"}
    rules = {rule.name: rule for rule in workflow.rules}

    def asked(rule, resource, wildcards, files, named, attempt=1, threads=1):
        inputs = Input(files)
        vars(inputs).update(named)
        wildcards = SimpleNamespace(dataset="small", **wildcards)
        return rules[rule].resources[resource].evaluate(
            wildcards, input=inputs, attempt=attempt, threads=threads
        ).value

    answers = [asked(*question) for question in given["questions"]]
    # Rules of a group that wait for each other, and how many jobs each has.
    groups = []
    for levels, wildcards, files, named, attempt in given["sums"]:
        toposorted = [
            [
                SimpleNamespace(
                    pipe_group=None,
                    resources={
                        "_cores": 1,
                        "runtime": asked(rule, "runtime", wildcards, files, named, attempt),
                    },
                )
            ] * count
            for rule, count in levels
        ]
        summed = GroupResources.basic_layered(toposorted, workflow.global_resources, False)
        groups.append(summed["runtime"])
scripts = [name for name, rule in rules.items() if rule.script]
print(json.dumps([scripts, answers, groups]))
"""
"""What resources of rules are, of inputs that need not be those of a run."""

CONFIG = SMALL | {
    # Of the learners with the selector uniform one needs all rows at once.
    "selectors": SMALL["selectors"] | {"asking": {"method": "uniform", "budget": 9}},
    "recipes": [
        *(recipe for recipe in SMALL["recipes"] if "cascade" not in recipe),
        {"name": "svc", "selector": "uniform", "learner": "svc"},
        {"name": "asks", "selector": "asking", "learner": "nearest", "cascade": {}},
    ],
}
STATISTICS = {
    "distinct": 100_000,
    "class_sizes": {"a": 60_000, "b": 45_000},
    "lengths": {"mean": 3000.0},
    "unknown": {"c": 50_000, "d": 20_000},
}
FEW, MANY = 1000, 2000
MEASURED = STATISTICS | {"distinct": 2000, "lengths": {}}
KERNELS = {"vectors": "dynamic_time_warping", "strings": "edit_distance"}
FEATURES, LETTERS = 500, 2000
BLOCKS = 2  # of the small config; 512 and 2048 MB are the defaults of its memory
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
GROUPS = dict(line.split("=") for line in PROFILE["groups"])
COMPONENTS = {k: int(v) for k, v in (line.split("=") for line in PROFILE["group-components"])}
FOLD = {"fold": "r0f0"}
BLAST, WORDS = FOLD | {"competitor": "blast"}, FOLD | {"competitor": "words"}
MEB, UNIFORM = FOLD | {"selector": "meb"}, FOLD | {"selector": "uniform"}
ASKING = FOLD | {"selector": "asking"}
MEGABYTES = 150  # of the inputs

PAIRS = [  # what asks for more, what for less, and how many times at least
    (("align_class_scores", "runtime", {}, "candidates"), {"threads": 3}, 1.3),
    (("align_columns", "runtime", {}, "tables", 2), {"attempt": 1}, 2),
    (("align_columns", "runtime", {}, "tables"), {"kind": "few"}, 2.5),
    (("align_columns", "mem_mb", {}, "tables", 2), {"attempt": 1}, 2),
    (("score_unknown", "runtime", {}, "table"), {"kind": "few"}, 1.9),
    (("score_unknown", "mem_mb", {}, "table", 3), {"attempt": 1}, 3),
    (("gather_columns", "runtime", {}, "strings"), {"kind": "tables"}, 3),
    (("gather_columns", "runtime", {}, "vectors"), {"kind": "tables"}, 3),
    (("select_landmarks", "runtime", FOLD, "vectors"), {"kind": "strings"}, 2),
    (("assign_homology_folds", "runtime", {}, "table", 2), {"attempt": 1}, 2),
    (("run_competitor", "mem_mb", BLAST, "table", 2), {"attempt": 1}, 2),
    (("run_competitor", "runtime", WORDS, "table"), {"threads": 2}, 1.4),
    (("train_models", "runtime", MEB, "table"), {"kind": "few"}, 2),
    (("train_models", "runtime", ASKING, "table"), {"wildcards": UNIFORM}, 10),
    (("train_models", "mem_mb", UNIFORM, "table"), {"kind": "unchosen"}, 1.5),
    (("train_models", "mem_mb", UNIFORM, "table"), {"wildcards": MEB}, 2),
    (("measure_unknown", "runtime", {}, "table"), {"threads": 2}, 1.8),
    (("classify_new", "runtime", {"name": "turned"}, "new"), {"wildcards": {"name": "x"}}, 1.9),
    (("classify_new", "runtime", {"name": "x"}, "new_packed"), {"kind": "new"}, 3.5),
    (("classify_new", "runtime", {"name": "x"}, "new_asking"), {"kind": "new"}, 1.4),
    (("classify_new", "runtime", {"name": "x"}, "new"), {"threads": 4}, 3),
    (("evaluate", "runtime", {}, "table", 3), {"attempt": 1}, 3),
]


def write_model(path, kernel, alignments=None, **arrays):
    """Write what is read of a model to know how long it takes."""
    training = {} if alignments is None else {"alignments_per_query": alignments}
    header = {"kernel": kernel, "scheme": None, "about": {"training": training}}
    write_arrays(path, "kreinflow model 2", header, arrays)


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """A function that returns the rules that have a script, answers to questions, and sums."""
    folder = tmp_path_factory.mktemp("resources")
    write_json(folder / "summary.json", {"statistics": STATISTICS, "kernel": None})
    for name in ("vectors", "strings"):
        (folder / name).mkdir()
        kernel = {"name": KERNELS[name]}
        write_json(folder / name / "summary.json", {"statistics": MEASURED, "kernel": kernel})
    write_array(folder / "vectors" / "vectors.npy", np.zeros((1, FEATURES)))
    with (folder / "strings" / "distinct.tsv").open("wb") as file:
        file.truncate(LETTERS * MEASURED["distinct"])
    residues = np.zeros(MANY * 350, np.uint8)
    ends = np.arange(1, MANY + 1, dtype=np.int64) * 350
    landmarks = {"landmark_residues": residues, "landmark_ends": ends}
    write_model(folder / "aligned.model", None, **landmarks)
    write_model(folder / "asking.model", None, MANY + 1 + MANY / 2, **landmarks)
    write_model(
        folder / "vectors.model",
        {"name": KERNELS["vectors"]},
        landmark_vectors=np.zeros((MANY, FEATURES)),
    )
    for name in ("new.fasta", "new.fasta.gz"):
        with (folder / name).open("wb") as file:
            file.truncate(100_000_000)
    (folder / "candidates.tsv").write_text("class\trow\na\t1\na\t2\nb\t3\n\t4\n")
    for name, count in (("few", FEW), ("many", MANY)):
        (folder / name).write_text("row\n" + "5\n" * count)
    with (folder / "columns.npy").open("wb") as file:
        file.truncate(MEGABYTES * 1_000_000)  # without a byte on the disk
    few, many, absent = (str(folder / name) for name in ("few", "many", "absent"))
    summary = {"summary": str(folder / "summary.json")}
    candidates = str(folder / "candidates.tsv")
    kinds = {
        "candidates": summary | {"candidates": candidates},
        "tables": summary | {"landmarks": [few, many]},
        "table": summary | {"landmarks": many},
        "few": summary | {"landmarks": few},
        "unchosen": summary | {"landmarks": absent},
    }
    for name in ("vectors", "strings"):
        summary = {"summary": str(folder / name / "summary.json"), "candidates": candidates}
        kinds[name] = summary | {"landmarks": [few, many]}
    for name, model, new in (
        ("new", "aligned", "new.fasta"),
        ("new_asking", "asking", "new.fasta"),
        ("new_packed", "aligned", "new.fasta.gz"),
        ("new_vectors", "vectors", "new.fasta"),
    ):
        kinds[name] = {"model": str(folder / f"{model}.model"), "new": str(folder / new)}
    kinds["all"] = kinds["candidates"] | kinds["table"] | kinds["new"]
    kinds["all"] |= {"columns": str(folder / "columns.npy")}
    (folder / "config.yaml").write_text(json.dumps(CONFIG))
    files = [str(folder / "columns.npy"), absent]

    def answers(
        questions, sums=(), cores=1, groups=None, components=None, refused=False, **resources
    ):
        given = {
            "questions": [[*q[:3], files, kinds[q[3]], *q[4:]] for q in questions],
            "sums": [(levels, w, files, kinds[kind], n) for levels, w, kind, n in sums],
            "cores": cores,
            "groups": groups or {},
            "components": components or {},
            "resources": resources,
        }
        done = subprocess.run(
            [sys.executable, "-c", ASKED, ROOT / "Snakefile", "config.yaml", json.dumps(given)],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if refused:
            assert done.returncode == 2
            return done.stderr
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return answers


def test_rules_ask_for_what_their_inputs_and_attempts_need(ask):
    names = ("rule", "resource", "wildcards", "kind", "attempt", "threads")
    more, less = [], []
    for question, other, _ in PAIRS:
        full = dict(zip(names, (*question, 1, 1)[:6], strict=False)) | {"threads": 1}
        more.append(tuple(full.values()))
        less.append(tuple((full | other).values()))
    answers = ask(more + less)[1]
    for pair, a, b in zip(PAIRS, answers[: len(more)], answers[len(more) :], strict=True):
        assert a >= 0.99 * pair[2] * b > 0, (pair, a, b)


def test_rows_take_less_where_jobs_are_given_less_memory(ask):
    question = ("train_models", "learning_memory_mb", MEB, "table")
    assert ask([question])[1] == [2048]
    assert 0 < ask([question], mem_mb=3000)[1][0] < 2048


def test_no_rule_asks_for_more_than_the_queue_allows(ask):
    wildcards = UNIFORM | {
        "name": "x",
        "competitor": "blast",
        "experiment": next(iter(load_experiments())),
    }
    names = ask([])[0]
    assert len(names) > 20
    questions = [(name, "runtime", wildcards, "all", n) for name in names for n in (1, 2, 3)]
    _, answers, _ = ask(questions, max_runtime=7)
    assert [q for q, a in zip(questions, answers, strict=True) if not 1 <= a <= 7] == []


def test_no_group_asks_for_more_than_the_queue_allows(ask):
    """Snakemake sums the run time of jobs in a group that wait for each other, or for a core."""
    attempts = (1, 3)
    questions = [("train_models", "runtime", MEB, "table", n) for n in attempts]
    models, landmarks = ([(name, 8)] for name in ("train_models", "select_landmarks"))
    sums = [(models, MEB, "table", n) for n in attempts]
    sums += [(landmarks, MEB, "candidates", n) for n in attempts]
    groups = {"groups": GROUPS, "components": COMPONENTS, "cores": PROFILE["cores"]}
    _, free, (*models, _, _) = ask(questions, sums, **groups)
    assert all(both >= 2 * one > 120 for both, one in zip(models, free, strict=True))
    _, bound, (*models, a, b) = ask(questions, sums, max_runtime=120, **groups)
    assert bound == [60, 60]  # twice four side by side
    assert all(60 < both <= 120 for both in models)
    assert max(a, b) <= 120


def test_a_group_that_cannot_keep_to_the_queue_is_refused(ask):
    """A job asks for a minute at least: eight one after the other need 8."""
    questions = [("train_models", "runtime", MEB, "table")]
    groups = {"groups": GROUPS, "components": COMPONENTS}
    message = ask(questions, max_runtime=7, refused=True, **groups)
    assert message.startswith("kreinflow input error: resources: max_runtime: 7 minutes are less")
    assert "8 jobs" in message
    assert "group models" in message
    assert "Set group-components models=1, or a longer max_runtime." in message
