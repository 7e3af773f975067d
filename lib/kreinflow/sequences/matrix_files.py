"""Matrices of similarities or dissimilarities: reading and checking."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, tiles
from kreinflow.base.wording import abridged, plural, shortened
from kreinflow.files.arrays import map_array
from kreinflow.sequences.text_files import check_file, name_endings, open_text, refuse_control
from kreinflow.sequences.user_tables import DELIMITERS, table_rows

MATRIX_ENDINGS = (".npy", ".csv", ".tsv", ".mat")

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

LARGEST_ENTRY = 1e60
"""Largest score that is learned from: fourth powers of larger ones, and their sums, overflow."""

SMALLEST_ENTRY = 1 / LARGEST_ENTRY
"""Least size of the largest score: fourth powers of smaller ones are rounded, then zero."""

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


def check_ending(path: Path) -> str:
    """Return the ending of a matrix file, without ``.gz``; refuse unknown ones."""
    _, ending = name_endings(path)
    packed = path.suffix.lower() == ".gz"
    if ending not in MATRIX_ENDINGS or (packed and ending in (".npy", ".mat")):
        raise InputError(
            f"{path}: the ending is not one of a table of numbers. Give a file named .npy, .csv, "
            ".tsv or .mat (.csv.gz, .tsv.gz)."
        )
    return ending


def read_matrix(
    path: Path, variable: str | None = None, square: bool = True, rows: int | None = None
) -> ReadMatrix:
    """Read a matrix from ``.npy``, ``.csv[.gz]``, ``.tsv[.gz]`` or ``.mat``.

    A text file may have a header row and a column of ids: their first entries are no numbers, or
    the corner is empty or ``id``.

    Parameters
    ----------
    path : Path
    variable : str, optional
        Name of the matrix, if a ``.mat`` file has several.
    square : bool
        Whether rows and columns are the same objects.
    rows : int, optional
        Objects that have a label. A file with more is refused, and not read further.

    Raises
    ------
    InputError
        If the file cannot be read, is not a matrix of numbers, has too many rows, or the ids of a
        square matrix disagree. The shape is checked before the numbers are read.
    """
    ending = check_ending(path)
    check_file(path)
    if ending == ".npy":
        read = ReadMatrix(_read_npy(path))
    elif ending == ".mat":
        read = ReadMatrix(_read_mat(path, variable, square, rows))
    else:
        with open_text(path) as file:
            delimiter, lines = table_rows(file, str(path), "," if ending == ".csv" else "\t")
            given = (row for _, row in lines if len(row) > 1 or "".join(row).strip())
            read = _parse(path, given, square, f"{DELIMITERS[delimiter]}s", rows)
    if read.values.ndim != 2 or read.values.dtype.kind not in "iuf":
        raise InputError(
            f"{path}: holds {read.values.dtype} of {read.values.ndim} dimensions where real "
            "numbers of 2 dimensions are expected, objects in rows. Convert them first."
        )
    _check_shape(path, read.values.shape, square, rows)
    return read


def _check_shape(
    path: Path, shape: tuple[int, ...], square: bool = True, rows: int | None = None
) -> None:
    n, m = shape
    if square and (n != m or n < 2):
        raise InputError(
            f"{path}: has {plural(n, 'row')} and {plural(m, 'column')}. A square matrix of 2 rows "
            "at least is expected; ids in a first row or column must not be numbers, or the corner "
            "must be empty or id."
        )
    if rows is not None and n > rows:
        raise InputError(
            f"{path}: has more than {plural(rows, 'row')}, as many as there are labels. "
            "Give one label for each row."
        )


def _read_npy(path: Path) -> NDArray[Any]:
    try:
        return map_array(path)
    except ValueError as error:
        raise InputError(
            f"{path}: truncated, not a .npy file, or no array of numbers ({error}). Save it again "
            "with numpy.save."
        ) from error


def _read_mat(path: Path, variable: str | None, square: bool, rows: int | None) -> NDArray[Any]:
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
            raise InputError(
                f"{path}: holds {len(names)} matrices of numbers"
                f"{f' named {variable!r}' if variable else ''} (sparse ones and cells are not "
                f"read); it has {', '.join(matrices) or 'none'}. Name one as 'variable' in the "
                "config, or save it alone."
            )
        _check_shape(path, matrices[names[0]], square, rows)
        values: NDArray[Any] = scipy.io.loadmat(path, variable_names=names)[names[0]]
    except InputError:
        raise
    except Exception as error:  # the reader lets any kind of error of a damaged file through
        raise InputError(
            f"{path}: truncated, or not a .mat file that can be read ({error}). Save one of MATLAB "
            "7.3 with save(..., '-v7') or as .csv."
        ) from error
    return values


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field  # Python reads 1_000 as 1000


def _parse(
    path: Path, rows: Iterator[list[str]], square: bool, separator: str, most: int | None
) -> ReadMatrix:
    head = list(islice(rows, 2))
    if not head:
        raise InputError(f"{path}: has no rows. Give the right file.")
    first, second = head[0], head[-1]
    if square and len(head) == 1:
        _check_shape(path, (1, len(first)))
    width, corner = len(second), first[0].strip().lower() in ("", "id")

    # In rows of one field a comma may separate fields; else it can be that of decimals alone.
    def meant_as_number(field: str) -> bool:
        return _is_number(field) or (width > 1 and _is_number(field.replace(",", ".", 1)))

    has_header = corner or not any(map(meant_as_number, first[1:] or first))
    if has_header and len(head) == 1:
        raise InputError(f"{path}: has a header, but no rows.")
    has_ids = corner or not meant_as_number((second if has_header else first)[0])
    n = width - has_ids
    if n == 0:
        raise InputError(
            f"{path}: its rows begin with {second[0]!r} and have no numbers behind that. Fields "
            f"must be separated by {separator}, decimals have a point."
        )
    names = [name.strip() for name in first] if has_header else []
    corner_left_out = has_ids and not corner and len(first) == n  # as R writes it
    if has_header and len(first) != width and not corner_left_out:
        raise InputError(
            f"{path}: its header has {plural(len(first), 'field')}, the row below it {width}. "
            "Name each column once."
        )
    if has_ids and not corner_left_out:
        names = names[1:]
    ids: list[str] = []
    whole, grown, i = _new_square(path, n) if square else np.empty((0, n)), array("d"), 0
    for i, row in enumerate(chain(head[has_header:], rows), start=1):
        if (square and i > n) or (most is not None and i > most):
            _check_shape(path, (i, n), square, most)
        if len(row) != width:
            raise InputError(
                f"{path}, row {i}: has {len(row)} fields, others have {width}. "
                "Is the file truncated?"
            )
        if has_ids:
            ids.append(row[0].strip())
        numbers = _numbers(f"{path}, row {i}", row[has_ids:], separator)
        if square:
            whole[i - 1] = numbers
        else:
            grown.frombytes(numbers.tobytes())
    if square and names and ids and names != ids:
        raise InputError(
            f"{path}: the ids of the columns ({abridged(names, 3)}) and of the rows "
            f"({abridged(ids, 3)}) differ. Give both in one order."
        )
    if square:
        ids = ids or names
    for what, given in (("column", [] if square else names), ("row", ids)):
        refuse_control("id", given, (f"{path}, {what} {i}" for i, _ in enumerate(given, 1)))
        seen: set[str] = set()
        for i, id in enumerate(given, start=1):
            if not id or id in seen:
                raise InputError(
                    f"{path}: id {shortened(id)!r} of {what} {i} is empty or stands twice. "
                    f"Give each {what} its own id."
                )
            seen.add(id)
    values = whole[:i] if square else np.frombuffer(grown).reshape(-1, n)
    return ReadMatrix(values, tuple(ids) or None, tuple(names) or None)


def _new_square(path: Path, n: int) -> FloatArray:
    try:
        return np.empty((n, n))
    except (MemoryError, ValueError) as error:
        raise InputError(
            f"{path}: a square matrix of {n:,} columns takes {8e-9 * n**2:,.0f} GB of memory, "
            "which there is not. Give vectors, or fewer objects."
        ) from error


def _numbers(place: str, fields: list[str], separator: str) -> FloatArray:
    """Return a row as numbers; ``separator`` names what separates the fields."""
    try:
        numbers = np.array(fields, dtype=np.float64)
        text = "".join(fields)
        if text.isascii() and "_" not in text:
            return numbers
    except ValueError:
        pass
    for j, field in enumerate(fields, start=1):
        if not _is_number(field) or not field.strip().isascii():
            raise InputError(
                f"{place}, column {j}: {shortened(field)!r} is not a number. Separate fields by "
                f"{separator}, and write decimals with a point (3.5) and digits as 0 to 9."
            )
    return numbers


def check_matrix(
    path: Path, values: NDArray[Any], kind: str, tolerance: float
) -> tuple[FloatArray, float]:
    """Check a matrix and return it as a data set has it: symmetric if it must be, d squared.

    Parameters
    ----------
    path : Path
        For messages.
    values : ndarray of shape (n, n)
        Not changed.
    kind : str
        One of :data:`MATRIX_KINDS`.
    tolerance : float
        Largest ``|k_ij - k_ji|`` allowed, as a share of the largest ``|k|``. An asymmetric matrix
        has no limit.

    Returns
    -------
    ndarray of shape (n, n)
        (K + K') / 2; for ``dissimilarity`` the entries d of K are squared after that; K itself,
        if it is asymmetric.
    float
        The largest ``|k_ij - k_ji|`` found, as a share of the largest ``|k|``.

    Raises
    ------
    InputError
        If the matrix is not square, finite or symmetric, its entries are too small
        (:data:`SMALLEST_ENTRY`) or large (:data:`LARGEST_ENTRY`), or do not fit its kind. The
        message names row and column, counted from 1.
    """
    _check_shape(path, values.shape)
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
            f"{values[j, i]:.6g} at row {j + 1}, column {i + 1}. If similarities have a "
            "direction, set 'kind: asymmetric'. Else symmetrise the matrix, or raise "
            "'symmetry_tolerance' to have the mean of both taken."
        )
    symmetric = (values + values.T) / 2
    diagonal = np.diagonal(symmetric)
    if kind == "similarity" and not diagonal.any():
        raise InputError(
            f"{path}: its whole diagonal is 0, so no object is similar to itself. Is this a "
            "dissimilarity? Set 'kind' to what it is. If these are similarities, set 'kind: "
            "zero_diagonal_similarity'."
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


def _refuse_first(path: Path, values: FloatArray, wrong: NDArray[np.bool_], why: str) -> None:
    if wrong.any():
        i, j = divmod(int(wrong.argmax()), wrong.shape[1])
        raise InputError(f"{path}, row {i + 1}, column {j + 1}: {values[i, j]:.6g} {why}")
