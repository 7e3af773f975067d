"""The rules: targets, reruns, lint, and what must not leak."""

import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from kreinflow import __version__
from kreinflow.commands.main import main
from kreinflow.files.provenance import file_sha256
from kreinflow.report.names import WORKFLOW
from small_inputs import configuration, families, fasta_source, write_fasta, write_labels
from warm.server import warm_python
from workflow.conftest import ROOT, read


def test_named_targets_reach_their_stage_only(run):
    targets = ("dataset", "folds", "alignment", "factor", "correction", "model", "evaluation")
    jobs = run.jobs(*targets)
    assert set(targets) < set(jobs)
    assert jobs["train_models"] == 9
    assert "choose_final_model" not in jobs
    jobs = run.jobs("landmarks")
    assert jobs["select_landmarks"] == 3  # 2 folds and all
    assert "train_models" not in jobs


def test_small_files_take_few_jobs(workflow):
    """One job for the landmarks of all folds, and one for the models of three."""
    run = workflow(configuration(fasta_source(), data="data"))
    write_fasta(run.folder / "data" / "x.fasta", families(1))
    jobs = run.jobs("model")
    assert (jobs["select_landmarks"], jobs["train_models"]) == (1, 1)


def test_what_cannot_be_chosen_is_not_fitted_and_a_fold_behind_the_race_is_one_job(workflow):
    """Nor is it where jobs of larger files wait for the recipes with the fewest landmarks."""
    config = configuration(fasta_source(), data="data")
    for key in ("recipes", "learners", "selectors", "prefer", "inner_folds"):
        config.pop(key, None)
    config["alignment"] = {"blocks": 1}
    run = workflow(config)
    records = families(1, changed=0.02)
    write_fasta(run.folder / "data" / "x.fasta", records, "{id} family={label}; " + 20_000 * "x")
    jobs = run.jobs("model")  # of the first fold, one a selector
    assert [jobs[f"train_{of}"] for of in ("first_models", "models", "models_2")] == [1, 3, 2]
    dry = run.run("--dry-run", "model", cores="12")  # of 3 folds, each with 5 inner ones
    asked = re.findall(
        r"rule (train_\w+):\n(?: .*\n)*? +wildcards: .*fold=(\w+)\n(?: .*\n)*? +threads: (\d+)",
        dry.stdout + dry.stderr,
    )
    threads = {(rule, fold): int(count) for rule, fold, count in asked}
    assert threads == {
        ("train_first_models", "r0f0"): 5,
        ("train_models", "r0f0"): 5,
        ("train_models_2", "r0f1"): 4,
        ("train_models_2", "all"): 5,
    }
    run.run("--", "results/mine/models/fewer/r0f1.tsv")
    found = run.folder / "results" / "mine"
    fate = read(found / "race.tsv").set_index("recipe")
    assert fate["goes_on"].to_dict().pop("fewer-log-cascade") == "yes"
    dear = fate.index.str.startswith("many")
    assert fate.loc[dear, "why"].str.startswith("not fitted").tolist() == [True] * 3
    going = {recipe.partition("-")[0] for recipe in fate.index[fate["goes_on"] == "yes"]}
    folders = [found / "landmarks" / selector for selector in going]
    tables = [path for folder in folders for path in folder.glob("*.tsv")]
    aligned = set(read(found / "columns" / "landmarks.tsv")["row"])
    assert aligned == {row for path in tables for row in read(path)["row"]}
    assert not set(read(found / "landmarks" / "many" / "all.tsv")["row"]) <= aligned
    sizes = [len(read(found / "models" / f"{of}.tsv")) for of in ("fewer/r0f0", "many/r0f0")]
    assert [*sizes, len(read(found / "models" / "many" / "r0f1.tsv"))] == [1, 0, 0]


PARSED = """
import json, sys
from pathlib import Path
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, ResourceSettings

with SnakemakeApi(OutputSettings()) as api:
    workflow = api.workflow(
        resource_settings=ResourceSettings(cores=1),
        config_settings=ConfigSettings(config={"data": sys.argv[2]}),
        snakefile=Path(sys.argv[1]),
    )
    rules = {
        rule.name: {
            "script": rule.script,
            "log": [str(log) for log in rule.log],
            "benchmark": rule.benchmark and str(rule.benchmark),
            "conda": rule.conda_env and str(rule.conda_env),
            "container": rule.container_img,
            "resources": list(rule.resources),
            "code": "code" in rule.params.keys(),
        }
        for rule in workflow._workflow.rules
    }
print(json.dumps(rules))
"""
"""What Snakemake made of the rules."""


def test_every_rule_with_a_script_has_all_that_it_should(tmp_path):
    done = subprocess.run(
        [warm_python(), "-c", PARSED, str(ROOT / "Snakefile"), str(ROOT)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rules = json.loads(done.stdout.splitlines()[-1])
    rules = {name: rule for name, rule in rules.items() if rule["script"]}
    assert len(rules) >= 20
    scripts = {Path(rule["script"]).name for rule in rules.values()}
    assert scripts == {path.name for path in (ROOT / "scripts").glob("*.py")}
    for name, rule in rules.items():
        assert {"mem_mb", "runtime"} <= set(rule["resources"]), f"{name} asks for no resources"
        assert rule["log"], f"{name} has no log"
        assert rule["conda"], f"{name} has no environment"
        assert rule["container"] == f"docker://kreinflow/kreinflow:{__version__}"
        # A download is checked by its checksum; new code is no reason to download again.
        assert rule["code"] == (name != "download"), f"{name} has no digest of its code"
        timed = name not in ("write_report", "download")  # the times are collected before
        assert bool(rule["benchmark"]) == timed, f"{name} has no benchmark"


def test_changed_content_reruns_and_a_time_stamp_does_not(
    workflow, small_config, reference, tmp_path
):
    copied = tmp_path / "project"
    for name in ("rules", "scripts", "lib", "schemas", "profiles", "report", "envs"):
        shutil.copytree(ROOT / name, copied / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / name, copied / name)
    run = workflow(small_config, root=copied, cold=True)
    run.start_from(reference)
    for path in (*copied.rglob("*.py"), *copied.rglob("*.smk"), *copied.rglob("*.j2")):
        os.utime(path)
    assert run.jobs() == {}
    lost = run.folder / "results" / "report.txt"  # a file beside the page
    text = lost.read_bytes()
    lost.unlink()
    assert run.jobs().keys() == {"write_report", "all"}
    lost.write_bytes(text)

    module = copied / "lib" / "kreinflow" / "learners" / "pcvm.py"
    module.write_text(module.read_text() + "\n# changed\n")
    jobs = run.jobs()
    assert jobs["train_models"] == 9
    untouched = {"read_dataset", "assign_folds", "align_columns", "select_landmarks"}
    assert untouched.isdisjoint(jobs)


def test_a_changed_setting_and_a_changed_residue_rerun_what_depends_on_them(finished, small_config):
    small_config["learners"]["pcvm"]["max_iter"] = 101
    finished.configure(small_config)
    jobs = finished.jobs()
    assert jobs["train_models"] == 3  # of the selector meb; the others have no PCVM
    # `snakemake dataset`, or a kill after it: the records (id, label, row) are what they were.
    distinct = finished.folder / "results" / "small" / "dataset" / "distinct.tsv"
    lines = distinct.read_text().splitlines(keepends=True)
    digest, length, residues = lines[1].split("\t")
    lines[1] = "\t".join(["0" * len(digest), length, "W" + residues[1:]])
    distinct.write_text("".join(lines))
    jobs = finished.jobs()
    for rule in ("assign_folds", "align_class_scores", "align_columns", "gather_columns"):
        assert rule in jobs
    assert (jobs["select_landmarks"], jobs["train_models"]) == (3, 9)


@pytest.mark.parametrize("profile", ["slurm", "kubernetes", "googlebatch", "aws-batch"])
@pytest.mark.parametrize("target", ["compare", "all"])
def test_the_groups_of_a_profile_have_no_cycle(workflow, target, profile):
    """No group waits for a rule outside of it that waits for the group. Neither Slurm nor cloud."""
    pytest.importorskip(f"snakemake_executor_plugin_{profile.replace('-', '_')}")
    labels = {"table": "x.tsv"}
    config = configuration(fasta_source(labels=labels, unmatched="classify"), data="data")
    config["datasets"]["mine"] |= {"unknown": ["c"], "levels": {}}
    config["classify"] = {"again": {"dataset": "mine", "input": "x.fasta"}}
    run = workflow(config)
    records = families(1)
    write_fasta(run.folder / "data" / "x.fasta", records)
    write_labels(run.folder / "data" / "x.tsv", records[:-1])
    arguments = ["--workflow-profile", str(ROOT / "profiles" / profile)]
    if profile != "slurm":  # a bucket would be asked what it has: a folder answers in its place
        pytest.importorskip("snakemake_storage_plugin_fs")
        bucket = run.folder / "bucket"
        shutil.copytree(run.folder / "data", bucket / "data")
        arguments += ["--default-storage-provider", "fs", "--default-storage-prefix", str(bucket)]
    arguments.append(target)
    if target == "compare":  # what follows the groups of its folds is asked for by name
        folds = ("mine+homology-aware", "mine")
        arguments += ["--", *(f"results/{name}/compare/kreinflow/r0f0.tsv" for name in folds)]
    jobs = run.jobs(*arguments)
    assert jobs["evaluate"] == (2 if target == "compare" else 1)
    if target == "all":
        assert {"write_report", "draw_optional", "measure_levels"} <= set(jobs)
        assert jobs["classify_new"] == 2


def test_what_a_stop_waits_for_is_in_no_group_with_those_that_wait_for_it(workflow):
    pytest.importorskip("snakemake_executor_plugin_slurm")
    run = workflow({"datasets": {"mine": {"source": {"type": "simulated"}, "folds": {"k": 3}}}})
    jobs = run.jobs("--workflow-profile", str(ROOT / "profiles" / "slurm"), "all")
    names = "train_first_models", "stop", "train_models", "race", "train_models_2"
    assert [jobs[name] for name in names] == [1, 1, 3, 1, 3]


def test_lint():
    command = [warm_python(), "-m", "snakemake", "--lint"]
    lint = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_the_report_of_snakemake_has_the_items(finished, tmp_path):
    path = tmp_path / "report.zip"
    finished.run("--report", str(path))
    names = " ".join(zipfile.ZipFile(path).namelist())
    assert "report" in names
    assert path.stat().st_size > 10_000


def test_the_crate_names_what_the_run_made_and_when(finished):
    results = finished.folder / "results"
    crate = json.loads((results / "ro-crate-metadata.json").read_text())
    known = {entity["@id"]: entity for entity in crate["@graph"]}
    for name in (WORKFLOW, *(file["@id"] for file in known["#run"]["result"])):
        assert known[name]["sha256"] == file_sha256(results / name)
    assert (results / WORKFLOW).read_text() == (ROOT / "Snakefile").read_text()
    assert known["small/model.safetensors"]["description"] == "the final model"
    times, run = read(results / "small" / "times.tsv"), known["#run"]
    assert len(times) > 20
    assert run["startTime"] <= times["ended"].min() <= times["ended"].max() <= run["endTime"]


def test_what_check_refuses_the_workflow_refuses_before_any_job(run, small_config, capsys):
    datasets = small_config["datasets"]
    run.configure(small_config | {"datasets": datasets | {"report.html": datasets["small"]}})
    done = run.run(check=False)
    assert (done.returncode, main(["check", str(run.folder / "config.yaml")])) == (2, 2)
    for said in (done.stderr, capsys.readouterr().err):
        assert "'report.html' is the name of something else in the results" in said
    assert not (run.folder / "results").exists()
