"""What a model was learned from, in a file beside it: enough to learn again with more records.

Scores with the landmarks cost most, and they are kept as they were aligned. So every learner can
be trained again on these rows and new ones, and no old record meets a landmark twice.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.tiled_matrix import TiledMatrix
from kreinflow.classify.model_file import IDS, Model, restored_objects, stored_objects
from kreinflow.files.arrays import read_arrays, write_arrays
from kreinflow.files.provenance import file_sha256
from kreinflow.files.state import Array, Number, State, Value, refusing_damage
from kreinflow.kernels.registry import known_kernel
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Compared, Payload, Sequences

KIND = "kreinflow learned 1"
_ADVICE = "Give the file that kreinflow wrote beside the model. Make a damaged one again."


def learned_path(model: str | os.PathLike[str]) -> Path:
    """Return the default path of a model's file, beside it.

    Examples
    --------
    >>> str(learned_path("mine/model.safetensors"))
    'mine/model.learned.safetensors'
    """
    path = Path(model)
    return path.with_name(f"{path.name.removesuffix('.safetensors')}.learned.safetensors")


def no_update(dataset: Dataset, folds: Mapping[str, Any]) -> str | None:
    """Return why a model of a data set with these ``folds`` cannot be updated, or None."""
    if dataset.memberships is not None:
        return "its records have several labels"
    if not isinstance(dataset.payload, Sequences | Compared):
        return "it was trained on a matrix, which does not say how new objects are compared"
    if dataset.kind == "asymmetric":
        return "its similarities have a direction"
    if folds["method"] == "grouped" and folds["column"] is not None:
        return f"its folds are by the column {folds['column']!r}, which new records do not have"
    return None


@dataclass(frozen=True, eq=False)
class Learned(State):
    """What a model was learned from.

    ``settings`` are the configuration's ``seed``, ``inner_folds``, ``min_class_size``, ``folds``,
    and ``columns``, those of the ids and labels in the table of labels. That of labels which are
    paths may be a list, one for each level.
    """

    dataset: Dataset  # all records: sequences, or objects that a kernel compares
    scores: NDArray[Any] | TiledMatrix  # (n_distinct, n_landmarks): as aligned or measured
    self_scores: FloatArray  # (n_distinct,)
    landmark_rows: IntArray  # (n_landmarks,): distinct rows, rising
    held_out: IntArray  # (n_records,): see kreinflow.fitting.training.Trained
    settings: Mapping[str, Any]

    state: ClassVar = {
        "kind": Value(str),
        "classes": IDS,
        "ids": IDS,
        "paths": Value(IDS.read, list, optional=True),
        "distinct": Number("i"),
        "settings": Value(dict, dict),
        "labels": Array("i", "n"),
        "rows": Array("i", "n"),
        "held_out": Array("i", "n"),
        "scores": Array("", "d m"),
        "self_scores": Array("f", "d"),
        "landmark_rows": Array("i", "m"),
        "residues": Array("u1", "l", optional=True),
        "ends": Array("i8", "d", optional=True),
        "vectors": Array("f8", "d v", optional=True),
        "view": Array("f8", "d w", optional=True),
    }

    def stored(self) -> dict[str, Any]:
        """See :meth:`~kreinflow.files.state.State.stored`."""
        dataset, payload = self.dataset, self.dataset.payload
        objects = payload.residues if isinstance(payload, Sequences) else None
        return {
            "kind": dataset.kind,
            "classes": dataset.classes,
            "ids": dataset.ids,
            "paths": dataset.paths,
            "distinct": len(payload),
            "settings": self.settings,
            "labels": dataset.labels.astype(np.int32),
            "rows": dataset.rows,
            "held_out": self.held_out.astype(np.int32),
            "scores": self.scores,
            "self_scores": self.self_scores,
            "landmark_rows": self.landmark_rows,
            "view": dataset.vectors,
            **stored_objects(payload.objects if isinstance(payload, Compared) else objects),
        }

    @classmethod
    def dimensions(cls, header: Mapping[str, Any]) -> dict[str, int]:
        """Return the numbers of records and distinct rows."""
        return {"n": len(header["ids"]), "d": int(header["distinct"])}

    @classmethod
    def restored(cls, **values: Any) -> Self:
        """See :meth:`~kreinflow.files.state.State.restored`; it needs the ``model`` too."""
        model: Model = values["model"]
        ids, rows = values["ids"], values["rows"]
        stored = (values[name] for name in ("residues", "ends", "vectors"))
        objects = restored_objects(model.scheme, *stored)
        if isinstance(objects, tuple):
            payload: Payload = Sequences(objects)
        else:
            payload = Compared(np.asarray(objects), known_kernel(model.kernel or {}))
        first = np.unique(rows, return_index=True)[1]
        if (paths := values["paths"]) is not None and len(paths) != len(ids):
            raise ValueError(f"{len(paths)} paths of {len(ids)} records")
        return cls(
            dataset=Dataset(
                ids=ids,
                labels=values["labels"].astype(np.intp),
                classes=values["classes"],
                rows=rows.astype(np.int64),
                digests=payload.digests(payload.contents([ids[record] for record in first])),
                payload=payload,
                vectors=values["view"],
                paths=paths,
            ),
            scores=values["scores"],
            self_scores=values["self_scores"],
            landmark_rows=values["landmark_rows"].astype(np.int64),
            held_out=values["held_out"].astype(np.int64),
            settings=values["settings"],
        )

    def save(self, path: str | os.PathLike[str], model: str | os.PathLike[str]) -> None:
        """Write the file, atomically and always to the same bytes.

        ``model`` is the path of the model, which was written before; the file fits no other one.
        """
        header, arrays = self.to_parts()
        own = {"model": file_sha256(Path(model)), "cannot": None}
        write_arrays(path, KIND, header | own, arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: Model, model_path: str | os.PathLike[str]
    ) -> "Learned":
        """Read the file of a model; its scores are a memory map.

        An InputError if it is missing, damaged or of another model, or says that the model cannot
        be updated.
        """
        if not os.path.exists(path):
            raise InputError(
                f"{path}: no such file. It is written beside a model of a run, and `kreinflow "
                "update` learns from it. Name it with --learned, or train the model again."
            )
        header, arrays = read_arrays(path, KIND, _ADVICE, mapped=("scores",))
        if header["model"] != file_sha256(Path(model_path)):
            raise InputError(f"{path}: is of another model than {model_path}. {_ADVICE}")
        if header["cannot"] is not None:
            raise InputError(f"{model_path}: cannot be updated: {header['cannot']}. Train anew.")
        with refusing_damage(path, _ADVICE):
            return cls.from_parts(header, arrays, {"m": model.classifier.n_landmarks}, model=model)


def write_refusal(path: str | os.PathLike[str], model: str | os.PathLike[str], cannot: str) -> None:
    """Write in place of the file of a model why it cannot be updated; see :func:`no_update`."""
    write_arrays(path, KIND, {"model": file_sha256(Path(model)), "cannot": cannot}, {})
