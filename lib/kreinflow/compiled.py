"""Compilation by numba, in a module of its own: numba is slow to import."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function for threads that need no interpreter, and keep the machine code.

    It is kept beside the module, or in the user's folder of caches. Where neither can be written,
    as in a container that is read-only, each process compiles it again.

    Examples
    --------
    >>> compiled(lambda x: x + 1)(2)
    3
    """
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no place to keep it
        return njit(nogil=True)(function)
