"""What a file of numbers holds, a matrix or vectors, as the source that reads it."""

from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray
from kreinflow.proposing.labels import separator_of_levels, separator_of_several
from kreinflow.proposing.source import SourceFound
from kreinflow.proposing.tables import NAMED, look_at_table
from kreinflow.proposing.writing import Noted
from kreinflow.sequences.files import counted, first_few, name_endings
from kreinflow.sequences.labels import read_lines, read_table
from kreinflow.sequences.matrix_files import (
    MATRIX_ENDINGS,
    ReadMatrix,
    check_matrix,
    read_matrix,
)

_TOLERANCE = 1e-6
_ROUNDING = 1e-3
_SAMPLE = 500


def are_numbers(path: str) -> bool:
    """Return whether a file has numbers, by its name."""
    return name_endings(Path(path))[1] in MATRIX_ENDINGS and not Path(path).is_dir()


def look_at_numbers(path: str, labels: str | None) -> SourceFound:
    """Look at a matrix or vectors and their labels.

    A square file is a matrix, another one vectors, a row each.

    Raises
    ------
    InputError
    """
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
    elif not np.isfinite(read.values).all():
        raise InputError(f"{path}: some entries are not finite numbers. Fill them in.")
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
    scale = float(np.abs(entries).max())
    no_diagonal = bool((np.abs(np.diagonal(entries)) <= _TOLERANCE * scale).all())
    positive = bool((entries >= -_TOLERANCE * scale).all())
    kind, why = "similarity", "no diagonal of zeros"
    if no_diagonal and positive:
        kind, why = "dissimilarity", "its diagonal is 0; squared_dissimilarity: not squared again"
    elif no_diagonal:
        kind, why = "zero_diagonal_similarity", "its diagonal is 0, and it has negative entries"
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
    rows = np.asarray(values[:: -(-len(values) // _SAMPLE)], dtype=np.float64)
    products = rows @ rows.T
    norms = np.diagonal(products)
    squared = (norms[:, None] + norms - 2 * products)[np.triu_indices(len(rows), 1)]
    median = float(np.sqrt(np.median(squared[squared > 0]))) if (squared > 0).any() else 1.0
    return float(f"{median:.3g}")


def _labels(path: Path, name: str, read: ReadMatrix, source: SourceFound) -> dict[str, Any]:
    """Return where labels are: in the lines of a text, or in a table with ids."""
    n = len(read.values)
    lines = read_lines(path)
    if "\t" not in lines[0] and name_endings(path)[1] not in (".tsv", ".csv"):
        if len(lines) != n:
            raise InputError(
                f"{name}: has {counted(len(lines), 'label')}, but the matrix or the vectors have "
                f"{counted(n, 'row')}. Give one label for each row."
            )
        labels = {str(i): [text] for i, text in enumerate(lines)}
        settings: dict[str, Any] = {"lines": name}
        note = ""
    else:
        ids = read.ids
        if ids is None:
            names, rows = read_table(path)
            if len(rows) != n:
                raise InputError(
                    f"{name}: has {counted(len(rows), 'line')}, but the matrix or the vectors have "
                    f"{counted(n, 'row')}. Give one line for each row."
                )
            columns = [(name, [row[i] for row in rows]) for i, name in enumerate(names)]
            own = [column for column in columns if len(set(column[1])) == n]
            if not own:
                raise InputError(
                    f"{name}: no column has ids, a text of its own in each line. It has "
                    f"{first_few(names)}. Add one, or give a text with one label a line."
                )
            _, column = max(own, key=lambda column: column[0].casefold() in NAMED)
            ids = tuple(column)
        table = look_at_table(path, ids)
        chosen, *further = table.candidates
        labels = {id: list(own) for id, own in chosen.texts.items()}
        settings = {"table": name, "id_column": table.id_column}
        note = f"others could be {first_few([o.described for o in further])}" if further else ""
        settings["label_column"] = Noted(chosen.name, note)
    kinds = sorted({text for own in labels.values() for text in own})
    if (several := separator_of_several(labels)) is not None:
        settings |= {"multiple": "all", "separator": several}
        source.found.append(f"labels: in {name}, several a record.")
        return settings
    if (separator := separator_of_levels(kinds)) is not None:
        note = "labels are paths: answered as far down as is sure"
        source.levels = Noted({"separator": separator}, note)
    source.found.append(f"labels: in {name}, {counted(len(kinds), 'class', 'classes')}.")
    return settings
