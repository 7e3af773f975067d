"""Matrices with a row for each record, read a tile at a time and never whole in memory."""

import errno
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import (
    TILE,
    FloatArray,
    IntArray,
    current_limits,
    tile_map,
    tile_sum,
)

_COPIED = 64 << 20
"""Bytes up to which a selection of rows is copied rather than looked up again each time."""


def release(array: NDArray[Any]) -> None:
    """Give the pages of a memory map, but no copy-on-write one, back: they count as our memory."""
    if (pages := _pages(array)) is not None:
        pages.madvise(mmap.MADV_DONTNEED)


def _pages(array: NDArray[Any]) -> mmap.mmap | None:
    if isinstance(array, np.memmap) and array.mode != "c":
        base: Any = array.base
        return base if isinstance(base, mmap.mmap) else None
    return None


class TiledMatrix:
    """A matrix whose rows are made, or read from a file, when they are needed.

    It can be sliced by rows like an ndarray, and ``np.asarray`` makes all of it at once. ``read``
    returns the rows at some places, as a new array; each row must depend on its place alone.

    Examples
    --------
    >>> squares = TiledMatrix((5, 1), lambda places: places[:, None] ** 2.0)
    >>> squares[2:4].tolist(), np.asarray(squares.take(np.array([4, 0]))).tolist()
    ([[4.0], [9.0]], [[16.0], [0.0]])
    """

    ndim = 2

    def __init__(
        self,
        shape: tuple[int, int],
        read: Callable[[NDArray[np.intp]], NDArray[Any]],
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._read = read

    @classmethod
    def mapped(
        cls, array: NDArray[Any], columns: IntArray | None = None
    ) -> "NDArray[Any] | TiledMatrix":
        """Return a memory-mapped array, or some of its columns, as a matrix read by tiles.

        An array that is not mapped is returned as it is, or its columns.
        """
        if _pages(array) is None:
            return array if columns is None else array[:, columns]

        def read(places: NDArray[np.intp]) -> NDArray[Any]:
            rows = np.asarray(array[places])
            release(array)
            return rows if columns is None else np.ascontiguousarray(rows[:, columns])

        width = array.shape[1] if columns is None else len(columns)
        return cls((array.shape[0], width), read, array.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.dtype.itemsize * self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> FloatArray:
        if isinstance(rows, slice):
            return self._read(np.arange(*rows.indices(len(self))))
        return self._read(np.asarray(rows, dtype=np.intp))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if 0 < len(self) <= TILE:  # rows are read as new ones: no copy is needed
            (rows,) = tile_map(self.__getitem__, len(self))
            return np.ascontiguousarray(rows, dtype=dtype or np.float64)
        whole = np.empty(self.shape, dtype=dtype or np.float64)

        def fill(rows: slice) -> None:
            whole[rows] = self[rows]

        for _ in tile_map(fill, len(self)):
            pass
        return whole

    def take(self, places: IntArray) -> "TiledMatrix":
        """Return the matrix of some rows, in the order given."""
        chosen = np.asarray(places, dtype=np.intp)
        return TiledMatrix((len(chosen), self.shape[1]), lambda asked: self._read(chosen[asked]))

    def kept(self) -> "MatrixLike":
        """Return it in memory, if a quarter of what is allowed suffices; else as it is."""
        return np.asarray(self) if 4 * self._bytes <= current_limits().memory else self

    def stored(self, share: int = 2) -> "MatrixLike":
        """Return it in memory if 1/``share`` of what is allowed suffices, else as a scratch file.

        It is for rows that cost more to make than to read. The file has no name, is in the folder
        of temporary files (TMPDIR), and ends with the process. InputError if it does not fit.
        """
        if share * self._bytes <= current_limits().memory:
            return np.asarray(self)
        with _scratch_file(self._bytes) as file:
            for block in tile_map(self.__getitem__, len(self)):
                file.write(np.ascontiguousarray(block, dtype=np.float64).data)
            file.flush()
            stored = np.memmap(file, dtype=np.float64, mode="r", shape=self.shape)
        tiled = TiledMatrix.mapped(stored)
        assert isinstance(tiled, TiledMatrix)
        return tiled

    @property
    def _bytes(self) -> int:
        return 8 * self.shape[0] * self.shape[1]


@contextmanager
def _scratch_file(size: int) -> Iterator[BinaryIO]:
    """Yield a file without a name, and say in an InputError that it has no room."""
    try:
        with tempfile.TemporaryFile(prefix="kreinflow-") as file:
            yield file
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise InputError(
            f"{tempfile.gettempdir()}: no room for a scratch file of {size / 2**30:.1f} GiB. Set "
            "TMPDIR to a folder with more, or allow more memory."
        ) from error


def new_rows(shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array to be filled: in memory, if a quarter of what is allowed suffices.

    Else it is the map of a scratch file, as that of :meth:`TiledMatrix.stored`.
    """
    size = np.dtype(dtype).itemsize * shape[0] * shape[1]
    if 4 * size <= current_limits().memory:
        return np.empty(shape, dtype)
    with _scratch_file(size) as file:
        os.posix_fallocate(file.fileno(), 0, size)  # a full disk would end in SIGBUS later
        return np.memmap(file, dtype, "r+", shape=shape)


MatrixLike: TypeAlias = FloatArray | TiledMatrix
"""A matrix for passes over tiles of rows: both kinds can be sliced."""


def select(matrix: MatrixLike, places: IntArray) -> MatrixLike:
    """Return some rows of a matrix: a copy if it is small, else looked up when needed."""
    if isinstance(matrix, TiledMatrix):
        return matrix.take(places)
    if 8 * len(places) * matrix.shape[1] <= _COPIED:
        return matrix[places]
    return TiledMatrix(matrix.shape, matrix.__getitem__).take(places)


def gram_matrix(Z: MatrixLike) -> FloatArray:
    """Return Z'Z, of shape (r, r), summed in the order of the tiles."""

    def product(rows: slice) -> FloatArray:
        block = Z[rows]
        return block.T @ block

    return tile_sum(product, Z.shape[0])
