"""The two kinds of failure, and their exit codes."""

import errno
import os
import re
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


def of_the_disk(error: OSError, place: str) -> KreinflowError | None:
    """Return what to raise for a disk that is full, read-only or broken; None for other faults.

    Parameters
    ----------
    error : OSError
    place : str
        What to call the file if the error does not know its name.

    Examples
    --------
    >>> print(of_the_disk(OSError(errno.ENOSPC, "No space left on device"), "standard output"))
    standard output: could not be written (No space left on device). Free some space or write \
elsewhere, then run again.
    """
    return unwritable(error.filename or place, error) if error.errno in _DISK else None


@contextmanager
def named(place: str) -> Iterator[None]:
    """Put ``place`` before the message of what fails in the block.

    Examples
    --------
    >>> with named("recipe 'one'"):
    ...     raise InputError("all rows are the same.")
    Traceback (most recent call last):
    kreinflow.errors.InputError: recipe 'one': all rows are the same.
    """
    try:
        yield
    except KreinflowError as error:
        raise type(error)(f"{place}: {error}") from error
