"""What a model was learned from, in a file beside it: enough to learn again with more records.

Scores with the landmarks cost most, and they are kept as they were aligned. So every learner can
be trained again on these rows and new ones, and no old record meets a landmark twice.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.tiled_matrix import TiledMatrix
from kreinflow.classify.model_file import Model
from kreinflow.files.arrays import Sizes, read_arrays, write_arrays
from kreinflow.files.provenance import file_sha256
from kreinflow.kernels.registry import known_kernel
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.fasta import LONGEST
from kreinflow.sequences.files import first_few, has_control
from kreinflow.sequences.payload import Compared, Payload, Sequences
from kreinflow.views.objects import cut, joined

KIND = "kreinflow learned 1"
_ADVICE = "Give the file that kreinflow wrote beside the model. Make a damaged one again."
_MOST = 1 << 20  # numbers of a vector
_SETTINGS = {
    "seed": int,
    "inner_folds": int,
    "min_class_size": int,
    "folds": dict,
    "columns": list,
}


def learned_path(model: str | os.PathLike[str]) -> Path:
    """Return where the file of a model is if nobody says otherwise: beside it.

    Examples
    --------
    >>> str(learned_path("mine/model.safetensors"))
    'mine/model.learned.safetensors'
    """
    path = Path(model)
    return path.with_name(f"{path.name.removesuffix('.safetensors')}.learned.safetensors")


def no_update(dataset: Dataset, folds: Mapping[str, Any]) -> str | None:
    """Return why a model of a data set cannot be updated, or None.

    Parameters
    ----------
    dataset : Dataset
    folds : mapping
        The part ``folds`` of its configuration.
    """
    if dataset.memberships is not None:
        return "its records have several labels"
    if not isinstance(dataset.payload, Sequences | Compared):
        return "it was trained on a matrix, which does not say how new objects are compared"
    if folds["method"] == "grouped" and folds["column"] is not None:
        return f"its folds are by the column {folds['column']!r}, which new records do not have"
    return None


@dataclass(frozen=True, eq=False)
class Learned:
    """What a model was learned from.

    Parameters
    ----------
    dataset : Dataset
        All records; what it holds is sequences, or objects that a kernel compares.
    scores : ndarray or TiledMatrix of shape (n_distinct, n_landmarks)
        As aligned or measured, not transformed.
    self_scores : ndarray of shape (n_distinct,)
    landmark_rows : ndarray of shape (n_landmarks,)
        Distinct rows, rising.
    held_out : ndarray of shape (n_records,)
        See :class:`~kreinflow.fitting.training.Trained`.
    settings : mapping
        Of the configuration: ``seed``, ``inner_folds``, ``min_class_size``, ``folds``, and
        ``columns``, those of the ids and labels in the table of labels. That of labels which are
        paths may be a list, one for each level.
    """

    dataset: Dataset
    scores: NDArray[Any] | TiledMatrix
    self_scores: FloatArray
    landmark_rows: IntArray
    held_out: IntArray
    settings: Mapping[str, Any]

    def save(self, path: str | os.PathLike[str], model: str | os.PathLike[str]) -> None:
        """Write the file, atomically and always to the same bytes.

        Parameters
        ----------
        path : path
        model : path
            Of the model, which was written before. The file fits no other one.
        """
        dataset, payload = self.dataset, self.dataset.payload
        arrays: dict[str, Any] = {
            "labels": dataset.labels.astype(np.int32),
            "rows": dataset.rows,
            "scores": self.scores,
            "self_scores": self.self_scores,
            "landmark_rows": self.landmark_rows,
            "held_out": self.held_out.astype(np.int32),
        }
        if isinstance(payload, Sequences):
            arrays |= joined(payload.residues)
        elif isinstance(payload, Compared) and payload.kernel.strings:
            arrays |= joined([string.encode() for string in payload.objects])
        elif isinstance(payload, Compared):
            arrays["vectors"] = payload.objects
        if dataset.vectors is not None:
            arrays["view"] = dataset.vectors
        header = {
            "model": file_sha256(Path(model)),
            "cannot": None,
            "kind": dataset.kind,
            "classes": list(dataset.classes),
            "ids": list(dataset.ids),
            "distinct": len(payload),
            "settings": dict(self.settings),
        }
        write_arrays(path, KIND, header, arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: Model, model_path: str | os.PathLike[str]
    ) -> "Learned":
        """Read the file of a model; its scores are a memory map.

        Raises
        ------
        InputError
            If it is missing, damaged or of another model, or says that the model cannot be
            updated.
        """
        if not os.path.exists(path):
            raise InputError(
                f"{path}: no such file. It is written beside a model of a run, and `kreinflow "
                "update` learns from it. Name it with --learned, or train the model again."
            )
        header, arrays = read_arrays(path, KIND, _ADVICE, None, _sizes, mapped=("scores",))
        if header["model"] != file_sha256(Path(model_path)):
            raise InputError(f"{path}: is of another model than {model_path}. {_ADVICE}")
        if header["cannot"] is not None:
            raise InputError(f"{model_path}: cannot be updated: {header['cannot']}. Train anew.")
        try:
            return _of_parts(header, arrays, model)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{path}: its parts do not fit: {error}. {_ADVICE}") from error


def write_refusal(path: str | os.PathLike[str], model: str | os.PathLike[str], cannot: str) -> None:
    """Write in place of the file of a model why it cannot be updated; see :func:`no_update`."""
    write_arrays(path, KIND, {"model": file_sha256(Path(model)), "cannot": cannot}, {})


def _sizes(header: Mapping[str, Any]) -> Sizes:
    """Return the arrays that a file may have, as its header says."""
    if header["cannot"] is not None:
        return {}
    n, distinct = len(header["ids"]), int(header["distinct"])
    return {
        "labels": ("i", (n,)),
        "rows": ("i", (n,)),
        "held_out": ("i", (n,)),
        "scores": ("i" if header["kind"] == "sequences" else "f", (distinct, distinct)),
        "self_scores": ("f", (distinct,)),
        "landmark_rows": ("i", (distinct,)),
        "residues": ("u", (distinct * max(LONGEST, _MOST),)),
        "ends": ("i", (distinct,)),
        "vectors": ("f", (distinct, _MOST)),
        "view": ("f", (distinct, _MOST)),
    }


def _of_parts(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], model: Model
) -> Learned:
    """Build what a model was learned from, of parts that may be anybody's."""
    ids, classes = tuple(map(str, header["ids"])), tuple(map(str, header["classes"]))
    n, distinct = len(ids), int(header["distinct"])
    labels, rows, held_out = (arrays[key] for key in ("labels", "rows", "held_out"))
    landmarks, scores, own = (arrays[key] for key in ("landmark_rows", "scores", "self_scores"))
    _check(len(set(ids)) == n and not any(map(has_control, ids)), "ids")
    _check(classes == model.classifier.classes, "classes")
    _check(labels.shape == rows.shape == held_out.shape == (n,), "records")
    _check(_covers(labels, len(classes)) and _covers(rows, distinct), "records")
    _check(held_out.min() >= -1 and held_out.max() < len(classes), "held-out records")
    of_row = np.empty(distinct, dtype=np.int64)
    of_row[rows] = labels
    _check(bool((of_row[rows] == labels).all()), "labels of identical records")
    m = model.classifier.n_landmarks
    _check(landmarks.shape == (m,) and bool((np.diff(landmarks) > 0).all()), "landmarks")
    _check(landmarks[0] >= 0 and landmarks[-1] < distinct, "landmarks")
    _check(scores.shape == (distinct, m) and own.shape == (distinct,), "scores")
    _check(bool(np.isfinite(own).all()), "self-scores")
    payload = _payload(header, arrays, model)
    _check(len(payload) == distinct, "objects")
    known = payload.take(landmarks)
    if isinstance(known, Sequences):
        _check(known.residues == model.landmarks, "landmarks")
    elif isinstance(known, Compared):
        _check(np.array_equal(known.objects, np.asarray(model.landmarks)), "landmarks")
    view = arrays.get("view")
    _check(view is None or (len(view) == distinct and bool(np.isfinite(view).all())), "vectors")
    settings = dict(header["settings"])
    for key, kind in _SETTINGS.items():
        _check(type(settings[key]) is kind, f"setting {key}")
    of_ids, of_labels = settings["columns"]
    one = type(of_labels) is str
    columns = [of_ids, *([of_labels] if one else of_labels)]
    _check(len(columns) > 1 and all(type(name) is str for name in columns), "setting columns")
    _check(one or model.classifier.levels is not None, "setting columns")
    folds = settings["folds"]
    grouped = folds["method"] == "grouped"
    _check(
        not grouped or (0 < folds["identity"] <= 1 and type(folds["clustering"]) is str), "folds"
    )
    records, cascade = model.classifier.records, model.classifier.cascade
    _check(cascade is None or np.array_equal(cascade.records.rows, rows), "records of the cascade")
    among = records is None or bool(np.isin(records.rows, rows).all())
    _check(among, "records that are asked")
    first = np.unique(rows, return_index=True)[1]
    return Learned(
        dataset=Dataset(
            ids=ids,
            labels=labels.astype(np.intp),
            classes=classes,
            rows=rows.astype(np.int64),
            digests=payload.digests(payload.contents([ids[record] for record in first])),
            payload=payload,
            vectors=view,
        ),
        scores=scores,
        self_scores=own,
        landmark_rows=landmarks.astype(np.int64),
        held_out=held_out.astype(np.int64),
        settings=settings,
    )


def _payload(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], model: Model
) -> Payload:
    """Return what the distinct rows hold."""
    if model.scheme is not None:
        _check(header["kind"] == "sequences", "kind")
        residues = cut(arrays["residues"], arrays["ends"])
        letters = model.scheme.matrix.alphabet.encode()
        wrong = [s[:20].decode("latin-1") for s in residues if s.translate(None, letters)]
        _check(not wrong, f"residues ({first_few(wrong)})")
        return Sequences(residues)
    assert model.kernel is not None, "a model that compares nothing"
    kernel = known_kernel(model.kernel)
    if kernel.strings:
        strings = [string.decode() for string in cut(arrays["residues"], arrays["ends"])]
        return Compared(np.array(strings, dtype=object), kernel, kind=str(header["kind"]))
    vectors = arrays["vectors"]
    _check(vectors.dtype == np.float64 and bool(np.isfinite(vectors).all()), "vectors")
    return Compared(vectors, kernel, kind=str(header["kind"]))


def _covers(numbers: NDArray[Any], count: int) -> bool:
    """Return whether the numbers are all of 0 to count - 1, each at least once."""
    return np.array_equal(np.unique(numbers), np.arange(count))


def _check(fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(f"the {what}")
