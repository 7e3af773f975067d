"""Reasons why jobs of the workflow failed, and what the next attempt of each asks for.

Snakemake lets each attempt ask for more memory and time, and does not say why the last one failed.
Its executors know the reason and hand it to ``report_job_error``, where :class:`Failures` listens.
"""

import contextlib
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from kreinflow.base.errors import InputError, printable

_OURS = re.compile(rf"kreinflow ({InputError.kind}|error): .*", re.DOTALL)
_REFUSED = re.compile(r"The error message was '(.*?)'\.?\n", re.DOTALL)
_OF_SLURM = re.compile(r"^slurmstepd\S*: error: (.*(?:CANCELLED|killed|oom).*)$", re.MULTILINE)
_TOO_LITTLE = re.compile(
    r"\b(OUT_OF_MEMORY|TIMEOUT)\b|DUE TO TIME LIMIT|being killed|(?i:oom[-_ ]kill|out of memory)"
)
_NOT_ITS_FAULT = re.compile(r"'(CANCELLED|NODE_FAIL|BOOT_FAIL|PREEMPTED)|node failure")


class Failures:
    """Listens to an executor of Snakemake, and says of each failed job why it failed.

    A job that asked for too little, or left no reason, is tried again with more; one that was
    cancelled or refused, whose node died, or that failed by a fault of its own, with the same. An
    :class:`~kreinflow.base.errors.InputError` is not tried again.
    """

    def __init__(self) -> None:
        self._tries: Counter[Any] = Counter()
        self._final: list[str] = []
        self._heard: list[Any] = []
        self._input_faults: set[bool] = set()  # of the jobs that failed for good

    def listen(self, executor: Any) -> None:
        """Listen to the jobs that an executor begins, and to those that fail."""
        if executor in self._heard:
            return
        self._heard.append(executor)
        begin, fail = executor.printjob, executor.report_job_error

        def printjob(job: Any) -> None:
            for log in _logs(job):  # one of an older run would be taken for this job's
                with contextlib.suppress(OSError):
                    os.unlink(log)
            begin(job)

        def report_job_error(submitted: Any, msg: str | None = None, **more: Any) -> None:
            try:
                self._fail(submitted.job, submitted.external_jobid, msg, more.get("aux_logs") or [])
            except Exception as error:  # Snakemake must get to know of the job all the same
                _print(f"kreinflow: no reason was found for a failed job ({error!r}).")
            fail(submitted, msg, **more)

        executor.printjob, executor.report_job_error = printjob, report_job_error

    def show(self) -> None:
        """Print the jobs that failed and were not tried again, each with its reason, once."""
        if self._final:
            _print("\n".join(["kreinflow: jobs that failed, and why:", *self._final]))
        self._final.clear()

    @property
    def exit_code(self) -> int:
        """The exit code of the run: 2 if each job failed by a fault of the input, else 1."""
        return InputError.exit_code if self._input_faults == {True} else 1

    def _fail(self, job: Any, submitted: str | None, said: str | None, slurm: list[str]) -> None:
        logs = _logs(job)
        own = [m[0].strip() for log in logs if (m := _OURS.search(_text(log)))]
        of_slurm = [line for log in slurm for line in _OF_SLURM.findall(_text(log))]
        reasons = list(dict.fromkeys([*own, *_words_of(said), *of_slurm]))
        text = "\n".join(
            [_name(job), *(f"  {line}" for reason in reasons for line in reason.splitlines())]
            + [f"  log: {log}" for log in (*logs, *slurm) if log and Path(log).is_file()]
        )
        refused = said is not None and submitted is None
        known = own or refused or _NOT_ITS_FAULT.search(said or "")
        more = not known or any(map(_TOO_LITTLE.search, reasons))
        self._tries[job.jobid] += 1
        of_input = any(reason.startswith(f"kreinflow {InputError.kind}:") for reason in own)
        if job.restart_times < self._tries[job.jobid] or of_input:
            job._attempt = job.restart_times + 1  # the last
            self._input_faults.add(of_input)
            self._final.append(text)
            again = "It is not tried again."
        else:
            # Snakemake adds one. First it frees the resources of this attempt, which it has kept.
            job._attempt -= not more
            again = f"It is tried again with {'more' if more else 'the same'} memory and time."
        if said is not None:  # without an executor's words the job has said it on the terminal
            _print(f"kreinflow: a job failed. {again}\n{text}")


FAILURES = Failures()
"""The listener of this process, which all modules of a workflow share."""


def _print(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


def _members(job: Any) -> list[Any]:
    return sorted(job.jobs, key=lambda j: j.rule.name) if job.is_group() else [job]


def _logs(job: Any) -> list[str]:
    return [str(log) for member in _members(job) for log in member.log]


def _name(job: Any) -> str:
    if job.is_group():
        counts = Counter(member.rule.name for member in _members(job))
        rules = ", ".join(f"{count} x {rule}" for rule, count in counts.items())
        return f"group {job.groupid} ({rules}):"
    values = ", ".join(f"{key}={value}" for key, value in job.wildcards_dict.items())
    return f"{job.rule.name}{f' ({values})' if values else ''}:"


def _text(log: str) -> str:
    try:
        return Path(log).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _words_of(said: str | None) -> list[str]:
    """Return what Slurm said; the plugin puts its command, of a thousand letters, behind that."""
    if said is None:
        return []
    if refusal := _REFUSED.search(said):
        return refusal[1].splitlines()
    return [said.partition(" Detailed failure reason")[0]]
