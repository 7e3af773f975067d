"""Vectors and strings: reading and checking."""

from pathlib import Path

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.wording import plural
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.sequences.labels import read_lines
from kreinflow.sequences.matrix_files import ReadMatrix, check_ending, read_matrix
from kreinflow.sequences.text_files import check_file, name_endings


def check_objects_file(path: Path, kernel: Kernel) -> None:
    """Refuse a file that cannot hold what a kernel compares, by its name and first byte alone."""
    if kernel.strings and name_endings(path)[1] != ".txt":
        raise InputError(
            f"{path}: the kernel {kernel.name} compares strings. Give a .txt file (or .txt.gz) "
            "with one string a line."
        )
    if not kernel.strings:
        check_ending(path)
    check_file(path)


def read_objects(
    path: Path,
    kernel: Kernel,
    variable: str | None = None,
    rows: int | None = None,
    columns: int | None = None,
) -> ReadMatrix:
    """Read the objects that a kernel compares: one a row of a table, or one a line of text.

    Parameters
    ----------
    path : Path
        A file for :func:`~kreinflow.sequences.matrix_files.read_matrix`; ``.txt[.gz]`` for strings.
    kernel : Kernel
    variable : str, optional
        Name of the variable, if a ``.mat`` file has several matrices.
    rows : int, optional
        Objects that have a label, as for the matrix.
    columns : int, optional
        Numbers of a vector of the model that is to classify them.

    Raises
    ------
    InputError
        If the file cannot be read, has too many rows or other columns, an entry is not a finite
        number, or the kernel cannot compare a row.
    """
    check_objects_file(path, kernel)
    if kernel.strings:
        return ReadMatrix(np.array(read_lines(path, "string"), dtype=object))
    read = read_matrix(path, variable, square=False, rows=rows)
    found = read.values.shape[1]
    if columns is not None and found != columns:
        raise InputError(
            f"{path}: has {plural(found, 'column')} of numbers where the model's "
            f"vectors have {columns}. Give the features that the model was "
            "trained on, in the same order, and no labels."
        )
    values = np.array(read.values, dtype=np.float64, order="C")
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise InputError(
            f"{path}, row {row + 1}, column {column + 1}: {values[row, column]:.6g} is not "
            "a finite number. Fill it in."
        )
    refuse_unfit(str(path), kernel, values)
    return ReadMatrix(values, read.ids)


def refuse_unfit(place: str, kernel: Kernel, objects: Objects) -> None:
    """Refuse objects that a kernel cannot compare; ``place`` says where they come from."""
    fault = kernel.first_fault(objects)
    if fault is not None:
        raise InputError(f"{place}, {fault}")
