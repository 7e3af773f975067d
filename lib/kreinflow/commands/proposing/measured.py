"""What a file of numbers holds, a matrix or vectors, as the source that reads it."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.base.wording import abridged
from kreinflow.commands.proposing.labels import Candidate
from kreinflow.commands.proposing.source import (
    SourceFound,
    is_called_id,
    labels_of_table,
    look_at_table,
    tell_of_labels,
)
from kreinflow.commands.proposing.writing import Noted
from kreinflow.files.text_files import name_endings
from kreinflow.sequences.labels import read_lines
from kreinflow.sequences.matrix_files import (
    MATRIX_ENDINGS,
    ReadMatrix,
    check_matrix,
    read_matrix,
)
from kreinflow.sequences.user_tables import read_user_table

_TOLERANCE = 1e-6
_ROUNDING = 1e-3
_SAMPLE = 500


def are_numbers(path: str) -> bool:
    """Return whether a file has numbers, by its name."""
    return name_endings(Path(path))[1] in MATRIX_ENDINGS and not Path(path).is_dir()


def look_at_numbers(path: str, labels: str | None) -> SourceFound:
    """Look at a matrix, which is square, or vectors, a row each, and their labels."""
    if labels is None:
        raise InputError(
            f"{path}: numbers have no labels in them. Give --labels: a text with one label a line, "
            "in the order of the rows, or a table with ids."
        )
    read = read_matrix(Path(path), square=False)
    n, width = read.values.shape
    source = SourceFound({})
    if n == width:
        source.settings = {"type": "matrix", "matrix": path} | _kind(path, read.values, source)
        source.found.append(f"a matrix of {n:,} objects in {path}.")
    else:
        kernel = {"name": "gaussian", "width": Noted(_width(read.values), "the median distance")}
        note = "docs/own-matrix.md has others. Vectors are taken as they are, so scale them"
        source.settings = {"type": "vectors", "vectors": path, "kernel": Noted(kernel, note)}
        source.found.append(f"{n:,} vectors of {width:,} numbers in {path}.")
    source.settings["labels"] = _labels(Path(labels), labels, read, source)
    return source


def _kind(path: str, values: Any, source: SourceFound) -> dict[str, Any]:
    """Return what the entries of a matrix are, by its diagonal and its two halves."""
    entries, gap = check_matrix(Path(path), values, "asymmetric", 0)
    least = _TOLERANCE * float(np.abs(entries).max())
    kind, why = "similarity", "no diagonal of zeros"
    if (np.abs(np.diagonal(entries)) <= least).all():
        kind, why = "zero_diagonal_similarity", "its diagonal is 0, and it has negative entries"
        if (entries >= -least).all():
            kind = "dissimilarity"
            why = "its diagonal is 0; squared_dissimilarity: not squared again"
    more: dict[str, Any] = {}
    if gap > _ROUNDING:
        if kind == "dissimilarity":
            raise InputError(
                f"{path}: looks like dissimilarities that differ in their two directions, by up "
                f"to {100 * gap:.3g} % of the largest. Take the mean of both, or make "
                "similarities of them."
            )
        kind, why = "asymmetric", f"its two halves differ by {100 * gap:.3g} % of the largest entry"
    elif gap > _TOLERANCE:
        tolerance = float(f"{2 * gap:.1g}")
        more["symmetry_tolerance"] = Noted(tolerance, "the mean of both halves is taken")
    source.found.append(f"kind: {kind} ({why}).")
    return {"kind": Noted(kind, why), **more}


def _width(values: FloatArray) -> float:
    """Return the median distance of some rows, with three digits."""
    distances = pdist(np.asarray(values[:: -(-len(values) // _SAMPLE)], dtype=np.float64))
    apart = distances[distances > 0]
    return float(f"{np.median(apart) if apart.size else 1.0:.3g}")


def _labels(path: Path, name: str, read: ReadMatrix, source: SourceFound) -> dict[str, Any]:
    lines = read_lines(path)
    if "\t" in lines[0] or name_endings(path)[1] in (".tsv", ".csv"):
        table = look_at_table(path, read.ids or _ids(path))
        return labels_of_table(table, name, source)
    chosen = Candidate("", {str(i): [text] for i, text in enumerate(lines)})
    about, several = tell_of_labels(chosen, [], f"the lines of {name}", source)
    return {"lines": Noted(name, about), **several}


def _ids(path: Path) -> list[str]:
    """Return the ids in a table: a column that has no text twice, one that is called so if any."""
    names, rows = read_user_table(path)
    columns = [(name, [row[i] for row in rows]) for i, name in enumerate(names)]
    own = [(name, column) for name, column in columns if len(set(column)) == len(rows)]
    if not own:
        raise InputError(
            f"{path}: no column has ids, a text of its own in each line. It has "
            f"{abridged([*map(str, names)])}. Add one, or give a text with one label a line."
        )
    return max(own, key=lambda entry: is_called_id(entry[0]))[1]
