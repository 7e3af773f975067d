"""The line that says how far a run is, and the messages above it."""

import os
import time
from collections.abc import Callable
from typing import TextIO

from kreinflow.commands.check import in_short

_REDRAWN, _PLAIN = 0.5, 30.0
"""Seconds between two looks of the line on a terminal, and between two plain lines at least."""


class ProgressLine:
    """One line, rewritten in place on a terminal; elsewhere a plain line now and then.

    Parameters
    ----------
    stream : text stream
    clock : callable
        Seconds.

    Attributes
    ----------
    jobs, total : int
        Those that are done, and all of the run; 0 until they are known.
    aligned, expected : float
        Alignments that jobs told of, and those of the whole run; 0 where they are not known.
    now : callable
        The clock.
    end : float or None
        When the run may end, by the clock.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self.now = stream, clock
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.start = self._shown = clock()
        self.jobs = self.total = 0
        self.aligned = self.expected = 0.0
        self.end: float | None = None

    def text(self) -> str:
        """Return the line, without the clock."""
        if not self.total:
            return "starting"
        parts = [f"{self.jobs} of {self.total} jobs"]
        if self.aligned:
            of_all = f" of {in_short(self.expected)}" if self.expected > self.aligned else ""
            parts.append(f"{in_short(self.aligned)}{of_all} alignments")
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
                line = f"kreinflow {_clock_time(now - self.start)}  {self.text()}"
                self._write(f"\r\x1b[K{line[: self._width() - 1]}")
        elif now - self._shown >= max(_PLAIN, (now - self.start) / 20):
            self._shown = now
            self._write(f"kreinflow {_clock_time(now - self.start)}  {self.text()}\n")

    def close(self) -> None:
        """Take the line away."""
        if self._terminal:
            self._write("\r\x1b[K")

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except OSError:
            return 80

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the terminal is gone: the run goes on
            self._terminal = False


def _clock_time(seconds: float) -> str:
    """Return hours, minutes and seconds.

    Examples
    --------
    >>> [_clock_time(seconds) for seconds in (7.9, 75, 3675)]
    ['0:07', '1:15', '1:01:15']
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
