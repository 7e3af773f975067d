"""Progress of an alignment, for the one who waits."""

import contextlib
import os
import time
from collections.abc import Callable
from typing import TextIO

_SECONDS_PER_LINE = 5.0

LISTENS = "KREINFLOW_LISTENS"
"""Set where ``kreinflow run`` reads what jobs write to standard error, and shows a line itself."""

MARK = "\x1e"
"""Before each JSON object that is told to it, one a line."""

Progress = Callable[[int, int], None]
"""What is called with (cells done, cells in all) about every second."""


class ProgressPrinter:
    """Prints what :meth:`ScoreStore.fill` reports, a line every few seconds at most.

    A cell is one of an alignment, or one of ``pairs``.
    """

    def __init__(self, stream: TextIO, label: str, pairs: bool = False) -> None:
        self._stream = stream
        self._label = label
        self._unit, self._size = ("pairs a second", 1.0) if pairs else ("GCUPS", 1e9)
        self._start = self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Print that ``done`` of ``total`` cells are filled."""
        now = time.monotonic()
        if LISTENS in os.environ or (now - self._last < _SECONDS_PER_LINE and done < total):
            return
        self._last = now
        elapsed = max(now - self._start, 1e-9)
        left = elapsed * (total - done) / max(done, 1)
        print(
            f"{self._label}: {100 * done // max(total, 1)} %, "
            f"{done / elapsed / self._size:.1f} {self._unit}, {left:.0f} s left",
            file=self._stream,
            flush=True,
        )


def tell_aligned(pairs: int) -> None:
    """Tell ``kreinflow run``, if it listens, that so many more pairs are aligned."""
    if pairs and LISTENS in os.environ:
        with contextlib.suppress(OSError):  # it is gone
            os.write(2, f'{MARK}{{"aligned": {pairs}}}\n'.encode())
