"""Kills: runs and jobs that are ended at random moments, to see whether anything is lost.

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

import fcntl
import hashlib
import os
import pty
import re
import shutil
import signal
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from signal import SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM
from typing import Any

from series.harness import Bench, said_by, shows_a_fault
from workflow.conftest import SMALL, Workflow

QUICK = 30.0  # seconds within which a process must have ended after a signal
EACH = 5  # kills that go on in one folder


def signalled(bench: Bench, process: Any, run: Workflow, number: int) -> None:
    """Send a signal and look at the end."""
    if hit := process.poll() is None:
        process.send_signal(number)
    bench.wait(process, QUICK)
    # Of a process that ends in this moment nothing is killed.
    bench.kills += hit and (process.returncode, number) != (0, SIGKILL)
    codes = {-number, 128 + number, 0}
    if (hit and process.returncode not in codes) or shows_a_fault(said_by(run)):
        name = signal.Signals(number).name
        bench.faults.append(f"{name}: code {process.returncode}: {said_by(run)[-1500:]}")


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
                # Ended alone, its jobs run on, and what comes next meets them.
                process.terminate() if end == "SIGTERM" else process.kill()
                if end == "group":
                    os.killpg(process.pid, SIGKILL)
                bench.wait(process)
                if shows_a_fault(said_by(run)):
                    bench.faults.append(said_by(run)[-3000:])
        if bench.kills == before:  # it was over first
            bench.look(run, bench.reference, whole=True)
            run = _undone(bench, rng)
    bench.finish(run.command(cores="2"), run)
    bench.look(run, bench.reference, whole=True)


def _at_a_terminal(bench: Bench, run: Workflow, command: list[str], rng: Random, end: str) -> None:
    """Start a run in the foreground of a terminal; press Ctrl-C there, or close it."""
    ours, theirs = pty.openpty()
    process = bench.start(command, run, theirs, lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    _wait_for_a_moment(process, run, rng)
    if hit := process.poll() is None:
        bench.kills += 1
        os.write(ours, b"\x03" * (end == "Ctrl-C"))
    if end == "terminal closed":
        os.close(ours)
    bench.wait(process)
    if end == "Ctrl-C":
        os.close(ours)
    if (hit and process.returncode == 0) or shows_a_fault(said_by(run)):
        bench.faults.append(f"{end}: exit code {process.returncode}: {said_by(run)[-3000:]}")


@dataclass(frozen=True)
class Kind:
    """A row of the table: its share of a thousand kills."""

    name: str
    share: int
    series: Callable[[Bench, Random, int], None]


def kinds() -> Iterator[Kind]:
    """Yield the rows."""
    for end, share, what in (
        ("group", 30, "SIGKILL to the process group"),
        ("main", 20, "SIGKILL to Snakemake alone, a new run beside its jobs"),
        ("SIGTERM", 10, "SIGTERM to Snakemake alone"),
        ("Ctrl-C", 20, "Ctrl-C at its terminal"),
        ("terminal closed", 15, "its terminal is closed"),
    ):
        yield Kind(f"run: {what}", share, partial(of_runs, end=end))
    for number, share in ((SIGKILL, 150), (SIGTERM, 90), (SIGINT, 90), (SIGHUP, 60), (SIGQUIT, 40)):
        yield Kind(f"job: {number.name}", share, partial(of_jobs, number=number))
    for number, share in ((SIGKILL, 100), (SIGTERM, 30), (SIGINT, 30)):
        own = partial(of_jobs, number=number, writing=True)
        yield Kind(f"job: {number.name} while it writes", share, own)


def plan(number: int, only: str) -> list[tuple[Kind, int, int]]:
    """Return the series: the kind, the number of the series, and its kills."""
    asked = [kind for kind in kinds() if only in kind.name]
    total = sum(kind.share for kind in asked)
    series = []
    for kind in asked:
        left = max(round(kind.share * number / total), 1)
        for place in range(-(-left // EACH)):
            series.append((kind, place, min(EACH, left - place * EACH)))
    return series


def _try(
    home: Path, kind: Kind, place: int, kills: int, seed: int, reference: Workflow
) -> tuple[str, int, list[str]]:
    bench = Bench(Path(tempfile.mkdtemp(dir=home)), reference)
    drawn = hashlib.sha256(f"{seed}|{kind.name}|{place}".encode()).hexdigest()
    kind.series(bench, Random(drawn), kills)
    shutil.rmtree(bench.home)
    return kind.name, bench.kills, bench.faults


def run_series(
    series: list[tuple[Kind, int, int]], seed: int, jobs: int, home: Path, reference: Workflow
) -> dict[str, tuple[int, list[str]]]:
    """Run all series and return how many kills each kind had, and what was wrong."""
    table: dict[str, tuple[int, list[str]]] = {kind.name: (0, []) for kind, _, _ in series}
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_try, home, *one, seed, reference) for one in series]
        for done in as_completed(waiting):
            name, kills, faults = done.result()
            table[name] = table[name][0] + kills, table[name][1] + faults
            print(f"{name}: {kills}", *faults, sep="\n  ", file=sys.stderr, flush=True)
    return table


def run(asked: Any) -> int:
    """Kill, and print the table."""
    series = plan(asked.number, asked.only)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        reference = Workflow(Path(name) / "small", SMALL)
        reference.run("--skip-script-cleanup")
        table = run_series(series, asked.seed, asked.jobs, Path(name), reference)
    print("| what is killed | kills | lost |\n|---|---|---|")
    for name, (kills, faults) in table.items():
        print(f"| {name} | {kills} | {len(faults)} |")
    lost = sum(len(faults) for _, faults in table.values())
    print(f"| all | {sum(kills for kills, _ in table.values())} | {lost} |")
    return int(lost > 0)
