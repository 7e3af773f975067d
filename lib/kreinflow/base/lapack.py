"""Routines of BLAS and LAPACK that other threads do not wait for.

``scipy.linalg.blas`` and ``lapack`` keep the lock of the interpreter while they compute, so two
threads take as long as one. ctypes gives it back. The routines are those of the same library, which
SciPy offers to Cython (``scipy.linalg.cython_lapack``), so results have the same bits.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np

from kreinflow.base.numerics import FloatArray


@cache
def _routine(library: str, name: str) -> Callable[..., None]:
    """Return a routine of SciPy, all of whose arguments are pointers."""
    capsule = import_module(f"scipy.linalg.cython_{library}").__pyx_capi__[name]
    told, found = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    told.argtypes, told.restype = [ctypes.py_object], ctypes.c_char_p
    found.argtypes, found.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    signature: bytes = told(capsule)
    arguments = [ctypes.c_void_p] * (signature.count(b",") + 1)
    routine: Callable[..., None] = ctypes.CFUNCTYPE(None, *arguments)(found(capsule, signature))
    return routine


def _call(library: str, name: str, *values: bytes | int | float | FloatArray) -> int:
    """Call a routine, and return its last number: of LAPACK, what failed."""
    held: list[ctypes.c_int | ctypes.c_double] = []
    pointers: list[int | bytes] = []
    for value in values:
        if isinstance(value, np.ndarray):
            pointers.append(value.ctypes.data)
        elif isinstance(value, bytes):
            pointers.append(value)
        else:
            held.append(ctypes.c_int(value) if isinstance(value, int) else ctypes.c_double(value))
            pointers.append(ctypes.addressof(held[-1]))
    _routine(library, name)(*pointers)
    return int(held[-1].value)


def add_products(rows: FloatArray, upper: FloatArray) -> None:
    """Add X'X of rows X, of shape (k, n), to the upper triangle of a Fortran array, (n, n)."""
    k, n = rows.shape
    X = np.ascontiguousarray(rows, dtype=np.float64)
    _call("blas", "dsyrk", b"U", b"N", n, k, 1.0, X, n, 1.0, upper, n)


def solve_by_cholesky(A: FloatArray, b: FloatArray) -> tuple[FloatArray, bool]:
    """Return x of A x = b, and whether A, of shape (n, n), is positive definite.

    The lower triangle of A is read, and overwritten if A is a C array of doubles; else a copy is.
    ``b``: of shape (n,) or (n, k).
    """
    A, n = np.ascontiguousarray(A, dtype=np.float64), len(A)  # what LAPACK calls columns
    x = np.array(b, dtype=np.float64, order="F")
    k = 1 if x.ndim == 1 else x.shape[1]
    failed = _call("lapack", "dposv", b"U", n, k, A, n, x, n, 0)
    return x, not failed
