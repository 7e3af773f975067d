"""Kills: runs, jobs and commands that are ended at random moments, to see whether anything is lost.

    python tests/series kills --number 1000                 half an hour of one core
    python tests/series kills --number 20 --only Ctrl-C     the kinds whose names have this

Each kind is a row of the table that is printed. A series of a few kills goes on in one folder, and
then the work is run to its end. Lost is what is found by these looks:

- after each kill: a file of a result is not whole, a segment of the score store cannot be read, the
  exit code is none of the signal (or 0 of what was done before the kill came), a traceback is
  shown, or something is called a fault of the program;
- after each series: a result has other bytes than that of an undisturbed run, a pair of sequences
  is stored twice or with another score, a temporary file is left.

Moments are drawn by a hash of ``--seed``, the kind and the number of the series. A kill that comes
too late is tried again and counts when it hits. What is found depends on the machine's other work,
too. The exit code is 1 if something is lost.
"""

import contextlib
import fcntl
import hashlib
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from signal import SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM
from typing import Any

import numpy as np

from kreinflow.files.tables import read_table
from sequence_pairs import AMINO_ACIDS
from series.harness import Bench, said_by, shows_a_fault
from small_inputs import fasta_source
from workflow.conftest import SMALL, Workflow

QUICK = 30.0  # seconds within which a process must have ended after a signal
SHORT = 0.5  # seconds between segments, where a job of minutes is to be had in seconds
LONG = SMALL | {
    "alignment": {"blocks": 1, "threads": 1},
    "datasets": {"small": {"source": fasta_source("long.fasta"), "folds": {"k": 2}}},
    "selectors": {"uniform": {"method": "uniform", "budget": 12}},
    "recipes": [{"name": "one", "selector": "uniform", "learner": "nearest"}],
}


def signalled(bench: Bench, process: Any, run: Workflow, number: int) -> bool:
    """Send a signal and look at the end; tell whether it came before the end."""
    if hit := process.poll() is None:
        bench.kills += 1
        process.send_signal(number)
    bench.wait(process, QUICK)
    codes = {-number, 128 + number, *(() if number == SIGKILL else (0,))}
    if (hit and process.returncode not in codes) or shows_a_fault(said_by(run)):
        name = signal.Signals(number).name
        bench.faults.append(f"{name}: code {process.returncode}: {said_by(run)[-1500:]}")
    return hit


def attempts(bench: Bench, kills: int) -> Iterator[int]:
    """Yield until so many kills have hit, or too many have not."""
    begun = bench.kills
    for number in range(20 * kills):
        if bench.kills - begun >= kills:
            return
        yield number


def writes(run: Workflow, outputs: list[str]) -> bool:
    """Tell whether a file of these is being written."""
    folders = {run.folder / Path(name).parent for name in outputs}
    return any(list(folder.glob(".*.part")) for folder in folders)


def of_jobs(bench: Bench, rng: Random, kills: int, number: int, writing: bool = False) -> None:
    """Send signals to the process of one job; with ``writing`` while a file of it is begun."""
    job, files = rng.choice(bench.jobs)
    run = bench.fresh(bench.reference)
    for _ in attempts(bench, kills):
        for name in files:
            (run.folder / name).unlink(missing_ok=True)
        process = bench.start(job.command(), run)
        while writing and process.poll() is None and not writes(run, files):
            time.sleep(0.0001)
        time.sleep(rng.uniform(0.0, 0.002 if writing else job.seconds))
        signalled(bench, process, run, number)
        bench.look(run, bench.reference, whole=False)
    begin = time.monotonic()
    bench.finish(job.command(), run)
    job.seconds = 0.5 * (job.seconds + time.monotonic() - begin)
    bench.look(run, bench.reference, whole=True)
    if number != SIGKILL and (left := list(bench.scratch.iterdir())):
        bench.faults.append(f"{job.name} left behind: {' '.join(map(str, left))}")


def of_twins(bench: Bench, rng: Random, kills: int) -> None:
    """Start two processes of one alignment job at once, and kill one."""
    job, files = rng.choice([both for both in bench.jobs if both[0].name == "alignment"])
    run = bench.fresh(bench.reference)
    for _ in range(kills):
        for name in files:
            (run.folder / name).unlink(missing_ok=True)
        twins = [bench.start(job.command(), run) for _ in range(2)]
        time.sleep(rng.uniform(0.0, 1.5 * job.seconds))
        killed = rng.choice(twins)
        bench.kills += killed.poll() is None
        killed.kill()
        for twin in twins:
            bench.wait(twin)
            if twin is not killed and twin.returncode:
                bench.faults.append(f"the other ends with {twin.returncode}")
        bench.look(run, bench.reference, whole=True)


def of_long_alignments(bench: Bench, rng: Random, kills: int, number: int) -> None:
    """Send signals to a job in the compiled loop, which then goes on from its segments."""
    assert bench.long is not None
    run = bench.fresh(bench.long)
    ((job, files),) = (both for both in bench.long_jobs if "/columns." in both[1][0])
    store = run.folder / "results" / "small" / "scores"
    shutil.rmtree(store)
    for name in files:
        (run.folder / name).unlink(missing_ok=True)

    def aligns(pid: int) -> bool:
        """Tell whether it holds the lock of a block, behind which it aligns."""
        with contextlib.suppress(OSError):
            files = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
            return any(name.startswith(str(store)) for name in files)
        return False

    for _ in range(kills):
        process = bench.start(job.command(SHORT), run)
        while process.poll() is None and not aligns(process.pid):
            time.sleep(0.01)
        begin = time.time()
        time.sleep(rng.uniform(0.0, 3.0))
        killed = time.time()
        if not signalled(bench, process, run, number):
            break
        bench.look(run, bench.long, whole=False)
        written = [path.stat().st_mtime for path in store.rglob("segment_*")]
        lost = killed - max([begin, *written])
        if lost > SHORT + 2.0:  # an interval, a call, and what a busy machine adds
            bench.faults.append(f"the work of {lost:.1f} s is lost")
    bench.finish(job.command(SHORT), run)
    bench.look(run, bench.long, whole=True)


def _undone(bench: Bench, rng: Random) -> Workflow:
    """Return a copy of the finished run as it was at some moment, or of its beginning."""
    run = bench.fresh(bench.reference)
    if rng.random() < 0.1:
        shutil.rmtree(run.folder / "results")
        return run
    times = {n: (run.folder / n).stat().st_mtime for _, files in bench.jobs for n in files}
    moment = rng.choice(sorted(times.values())[len(times) // 4 :])
    for name, made in times.items():
        if made >= moment and "/scores/" not in name:
            (run.folder / name).unlink()
    return run


def _wait_for_a_moment(process: Any, run: Workflow, rng: Random) -> None:
    """Wait for some jobs to begin, whatever the machine, and then for some time."""
    left = rng.randint(0, 4)
    while process.poll() is None:
        if len(re.findall("^(?:local)?rule ", said_by(run), re.MULTILINE)) >= left:
            break
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 1.0))


def of_runs(bench: Bench, rng: Random, kills: int, end: str) -> None:
    """End the whole workflow."""
    run = _undone(bench, rng)
    for _ in attempts(bench, kills):
        before, command = bench.kills, run.command(cores=rng.choice("12"))
        if end in ("Ctrl-C", "terminal closed"):
            _at_a_terminal(bench, run, command, rng, end)
        else:
            process = bench.start(command, run)
            _wait_for_a_moment(process, run, rng)
            if process.poll() is None:
                bench.kills += 1
                if end == "two":
                    _second_is_refused(bench, run)
                # Ended alone, its jobs run on, and what comes next meets them.
                process.terminate() if end == "SIGTERM" else process.kill()
                if end in ("group", "two"):
                    os.killpg(process.pid, SIGKILL)
                bench.wait(process)
                if shows_a_fault(said_by(run)):
                    bench.faults.append(said_by(run)[-3000:])
        if bench.kills == before:  # it was over first
            bench.look(run, bench.reference, whole=True)
            run = _undone(bench, rng)
    bench.finish(run.command(cores="2"), run)
    bench.look(run, bench.reference, whole=True)


def _second_is_refused(bench: Bench, run: Workflow) -> None:
    """Start a second run beside one that has begun."""
    if not re.search(r"^(local)?rule ", said_by(run), re.MULTILINE):
        return  # the first may not have the lock yet, and then the second has it
    done = subprocess.run(
        run.command(), cwd=run.folder, env=bench.environment, capture_output=True, text=True
    )
    if done.returncode == 0 and "Nothing to be done" in done.stderr:
        return
    if done.returncode != 2 or "another run is writing there" not in done.stderr:
        bench.faults.append(f"the second run: {done.returncode}: {done.stderr[-1000:]}")


def _at_a_terminal(bench: Bench, run: Workflow, command: list[str], rng: Random, end: str) -> None:
    """Start a run in the foreground of a terminal; press Ctrl-C there, or close it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=run.folder,
        env=bench.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    closed = threading.Event()
    (run.folder / "said.txt").write_bytes(b"")

    def read() -> None:
        with (run.folder / "said.txt").open("ab", buffering=0) as file:
            over = False
            while not over and not closed.is_set():
                over = process.poll() is not None
                with contextlib.suppress(OSError):  # nothing there yet
                    while data := os.read(ours, 65536):
                        file.write(data)
                time.sleep(0.02)

    reader = threading.Thread(target=read)
    reader.start()
    _wait_for_a_moment(process, run, rng)
    if hit := process.poll() is None:
        bench.kills += 1
        if end == "Ctrl-C":
            os.write(ours, b"\x03")
        else:
            closed.set()
            reader.join()
            os.close(ours)
    bench.wait(process)
    reader.join()
    if not closed.is_set():
        os.close(ours)
    if (hit and process.returncode == 0) or shows_a_fault(said_by(run)):
        bench.faults.append(f"{end}: exit code {process.returncode}: {said_by(run)[-3000:]}")


def of_commands(bench: Bench, rng: Random, kills: int, command: str, number: int) -> None:
    """Send signals to ``kreinflow classify -o`` and ``kreinflow check``."""
    shutil.rmtree(bench.home / "command", ignore_errors=True)
    run = Workflow(bench.home / "command", SMALL, bench.reference.root)
    results = bench.reference.folder / "results" / "small"
    table = read_table(results / "dataset" / "distinct.tsv", ["sequence"], ["sequence"])
    new, out = run.folder / "new.fasta", run.folder / "out.tsv"
    new.write_text("".join(f">{i}\n{s}\n" for i, s in enumerate(table["sequence"].tolist() * 100)))
    arguments = [sys.executable, "-m", "kreinflow.commands.main", command]
    if command == "classify":
        arguments += [str(results / "model.safetensors"), str(new), "-o", str(out)]
    else:
        arguments += ["config.yaml"]

    def written() -> bytes | None:
        return out.read_bytes() if out.exists() else None

    begin = time.monotonic()
    bench.finish(arguments, run)
    seconds, expected = time.monotonic() - begin, written()
    for _ in attempts(bench, kills):
        before = rng.choice([b"old\n", None]) if command == "classify" else None
        out.unlink(missing_ok=True)
        if before is not None:
            out.write_bytes(before)
        process = bench.start(arguments, run)
        time.sleep(rng.uniform(0.0, seconds))
        signalled(bench, process, run, number)
        if written() not in (before, expected):
            bench.faults.append(f"the table is neither the old one nor the new: {written()!r}")
        if number not in (SIGKILL, SIGQUIT) and list(run.folder.glob(".*.part")):
            bench.faults.append("left behind: part of a table")
    bench.finish(arguments, run)
    left = {path.name for path in run.folder.iterdir()}
    if written() != expected or left - {"config.yaml", "new.fasta", "out.tsv", "said.txt"}:
        bench.faults.append(f"another table, or left behind: {' '.join(left)}")


@dataclass(frozen=True)
class Kind:
    """A row of the table: its share of a thousand kills, and how many go on in one folder."""

    name: str
    share: int
    each: int
    series: Callable[[Bench, Random, int], None]
    long: bool = False


def kinds() -> Iterator[Kind]:
    """Yield the rows."""
    for end, share, what in (
        ("group", 30, "SIGKILL to the process group"),
        ("main", 20, "SIGKILL to Snakemake alone, a new run beside its jobs"),
        ("SIGTERM", 10, "SIGTERM to Snakemake alone"),
        ("Ctrl-C", 20, "Ctrl-C at its terminal"),
        ("terminal closed", 15, "its terminal is closed"),
        ("two", 10, "a second run beside it, SIGKILL to the first"),
    ):
        yield Kind(f"run: {what}", share, 5, partial(of_runs, end=end))
    for number, share in ((SIGKILL, 150), (SIGTERM, 90), (SIGINT, 90), (SIGHUP, 60), (SIGQUIT, 40)):
        yield Kind(f"job: {number.name}", share, 5, partial(of_jobs, number=number))
    for number, share in ((SIGKILL, 100), (SIGTERM, 30), (SIGINT, 30)):
        own = partial(of_jobs, number=number, writing=True)
        yield Kind(f"job: {number.name} while it writes", share, 5, own)
    yield Kind("job: two of the same at once, SIGKILL to one", 20, 5, of_twins)
    for number in (SIGKILL, SIGTERM, SIGINT):
        own = partial(of_long_alignments, number=number)
        yield Kind(f"long alignment: {number.name}, segments after {SHORT} s", 18, 9, own, True)
    pairs = [("classify", number) for number in (SIGKILL, SIGTERM, SIGINT, SIGHUP)]
    for command, number in (*pairs, ("check", SIGINT)):
        own = partial(of_commands, command=command, number=number)
        yield Kind(f"kreinflow {command}: {number.name}", 20, 10, own)


def plan(number: int, only: str) -> list[tuple[Kind, int, int]]:
    """Return the series: the kind, the number of the series, and its kills."""
    asked = [kind for kind in kinds() if only in kind.name]
    total = sum(kind.share for kind in asked)
    series, before = [], 0
    for kind in asked:  # rounded so that the sum is the number, unless it is small
        left = (before + kind.share) * number // total - before * number // total
        left, before = max(left, 1), before + kind.share
        for place in range(-(-left // kind.each)):
            series.append((kind, place, min(kind.each, left - place * kind.each)))
    return series


def _try(
    home: Path, name: str, place: int, kills: int, seed: int, references: Any
) -> tuple[str, int, list[str]]:
    bench = Bench(Path(tempfile.mkdtemp(dir=home)), *references)
    (kind,) = (kind for kind in kinds() if kind.name == name)
    drawn = hashlib.sha256(f"{seed}|{name}|{place}".encode()).hexdigest()
    kind.series(bench, Random(drawn), kills)
    shutil.rmtree(bench.home)
    return name, bench.kills, bench.faults


def run_series(
    series: list[tuple[Kind, int, int]], seed: int, jobs: int, home: Path, references: Any
) -> dict[str, tuple[int, list[str]]]:
    """Run all series and return how many kills each kind had, and what was wrong."""
    table: dict[str, tuple[int, list[str]]] = {kind.name: (0, []) for kind, _, _ in series}
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [
            pool.submit(_try, home, kind.name, place, kills, seed, references)
            for kind, place, kills in series
        ]
        for done in as_completed(waiting):
            name, kills, faults = done.result()
            table[name] = table[name][0] + kills, table[name][1] + faults
            print(f"{name}: {kills}", *faults, sep="\n  ", file=sys.stderr, flush=True)
    return table


def make_references(home: Path, long: bool) -> tuple[Workflow, Workflow | None]:
    """Run the small config undisturbed, and that of long alignments as far as its scores."""
    small = Workflow(home / "small", SMALL)
    small.run("--skip-script-cleanup")
    if not long:
        return small, None
    slow = Workflow(home / "long", LONG)
    rng = np.random.default_rng(8)
    with (slow.folder / "long.fasta").open("w") as file:
        for i in range(48):  # a pair takes a good part of a second
            residues = rng.choice(AMINO_ACIDS, 20_000).tobytes().decode()
            file.write(f">s{i} family={'ab'[i % 2]};\n{residues}\n")
    slow.run("--skip-script-cleanup", "--", "alignment")
    return small, slow


def run(asked: Any) -> int:
    """Kill, and print the table."""
    series = plan(asked.number, asked.only)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        both = make_references(Path(name), any(kind.long for kind, _, _ in series))
        table = run_series(series, asked.seed, asked.jobs, Path(name), both)
    print("| what is killed | kills | lost |\n|---|---|---|")
    for name, (kills, faults) in table.items():
        print(f"| {name} | {kills} | {len(faults)} |")
    lost = sum(len(faults) for _, faults in table.values())
    print(f"| all | {sum(kills for kills, _ in table.values())} | {lost} |")
    return int(lost > 0)
