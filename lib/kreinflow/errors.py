"""The two kinds of failure, and their exit codes."""

from collections.abc import Iterator
from contextlib import contextmanager


class KreinflowError(Exception):
    """Something failed that is not the user's doing (exit code 1)."""

    exit_code = 1

    def __str__(self) -> str:
        """Return the message, with what cannot be shown on a terminal as its escape."""
        return "".join(
            letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1]
            for letter in super().__str__()
        )


class InputError(KreinflowError):
    """The user's file, table or configuration is at fault (exit code 2).

    The message names the file, the line or record, what is wrong and what to do.
    """

    exit_code = 2


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
