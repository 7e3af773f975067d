"""The two kinds of failure, their exit codes, and signals that ask a process to end."""

import errno
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def printable(text: str) -> str:
    r"""Return a text with what a terminal obeys, or cannot show, as its escape.

    Examples
    --------
    >>> print(printable("a\x1b[31m"))
    a\x1b[31m
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text
    )


class KreinflowError(Exception):
    """Something failed that is not the user's doing (exit code 1)."""

    exit_code = 1
    kind = "error"

    def __str__(self) -> str:
        # A damaged id may be as long as its file. No part of a path is as long as this.
        return re.sub(r"([^\s/]{60})[^\s/]{240,}", r"\1...", printable(super().__str__()))

    def line(self) -> str:
        """Return what is printed: the program, the kind of failure and the message."""
        return f"kreinflow {self.kind}: {self}"


class InputError(KreinflowError):
    """The user's file, table or configuration is at fault (exit code 2).

    The message names the file, the line or record, what is wrong and what to do.
    """

    exit_code = 2
    kind = "input error"


def unwritable(place: str | os.PathLike[str], error: OSError) -> KreinflowError:
    """Return what to raise for a file that could not be written."""
    return KreinflowError(
        f"{place}: could not be written ({error.strerror or error}). "
        "Free some space or write elsewhere, then run again."
    )


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def disk_error(error: OSError, place: str) -> KreinflowError | None:
    """Return what to raise for a disk that is full, read-only or broken; None for other faults.

    ``place`` names the file if the error does not.
    """
    return unwritable(error.filename or place, error) if error.errno in _DISK else None


def memory_shortage(error: Exception) -> str | None:
    """Return what is missing if a limit of memory or of threads is the reason; else None.

    Not all libraries raise :class:`MemoryError`, and some raise another error while they handle it.
    """
    no_room = ("failed to map segment", "Cannot allocate memory")
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:  # errors that are raised again go in circles
        seen.add(id(link))
        said = str(link)
        if isinstance(link, RuntimeError) and "can't start new thread" in said:
            return "no thread could be started; raise the limit of processes (ulimit -u)"
        if isinstance(link, MemoryError) or (
            isinstance(link, (OSError, ImportError)) and any(words in said for words in no_room)
        ):
            return f"out of memory ({said})" if said else "out of memory"
        link = link.__cause__ or link.__context__
    return None


@contextmanager
def named(place: str) -> Iterator[None]:
    """Put ``place`` before the message of what fails in the block."""
    try:
        yield
    except KreinflowError as error:
        raise type(error)(f"{place}: {error}") from error


@contextmanager
def ending_tidily() -> Iterator[None]:
    """Turn signals that ask a process to end into an interrupt, so that files are cleared away.

    ``SIGTERM`` comes from schedulers, ``SIGHUP`` from a closed terminal. A signal that is ignored,
    as ``nohup`` has it, stays so. The KeyboardInterrupt has the number of the signal.
    """
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt(number)

    before = {}
    if threading.current_thread() is threading.main_thread():  # signals reach no other
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, interrupt)
    try:
        yield
    except Exception as error:
        if came:  # a library took it for a fault of its own
            raise KeyboardInterrupt(came[0]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code_of(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code that shells give a process which a signal ended."""
    return 128 + int(interrupt.args[0] if interrupt.args else signal.SIGINT)
