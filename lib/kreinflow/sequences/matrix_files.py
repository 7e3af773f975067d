"""Matrices of similarities or dissimilarities: reading and checking."""

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
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
    """A matrix as it stands in its file.

    ``values`` are real numbers, of a ``.npy`` file a memory map of which nothing was read yet.
    ``ids`` are those of the rows, of a square matrix from a header row or column; ``column_ids``
    those of the columns from a header row.
    """

    values: NDArray[Any]
    ids: tuple[str, ...] | None
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
        square matrix disagree. The shape is checked before the numbers are read: no more of a text
        is held than its numbers and one row of
        :data:`~kreinflow.sequences.user_tables.LONGEST_ROW` characters at most.
    """
    ending = check_ending(path)
    check_file(path)
    if ending == ".npy":
        return ReadMatrix(_read_npy(path, square, rows), None)
    if ending == ".mat":
        return ReadMatrix(_read_mat(path, variable, square, rows), None)
    with open_text(path) as file:
        delimiter, lines = table_rows(file, str(path), "," if ending == ".csv" else "\t")
        given = (row for _, row in lines if len(row) > 1 or "".join(row).strip())
        return _parse(path, given, square, delimiter, rows)


_SQUARE = (
    "A square matrix is expected; ids in a first row or column must not be numbers, or the corner "
    "must be empty or id."
)


def _check_shape(path: Path, shape: tuple[int, ...], square: bool, rows: int | None) -> None:
    n, m = shape
    if square and n != m:
        has = f"{plural(n, 'row')} and {plural(m, 'column')}"
        raise InputError(f"{path}: has {has}. {_SQUARE}")
    if rows is not None and n > rows:
        raise _too_many_rows(path, rows)


def _too_many_rows(path: Path, rows: int) -> InputError:
    return InputError(
        f"{path}: has more than {plural(rows, 'row')}, as many as there are labels. "
        "Give one label for each row."
    )


def _read_npy(path: Path, square: bool, rows: int | None) -> NDArray[Any]:
    try:
        mapped = map_array(path)
    except ValueError as error:
        raise InputError(
            f"{path}: truncated, not a .npy file, or no array of numbers ({error}). Save it again "
            "with numpy.save."
        ) from error
    if mapped.ndim != 2:
        raise InputError(
            f"{path}: an array of 2 dimensions is expected, objects in rows. Reshape it."
        )
    _refuse_others(path, mapped.dtype)
    _check_shape(path, mapped.shape, square, rows)
    return mapped


def _refuse_others(path: Path, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iuf":
        raise InputError(
            f"{path}: holds {dtype} where real numbers are expected. Convert them first."
        )


def _read_mat(path: Path, variable: str | None, square: bool, rows: int | None) -> NDArray[Any]:
    import scipy.io  # takes 0.2 s, and few runs need it

    with _reading_mat(path):
        content = sorted(scipy.io.whosmat(path))
    matrices = {
        name: shape for name, shape, what in content if len(shape) == 2 and what in _NUMBERS
    }
    # Beside a matrix stand labels or options; one column alone may be vectors of one number.
    wide = [name for name, shape in matrices.items() if min(shape) > 1] or list(matrices)
    names = wide if variable is None else [variable] if variable in matrices else []
    if len(names) != 1:
        what = f"holds {len(wide)} matrices" if variable is None else f"has no matrix {variable!r}"
        raise InputError(
            f"{path}: {what} of numbers (sparse ones and cells are not read); it has "
            f"{', '.join(matrices) or 'none'}. Name one as 'variable' in the config, or save it "
            "alone."
        )
    _check_shape(path, matrices[names[0]], square, rows)
    with _reading_mat(path):
        values: NDArray[Any] = scipy.io.loadmat(path, variable_names=names)[names[0]]
    if values.shape != matrices[names[0]]:
        raise InputError(f"{path}: truncated or not a .mat file (another shape).")
    _refuse_others(path, values.dtype)
    return values


@contextmanager
def _reading_mat(path: Path) -> Iterator[None]:
    """Give each fault of scipy's reader the message of a damaged file."""
    try:
        yield
    except NotImplementedError as error:
        raise InputError(
            f"{path}: is a MATLAB 7.3 file. Save it with save(..., '-v7') or as .csv."
        ) from error
    except Exception as error:  # the reader lets any kind of error of a damaged file through
        raise InputError(f"{path}: truncated or not a .mat file ({error}).") from error


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field  # Python reads 1_000 as 1000


def _parse(
    path: Path, rows: Iterator[list[str]], square: bool, delimiter: str, most: int | None
) -> ReadMatrix:
    head = list(islice(rows, 2))
    if len(head) < 1 + square:
        fault = "has fewer than 2 rows. Give a square matrix." if square else "has no rows."
        raise InputError(f"{path}: {fault}")
    first, second = head[0], head[-1]
    width, corner = len(second), first[0].strip().lower() in ("", "id")
    # In rows of one field a comma may separate fields; else it can be that of decimals alone.
    commas = width > 1

    def meant_as_number(field: str) -> bool:
        return _is_number(field) or (commas and _is_number(field.replace(",", ".", 1)))

    has_header = corner or not any(map(meant_as_number, first[1:] or first))
    if has_header and len(head) == 1:
        raise InputError(f"{path}: has a header, but no rows.")
    has_ids = corner or not meant_as_number((second if has_header else first)[0])
    n, separator = width - has_ids, f"{DELIMITERS[delimiter]}s"
    if n == 0:
        raise InputError(
            f"{path}: its rows begin with {second[0]!r} and have no numbers behind that. Fields "
            f"must be separated by {separator}, decimals have a point."
        )
    names = [name.strip() for name in first] if has_header else []
    rows = chain(head[1:] if has_header else head, rows)
    corner_left_out = has_ids and not corner and len(first) == n  # as R writes it
    if has_header and len(first) != width and not corner_left_out:
        raise InputError(
            f"{path}: its header has {plural(len(first), 'field')}, the row below it {width}. "
            "Name each column once."
        )
    ids: list[str] = []
    whole, grown, i = _new_square(path, n) if square else np.empty((0, n)), array("d"), 0
    for i, row in enumerate(rows, start=1):
        if square and i > n:
            raise InputError(f"{path}: has more rows than its {plural(n, 'column')}. {_SQUARE}")
        if most is not None and i > most:
            raise _too_many_rows(path, most)
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
    if has_ids and not corner_left_out:
        names = names[1:]
    if square and names and ids and names != ids:
        raise InputError(
            f"{path}: the ids of the columns ({abridged(names, 3)}) and of the rows "
            f"({abridged(ids, 3)}) differ. Give both in one order."
        )
    if square:
        ids = ids or names
    else:
        _check_ids(path, names, "column")
    _check_ids(path, ids, "row")
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
            if ";" in field and separator == "commas":  # decimals made commas of semicolons
                separator = "semicolons"
            raise InputError(
                f"{place}, column {j}: {shortened(field)!r} is not a number. Separate fields by "
                f"{separator}, and write decimals with a point (3.5) and digits as 0 to 9."
            )
    return numbers


def _check_ids(path: Path, ids: list[str], what: str) -> None:
    refuse_control("id", ids, (f"{path}, {what} {i}" for i in range(1, len(ids) + 1)))
    seen: dict[str, int] = {}
    for i, id in enumerate(ids, start=1):
        if not id or id in seen:
            why = f"stands twice, first at {seen[id]}" if id else "is empty"
            raise InputError(
                f"{path}: id {shortened(id)!r} of {what} {i} {why}. Give each {what} its own id."
            )
        seen[id] = i


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
        If the matrix is not square, not finite or not symmetric, its entries are too small
        (:data:`SMALLEST_ENTRY`) or too large (:data:`LARGEST_ENTRY`), its diagonal does not fit its
        kind, or a dissimilarity is negative. The message names row and column, counted from 1.
    """
    n = len(values)
    _check_shape(path, values.shape, True, None)
    if n < 2:
        raise InputError(f"{path}: has {plural(n, 'row')}. At least 2 are needed.")
    values = np.asarray(values, dtype=np.float64)
    _refuse_first(path, values, ~np.isfinite(values), "is not a finite number. Fill it in.")
    largest = LARGEST_ENTRY if kind != "dissimilarity" else LARGEST_ENTRY**0.5
    _refuse_first(
        path,
        values,
        np.abs(values) > largest,
        f"is above {largest:g} in size, too large to compute with. Divide the matrix by a number.",
    )
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
    if kind in DISSIMILARITIES:
        negative = symmetric < -tolerance * scale
        _refuse_first(path, symmetric, negative, "is a negative dissimilarity.")
    if kind != "similarity":
        limit = 0.0 if kind == "zero_diagonal_similarity" else tolerance * scale
        wrong = np.abs(diagonal) > limit
        if wrong.any():
            i = int(wrong.argmax())
            what = kind.split("_")[-1]
            raise InputError(
                f"{path}, row {i + 1}, column {i + 1}: the {what} of an object with itself is "
                f"{symmetric[i, i]:.6g}, not 0. Set 'kind: similarity' if this is one."
            )
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
