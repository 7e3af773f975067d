"""Why a job failed, and what its next attempt asks for, by executors and jobs made up for it."""

from types import SimpleNamespace

import pytest

from kreinflow.files.failures import Failures

STATUS = "SLURM-job '7' failed, SLURM status is: '{}'. Detailed failure reason unavailable."
REFUSAL = (
    "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: no\n"
    "sbatch: error: Batch job submission failed: Invalid partition name specified'.\n"
    "    sbatch call:\n        sbatch --parsable --wrap='a long command'\n"
)
INPUT = "10:11:12 kreinflow input error: x.fasta, record 3: residue 1 is '?'.\nAllowed: ACDE.\n"
FAULT = "Traceback ...\n10:11:12 kreinflow error: a fault of the program; its traceback is in x.log"
NO_MEMORY = "10:11:12 kreinflow error: out of memory (Unable to allocate 2 GiB); lower it."
KILLED = "slurmstepd-n2: error: StepId=11.0 exceeded memory limit (2 > 1), being killed\n"
LATE = "slurmstepd: error: *** JOB 10 ON n1 CANCELLED AT 2026 DUE TO TIME LIMIT ***\n"
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch.\n"
WARNED = "slurmstepd-n1: error: Exceeded job memory limit\n"  # and no job was killed


class Executor:
    """Hands on what it is told, as those of Snakemake do."""

    def __init__(self):
        self.begun, self.failed = [], []

    def printjob(self, job):
        self.begun.append(job)

    def report_job_error(self, submitted, msg=None, **more):
        self.failed.append(submitted.job)


class Job:
    """A job that may be tried three times, and its group."""

    restart_times = 2

    def __init__(self, log, name="read_dataset", members=()):
        self.rule = SimpleNamespace(name=name)
        self.wildcards_dict = {"dataset": "mine"}
        self.log, self.jobid, self.groupid = [str(log)], name, "models"
        self.jobs, self._attempt = members, 1

    def is_group(self):
        return bool(self.jobs)


@pytest.fixture
def attempt(tmp_path):
    """Let a job fail once more; what it asks for then, or None, if it is not tried again."""
    executor, failures = Executor(), Failures()
    failures.listen(executor)

    def fail(job, said=None, log="", slurm_log="", submitted="7"):
        executor.printjob(job)
        for member in job.jobs or [job]:
            if log:
                (tmp_path / member.log[0]).write_text(log)
        (tmp_path / "7.log").write_text(slurm_log)
        more = {"aux_logs": [str(tmp_path / "7.log")]} if slurm_log else {}
        info = SimpleNamespace(job=job, external_jobid=submitted)
        executor.report_job_error(info, said, **more)
        assert executor.begun[-1] is executor.failed[-1] is job
        if job.restart_times > job._attempt - 1:  # as Snakemake has it
            job._attempt += 1
            return job._attempt
        return None

    fail.failures = failures
    return fail


@pytest.mark.parametrize(
    ("said", "log", "slurm_log", "submitted", "asks"),
    [
        (REFUSAL, "", "", None, [1, 1, None]),
        (STATUS.format("CANCELLED"), "", "", "7", [1, 1, None]),
        (STATUS.format("NODE_FAIL"), "", WARNED, "7", [1, 1, None]),
        (STATUS.format("FAILED"), FAULT, WARNED, "7", [1, 1, None]),
        (STATUS.format("FAILED"), INPUT, WARNED, "7", [None]),
        (None, INPUT, "", None, [None]),
        (STATUS.format("FAILED"), NO_MEMORY, "", "7", [2, 3, None]),
        (STATUS.format("FAILED"), "", KILLED, "7", [2, 3, None]),
        (STATUS.format("FAILED"), "begins\n", "", "7", [2, 3, None]),  # who knows?
        (STATUS.format("TIMEOUT"), "", "", "7", [2, 3, None]),
        (STATUS.format("CANCELLED"), "", LATE, "7", [2, 3, None]),
        (STATUS.format("OUT_OF_MEMORY"), "", OOM, "7", [2, 3, None]),
    ],
)
def test_only_a_job_that_asked_for_too_little_asks_for_more(
    attempt, tmp_path, said, log, slurm_log, submitted, asks
):
    job = Job(tmp_path / "job.log")
    assert [attempt(job, said, log, slurm_log, submitted) for _ in asks] == asks


def test_the_words_of_slurm_and_of_the_job_are_shown_with_its_name(attempt, tmp_path, capsys):
    job = Job(tmp_path / "job.log")
    attempt(job, REFUSAL, submitted=None)
    said = capsys.readouterr().err
    assert "It is tried again with the same memory and time." in said
    assert "read_dataset (dataset=mine):" in said
    assert "Invalid partition name specified" in said
    assert "a long command" not in said
    attempt(job, STATUS.format("FAILED"), INPUT, LATE)
    said = capsys.readouterr().err
    assert "It is not tried again." in said
    assert "record 3: residue 1 is '?'.\n  Allowed: ACDE." in said
    assert "SLURM status is: 'FAILED'." in said
    assert "DUE TO TIME LIMIT" in said
    assert f"log: {tmp_path / 'job.log'}" in said
    assert f"log: {tmp_path / '7.log'}" in said
    attempt.failures.show()
    said = capsys.readouterr().err
    assert said.count("read_dataset (dataset=mine):") == 1
    assert "Invalid partition" not in said


def test_a_group_is_one_job_with_the_words_of_its_members(attempt, tmp_path, capsys):
    members = [Job(tmp_path / f"{i}.log", "make_factor") for i in range(2)]
    members.append(Job(tmp_path / "2.log", "train_models"))
    group = Job(tmp_path / "group.log", "models", members)
    assert attempt(group, STATUS.format("FAILED"), INPUT) is None
    said = capsys.readouterr().err
    assert "group models (2 x make_factor, 1 x train_models):" in said
    assert said.count("record 3") == 1  # all say the same


def test_the_log_of_an_older_run_goes_with_a_job_that_wrote_none(attempt, tmp_path, capsys):
    old = tmp_path / "job.log"
    old.write_text(INPUT)
    job = Job(old)
    assert attempt(job, REFUSAL, submitted=None) == 1  # and not the fault of then
    assert not old.exists()
    assert "residue" not in capsys.readouterr().err


def test_snakemake_hears_of_a_job_whatever_happens_to_the_words(attempt, tmp_path, capsys):
    job = Job(tmp_path / "job.log")
    del job.wildcards_dict
    assert attempt(job, REFUSAL, submitted=None) == 2
    assert "no reason was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("logs", "code"), [([INPUT], 2), ([INPUT, INPUT], 2), ([INPUT, FAULT], 1), ([], 1)]
)
def test_the_run_is_the_users_fault_if_each_job_failed_by_the_input(attempt, tmp_path, logs, code):
    for number, text in enumerate(logs):
        job = Job(tmp_path / f"{number}.log", name=f"job{number}")
        job.restart_times = 0
        attempt(job, log=text)
    assert attempt.failures.exit_code == code
