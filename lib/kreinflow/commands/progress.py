"""The line that says how far a run is, and the messages above it."""

import os
import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TextIO

_REDRAWN, _PLAIN = 0.5, 30.0
"""Seconds between two looks of the line on a terminal, and between two plain lines at least."""


class ProgressLine:
    """One line, rewritten in place on a terminal; elsewhere a plain line now and then.

    ``jobs`` are done of the ``total`` of the run, 0 until they are known. ``aligned`` are the
    alignments that jobs told of.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._now = stream, clock
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._start = self._shown = clock()
        self.jobs = self.total = 0
        self.aligned = 0.0

    def text(self) -> str:
        """Return the line, without the clock."""
        if not self.total:
            return "starting"
        parts = [f"{self.jobs} of {self.total} jobs"]
        if self.aligned:
            parts.append(f"{in_short(self.aligned)} alignments")
        if 0 < self.jobs < self.total and (passed := self._now() - self._start) >= _PLAIN:
            minutes = passed / self.jobs * (self.total - self.jobs) / 60
            parts.append(f"about {max(1, round(minutes)):,} min left if jobs go on like this")
        return ", ".join(parts)

    def message(self, text: str) -> None:
        """Write a line above."""
        self._write(f"\r\x1b[K{text}\n" if self._terminal else f"{text}\n")
        self._shown -= _REDRAWN if self._terminal else 0

    def tick(self) -> None:
        """Write the line if it is time to."""
        now = self._now()
        if self._terminal:
            if now - self._shown >= _REDRAWN:
                self._shown = now
                line = f"kreinflow {timedelta(seconds=int(now - self._start))}  {self.text()}"
                self._write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        elif now - self._shown >= max(_PLAIN, (now - self._start) / 20):
            self._shown = now
            self._write(f"kreinflow {timedelta(seconds=int(now - self._start))}  {self.text()}\n")

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
