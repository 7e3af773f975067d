"""What a job says: everything to its log, progress and the one clear error to the terminal too."""

import contextlib
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from kreinflow.artifacts import write_json
from kreinflow.errors import InputError, KreinflowError
from kreinflow.provenance import job_record


class Console:
    """Writes lines to the log and, when asked, to the terminal.

    Parameters
    ----------
    terminal : writable text stream
        Where progress is shown.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal

    def say(self, line: str) -> None:
        """Write a line to the log with the time of the day."""
        print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)

    def show(self, line: str) -> None:
        """Write a line to the log and to the terminal."""
        self.say(line)
        print(line, file=self.terminal, flush=True)


@contextlib.contextmanager
def logged(path: str | Path) -> Iterator[Console]:
    """Run a job with its output in the log file ``path``.

    A :class:`~kreinflow.errors.KreinflowError` ends the process with its exit code and one
    message; anything else with exit code 1, the traceback in the log, and a request to report it.
    A job that ends well leaves its :func:`~kreinflow.provenance.job_record` beside its log.
    """
    terminal = sys.stderr
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with (
        open(path, "w", encoding="utf-8", buffering=1) as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default", UserWarning)
        console = Console(terminal)
        try:
            yield console
            write_json(Path(path).with_suffix(".json"), job_record())
        except KreinflowError as error:
            kind = "input error" if isinstance(error, InputError) else "error"
            console.show(f"kreinflow {kind}: {error}")
            sys.exit(error.exit_code)
        except MemoryError as error:
            console.say(traceback.format_exc())
            console.show(
                f"kreinflow error: out of memory ({error}); lower alignment.memory_mb, "
                "learning.memory_mb or the number of landmarks, or give the job more memory."
            )
            sys.exit(1)
        except Exception:
            console.say(traceback.format_exc())
            console.show(f"kreinflow error: a fault of the program; its traceback is in {path}")
            sys.exit(1)
