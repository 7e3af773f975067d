"""Undisturbed runs, and looks at others that must equal them: for kills.py and surroundings.py."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any

import numpy as np

from kreinflow.alignment.engine import not_aligned
from kreinflow.alignment.segments import KIND
from kreinflow.base.errors import InputError
from kreinflow.files.artifacts import read_arrays
from sequence_pairs import AMINO_ACIDS
from workflow.conftest import SMALL, Workflow

PATIENCE = 300.0  # seconds, after which something hangs

LONG = SMALL | {
    "alignment": {"blocks": 1, "threads": 1},
    "datasets": {
        "small": {
            "source": {
                "type": "fasta",
                "fasta": "long.fasta",
                "labels": {"pattern": r"class=(\w)"},
            },
            "folds": {"k": 2},
        }
    },
    "selectors": {"uniform": {"method": "uniform", "budget": 12}},
    "recipes": [{"name": "one", "selector": "uniform", "learner": "nearest"}],
}


def write_long(path: Path, number: int = 48, length: int = 20_000) -> None:
    """Write sequences that take a good part of a second to align, two by two."""
    rng = np.random.default_rng(8)
    with path.open("w") as file:
        for i in range(number):
            residues = rng.choice(AMINO_ACIDS, length).tobytes().decode()
            file.write(f">s{i} class={'ab'[i % 2]}\n{residues}\n")


@dataclass
class Job:
    """A job of the undisturbed run, as Snakemake started it: a script with all that it needs."""

    script: Path
    outputs: list[str]
    log: str
    seconds: float = 0.8

    @property
    def name(self) -> str:
        return self.script.name.split(".")[1]

    def command(self, seconds_per_segment: float | None = None) -> list[str]:
        if seconds_per_segment is None:
            return [sys.executable, str(self.script)]
        code = (
            "import runpy, kreinflow.alignment.segments as s;"
            f"s._SECONDS_PER_SEGMENT = {seconds_per_segment};"
            f"runpy.run_path({str(self.script)!r}, run_name='__main__')"
        )
        return [sys.executable, "-c", code]


def jobs_of(reference: Workflow) -> list[Job]:
    """Return the jobs whose scripts ``--skip-script-cleanup`` has left."""
    found = []
    for path in sorted((reference.folder / ".snakemake" / "scripts").glob("*.py")):
        preamble = path.read_text().split("######## snakemake preamble end #########")[0]
        assignment = re.search(r"snakemake = (pickle\.loads\(.*?\));from", preamble, re.DOTALL)
        assert assignment is not None
        made = eval(assignment[1], {"pickle": __import__("pickle")})
        outputs = [str(name) for name in made.output]
        if "/alignment/" in outputs[0]:
            outputs += _segments_of(reference, *outputs)
        found.append(Job(path, outputs, str(made.log[0])))
    return found


def _segments_of(reference: Workflow, made: str) -> list[str]:
    """Return the segments that an alignment job wrote: one, or more on a machine that is busy."""
    stage, block = re.findall(r"/(\w+)\.(\d+)\.json", made)[0]
    home = reference.folder / "results" / "small"
    other = home / "alignment" / f"class_scores.{block}.json"
    first = other.stat().st_mtime if other.exists() else 0.0  # some selectors want none
    return [
        str(path.relative_to(reference.folder))
        for path in home.glob(f"scores/*/block_{int(block) + 1}_of_*/segment_*")
        if (path.stat().st_mtime <= first) == (stage == "class_scores")
    ]


@dataclass
class Found:
    """What a series found."""

    kills: int = 0
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0  # from a signal to the end


class Bench:
    """A folder in which series are run, beside the undisturbed runs that they must equal."""

    def __init__(self, home: Path, reference: Workflow, long: Workflow | None) -> None:
        self.home, self.reference, self.long = home, reference, long
        home.mkdir(parents=True, exist_ok=True)
        self.jobs = jobs_of(reference)
        self.long_jobs = jobs_of(long) if long else []
        self.scratch = home / "scratch"
        self.environment = os.environ | {
            "PYTHONPATH": str(reference.root / "lib"),
            "KREINFLOW_JOB": "yes",  # as rules/common.smk has it
            "TMPDIR": str(self.scratch),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }

    def fresh(self, of: Workflow) -> Workflow:
        """Return a copy of a finished run in a new folder."""
        shutil.rmtree(self.home / "run", ignore_errors=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        run = Workflow(self.home / "run", {}, of.root)
        for path in of.folder.iterdir():
            if path.is_dir():
                ignored = shutil.ignore_patterns("scripts", "log")
                shutil.copytree(path, run.folder / path.name, ignore=ignored)
            else:
                shutil.copy2(path, run.folder / path.name)
        return run

    def start(self, command: list[str], run: Workflow, **more: Any) -> "subprocess.Popen[str]":
        """Start a command in a group of its own, with its messages in a file."""
        with (run.folder / "said.txt").open("w") as said:
            return subprocess.Popen(
                command,
                cwd=run.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
                **more,
            )

    def finish(self, command: list[str], run: Workflow, found: Found) -> float:
        """Run a command to its end, and return the seconds that it took."""
        begin = time.monotonic()
        process = self.start(command, run)
        wait_for(process, found, PATIENCE)
        said = (run.folder / "said.txt").read_text(errors="replace")
        if process.returncode != 0:
            found.faults.append(f"ends with {process.returncode}: {said[-2000:]}")
        return time.monotonic() - begin


def shows_a_fault(said: str) -> bool:
    """Tell whether a traceback is shown, other than of the imports of Python and Snakemake."""
    ours = "/kreinflow/" in said.partition("Traceback")[2] or "Exception ignored" in said
    return ours or "fault of the program" in said


def wait_for(process: "subprocess.Popen[str]", found: Found, seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        found.faults.append(f"has not ended after {seconds:.0f} s")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, SIGKILL)
        process.wait()


def stored_pairs(run: Workflow) -> dict[tuple[bytes, bytes], int]:
    """Return the score of each pair in the store; a pair that is there twice is an InputError."""
    scores: dict[tuple[bytes, bytes], int] = {}
    for path in sorted((run.folder / "results" / "small" / "scores").rglob("segment_*")):
        _, arrays = read_arrays(path, KIND)
        rows, columns = ([bytes(d) for d in arrays[n]] for n in ("rows", "columns"))
        start = 0
        for r0, r1, c0, c1 in arrays["panels"].tolist():
            panel = arrays["scores"][start : start + (r1 - r0) * (c1 - c0)]
            start += panel.size
            for place in np.flatnonzero(panel != not_aligned(panel.dtype)):
                i, j = divmod(int(place), c1 - c0)
                a, b = sorted((rows[r0 + i], columns[c0 + j]))
                if (a, b) in scores:
                    raise InputError(f"{path}: {a.hex()} and {b.hex()} are stored twice")
                scores[a, b] = int(panel[place])
        for digest, score in zip(arrays["self_rows"], arrays["self_scores"], strict=True):
            if (bytes(digest), bytes(digest)) in scores:
                raise InputError(f"{path}: {bytes(digest).hex()} is stored twice")
            scores[bytes(digest), bytes(digest)] = int(score)
    return scores


def look(run: Workflow, reference: Workflow, found: Found, whole: bool) -> None:
    """Compare what is there with the undisturbed run; ``whole``: all of it must be there."""
    try:
        ours, theirs = stored_pairs(run), stored_pairs(reference)
        if wrong := [pair for pair in ours if theirs.get(pair) != ours[pair]]:
            found.faults.append(f"{len(wrong)} pairs are stored with other scores")
        if whole and len(ours) != len(theirs):
            found.faults.append(f"{len(ours)} pairs are stored, not {len(theirs)}")
    except InputError as error:
        found.faults.append(str(error))
    digests, expected = run.digests(), reference.digests()
    parts = {name for name in digests if name.endswith(".part")}
    names = expected if whole else (digests.keys() & expected) - parts
    if other := [name for name in names if digests.get(name) != expected[name]]:
        found.faults.append(f"other bytes: {' '.join(sorted(other))}")
    left = [str(p.relative_to(run.folder)) for p in (run.folder / "results").rglob("*.part")]
    if whole and left:
        found.faults.append(f"left behind: {' '.join(left)}")
    if more := digests.keys() - expected.keys() - parts:
        found.faults.append(f"nobody asked for: {' '.join(sorted(more))}")


def references(home: Path, long: bool) -> tuple[Workflow, Workflow | None]:
    """Run the small config undisturbed, and that of long alignments as far as its scores."""
    small = Workflow(home / "small", SMALL)
    small.run("--skip-script-cleanup")
    if not long:
        return small, None
    slow = Workflow(home / "long", LONG)
    write_long(slow.folder / "long.fasta")
    slow.run("--skip-script-cleanup", "--", "alignment")
    return small, slow
