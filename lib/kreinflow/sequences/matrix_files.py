"""Matrices, vectors and strings: reading and checking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.base.numerics import LARGEST_ENTRY, FloatArray, IntArray, tiles
from kreinflow.base.wording import abridged, plural, shortened
from kreinflow.files.arrays import map_array
from kreinflow.files.text_files import check_file, name_endings, refuse_control
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.sequences.labels import read_lines
from kreinflow.sequences.object_files import check_texts, read_texts
from kreinflow.sequences.user_tables import open_rows

MATRIX_ENDINGS = (".npy", ".csv", ".tsv", ".mat")
TABLE_ENDINGS = (".csv", ".tsv")

MATRIX_KINDS = {
    "similarity": "similarity",
    "zero_diagonal_similarity": "similarity",
    "asymmetric": "asymmetric",
    "dissimilarity": "squared_dissimilarity",
    "squared_dissimilarity": "squared_dissimilarity",
}
"""The kinds of entries of a matrix in a config, and the kind of data set that they make."""

DISSIMILARITIES = ("dissimilarity", "squared_dissimilarity")
"""The kinds of matrices whose entries grow as objects differ."""

_INTEGERS = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NUMBERS = ("double", "single", "logical", *_INTEGERS)  # what MATLAB calls them


@dataclass(frozen=True)
class ReadMatrix:
    """A matrix or vectors as they stand in their file; a ``.npy`` file is a memory map.

    ``ids`` are those of the rows, of a square matrix from a header row or column; ``column_ids``
    those of the columns from a header row.
    """

    values: NDArray[Any]
    ids: tuple[str, ...] | None = None
    column_ids: tuple[str, ...] | None = None

    @cached_property
    def _index(self) -> pd.Index[str]:
        return pd.Index([*(self.ids or ())])

    def places(self, ids: Sequence[str]) -> IntArray:
        """Return the row of each id, -1 where it has none."""
        return self._index.get_indexer(pd.Index([*ids]))


def check_numbers_file(path: Path, endings: Sequence[str] = MATRIX_ENDINGS) -> None:
    """Refuse a file that cannot hold numbers, by its name and first byte alone."""
    ending = name_endings(path)[1]
    if ending not in endings or (path.suffix.lower() == ".gz" and ending in (".npy", ".mat")):
        raise InputError(
            f"{path}: the ending is not one of a table of numbers. Name it {', '.join(endings)}, "
            ".csv.gz or .tsv.gz."
        )
    check_file(path)


def read_matrix(path: Path, variable: str | None = None, square: bool = True) -> ReadMatrix:
    """Read a matrix from ``.npy``, ``.csv[.gz]``, ``.tsv[.gz]`` or ``.mat``.

    A text file may have a header row and a column of ids: their first entries are no numbers, or
    the corner is empty or ``id``. A ``variable`` names the matrix, if a ``.mat`` file has several;
    ``square`` tells whether rows and columns are the same objects.

    An InputError says that the file cannot be read or is not a matrix of numbers, or that the ids
    of a square matrix disagree.
    """
    check_numbers_file(path)
    ending = name_endings(path)[1]
    if ending == ".npy":
        read = ReadMatrix(_read_npy(path))
    elif ending == ".mat":
        read = ReadMatrix(_read_mat(path, variable))
    else:
        read = _read_text(path, square)
    if read.values.ndim != 2 or read.values.dtype.kind not in "iuf":
        raise InputError(
            f"{path}: holds {read.values.dtype} of {read.values.ndim} dimensions. Give real "
            "numbers of 2 dimensions, objects in rows."
        )
    if square:
        _check_square(path, read.values.shape)
    return read


def read_vectors(path: Path, variable: str | None = None, width: int | None = None) -> ReadMatrix:
    """Read vectors as :func:`read_matrix` does, one a row, of ``width`` numbers if it is given.

    An InputError refuses another width, and an entry that is not finite or too large.
    """
    read = read_matrix(path, variable, square=False)
    values = np.array(read.values, dtype=np.float64, order="C")
    if width is not None and values.shape[1] != width:
        raise InputError(
            f"{path}: has {plural(values.shape[1], 'column')} of numbers where the model's vectors "
            f"have {width}. Give those that the model was trained on, in their order, no labels."
        )
    why = f"is not a finite number, or above {LARGEST_ENTRY:g} in size. Correct it."
    _refuse_first(path, values, ~(np.abs(values) <= LARGEST_ENTRY), why, read.ids)
    return replace(read, values=values)


def read_record_vectors(path: Path, width: int | None = None) -> ReadMatrix:
    """Read vectors by id: a ``.tsv[.gz]`` or ``.csv[.gz]`` table as of :func:`read_vectors`."""
    check_numbers_file(path, TABLE_ENDINGS)
    read = read_vectors(path, width=width)
    if read.ids is None:
        raise InputError(
            f"{path}: its first column has numbers where the ids of the records are expected. If "
            "these numbers are the ids, call the column id in a header."
        )
    return read


def check_objects_file(path: Path, kernel: Kernel) -> None:
    """Refuse a file that cannot hold what a kernel compares, by its name and first byte alone."""
    if isinstance(kernel, AskedKernel) and kernel.strings:
        check_texts(path, kernel)
        return
    if not kernel.strings:
        check_numbers_file(path)
        return
    if name_endings(path)[1] != ".txt":
        raise InputError(
            f"{path}: the kernel {kernel.name} compares strings. Give a .txt file (or .txt.gz) "
            "with one string a line."
        )
    check_file(path)


def read_objects(
    path: Path, kernel: Kernel, variable: str | None = None, width: int | None = None
) -> ReadMatrix:
    """Read the objects that a kernel compares: vectors, or strings, one a line of a ``.txt[.gz]``.

    What the user's own score compares is in :mod:`kreinflow.sequences.object_files`.

    An InputError is as of :func:`read_vectors`, or says what the kernel cannot compare.
    """
    check_objects_file(path, kernel)
    if isinstance(kernel, AskedKernel) and kernel.strings:
        ids, texts = read_texts(path, kernel)
        return ReadMatrix(np.array(texts, dtype=object), ids)
    if kernel.strings:
        return ReadMatrix(np.array(read_lines(path, "string"), dtype=object))
    read = read_vectors(path, variable, width)
    refuse_unfit(str(path), kernel, read.values)
    return read


def refuse_unfit(place: str, kernel: Kernel, objects: Objects) -> None:
    """Refuse objects that a kernel cannot compare; ``place`` says where they come from."""
    fault = kernel.first_fault(objects)
    if fault is not None:
        raise InputError(f"{place}, {fault}")


def _check_square(path: Path, shape: tuple[int, ...]) -> None:
    n, m = shape
    if n != m or n < 2:
        raise InputError(
            f"{path}: has {plural(n, 'row')} and {plural(m, 'column')}. A square matrix of 2 rows "
            "at least is expected. If ids are numbers, the corner must be empty or id."
        )


def _read_npy(path: Path) -> NDArray[Any]:
    try:
        return map_array(path)
    except ValueError as error:
        raise InputError(
            f"{path}: truncated, or not a .npy file of numbers ({error}). Use numpy.save again."
        ) from error


def _read_mat(path: Path, variable: str | None) -> NDArray[Any]:
    import scipy.io  # takes 0.2 s, and few runs need it

    try:
        content = sorted(scipy.io.whosmat(path))
        matrices = {
            name: shape for name, shape, what in content if len(shape) == 2 and what in _NUMBERS
        }
        # Beside a matrix stand labels or options; one column alone may be vectors of one number.
        names = [name for name, shape in matrices.items() if min(shape) > 1] or list(matrices)
        if variable is not None:
            names = [name for name in matrices if name == variable]
        if len(names) != 1:
            called = "" if variable is None else f" named {variable!r}"
            raise InputError(
                f"{path}: holds {len(names)} matrices of numbers{called}, no sparse ones or cells; "
                f"it has {', '.join(matrices) or 'none'}. Name one as 'variable' in the config."
            )
        values: NDArray[Any] = scipy.io.loadmat(path, variable_names=names)[names[0]]
    except InputError:
        raise
    except Exception as error:  # the reader lets any kind of error of a damaged file through
        raise InputError(
            f"{path}: truncated, or not a .mat file that can be read ({error}). Save it with "
            "save(..., '-v7') or as .csv."
        ) from error
    return values


def is_number(field: str) -> bool:
    """Return whether a text is a number to Python."""
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field  # 1_2 may be an id


def _read_text(path: Path, square: bool) -> ReadMatrix:
    with open_rows(path) as (delimiter, numbered):
        rows = (row for _, row in numbered if len(row) > 1 or any(map(str.strip, row)))
        head = list(islice(rows, 2))
        if not head:
            raise InputError(f"{path}: has no rows. Give the right file.")
        first, second = [name.strip() for name in head[0]], head[-1]
        width, corner = len(second), first[0].lower() in ("", "id")
        # A decimal comma is one too: its row is of numbers, and refused as such.
        meant = [[is_number(field.replace(",", ".", 1)) for field in row] for row in head]
        has_header = corner or not any(meant[0][1:] or meant[0])
        if has_header and len(head) == 1:
            raise InputError(f"{path}: has a header, but no rows.")
        has_ids = corner or not meant[has_header][0]
        if width == has_ids:
            raise InputError(
                f"{path}: its rows begin with {second[0]!r} and have no numbers behind that. "
                f"Fields must be separated by {delimiter}s, decimals have a point."
            )
        names = first if has_header else []
        corner_left_out = has_ids and not corner and len(names) == width - 1  # as R writes it
        if has_header and len(names) != width and not corner_left_out:
            raise InputError(
                f"{path}: its header has {plural(len(first), 'field')}, the row below it {width}."
            )
        if has_ids and not corner_left_out:
            names = names[1:]
        ids, values = list[str](), list[FloatArray]()
        for i, row in enumerate(chain(head[has_header:], rows), start=1):
            if len(row) != width:
                raise InputError(
                    f"{path}, row {i}: has {len(row)} fields, others have {width}. "
                    "Is the file truncated?"
                )
            ids += [id.strip() for id in row[:has_ids]]
            values.append(_numbers(f"{path}, row {i}", row[has_ids:], delimiter))
    if square and names and ids and names != ids:
        raise InputError(
            f"{path}: the ids of the columns ({abridged(names, 3)}) and of the rows "
            f"({abridged(ids, 3)}) differ. Give both in one order."
        )
    ids = ids or (names if square else [])
    _check_ids(path, "row", ids)
    _check_ids(path, "column", [] if square else names)
    return ReadMatrix(np.array(values), tuple(ids) or None, tuple(names) or None)


def _check_ids(path: Path, what: str, ids: Sequence[str]) -> None:
    refuse_control("id", ids, (f"{path}, {what} {i}" for i, _ in enumerate(ids, 1)))
    seen: dict[str, int] = {}
    for i, id in enumerate(ids, start=1):
        if not id or seen.setdefault(id, i) != i:
            raise InputError(
                f"{path}: id {shortened(id)!r} of {what} {i} is empty or stands twice. "
                f"Give each {what} its own id."
            )


def _numbers(place: str, fields: list[str], delimiter: str) -> FloatArray:
    try:
        return np.array(fields, dtype=np.float64)
    except ValueError as error:
        j = list(map(is_number, fields)).index(False)
        raise InputError(
            f"{place}, column {j + 1}: {shortened(fields[j].strip())!r} is not a number. Separate "
            f"fields by {delimiter}s, and write decimals with a point (3.5)."
        ) from error


def check_matrix(
    path: Path, values: NDArray[Any], kind: str, tolerance: float
) -> tuple[FloatArray, float]:
    """Check a matrix and return it as a data set has it: symmetric if it must be, d squared.

    The result, (n, n), is (K + K') / 2, for ``dissimilarity`` squared after that, or K itself if
    it is asymmetric. With it comes the largest ``|k_ij - k_ji|`` as a share of the largest ``|k|``.
    The ``values`` are not changed.

    An InputError, which names row and column from 1, says that the matrix is not square or finite,
    that this share is above the ``tolerance`` (an asymmetric one has no limit), or that entries are
    too small or large, or do not fit the ``kind``, one of :data:`MATRIX_KINDS`.
    """
    _check_square(path, values.shape)
    n, values = len(values), np.asarray(values, dtype=np.float64)
    largest = LARGEST_ENTRY if kind != "dissimilarity" else LARGEST_ENTRY**0.5
    why = f"is not a finite number, or above {largest:g} in size. Correct it, or divide the matrix."
    _refuse_first(path, values, ~(np.abs(values) <= largest), why)
    scale = float(np.abs(values).max())
    if scale < 1 / largest:
        raise InputError(
            f"{path}: its largest entry is {scale:.6g} in size, below {1 / largest:g}, too small "
            "to compute with. Multiply the matrix by a number, or give the right file."
        )
    worst, pair = 0.0, (0, 0)
    for rows in tiles(n):
        gap = np.abs(values[rows] - values[:, rows].T)
        i, j = divmod(int(gap.argmax()), n)
        if gap[i, j] > worst:
            worst, pair = float(gap[i, j]), (rows.start + i, j)
    if kind == "asymmetric":
        return values.astype(np.float64), worst / scale
    if worst > tolerance * scale:
        i, j = pair
        raise InputError(
            f"{path}: not symmetric, {values[i, j]:.6g} at row {i + 1}, column {j + 1} but "
            f"{values[j, i]:.6g} at row {j + 1}, column {i + 1}. If similarities have a direction, "
            "set 'kind: asymmetric'; to take the mean of both, raise 'symmetry_tolerance'."
        )
    symmetric = (values + values.T) / 2
    diagonal = np.diagonal(symmetric)
    if kind == "similarity" and not diagonal.any():
        raise InputError(
            f"{path}: its whole diagonal is 0. Set 'kind' to what it is: a dissimilarity, or "
            "'kind: zero_diagonal_similarity'."
        )
    wrong = np.zeros((n, n), dtype=np.bool_)
    if kind in DISSIMILARITIES:
        wrong = symmetric < -tolerance * scale
    if kind != "similarity":
        limit = 0.0 if kind == "zero_diagonal_similarity" else tolerance * scale
        np.fill_diagonal(wrong, np.abs(diagonal) > limit)
    what = kind.replace("_", " ")
    why = f"is no {what} (of an object with itself it is 0). Set 'kind' to what the matrix is."
    _refuse_first(path, symmetric, wrong, why)
    if kind in DISSIMILARITIES:
        np.fill_diagonal(symmetric, 0.0)
        np.maximum(symmetric, 0.0, out=symmetric)
        if kind == "dissimilarity":
            symmetric *= symmetric
    return symmetric, worst / scale


def _refuse_first(
    path: Path,
    values: FloatArray,
    wrong: NDArray[np.bool_],
    why: str,
    ids: Sequence[str] | None = None,
) -> None:
    """Refuse the first entry that is wrong; a column of ``ids`` stands before the numbers."""
    if wrong.any():
        i, j = divmod(int(wrong.argmax()), wrong.shape[1])
        row, column = (f"{i + 1} ({ids[i]})", j + 2) if ids else (f"{i + 1}", j + 1)
        raise InputError(f"{path}, row {row}, column {column}: {values[i, j]:.6g} {why}")
