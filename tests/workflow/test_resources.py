"""The memory and the minutes that rules ask a cluster for, by figures made up for them."""

import json
import subprocess
import sys

import numpy as np
import pytest
import yaml

from kreinflow.compare.words import INNER_FOLDS, LEARNER, LIFT
from kreinflow.config import cascade_costs, costs
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.costs import Seconds
from kreinflow.files.artifacts import write_array, write_arrays, write_json
from kreinflow.fitting.cascade_choice import Wanted
from kreinflow.learners.registry import make_learner
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
LOSS = Wanted(loss=0.001)
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

QUESTIONS = {
    "class_scores": ("align_class_scores", "runtime", {}, "candidates"),
    "class_scores_threads": ("align_class_scores", "runtime", {}, "candidates", 1, 3),
    "columns": ("align_columns", "runtime", {}, "tables"),
    "columns_again": ("align_columns", "runtime", {}, "tables", 2),
    "columns_memory": ("align_columns", "mem_mb", {}, "tables", 2),
    "unknown": ("score_unknown", "runtime", {}, "table"),
    "unknown_memory": ("score_unknown", "mem_mb", {}, "table", 3),
    "gathering": ("gather_columns", "runtime", {}, "tables"),
    "clusters": ("assign_homology_folds", "runtime", {}, "table", 2),
    "competitor": ("run_competitor", "runtime", BLAST, "table", 1, 2),
    "competitor_memory": ("run_competitor", "mem_mb", BLAST, "table", 2),
    "words": ("run_competitor", "runtime", WORDS, "table", 1, 2),
    "words_memory": ("run_competitor", "mem_mb", WORDS, "table"),
    "reading": ("read_dataset", "mem_mb", {}, "table"),
    "folds": ("assign_folds", "runtime", {}, "table"),
    "selection": ("select_landmarks", "runtime", FOLD, "candidates"),
    "map_memory": ("map_landmarks", "mem_mb", {}, "tables"),
    "training": ("train_models", "runtime", MEB, "table"),
    "training_of_few": ("train_models", "runtime", MEB, "few"),
    "training_of_all": ("train_models", "runtime", {"selector": "meb", "fold": "all"}, "table"),
    "training_by_tiles": ("train_models", "mem_mb", MEB, "table"),
    "training_with_all_rows": ("train_models", "mem_mb", UNIFORM, "table"),
    "training_in_a_group_that_chooses": ("train_models", "mem_mb", UNIFORM, "unchosen"),
    "training_that_asks": ("train_models", "runtime", ASKING, "table"),
    "training_that_asks_memory": ("train_models", "mem_mb", ASKING, "table"),
    "unknown_that_ask": ("measure_unknown", "runtime", {}, "table", 1, 2),
    "unknown_that_ask_memory": ("measure_unknown", "mem_mb", {}, "table"),
    "gathering_vectors": ("gather_columns", "runtime", {}, "vectors"),
    "gathering_strings": ("gather_columns", "runtime", {}, "strings"),
    "selection_vectors": ("select_landmarks", "runtime", FOLD, "vectors"),
    "unknown_strings": ("score_unknown", "runtime", {}, "strings"),
    "new": ("classify_new", "runtime", {"name": "x"}, "new", 1, 4),
    "new_turned": ("classify_new", "runtime", {"name": "turned"}, "new", 1, 4),
    "new_asking": ("classify_new", "runtime", {"name": "x"}, "new_asking", 1, 4),
    "new_packed": ("classify_new", "runtime", {"name": "x"}, "new_packed", 1, 4),
    "new_vectors": ("classify_new", "runtime", {"name": "x"}, "new_vectors", 1, 4),
    "evaluation": ("evaluate", "runtime", {}, "table", 3),
    "evaluation_memory": ("evaluate", "mem_mb", {}, "table"),
}


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


@pytest.fixture(scope="module")
def asked(ask):
    """The answers to the questions above."""
    return dict(zip(QUESTIONS, ask(QUESTIONS.values())[1], strict=True))


def learners_of_meb():
    """The learner of each recipe with the selector meb."""
    known = complete_configuration(CONFIG, "the test")["learners"]
    return [make_learner(known[name]) for name in ("ikfd", "ikfd", "pcvm")]


def pairs_of_classes(sketch):
    return 2 * 60_000 + 45_000 + sketch


def selection(statistics, pairs, *of_score):
    """Of all selectors: a fold has one job."""
    seconds = (
        costs.selection_seconds(statistics, pairs, method, *of_score)
        for method in ("meb", "uniform", "uniform")
    )
    return sum(seconds, Seconds())


def test_minutes_of_alignment_are_those_of_the_share_of_a_block(asked):
    def minutes(pairs, **more):
        return costs.minutes(costs.alignment_seconds(STATISTICS, pairs), **more)

    pairs = (2 * 60_000 + 45_000 + 100_000) / BLOCKS
    assert asked["class_scores"] == minutes(pairs)
    assert asked["class_scores_threads"] == minutes(pairs, threads=3)
    pairs = 100_000 * (FEW + MANY) / BLOCKS
    assert asked["columns"] == minutes(pairs)
    assert asked["columns_again"] == minutes(pairs, attempt=2)
    assert asked["unknown"] == minutes(70_000 * MANY)
    assert asked["selection"] == costs.minutes(selection(STATISTICS, pairs_of_classes(100_000)))


def test_minutes_follow_what_a_job_does(asked):
    folds = costs.minutes(costs.dataset_seconds(STATISTICS))
    assert asked["folds"] == folds  # stratified: no clusters
    assert asked["gathering"] == costs.minutes(costs.gathering_seconds(STATISTICS, FEW + MANY))
    assert asked["clusters"] == costs.minutes(costs.clustering_seconds(STATISTICS), attempt=2)
    assert asked["competitor"] == costs.minutes(
        costs.competitor_seconds(STATISTICS, 1 / 2), threads=2
    )
    assert asked["competitor_memory"] == 2 * (2 * costs.BASE_MB + 100 * MEGABYTES)
    learners = [make_learner(LEARNER)]
    assert asked["words"] == costs.minutes(
        costs.training_seconds(STATISTICS, LIFT["inducing"], learners, INNER_FOLDS, 1 / 2),
        threads=2,
    )
    assert asked["words_memory"] == int(
        costs.learning_mb(STATISTICS, LIFT["inducing"], 2048, learners, 1 / 2)
    )
    evaluated = Seconds(costs.EVALUATED_MB * MEGABYTES)
    assert asked["evaluation"] == costs.minutes(evaluated, attempt=3)


def test_scores_of_a_kernel_are_asked_for_where_they_are_computed(asked):
    """By the features of the vectors, and the letters of the strings."""
    vectors, strings = (
        costs.kernel_seconds({"name": KERNELS[name]}, size)
        for name, size in (("vectors", FEATURES), ("strings", LETTERS))
    )
    pairs = pairs_of_classes(2000)  # the sketch is a row of that
    for name, seconds in (
        ("gathering_vectors", costs.gathering_seconds(MEASURED, FEW + MANY, vectors)),
        ("gathering_strings", costs.gathering_seconds(MEASURED, FEW + MANY, strings)),
        ("selection_vectors", selection(MEASURED, pairs, vectors)),
        ("unknown_strings", Seconds(70_000 * (FEW + MANY) * strings)),
    ):
        assert asked[name] == costs.minutes(seconds) > costs.START_MINUTES


def test_classification_is_asked_for_by_the_landmarks_of_the_model(asked):
    """100 MB are 10^8 residues; packed ones are four times as many. Cascades align more."""
    aligned = 1e8 / 350 * MANY * (3e-8 + 4e-11 * 350**2)
    one, both, packed = (
        costs.minutes(Seconds(times * 50, times * aligned), threads=4) for times in (1, 2, 4)
    )
    assert [asked[f"new{x}"] for x in ("", "_turned", "_packed")] == [one, both, packed]
    assert one > 30
    more = (MANY + 1 + MANY / 2) / MANY
    assert asked["new_asking"] == costs.minutes(Seconds(50, more * aligned), threads=4) > one
    kernel = {"name": KERNELS["vectors"]}
    seconds = costs.comparison_seconds(100, MANY, FEATURES, kernel)
    assert asked["new_vectors"] == costs.minutes(seconds, threads=4)
    assert seconds.on(4) == seconds.on(1)


def test_training_is_asked_for_by_its_own_landmarks_recipes_and_fits(asked):
    """Not by the columns of all folds, of which the inputs have 150 MB."""
    seconds = [
        costs.training_seconds(STATISTICS, m, learners_of_meb(), 3, tested)
        + costs.factor_seconds(105_000, m)  # the recipes share it
        for m, tested in ((MANY, 1 / 2), (FEW, 1 / 2), (MANY, 0))
    ]
    names = ("training", "training_of_few", "training_of_all")
    assert [asked[name] for name in names] == [costs.minutes(s) for s in seconds]
    assert asked["training_of_few"] < asked["training"] / 2


def test_what_cascades_ask_is_aligned_where_models_are_trained_and_the_unknown_are_measured(asked):
    learners, tested = [make_learner({"method": "nearest_landmark"})], 1 / 2
    pairs = cascade_costs.asked_pairs(STATISTICS, LOSS, tested)
    seconds = costs.training_seconds(STATISTICS, MANY, learners, 3, tested)
    seconds += cascade_costs.cascade_seconds(STATISTICS, LOSS, MANY, 0, 3, tested)
    seconds += costs.alignment_seconds(STATISTICS, pairs)
    assert asked["training_that_asks"] == costs.minutes(seconds)
    mb = costs.learning_mb(STATISTICS, MANY, 2048, learners, tested)
    mb += cascade_costs.cascade_mb(STATISTICS, LOSS, MANY, 0, 3, tested, 2048)
    assert asked["training_that_asks_memory"] == int(mb)
    pairs = cascade_costs.unknown_asked_pairs(STATISTICS, 2 * [LOSS])
    seconds = Seconds(costs.EVALUATED_MB * MEGABYTES) + costs.alignment_seconds(STATISTICS, pairs)
    assert asked["unknown_that_ask"] == costs.minutes(seconds, threads=2)
    mb = costs.BASE_MB + 30 * MEGABYTES + costs.PAIR_BYTES * pairs / 1e6
    assert asked["unknown_that_ask_memory"] == int(mb)


def test_memory_follows_the_data_and_the_attempt(asked):
    base = costs.BASE_MB + costs.dataset_mb(STATISTICS)
    assert asked["columns_memory"] == int(2 * (base + 512))
    assert asked["reading"] == costs.BASE_MB + 40 * MEGABYTES
    assert asked["unknown_memory"] == int(3 * (costs.BASE_MB + 40 * MEGABYTES + 512))
    assert asked["evaluation_memory"] == costs.BASE_MB + 30 * MEGABYTES


def test_memory_of_learning_has_a_bound_where_rows_are_read_by_tiles(asked):
    base = costs.BASE_MB + costs.dataset_mb(STATISTICS)
    squares, rows = costs.square_mb(MANY), 48 * 105_000 * MANY / 1e6
    cells = 105_000 * 2
    assert rows > 2048
    assert asked["map_memory"] == int(base + 2048 + squares)
    by_class = cells * (8 * 13 + 150 / 2 * 3) / 1e6  # nine ridges are tried, three tables written
    assert asked["training_by_tiles"] == int(base + 2048 + squares + by_class)
    by_class = cells * (8 * 5 + 150 / 2 * 2) / 1e6
    assert asked["training_with_all_rows"] == int(base + rows + squares + by_class)
    assert asked["training_in_a_group_that_chooses"] == int(base + 64 + by_class)


def test_rows_take_less_where_jobs_are_given_less_memory(ask):
    question = ("train_models", "learning_memory_mb", MEB, "table")
    assert ask([question])[1] == [2048]
    assert ask([question], mem_mb=3000)[1] == [3000 - costs.BASE_MB - 16 * 8 * MANY**2 // 10**6]


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
    assert ask(questions, max_runtime=8, **groups)[1] == [1]
    message = ask(questions, max_runtime=7, refused=True, **groups)
    assert message.startswith("kreinflow input error: resources: max_runtime: 7 minutes are less")
    assert "8 jobs" in message
    assert "group models" in message
    assert "Set group-components models=1, or a longer max_runtime." in message
    few = groups | {"components": {"models": 1}}
    assert ask(questions, max_runtime=7, **few)[1] == [7]


def test_it_is_refused_before_any_job_runs(tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps(CONFIG))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--cores", "1"),
            *("--configfile", "config.yaml", "--resources", "max_runtime=3", "--groups"),
            *("train_models=models", "--group-components", "models=8"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "Set group-components models=1, or a longer max_runtime." in done.stderr
    assert not (tmp_path / "results").exists()
