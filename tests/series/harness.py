"""Undisturbed runs, and looks at others that must equal them: for kills and surroundings."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any

import numpy as np

from kreinflow.alignment.engine import not_aligned
from kreinflow.alignment.segments import KIND
from kreinflow.base.errors import InputError
from kreinflow.files.arrays import read_arrays
from workflow.conftest import Workflow

PATIENCE = 300.0  # seconds, after which something hangs


@dataclass
class Job:
    """A job of the undisturbed run, as Snakemake started it: a script with all that it needs."""

    script: Path
    given: Any
    seconds: float = 0.8

    @property
    def name(self) -> str:
        return self.script.name.split(".")[1]

    @property
    def inputs(self) -> list[str]:
        return [str(path) for path in self.given.input]

    @property
    def outputs(self) -> list[str]:
        return [str(path) for path in self.given.output]

    def command(self) -> list[str]:
        return [sys.executable, str(self.script)]


def jobs_of(reference: Workflow) -> list[Job]:
    """Return the jobs whose scripts ``--skip-script-cleanup`` has left."""
    found = []
    for path in sorted((reference.folder / ".snakemake" / "scripts").glob("*.py")):
        preamble = path.read_text().split("######## snakemake preamble end #########")[0]
        assignment = re.search(r"snakemake = (pickle\.loads\(.*?\));from", preamble, re.DOTALL)
        assert assignment is not None
        given = eval(assignment[1], {"pickle": __import__("pickle")})
        found.append(Job(path, given))
    return found


def files_of(job: Job, reference: Workflow) -> list[str]:
    """Return what a job wrote, with the segments of the score store."""
    made = job.outputs
    if "/alignment/" not in made[0]:
        return made
    stage, block = re.findall(r"/(\w+)\.(\d+)\.json", made[0])[0]
    home = reference.folder / "results" / "small"
    other = home / "alignment" / f"class_scores.{block}.json"
    first = other.stat().st_mtime if other.exists() else 0.0  # some selectors want none
    return made + [
        str(path.relative_to(reference.folder))
        for path in home.glob(f"scores/*/block_{int(block) + 1}_of_*/segment_*")
        if (path.stat().st_mtime <= first) == (stage == "class_scores")
    ]


class Bench:
    """A folder in which runs are disturbed, and all that was wrong with them."""

    def __init__(self, home: Path, reference: Workflow) -> None:
        self.home, self.reference = home, reference
        home.mkdir(parents=True, exist_ok=True)
        self.jobs = [(job, files_of(job, reference)) for job in jobs_of(reference)]
        self.scratch = home / "scratch"
        self.kills = 0
        self.faults: list[str] = []
        self.environment = os.environ | {
            "PYTHONPATH": str(reference.root / "lib"),
            "KREINFLOW_JOB": "yes",  # as rules/common.smk has it
            "TMPDIR": str(self.scratch),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }

    def fresh(self, of: Workflow) -> Workflow:
        """Return a copy of a finished run in a new folder."""
        for path in (self.home / "run", self.scratch):
            shutil.rmtree(path, ignore_errors=True)
        self.scratch.mkdir()
        ignored = shutil.ignore_patterns("scripts", "log")
        shutil.copytree(of.folder, self.home / "run", ignore=ignored)
        return Workflow(self.home / "run", None, of.root)

    def start(
        self,
        command: list[str],
        run: Workflow,
        stdin: int = subprocess.DEVNULL,
        before: Callable[[], object] | None = None,
    ) -> "subprocess.Popen[str]":
        """Start a command in a group of its own, with its messages in a file."""
        with (run.folder / "said.txt").open("w") as said:
            return subprocess.Popen(
                command,
                cwd=run.folder,
                env=self.environment,
                stdin=stdin,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=before,
                text=True,
            )

    def wait(self, process: "subprocess.Popen[str]", seconds: float = PATIENCE) -> None:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.faults.append(f"has not ended after {seconds:.0f} s")
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, SIGKILL)
            process.wait()

    def finish(self, command: list[str], run: Workflow) -> None:
        """Run a command to its end, which must be a good one."""
        process = self.start(command, run)
        self.wait(process)
        if process.returncode != 0:
            self.faults.append(f"ends with {process.returncode}: {said_by(run)[-2000:]}")

    def look(self, run: Workflow, reference: Workflow, whole: bool) -> None:
        """Compare what is there with an undisturbed run; ``whole``: all of it must be there."""
        try:
            ours, theirs = stored_pairs(run), stored_pairs(reference)
            if wrong := [pair for pair in ours if theirs.get(pair) != ours[pair]]:
                self.faults.append(f"{len(wrong)} pairs are stored with other scores")
            if whole and len(ours) != len(theirs):
                self.faults.append(f"{len(ours)} pairs are stored, not {len(theirs)}")
        except InputError as error:
            self.faults.append(str(error))
        digests, expected = run.digests(), reference.digests()
        parts = {name for name in digests if name.endswith(".part")}
        names = expected if whole else (digests.keys() & expected) - parts
        if other := [name for name in names if digests.get(name) != expected[name]]:
            self.faults.append(f"other bytes: {' '.join(sorted(other))}")
        left = [str(p.relative_to(run.folder)) for p in (run.folder / "results").rglob("*.part")]
        if whole and left:
            self.faults.append(f"left behind: {' '.join(left)}")
        if more := digests.keys() - expected.keys() - parts:
            self.faults.append(f"files of no job: {' '.join(sorted(more))}")


def said_by(run: Workflow) -> str:
    return (run.folder / "said.txt").read_text(errors="replace")


def shows_a_fault(said: str) -> bool:
    """Tell whether a traceback is shown, other than of the imports of Python and Snakemake."""
    ours = "/kreinflow/" in said.partition("Traceback")[2] or "Exception ignored" in said
    return ours or "fault of the program" in said


def stored_pairs(run: Workflow) -> dict[tuple[bytes, bytes], int]:
    """Return the score of each pair in the store; a pair that is there twice is an InputError."""
    scores: dict[tuple[bytes, bytes], int] = {}
    for path in sorted((run.folder / "results" / "small" / "scores").rglob("segment_*")):
        _, arrays = read_arrays(path, KIND)
        rows, columns = ([bytes(d) for d in arrays[n]] for n in ("rows", "columns"))
        own = [bytes(digest) for digest in arrays["self_rows"]]
        found = [(own, own, score) for own, score in zip(own, arrays["self_scores"], strict=True)]
        start = 0
        for r0, r1, c0, c1 in arrays["panels"].tolist():
            panel = arrays["scores"][start : start + (r1 - r0) * (c1 - c0)].reshape(r1 - r0, -1)
            start += panel.size
            places = np.argwhere(panel != not_aligned(panel.dtype))
            found += [(rows[r0 + i], columns[c0 + j], panel[i, j]) for i, j in places]
        for one, other, score in found:
            pair = min(one, other), max(one, other)
            if pair in scores:
                raise InputError(f"{path}: {one.hex()} and {other.hex()} are stored twice")
            scores[pair] = int(score)
    return scores
