"""Floating-point results that are the same whatever the cores, blocks or batch sizes.

And compilation by numba, and when it is worth the time that numba takes to import.
"""

import contextlib
import mmap
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

S = TypeVar("S")
T = TypeVar("T")

TILE = 4096
"""Rows of one tile. A constant of the results: it never follows memory or cores."""

PRODUCT_ROWS = 192
"""Rows of one matrix product, such that few rows cost little. A constant of the results.

The kernels of OpenBLAS take 12 or 16 rows at once, and round those that are left otherwise: with
192 none are left. With 256 a row had other last bits at the end of a block (AVX-512)."""

LARGEST_ENTRY = 1e60
"""Largest score that is learned from: fourth powers of larger ones, and their sums, overflow. Those
of scores below its inverse are rounded, then zero."""

RANK_TOLERANCE = 1e-10
"""Eigenvalues below this fraction of the largest magnitude count as zero, everywhere."""


_BLAS_BUFFER = 32 << 20  # bytes that OpenBLAS maps for a thread

_with_buffer: set[str] = set()
_libraries: tuple[int, ThreadpoolController] | None = None


def single_threaded() -> AbstractContextManager[object]:
    """Hold BLAS to one thread: gemm, QR and eigh round differently with two.

    The search for the libraries takes milliseconds, so it is repeated only after modules have been
    imported: one of them may have loaded another library.
    """
    global _libraries
    import scipy.linalg  # noqa: F401  its BLAS too, if the first use of it is inside

    if _libraries is None or _libraries[0] != len(sys.modules):
        _take_buffers()
        _libraries = len(sys.modules), ThreadpoolController()
    limits: AbstractContextManager[object] = _libraries[1].limit(limits=1)
    return limits


COMPILER_ROOM = 96 << 20
"""Bytes that LLVM may take beside those of its libraries: with 50 MB it ended the process."""


def check_room(size: int) -> None:
    """Raise OSError (``ENOMEM``) if ``size`` bytes are missing: some libraries end the process."""
    mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def _take_buffers() -> None:
    """Let each OpenBLAS take the buffer that it keeps, or raise.

    Where memory has a limit (``ulimit -v``) and none is left, one OpenBLAS tries for ever to get
    its buffer and another ends the process.
    """
    small = np.eye(128)  # products of smaller ones take no buffer
    for name in ("numpy", "scipy.linalg"):  # each brings a library of its own
        if name in _with_buffer or name not in sys.modules:
            continue
        check_room(_BLAS_BUFFER)
        if name == "numpy":
            small @ small
        else:
            from scipy.linalg.blas import dsymv  # waits for a thread that is importing it

            dsymv(1.0, small, small[0])
        _with_buffer.add(name)


def tiles(n: int) -> Iterator[slice]:
    """Yield the slices of at most :data:`TILE` rows that cover ``n`` rows, in order.

    Examples
    --------
    >>> list(tiles(5000))
    [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    for start in range(0, n, TILE):
        yield slice(start, min(start + TILE, n))


@dataclass(frozen=True)
class Limits:
    """Threads and memory that a computation may take. Its results do not depend on them.

    ``memory`` are the bytes that matrices with a row for each record may take together; larger ones
    are computed again or read from a scratch file, a tile at a time.
    """

    threads: int = 1
    memory: int = 2 << 30


_limits = Limits()
_own = threading.local()  # of each thread


def current_limits() -> Limits:
    """Return what :func:`limited` set, or the defaults."""
    return _limits


@contextmanager
def limited(threads: int = 1, memory_mb: float = 2048) -> Iterator[Limits]:
    """Set the :class:`Limits` of what runs inside, for the whole process."""
    global _limits
    before = _limits
    _limits = Limits(threads, int(memory_mb * 2**20))
    try:
        yield _limits
    finally:
        _limits = before


def _note_worker() -> None:
    _own.is_worker = True


def ordered_map(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield ``function(item)`` of all items in order, as many at once as there are threads.

    BLAS has one thread; so what is summed up in the order of the items is the same whatever the
    threads. A map inside of another has one thread.
    """
    threads = 1 if getattr(_own, "is_worker", False) else current_limits().threads
    with single_threaded():
        if threads == 1:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(threads, initializer=_note_worker) as pool:
            waiting: deque[Future[T]] = deque()
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


def ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, in order, while another thread makes the next one, if there are threads.

    An error is raised in the place of its item. BLAS must be held by :func:`single_threaded`: two
    threads that hold and free it in turn would free it too early.
    """
    if current_limits().threads == 1:
        yield from items
        return
    own, context = iter(items), copy_context()

    def following() -> list[T]:
        return list(islice(own, 1))

    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(context.run, following)
        while made := making.result():
            making = pool.submit(context.run, following)
            yield from made


def tile_map(function: Callable[[slice], T], n: int) -> Iterator[T]:
    """Yield ``function(rows)`` of all tiles of ``n`` rows, by :func:`ordered_map`."""
    if n > TILE:
        return ordered_map(function, tiles(n))
    with single_threaded():  # a single tile needs no pool, but the same BLAS
        return iter([function(rows) for rows in tiles(n)])


def tile_sum(function: Callable[[slice], FloatArray], n: int) -> FloatArray:
    """Return the sum of ``function(rows)`` of all tiles of ``n`` > 0 rows, in their order.

    The arrays that it returns must be new: others are added to the first.
    """
    parts = iter(tile_map(function, n))
    total = next(parts)
    for part in parts:
        total += part
    return total


def tiled_product(A: NDArray[np.floating], B: FloatArray) -> FloatArray:
    """Return A @ B such that each row depends on its own row of A alone, bit for bit.

    A product of another height may use another kernel of BLAS and round differently; so all
    products have :data:`PRODUCT_ROWS` rows, the last one filled up with zeros. The precision is
    that of B.
    """
    out = np.empty((A.shape[0], B.shape[1]), dtype=B.dtype)

    def product(rows: slice) -> None:
        for start in range(rows.start, rows.stop, PRODUCT_ROWS):
            stop = min(start + PRODUCT_ROWS, rows.stop)
            block = np.ascontiguousarray(A[start:stop], dtype=B.dtype)
            if len(block) == PRODUCT_ROWS:
                np.matmul(block, B, out=out[start:stop])
            else:
                filled = np.zeros((PRODUCT_ROWS, A.shape[1]), dtype=B.dtype)
                filled[: len(block)] = block
                out[start:stop] = (filled @ B)[: len(block)]

    for _ in tile_map(product, A.shape[0]):
        pass
    return out


_IMPORT_MICROSECONDS = 100_000.0
"""Less than numba takes to import, and its machine code to load."""

_spent = 0.0


def worth_compiling(microseconds: float) -> bool:
    """Return whether to run a compiled loop instead of a numpy one that gives the same bits.

    ``microseconds`` is what numpy takes, about; they are summed up over the process.
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
