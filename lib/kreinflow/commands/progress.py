"""The line that says how far a run is, the messages above it, and the time that is left."""

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TextIO

_REDRAWN, _PLAIN = 0.5, 30.0
"""Seconds between two looks of the line on a terminal, and between two plain lines at least."""


class ProgressLine:
    """One line, rewritten in place on a terminal; elsewhere a plain line now and then.

    ``jobs`` are done of the ``total`` of the run, 0 until they are known; it may ``end`` then by
    the clock, in seconds. ``aligned`` are the alignments that jobs told of.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self.now = stream, clock
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.start = self._shown = clock()
        self.jobs = self.total = 0
        self.aligned = 0.0
        self.end: float | None = None

    def text(self) -> str:
        """Return the line, without the clock."""
        if not self.total:
            return "starting"
        parts = [f"{self.jobs} of {self.total} jobs"]
        if self.aligned:
            parts.append(f"{in_short(self.aligned)} alignments")
        if self.end is not None and self.end > self.now():
            parts.append(_left(self.end - self.now()))
        return ", ".join(parts)

    def message(self, text: str) -> None:
        """Write a line above."""
        self._write(f"\r\x1b[K{text}\n" if self._terminal else f"{text}\n")
        self._shown -= _REDRAWN if self._terminal else 0

    def tick(self) -> None:
        """Write the line if it is time to."""
        now = self.now()
        if self._terminal:
            if now - self._shown >= _REDRAWN:
                self._shown = now
                line = f"kreinflow {timedelta(seconds=int(now - self.start))}  {self.text()}"
                self._write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        elif now - self._shown >= max(_PLAIN, (now - self.start) / 20):
            self._shown = now
            self._write(f"kreinflow {timedelta(seconds=int(now - self.start))}  {self.text()}\n")

    def close(self) -> None:
        """Take the line away."""
        if self._terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the terminal is gone: the run goes on
            self._terminal = False


class Pace:
    """The time that jobs of each rule took, and so those that are left."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[str, float]] = {}
        self._taken: defaultdict[str, list[float]] = defaultdict(list)

    def begin(self, job: int, rule: str, now: float) -> None:
        """Note that a job begins."""
        self._running[job] = rule, now

    def end(self, job: int, now: float) -> str:
        """Note that a job has ended, and return its rule."""
        rule, began = self._running.pop(job, ("", now))
        self._taken[rule].append(now - began)
        return rule

    def left(self, jobs: Mapping[str, int], passed: float) -> float | None:
        """Return the seconds that are left, at the pace of the seconds that have passed.

        A rule of which no job has ended takes what jobs take in the mean, if there is one of it.
        With more of them nothing is known yet: None.
        """
        if any(number > 1 and rule not in self._taken for rule, number in jobs.items()):
            return None
        every = [seconds for taken in self._taken.values() for seconds in taken]
        if not sum(every):
            return None
        seconds = 0.0
        for rule, number in jobs.items():
            taken = self._taken.get(rule, every)
            seconds += number * sum(taken) / len(taken)
        return seconds * passed / sum(every)


def in_short(value: float) -> str:
    """Return a number with two digits.

    Examples
    --------
    >>> [in_short(value) for value in (0.0972, 3.04, 8240.0, 4_795_632.0, 1.6e10)]
    ['0.097', '3', '8,200', '4.8 million', '16 billion']
    """
    for unit, word in ((1e9, "billion"), (1e6, "million")):
        if value >= unit:
            return f"{in_short(value / unit)} {word}"
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def _left(seconds: float) -> str:
    """Return the time that is left, as roughly as it is known.

    Examples
    --------
    >>> [_left(seconds) for seconds in (20, 100, 1000, 10_000)]
    ['under a minute left', 'about 2 min left', 'about 17 min left', 'about 2.8 hours left']
    """
    if seconds < 60:
        return "under a minute left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {in_short(seconds / 3600)} hours left"
