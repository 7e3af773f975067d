"""Each failed job has a reason: on one machine, and under a Slurm that refuses and cancels."""

import pytest

from fake_slurm import FakeSlurm
from workflow.conftest import ROOT, write_bad_fasta

pytest.importorskip("snakemake_executor_plugin_slurm")
PROFILE = ROOT / "profiles" / "slurm"
SITE = (
    *("--workflow-profile", str(PROFILE), "--latency-wait", "1"),
    *("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1"),
)
HURRIED = """
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

RemoteExecutor.next_seconds_between_status_checks = property(lambda _: 1, lambda _, wanted: None)
main()
"""
"""Snakemake, asking Slurm each second, where the plugin would wait ten seconds longer each time."""
PARTITION = "Batch job submission failed: Invalid partition name specified"
TIME_LIMIT = "Batch job submission failed: Requested time limit is invalid"
NO_MEMORY = "slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch."
LATE = "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-01 DUE TO TIME LIMIT ***"


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    slurm = FakeSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.path)
    return slurm


def ended(run, *arguments):
    """What a run that fails says at its end, below the line that begins our list."""
    done = run.run(*SITE, *arguments, check=False, snakemake=("-c", HURRIED))
    assert done.returncode == 1, done.stderr
    assert "no reason was found" not in done.stderr
    _, found, rest = done.stderr.partition("kreinflow: jobs that failed, and why:\n")
    assert found, done.stderr
    return rest, done.stderr


@pytest.mark.parametrize(
    ("plan", "factors", "reason"),
    [
        ([f"refuse {PARTITION}"], [1, 1], PARTITION),
        ([f"TIMEOUT {LATE}", f"OUT_OF_MEMORY {NO_MEMORY}"], [1, 2], "Detected 1 oom_kill event"),
    ],
)
def test_a_job_that_slurm_ends_has_its_reason_and_asks_for_more_if_it_had_too_little(
    run, slurm, plan, factors, reason
):
    slurm.plan(*plan)
    rest, _ = ended(run, "--retries", str(len(factors) - 1), "dataset")
    assert rest.startswith("read_dataset (dataset=small):\n")
    assert reason in rest
    for option in ("--mem", "-t"):
        first, *_ = asked = [int(value) for value in slurm.asked(option)]
        assert asked == [factor * first for factor in factors]


def test_a_fault_of_the_users_is_not_submitted_again(run, small_config, slurm):
    write_bad_fasta(run, small_config)
    slurm.plan("run")
    rest, _ = ended(run, "dataset")
    assert len(slurm.asked("--mem")) == 1
    assert "kreinflow input error:" in rest
    assert "x.fasta, record 2 (line 3), b: residue 3 is '1'" in rest
    assert "log: results/small/logs/dataset.log" in rest


def test_the_words_on_a_refused_group_are_shown_and_the_logs_of_an_older_run_are_not(
    finished, slurm
):
    logs = finished.folder / "results" / "small" / "logs"
    old = logs / "model.meb.r0f0.log"
    old.write_text("the log of an older run\nkreinflow input error: of an older run\n")
    kept = sorted(path.name for path in logs.iterdir() if not path.name.startswith("model."))
    for path in (finished.folder / "results" / "small" / "models").rglob("r*.safetensors"):
        path.unlink()
    slurm.plan(f"refuse {TIME_LIMIT}")
    rest, said = ended(finished, "--retries", "0", "model")
    assert "group models" in rest
    assert "x train_models" in rest
    assert TIME_LIMIT in rest
    assert "of an older run" not in said
    assert set(kept) <= {path.name for path in logs.iterdir()}


def test_a_dry_run_prints_what_each_rule_asks_for(finished):
    """As docs/cluster.md has it; nothing is left open where all files are there."""
    done = finished.run("--workflow-profile", str(PROFILE), "--dry-run", "--forceall", "all")
    lines = [line.strip() for line in done.stdout.splitlines()]
    requests = [line for line in lines if line.startswith("resources: ")]
    assert len(requests) == len([line for line in lines if line.startswith("rule ")])
    assert all("mem_mb=" in line and "runtime=" in line for line in requests)
    assert "runtime=<TBD>" not in done.stdout
