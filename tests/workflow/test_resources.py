"""The memory and the minutes that rules ask a cluster for, by figures made up for them."""

import json
import re
import subprocess

import pytest
import yaml

from kreinflow.config.configuration import complete_configuration
from kreinflow.config.costs import RunCosts
from kreinflow.config.part_costs import BASE_MB, START_MINUTES
from kreinflow.config.plan import DatasetPlan
from kreinflow.files.json_files import write_json
from warm.server import warm_python
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
    rules = {rule.name: rule for rule in workflow.rules}

    def asked(rule, resource, wildcards, attempt=1, threads=1):
        inputs = Input(["big.npy", "absent"])
        inputs.new = "new.fasta"
        own = {} if rule == "write_report" else {"dataset": "small", **wildcards}
        return rules[rule].resources[resource].evaluate(
            SimpleNamespace(**own), input=inputs, attempt=attempt, threads=threads,
        ).value

    answers = [asked(*question) for question in given["questions"]]
    groups = []  # the minutes of several jobs of a rule together
    for number, question in given["sums"]:
        job = SimpleNamespace(
            pipe_group=None, resources={"_cores": 1, "runtime": asked(*question)}
        )
        summed = GroupResources.basic_layered([[job] * number], workflow.global_resources, False)
        groups.append(summed["runtime"])
print(json.dumps([answers, groups]))
"""
"""What resources of rules are, of inputs that need not be those of a run."""

STATISTICS = {
    "distinct": 100_000,
    "class_sizes": {"a": 60_000, "b": 45_000},
    "lengths": {"mean": 3000.0},
    "unknown": {"c": 50_000, "d": 20_000},
}
LANDMARKS, MEGABYTES = 3000, 150
REQUEST = {"dataset": "small", "input": "new.fasta"}
CONFIG = SMALL | {"classify": {"x": REQUEST, "parted": REQUEST | {"parts": 30}}}
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
GROUPS = {
    "groups": dict(line.split("=") for line in PROFILE["groups"]),
    "components": {
        name: int(number)
        for name, number in (line.split("=") for line in PROFILE["group-components"])
    },
}
MEB = {"selector": "meb", "fold": "r0f0"}
RULES = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """A function that returns answers to questions, and sums."""
    folder = tmp_path_factory.mktemp("resources")
    made = folder / "results" / "small"
    (made / "dataset").mkdir(parents=True)
    write_json(made / "dataset" / "summary.json", {"statistics": STATISTICS, "kernel": None})
    (made / "landmarks" / "meb").mkdir(parents=True)
    (made / "landmarks" / "meb" / "r0f0.tsv").write_text("row\n" + "5\n" * LANDMARKS)
    for name in ("big.npy", "new.fasta"):
        with (folder / name).open("wb") as file:
            file.truncate(MEGABYTES * 1_000_000)  # without a byte on the disk
    (folder / "config.yaml").write_text(json.dumps(CONFIG))

    def answers(questions, sums=(), cores=1, groups=None, components=None, **resources):
        given = {
            "questions": questions,
            "sums": sums,
            "cores": cores,
            "groups": groups or {},
            "components": components or {},
            "resources": resources,
        }
        done = subprocess.run(
            [warm_python(), "-c", ASKED, ROOT / "Snakefile", "config.yaml", json.dumps(given)],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return answers


def test_jobs_ask_for_what_the_model_expects(ask):
    plan = DatasetPlan(complete_configuration(SMALL), "small")
    run = RunCosts(plan, STATISTICS, given={"meb": LANDMARKS})
    every = RunCosts(plan, STATISTICS)
    wanted = {
        "align_columns": (every.block("columns"), {}),
        "train_models": (run.training("meb"), MEB),
        "classify_new": (every.classifying(MEGABYTES), {"name": "x"}),
        "classify_part": (every.classifying(MEGABYTES / 30), {"name": "parted"}),
        "score_unknown": (every.unknown(), {}),
    }
    questions = [
        (rule, resource, wildcards, 2, 4)
        for rule, (_, wildcards) in wanted.items()
        for resource in ("mem_mb", "runtime")
    ]
    questions += [("evaluate", "mem_mb", {}), ("race", "runtime", {})]
    *answers, rows = ask([*questions, ("train_models", "learning_memory_mb", MEB)])[0]
    expected = [
        figure
        for cost, _ in wanted.values()
        for figure in (cost.megabytes(attempt=2), cost.minutes(4, attempt=2))
    ]
    assert answers == [*expected, BASE_MB + MEGABYTES * 30, START_MINUTES]
    assert min(expected) > START_MINUTES
    assert rows == 2048


def test_no_rule_asks_for_more_than_the_queue_allows_and_rows_take_what_is_left(ask):
    """Each rule that has a script, each attempt; jobs are given less memory than rows may take."""
    wildcards = MEB | {"name": "x", "competitor": "blast"}
    names = re.findall(r"^ +\*\*asks\(\"(\w+)\"", "".join(RULES), re.MULTILINE)
    names += ["align_columns", "align_class_scores", "read_dataset", "select_landmarks"]
    names.append("train_models")
    assert len(names) > 20
    questions = [(name, "runtime", wildcards, n) for name in names for n in (1, 2, 3)]
    rows = ("train_models", "learning_memory_mb", MEB)
    report = ("write_report", "learning_memory_mb", {})
    *answers, of_all, left = ask([*questions, report, rows], max_runtime=7, mem_mb=3000)[0]
    assert [q for q, a in zip(questions, answers, strict=True) if not 1 <= a <= 7] == []
    assert of_all == 2048
    assert left == 3000 - BASE_MB - 16 * 8 * LANDMARKS**2 // 10**6


def test_no_group_asks_for_more_than_the_queue_allows(ask):
    """Snakemake sums the run time of jobs in a group that wait for each other, or for a core."""
    plan = DatasetPlan(complete_configuration(SMALL), "small")
    free = RunCosts(plan, STATISTICS, given={"meb": LANDMARKS}).training("meb")
    questions = [("train_models", "runtime", MEB, n) for n in (1, 3)]
    assert free.minutes() > 60
    sums = [(8, question) for question in questions]
    sums += [(8, ("select_landmarks", "runtime", {"fold": "r0f0"}, n)) for n in (1, 3)]
    groups = GROUPS | {"cores": PROFILE["cores"]}
    bound, sums = ask(questions, sums, max_runtime=120, **groups)
    assert bound == [60, 60]  # twice four side by side
    assert all(summed <= 120 for summed in sums)
    assert all(summed > 60 for summed in sums[:2])
