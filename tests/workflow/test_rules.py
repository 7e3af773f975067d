"""The rules: targets, reruns, lint, and what must not leak."""

import copy
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from small_inputs import configuration, families, write_fasta, write_labels

ROOT = Path(__file__).parents[2]


def test_named_targets_reach_their_stage_only(workflow, small_config):
    run = workflow(small_config)
    jobs = run.jobs("landmarks")
    assert jobs["select_landmarks"] == 6  # 2 selectors, 2 folds and all
    assert "train_models" not in jobs
    assert "make_factor" not in jobs
    targets = ("dataset", "folds", "alignment", "factor", "correction", "model", "evaluation")
    jobs = run.jobs(*targets)
    assert set(targets) < set(jobs)
    assert jobs["train_models"] == 6
    assert "choose_final_model" not in jobs
    assert run.jobs("final_model")["choose_final_model"] == 1


def test_every_rule_with_a_script_has_all_that_it_should():
    text = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    rules = re.split(r"^ *rule\b", text, flags=re.MULTILINE)[1:]
    assert len(rules) >= 14
    for rule in rules:
        name = rule.split(":")[0].strip()  # those that a loop makes have none here
        for part in ("log", "threads", "resources", "mem_mb", "runtime", "conda"):
            assert part in rule, f"{name} has no {part}"
        if name == "download":  # checked by its checksum; new code is no reason to download again
            continue
        assert re.search(r"code=(lambda wildcards: \[\s*)?code\(", rule), (
            f"{name} has no digest of its code"
        )
        if name not in ("collect_times", "write_report"):  # they run after the times are collected
            assert "benchmark:" in rule, f"{name} has no benchmark"


@pytest.fixture
def copied(tmp_path):
    """A copy of the project that a test may change."""
    root = tmp_path / "project"
    for name in ("Snakefile", "config.yaml"):
        root.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for name in ("rules", "scripts", "lib", "schemas", "profiles", "report", "envs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_changed_content_reruns_and_a_time_stamp_does_not(
    copied, workflow, small_config, reference
):
    run = workflow(small_config, root=copied)
    run.start_from(reference)
    for path in (*copied.rglob("*.py"), *copied.rglob("*.smk"), *copied.rglob("*.j2")):
        os.utime(path)
    assert run.jobs() == {}

    module = copied / "lib" / "kreinflow" / "models" / "pcvm.py"
    module.write_text(module.read_text() + "\n# changed\n")
    jobs = run.jobs()
    assert jobs["train_models"] == 6
    untouched = {"read_dataset", "assign_folds", "align_columns", "select_landmarks", "make_factor"}
    assert untouched.isdisjoint(jobs)


def test_a_changed_setting_reruns_what_depends_on_it(workflow, small_config, reference):
    config = copy.deepcopy(small_config)
    config["learners"]["pcvm"]["max_iter"] = 101
    run = workflow(config)
    run.start_from(reference)
    jobs = run.jobs()
    assert jobs["train_models"] == 3  # of the selector meb; uniform has no PCVM
    assert "make_factor" not in jobs


def test_a_changed_residue_reaches_the_scores_if_the_dataset_was_read_by_itself(
    workflow, small_config, reference
):
    # `snakemake dataset`, or a kill after it: the records (id, label, row) are what they were.
    run = workflow(small_config)
    run.start_from(reference)
    assert run.jobs() == {}
    distinct = run.folder / "results" / "small" / "dataset" / "distinct.tsv"
    lines = distinct.read_text().splitlines(keepends=True)
    digest, length, residues = lines[1].split("\t")
    lines[1] = "\t".join(["0" * len(digest), length, "W" + residues[1:]])
    distinct.write_text("".join(lines))
    jobs = run.jobs()
    for rule in ("assign_folds", "align_class_scores", "align_columns", "gather_columns"):
        assert rule in jobs
    assert jobs["select_landmarks"] == jobs["train_models"] == 6


def test_a_mistake_in_the_config_ends_with_code_two_before_any_job(workflow, small_config):
    config = copy.deepcopy(small_config)
    config["recipies"] = config.pop("recipes")
    run = workflow(config)
    done = run.run(check=False)
    assert done.returncode == 2
    assert "unknown key 'recipies'; did you mean 'recipes'?" in done.stderr
    run.configure(small_config)
    with (run.folder / "config.yaml").open("a") as file:
        file.write("seed: 4\n")
    done = run.run(check=False)
    assert done.returncode == 2
    assert "config.yaml: not YAML: key 'seed' stands twice" in done.stderr
    assert not (run.folder / "results").exists()


def test_a_missing_input_ends_with_code_two_before_any_job(workflow, small_config):
    config = copy.deepcopy(small_config)
    config["datasets"]["small"]["source"] = {
        "type": "fasta",
        "fasta": "nowhere.fasta",
        "labels": {"pattern": "OS=(.)"},
    }
    run = workflow(config)
    done = run.run(check=False)
    assert done.returncode == 2
    assert "nowhere.fasta: no such file" in done.stderr


@pytest.mark.parametrize("target", ["all", "compare"])
@pytest.mark.parametrize(
    ("unknown", "unmatched"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_the_groups_of_the_profile_for_slurm_have_no_cycle(workflow, unknown, unmatched, target):
    """No group waits for a rule outside of it that waits for the group. No Slurm is needed."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"table": "x.tsv"}}
    if unmatched:
        source["unmatched"] = "classify"
    config = configuration(source)
    if unknown:
        config["datasets"]["mine"]["unknown"] = ["c"]
    config["classify"] = {"again": {"dataset": "mine", "input": "x.fasta"}}
    run = workflow(config | {"data": "data"})
    records = families(1)
    write_fasta(run.folder / "data" / "x.fasta", records)
    write_labels(run.folder / "data" / "x.tsv", records[:-1] if unmatched else records)
    jobs = run.jobs("--workflow-profile", str(ROOT / "profiles" / "slurm"), target)
    assert jobs["evaluate"] == (2 if target == "compare" else 1)
    if target == "all":
        assert jobs["write_report"] == 1
        assert ("draw_unknown" in jobs) == unknown
        assert jobs["classify_new"] == 1 + unmatched


def test_lint_and_format():
    lint = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], cwd=ROOT, capture_output=True, text=True
    )
    assert lint.returncode == 0, lint.stdout + lint.stderr
    formatted = subprocess.run(
        [str(Path(sys.executable).parent / "snakefmt"), "--check", "Snakefile", "rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert formatted.returncode == 0, formatted.stderr


def test_the_report_of_snakemake_has_the_items(workflow, small_config, reference, tmp_path):
    run, path = workflow(small_config), tmp_path / "report.zip"
    run.start_from(reference)
    run.run("--report", str(path))
    import zipfile

    names = " ".join(zipfile.ZipFile(path).namelist())
    assert "report" in names
    assert path.stat().st_size > 10_000
