"""Classifying new objects with a model file."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.alignment.engine import Backend, align_pairs, pack
from kreinflow.errors import InputError
from kreinflow.kernels.registry import make_kernel
from kreinflow.models.model_file import Model
from kreinflow.numerics import FloatArray, tiles
from kreinflow.sequences.alphabet import ResidueAlphabet
from kreinflow.sequences.fasta import read_fasta
from kreinflow.sequences.files import counted, first_few
from kreinflow.sequences.matrices import read_matrix
from kreinflow.sequences.objects import read_objects

COLUMNS = ("id", "label", "probability", "runner_up", "runner_up_probability", "reject")
"""Columns of the table: ``reject`` is ``yes`` where the probability is below the threshold."""


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused, by its name
def classify_file(
    model: Model,
    path: Path,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    backend: Backend = align_pairs,
) -> pd.DataFrame:
    """Classify the sequences of a FASTA file, the rows of a matrix, vectors or strings, in order.

    Parameters
    ----------
    model : Model
    path : Path
        A FASTA file; for a model that was trained on a matrix, a matrix of the new objects (rows)
        and the landmarks: columns named by a header, in any order, those that are no landmark
        left out; without a header, in the order of ``model.landmark_ids``; for a model of
        vectors or strings, a file of them as for training.
    threads : int
        Of the alignment. The result does not depend on it.
    progress : callable, optional
        Called with (objects done, objects in all).
    backend : callable
        What aligns.

    Returns
    -------
    DataFrame
        One row an object, with the columns :data:`COLUMNS`.

    Raises
    ------
    InputError
        If the file cannot be read, or does not fit the model.
    """
    if model.kernel is not None:
        return _classify_objects(model, path, progress)
    if model.scheme is None:
        ids, scores = _read_new_matrix(model, path)
        nothing = np.zeros(len(ids))
        return _table(model, path, ids, model.classifier.predict_proba(scores, nothing, nothing))
    ids, sequences = _read_new_sequences(model, path)
    parts = []
    for part in tiles(len(ids)):
        names = [f"{path}, record {i + 1}, {ids[i]}" for i in range(part.start, part.stop)]
        parts.append(_align_and_predict(model, names, sequences[part], threads, backend))
        if progress:
            progress(part.stop, len(ids))
    return _table(model, path, ids, np.concatenate(parts))


def _classify_objects(
    model: Model, path: Path, progress: Callable[[int, int], None] | None
) -> pd.DataFrame:
    assert model.kernel is not None
    assert isinstance(model.landmarks, np.ndarray)
    kernel = make_kernel(model.kernel)
    read = read_objects(path, kernel)
    objects, n = read.objects, len(read.objects)
    if objects.shape[1:] != model.landmarks.shape[1:]:
        raise InputError(
            f"{path}: has {counted(objects.shape[1], 'column')} of numbers where the model's "
            f"vectors have {model.landmarks.shape[1]}. Give the features that the model was "
            "trained on, in the same order, and no labels."
        )
    ids = list(read.ids or map(str, range(1, n + 1)))
    parts = []
    for part in tiles(n):
        scores = kernel.columns(objects[part], model.landmarks)
        wrong = ~np.isfinite(scores).all(axis=1)
        if wrong.any():
            row = part.start + int(wrong.argmax())
            raise InputError(
                f"{path}, row {row + 1} ({ids[row]}): {kernel.describe()} is not finite for it. "
                "Its numbers are too large."
            )
        nothing = np.zeros(len(scores))
        parts.append(model.classifier.predict_proba(scores, nothing, nothing))
        if progress:
            progress(part.stop, n)
    return _table(model, path, ids, np.concatenate(parts))


def _read_new_sequences(model: Model, path: Path) -> tuple[list[str], list[bytes]]:
    assert model.scheme is not None
    alphabet = ResidueAlphabet(model.scheme.matrix.alphabet, model.molecule or "protein")
    ids, sequences = [], []
    for record in read_fasta(path):
        residues = alphabet.clean(record.residues)
        found = alphabet.illegal(residues)
        if found:
            position, letter = found
            raise InputError(
                f"{record.place}, {record.id}: residue {position} is {letter!r}, which the "
                f"substitution matrix {model.scheme.matrix.name} lacks. Correct or remove it."
            )
        if not residues:
            raise InputError(f"{record.place}, {record.id}: has no residues. Remove the record.")
        ids.append(record.id)
        sequences.append(residues)
    return ids, sequences


def _align_and_predict(
    model: Model, names: Sequence[str], sequences: Sequence[bytes], threads: int, backend: Backend
) -> FloatArray:
    """Align some sequences with the landmarks, and with themselves if the transform asks.

    ``names`` are for messages.
    """
    assert model.scheme is not None
    assert isinstance(model.landmarks, tuple)
    m, n = len(model.landmarks), len(sequences)
    packed = pack([*model.landmarks, *sequences])
    left = np.repeat(np.arange(m, dtype=np.int32), n)
    right = np.tile(np.arange(m, m + n, dtype=np.int32), m)
    scores = backend(packed, left, right, model.scheme, threads).reshape(m, n).T
    own = np.zeros(n)
    if model.classifier.transform.name != "raw":
        selves = np.arange(m, m + n, dtype=np.int32)
        own = backend(packed, selves, selves, model.scheme, threads).astype(np.float64)
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.float64)
    poor = model.classifier.transform.first_unusable(own, lengths)
    if poor is not None:
        raise InputError(
            f"{names[poor]}: scores {own[poor]:.0f} with itself, too little to compare it "
            f"(transform {model.classifier.transform.name}). Remove the record."
        )
    return model.classifier.predict_proba(np.ascontiguousarray(scores), own, lengths)


def _read_new_matrix(model: Model, path: Path) -> tuple[list[str], FloatArray]:
    matrix = read_matrix(path, square=False)
    values, m = matrix.values, model.classifier.n_landmarks
    ids = list(matrix.ids) if matrix.ids else [str(i + 1) for i in range(len(values))]
    if matrix.column_ids and len(matrix.column_ids) == values.shape[1]:
        place = {id: column for column, id in enumerate(matrix.column_ids)}
        missing = [id for id in model.landmark_ids if id not in place]
        if missing:
            raise InputError(
                f"{path}: no column for {len(missing)} of the {m} landmarks of the model: "
                f"{first_few(missing)}. Add them; `kreinflow classify --landmarks` lists all."
            )
        columns = [place[id] for id in model.landmark_ids]
    elif values.shape[1] == m:
        columns = list(range(m))
    else:
        raise InputError(
            f"{path}: has {counted(values.shape[1], 'column')} where the model has {m} landmarks. "
            f"Give the {model.matrix_kind} of each new object (row) with each landmark (column)."
        )
    values = np.ascontiguousarray(values[:, columns])
    wrong, why = ~np.isfinite(values), "is not a finite number. Fill it in."
    if model.matrix_kind != "similarity" and not wrong.any():
        wrong, why = values < 0, f"is negative, which no {model.matrix_kind} is."
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"{path}, row {row + 1} ({ids[row]}), column {columns[column] + 1}: "
            f"{values[row, column]:.6g} {why}"
        )
    if model.matrix_kind == "dissimilarity":
        values = values * values
    return ids, values


def _table(model: Model, path: Path, ids: Sequence[str], probabilities: FloatArray) -> pd.DataFrame:
    finite = np.isfinite(probabilities).all(axis=1)
    if not finite.all():
        raise InputError(
            f"{path}, {ids[int(np.argmin(finite))]}: the model's decision for it is not finite. "
            "Its scores are too large, or the model is damaged."
        )
    classes = np.array(model.classifier.classes, dtype=object)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :2]
    top = np.take_along_axis(probabilities, order, axis=1)
    rejected = top[:, 0] < model.classifier.reject_threshold
    columns = (
        list(ids),
        classes[order[:, 0]],
        top[:, 0],
        classes[order[:, 1]],
        top[:, 1],
        np.where(rejected, "yes", "no"),
    )
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
