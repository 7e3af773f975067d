"""Kills: runs, jobs and commands that are ended at random moments, to see whether anything is lost.

    python tests/kills.py --number 1000                 about half an hour of one core
    python tests/kills.py --number 20 --only Ctrl-C     the kinds with these words in their names

Each kind is a row of the table that is printed. A series of a few kills goes on in one folder, and
then the work is run to its end. Lost is what is found by these looks:

- after each kill: a file of a result is not whole, a segment of the score store cannot be read, the
  exit code is none of the signal (or 0 of what was done before the kill came), a traceback is
  shown, or something is called a fault of the program;
- after each series: a result has other bytes than that of an undisturbed run, a pair of sequences
  is stored twice or with another score, a temporary file is left.

Moments are drawn by a hash of ``--seed``, the kind and the number of the series: uniform over the
time that a job takes, or from the moment at which its first file is begun. A kill that comes too
late is tried again and counts when it hits. What is found depends on the machine's other work, too.
The exit code is 1 if something is lost.
"""

import argparse
import hashlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from signal import SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM
from typing import Any

from kill_series import (
    SHORT,
    of_commands,
    of_jobs,
    of_long_alignments,
    of_runs,
    of_stopped_jobs,
    of_twins,
    of_writers,
)
from undisturbed import Bench, Found, references
from workflow.conftest import Workflow


@dataclass(frozen=True)
class Kind:
    """A row of the table: its share of a thousand kills, and how many go on in one folder."""

    name: str
    share: int
    each: int
    series: Callable[[Bench, Random, int], Found]
    long: bool = False


def kinds() -> Iterator[Kind]:
    """Yield the rows."""
    yield Kind("run: SIGKILL to the process group", 30, 5, partial(of_runs, end="group"))
    yield Kind(
        "run: SIGKILL to Snakemake alone, a new run beside its jobs",
        *(20, 5, partial(of_runs, end="main")),
    )
    yield Kind("run: SIGTERM to Snakemake alone", 10, 5, partial(of_runs, end="SIGTERM"))
    yield Kind("run: Ctrl-C at its terminal", 20, 5, partial(of_runs, end="Ctrl-C"))
    yield Kind("run: its terminal is closed", 15, 5, partial(of_runs, end="terminal closed"))
    yield Kind("run: stopped, and going on", 6, 1, partial(of_runs, end="stopped"))
    yield Kind(
        "run: a second run beside it, SIGKILL to the first", 10, 5, partial(of_runs, end="two")
    )
    for number, share in ((SIGKILL, 150), (SIGTERM, 90), (SIGINT, 90), (SIGHUP, 60), (SIGQUIT, 40)):
        name = signal.Signals(number).name
        yield Kind(f"job: {name}", share, 5, partial(of_jobs, number=number))
    for number, share in ((SIGKILL, 100), (SIGTERM, 30), (SIGINT, 30)):
        name = signal.Signals(number).name
        yield Kind(
            f"job: {name} while it writes",
            *(share, 5, partial(of_jobs, number=number, writing=True)),
        )
    yield Kind("job: SIGSTOP and SIGCONT", 20, 5, of_stopped_jobs)
    yield Kind("job: two of the same at once, SIGKILL to one", 20, 5, of_twins)
    for number in (SIGKILL, SIGTERM, SIGINT):
        name = signal.Signals(number).name
        yield Kind(
            f"long alignment: {name}, segments after {SHORT} s",
            *(18, 9, partial(of_long_alignments, number=number), True),
        )
    yield Kind(
        "long alignment: SIGKILL, segments after 10 s",
        *(4, 1, partial(of_long_alignments, number=SIGKILL, interval=None), True),
    )
    for what in ("table", "array", "mapped array", "file of arrays", "segment"):
        yield Kind(f"writing of a large {what}: SIGKILL", 16, 8, partial(of_writers, what=what))
    for command, numbers in (
        ("classify", (SIGKILL, SIGTERM, SIGINT, SIGHUP)),
        ("check", (SIGINT,)),
    ):
        for number in numbers:
            name = signal.Signals(number).name
            yield Kind(
                f"kreinflow {command}: {name}",
                *(20, 10, partial(of_commands, command=command, number=number)),
            )


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


_bench: Bench


def _start(home: Path, small: Workflow, slow: Workflow | None) -> None:
    global _bench
    _bench = Bench(Path(tempfile.mkdtemp(dir=home)), small, slow)


def _try(name: str, place: int, kills: int, seed: int) -> tuple[str, Found, float]:
    begin = time.monotonic()
    (kind,) = (kind for kind in kinds() if kind.name == name)
    drawn = hashlib.sha256(f"{seed}|{name}|{place}".encode()).hexdigest()
    return name, kind.series(_bench, Random(drawn), kills), time.monotonic() - begin


def run_series(
    series: list[tuple[Kind, int, int]], seed: int, jobs: int, home: Path, references: Any
) -> dict[str, tuple[Found, float]]:
    """Run all series and return what each kind found, with its seconds."""
    table = {kind.name: (Found(), 0.0) for kind, _, _ in series}
    with ProcessPoolExecutor(jobs, initializer=_start, initargs=(home, *references)) as pool:
        waiting = [pool.submit(_try, kind.name, at, kills, seed) for kind, at, kills in series]
        for done in as_completed(waiting):
            name, found, seconds = done.result()
            total, before = table[name]
            total.kills += found.kills
            total.faults += found.faults
            total.slowest = max(total.slowest, found.slowest)
            table[name] = total, before + seconds
            print(f"{name}: {found.kills} in {seconds:.0f} s", file=sys.stderr, flush=True)
            for fault in found.faults:
                print(f"{name}: {fault}", file=sys.stderr, flush=True)
    return table


def main() -> int:
    """Kill, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--number", type=int, default=100, help="kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="words in the names of kinds")
    parser.add_argument("--jobs", type=int, default=1, help="series at once")
    asked = parser.parse_args()
    series = plan(asked.number, asked.only)
    if not series:
        parser.error(f"no kind has {asked.only!r} in its name")
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        home = Path(name)
        both = references(home, any(kind.long for kind, _, _ in series))
        table = run_series(series, asked.seed, asked.jobs, home, both)
    print("| what is killed | kills | lost | slowest end, s | seconds |\n|---|---|---|---|---|")
    for name, (found, seconds) in table.items():
        slowest = f"{found.slowest:.1f}" if found.slowest else ""
        print(f"| {name} | {found.kills} | {len(found.faults)} | {slowest} | {seconds:.0f} |")
    kills = sum(found.kills for found, _ in table.values())
    lost = sum(len(found.faults) for found, _ in table.values())
    print(f"| all | {kills} | {lost} | | {sum(seconds for _, seconds in table.values()):.0f} |")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
