"""Compilation by numba, and when it is worth the time that numba takes to import."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from kreinflow.base.numerics import COMPILER_ROOM, check_room

_IMPORT_MICROSECONDS = 100_000.0
"""Less than numba takes to import, and its machine code to load."""

_spent = 0.0


def worth_compiling(microseconds: float) -> bool:
    """Return whether to run a compiled loop instead of a numpy one that gives the same bits.

    ``microseconds`` is what numpy takes, about. They are counted for the whole process: many short
    loops are compiled too, and so is everything once numba is there.
    """
    global _spent
    if "numba" in sys.modules:
        return True
    _spent += microseconds
    return _spent > _IMPORT_MICROSECONDS


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function for threads that need no interpreter, and keep the machine code.

    It is kept beside the module, or in the user's folder of caches. Where neither can be written,
    each process compiles it again. An OSError (``ENOMEM``) if there is no memory for the compiler,
    which would end the process.
    """
    check_room(COMPILER_ROOM)
    from numba import njit

    try:
        machine_code = njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no place to keep it
        return njit(nogil=True)(function)
    if (cache := getattr(machine_code, "_cache", None)) is not None:
        cache.save_overload = _if_it_can(cache.save_overload)
    return machine_code


def _if_it_can(save: Callable[..., None]) -> Callable[..., None]:
    def save_or_not(*arguments: Any) -> None:
        with contextlib.suppress(OSError):
            save(*arguments)

    return save_or_not
