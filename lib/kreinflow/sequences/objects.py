"""Vectors and strings that a kernel compares: reading and checking."""

from pathlib import Path

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.sequences.labels import read_lines
from kreinflow.sequences.matrix_files import ReadMatrix, check_numbers_file, read_vectors
from kreinflow.sequences.text_files import check_file, name_endings


def check_objects_file(path: Path, kernel: Kernel) -> None:
    """Refuse a file that cannot hold what a kernel compares, by its name and first byte alone."""
    if not kernel.strings:
        return check_numbers_file(path)
    if name_endings(path)[1] != ".txt":
        raise InputError(
            f"{path}: the kernel {kernel.name} compares strings. Give a .txt file (or .txt.gz) "
            "with one string a line."
        )
    return check_file(path)


def read_objects(
    path: Path, kernel: Kernel, variable: str | None = None, width: int | None = None
) -> ReadMatrix:
    """Read the objects that a kernel compares: vectors, or strings, one a line of a ``.txt[.gz]``.

    See :func:`~kreinflow.sequences.matrix_files.read_vectors`. An InputError also refuses what the
    kernel cannot compare.
    """
    check_objects_file(path, kernel)
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
