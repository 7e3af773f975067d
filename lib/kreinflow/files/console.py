"""The log of a job, which has everything, and the terminal, which has progress and the error."""

import contextlib
import io
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO, cast

from kreinflow.base.errors import (
    KreinflowError,
    disk_error,
    ending_tidily,
    exit_code_of,
    memory_shortage,
    unwritable,
)
from kreinflow.files.json_files import write_json
from kreinflow.files.provenance import job_record


class _Unfailing(io.TextIOBase):
    """A log or a terminal: what cannot be written there is lost, and ends no job."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.whole = stream, True

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # what the stream still holds must not fail again at the end
            self.whole = False
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        return len(text)

    def fileno(self) -> int:
        return self._stream.fileno()


class Console:
    """Writes lines to the log, and to the terminal, which also shows progress.

    ``seconds``: those of each part of the job, for its record.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.seconds: dict[str, float] = {}

    def say(self, line: str) -> None:
        """Write a line to the log with the time of the day."""
        print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)

    def show(self, line: str) -> None:
        """Write a line to the log and to the terminal."""
        self.say(line)
        print(line, file=self.terminal, flush=True)


@contextlib.contextmanager
def logged(path: str | Path) -> Iterator[Console]:
    """Run a job with its output in the log file ``path``, and its ``job_record`` beside it.

    A KreinflowError ends the process with its exit code and one message; anything else with exit
    code 1 and the traceback in the log.
    """
    terminal = cast(TextIO, _Unfailing(sys.stderr or open(os.devnull, "w")))  # noqa: SIM115
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        print(unwritable(path, error).line(), file=terminal, flush=True)
        sys.exit(1)
    with (
        opened,
        contextlib.redirect_stdout(cast(TextIO, log := _Unfailing(opened))) as stream,
        contextlib.redirect_stderr(stream),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default", UserWarning)
        console = Console(terminal)
        try:
            with ending_tidily():
                yield console
                write_json(path.with_suffix(".json"), job_record() | {"seconds": console.seconds})
        except KeyboardInterrupt as interrupt:
            console.show(f"kreinflow: {path}: interrupted. What is finished is kept.")
            sys.exit(exit_code_of(interrupt))
        except KreinflowError as error:
            console.show(error.line())
            sys.exit(error.exit_code)
        except Exception as error:
            console.say(traceback.format_exc())
            if not log.whole:
                print(traceback.format_exc(), file=terminal)
            if (fault := _known_fault(error)) is None:
                fault = KreinflowError(f"a fault of the program; its traceback is in {path}")
            console.show(fault.line())
            sys.exit(1)


def _known_fault(error: Exception) -> KreinflowError | None:
    """Return what to say of a job without memory, or of a disk without room."""
    if missing := memory_shortage(error):
        return KreinflowError(
            f"{missing}; lower alignment.memory_mb, learning.memory_mb or the "
            "number of landmarks, or give the job more memory."
        )
    return disk_error(error, "a file of this job") if isinstance(error, OSError) else None
