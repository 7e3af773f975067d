"""The model file: all that is needed to classify new objects, in one safetensors file.

Landmarks are stored as bytes or numbers, weights as arrays, everything else as JSON; nothing in it
is code.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.wording import abridged
from kreinflow.files.arrays import read_arrays, write_arrays
from kreinflow.files.provenance import package_versions
from kreinflow.files.state import Array, Part, State, Value, refusing_damage
from kreinflow.kernels.asked import AGREES, AskedKernel
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import known_kernel
from kreinflow.krein.landmark_kernel import Landmarks
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.fasta import read_fasta
from kreinflow.sequences.payload import Compared, Sequences, digest
from kreinflow.sequences.strands import reverse_complements
from kreinflow.views.objects import Viewed, residue_arrays, split_residues

KIND = "kreinflow model 2"
_ADVICE = "Give a model file that kreinflow wrote. Copy or train a damaged one again."
PROBED = 20  #: scores of landmarks that are asked for again before a model is used
_DIGEST = 16  # bytes of the digest of a record

IDS = Value(lambda given: tuple(map(str, given)), list)  #: names in a header


@dataclass(frozen=True, eq=False)
class Model(State):
    """A classifier with its landmarks, and how to score a new object with them."""

    classifier: LandmarkClassifier
    landmark_ids: tuple[str, ...]  # in the training data
    landmarks: tuple[bytes, ...] | Objects | None  # None of a matrix
    scheme: ScoringScheme | None  # how sequences are scored
    kernel: Mapping[str, Any] | None  # what compares vectors or strings, as in the config
    matrix_kind: str | None  # what the entries of a matrix are, as kind of the source
    molecule: str | None  # protein or nucleotide
    about: dict[str, Any]  # training figures, versions: for people
    inducing_ids: tuple[str, ...] = ()  # of the inducing points of a lift
    record_ids: tuple[str, ...] = ()  # of the training records that may be aligned
    record_digests: tuple[str, ...] = ()  # of each record, if their residues are not in the file
    probe_pairs: IntArray | None = None  # landmarks whose score of the user's is known
    probe_scores: FloatArray | None = None
    record_objects: Objects | None = None  # the training records that the user's score may ask
    asked: AskedKernel | None = None  # the same score, ready to be asked; in no file

    @property
    def record_residues(self) -> Sequence[bytes] | None:
        """The residues of the training records; None if there are none, or they are apart."""
        records = self.classifier.records
        return None if records is None else records.index.objects.sequences

    @property
    def lacks_records(self) -> bool:
        """Whether it needs training records that are apart."""
        there = self.record_residues is not None or self.record_objects is not None
        return self.classifier.records is not None and not there

    @property
    def measured_kind(self) -> str | None:
        """What the scores of a matrix or a kernel are; None if they are aligned."""
        return self.matrix_kind if self.kernel is None else known_kernel(self.kernel).kind

    @property
    def comparing(self) -> Kernel | None:
        """What compares new objects with the landmarks; None of sequences, or a matrix."""
        return self.asked or (None if self.kernel is None else known_kernel(self.kernel))

    @property
    def landmark_labels(self) -> NDArray[Any]:
        """The class of each landmark, by name."""
        return np.array(self.classifier.classes, dtype=object)[self.classifier.landmark_classes]

    state: ClassVar = {
        "classifier": Part(LandmarkClassifier),
        "landmark_ids": IDS,
        "scheme": Value(
            lambda content: None if content is None else ScoringScheme.from_dict(content),
            lambda scheme: scheme and scheme.to_dict(),
        ),
        "kernel": Value(lambda kernel: kernel, lambda kernel: dict(kernel) if kernel else None),
        "matrix_kind": Value(lambda kind: kind),
        "molecule": Value(lambda molecule: molecule),
        "about": Value(dict),
        "inducing_ids": Value(IDS.read, list, optional=True),
        "record_ids": Value(IDS.read, list, optional=True),
        "landmark_residues": Array("u1", "l", optional=True),
        "landmark_ends": Array("i8", "m", optional=True),
        "landmark_vectors": Array("f8", "m v", optional=True),
        "record_digests": Array("u1", f"n {_DIGEST}", optional=True),
        "record_texts": Array("u1", "t", optional=True),
        "record_ends": Array("i8", "n", optional=True),
        "record_vectors": Array("f8", "n v", optional=True),
        "probe_pairs": Array("i8", "p 2", optional=True),
        "probe_scores": Array("f8", "p", optional=True),
    }

    def stored(self) -> dict[str, Any]:
        """See :meth:`~kreinflow.files.state.State.stored`; records may be apart."""
        classifier, digests = self.classifier, None
        if self.record_digests:
            classifier = _with_residues(classifier, None)
            digests = np.frombuffer(bytes.fromhex("".join(self.record_digests)), dtype=np.uint8)
            digests = digests.reshape(-1, _DIGEST)
        texts, ends, vectors = stored_objects(self.record_objects).values()
        own = {
            "record_texts": texts,
            "record_ends": ends,
            "record_vectors": vectors,
            "classifier": classifier,
            "inducing_ids": None if classifier.lift is None else self.inducing_ids,
            "record_ids": None if classifier.records is None else self.record_ids,
            "record_digests": digests,
            **{f"landmark_{name}": array for name, array in stored_objects(self.landmarks).items()},
        }
        return {name: own[name] if name in own else getattr(self, name) for name in self.state}

    @classmethod
    def dimensions(cls, header: Mapping[str, Any]) -> dict[str, int]:
        """Return the numbers of landmarks and of records."""
        records = header["classifier"].get("records")
        of_records = {} if records is None else {"n": int(records["number"])}
        return {"m": len(header["landmark_ids"]), **of_records}

    @classmethod
    def restored(cls, **values: Any) -> Self:
        """See :meth:`~kreinflow.files.state.State.restored`."""
        objects = [values.pop(f"landmark_{name}") for name in ("residues", "ends", "vectors")]
        values["landmarks"] = restored_objects(values["scheme"], *objects)
        objects = [values.pop(f"record_{name}") for name in ("texts", "ends", "vectors")]
        values["record_objects"] = restored_objects(None, *objects)
        digests = values["record_digests"]
        told = () if digests is None else (row.tobytes().hex() for row in digests)
        values["record_digests"] = tuple(told)
        for name in ("inducing_ids", "record_ids"):
            values[name] = values[name] or ()
        return cls(**values)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, atomically and always to the same bytes."""
        write_arrays(path, KIND, *self.to_parts())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], records: Sequence[str | os.PathLike[str]] = ()
    ) -> "Model":
        """Read a model file.

        ``records`` are FASTA files that have the training records of a model whose records are
        apart. Others may be among them; ids do not matter. Without them the first stage answers.

        An InputError if it is damaged or of another kind, or if the records are not those that it
        needs.
        """
        header, arrays = read_arrays(path, KIND, _ADVICE)
        with refusing_damage(path, _ADVICE):
            _refuse_without_seeds(header)
            model = cls.from_parts(header, arrays, {})
        if not records:
            return model
        if model.scheme is None:
            raise model._needs_no_records()
        alphabet = ResidueAlphabet(model.scheme.matrix.alphabet, model.molecule or "protein")
        found = (alphabet.clean(own.residues) for file in records for own in read_fasta(Path(file)))
        if model.molecule == "nucleotide":  # they may have been turned
            letters = model.scheme.matrix.alphabet
            found = (own for s in found for own in (s, *reverse_complements([s], letters)))
        return model.with_records(found, ", ".join(map(str, records)))

    def with_records(self, sequences: Iterable[bytes], name: str) -> "Model":
        """Return the model with the residues of its records, which are apart.

        ``sequences`` are cleaned, in any order, with others among them; messages call them
        ``name``. Raises InputError if one is missing, or the model needs none.
        """
        if not self.record_digests:
            raise self._needs_no_records()
        wanted = set(self.record_digests)
        found = {own: sequence for sequence in sequences if (own := digest(sequence)) in wanted}
        known = zip(self.record_ids, self.record_digests, strict=True)
        if missing := [id for id, own in known if own not in found]:
            raise InputError(
                f"{name}: lacks {len(missing)} of the {len(self.record_ids)} training records of "
                f"the model: {abridged(missing)}. Give the sequences that it was trained on."
            )
        residues = tuple(found[own] for own in self.record_digests)
        return replace(self, classifier=_with_residues(self.classifier, residues))

    def with_probe(self, landmarks: Landmarks) -> "Model":
        """Return the model with some scores of its landmarks, if they are those of the user.

        By them :meth:`asking` knows that it asks what was asked in training.
        """
        if not isinstance(self.comparing, AskedKernel):
            return self
        m = len(self.landmark_ids)
        k = np.arange(min(PROBED, m))
        i = k * m // len(k)
        pairs = np.stack([i, (i + 1 + k) % m], axis=1)
        scores = np.asarray(landmarks.scores[landmarks.rows[pairs[:, 0]]], dtype=np.float64)
        return replace(self, probe_pairs=pairs, probe_scores=scores[k, pairs[:, 1]])

    def asking(self, score: str, folders: Sequence[Path] = ()) -> "Model":
        """Return the model with the user's score ready to be asked, which the user names as it.

        Nothing of the model file is imported or run before. An InputError if the model has no such
        score, has another one, or if this one returns other numbers than in training.
        """
        kernel = self.comparing
        if not isinstance(kernel, AskedKernel):
            raise InputError("--score: the model compares by no score of yours. Leave it out.")
        if score != kernel.named:
            raise InputError(
                f"--score {score}: the model was trained with the {kernel.what} {kernel.named} "
                f"(version {kernel.settings['version']}). Give that one."
            )
        live, landmarks = kernel.loaded(folders), np.asarray(self.landmarks)
        if self.probe_pairs is None or self.probe_scores is None:
            raise InputError("the model has no scores to know its score by. Train it again.")
        size = float(np.abs(self.probe_scores).max(initial=0.0))
        for pair, before in zip(self.probe_pairs, self.probe_scores.tolist(), strict=True):
            a, b = (self.landmark_ids[number] for number in pair)
            one, other = (landmarks[number : number + 1] for number in pair)
            now = float(live.compare(one, other, [a], [b])[0, 0])
            if abs(now - before) > AGREES * size:
                squared = kernel.settings["kind"] == "dissimilarity"
                shown = [value**0.5 if squared else value for value in (before, now)]
                raise InputError(
                    f"{kernel.what} {kernel.named}: the score of the landmarks {a} and {b} was "
                    f"{shown[0]:.9g} in training (version {kernel.settings['version']}), and is "
                    f"{shown[1]:.9g} now. Give the code of that version, or train again."
                )
        return replace(self, asked=live)

    def _needs_no_records(self) -> InputError:
        why = "its file has those that it asks" if self.record_ids else "it asks no records"
        return InputError(f"--records: the model needs none, {why}. Leave it out.")


def _refuse_without_seeds(header: Mapping[str, Any]) -> None:
    """Raise an InputError of a model of 0.12.0 or before that asks training records."""
    records = header["classifier"].get("records")
    seeds = () if records is None else records.get("seeds", ())
    if seeds is not None and "segments_above" not in seeds and records is not None:
        raise InputError(
            f"kreinflow {header['about']['versions']['kreinflow']} wrote this model, which asks "
            "training records without seeds. Train it again, or use that version."
        )


def _with_residues(
    classifier: LandmarkClassifier, residues: Sequence[bytes] | None
) -> LandmarkClassifier:
    records = classifier.records
    assert records is not None, "records of a model that asks none"
    objects = Viewed(residues, records.index.objects.vectors)
    index = replace(records.index, objects=objects)
    return classifier.with_records(replace(records, index=index))


def stored_objects(objects: Sequence[bytes] | Objects | None) -> dict[str, Any]:
    """Return sequences, strings or vectors as arrays ``residues`` and ``ends``, or ``vectors``."""
    none = dict.fromkeys(("residues", "ends", "vectors"))
    if objects is None:
        return none
    if isinstance(objects, np.ndarray) and objects.ndim == 2:
        return {**none, "vectors": objects}
    texts = [text.encode() if isinstance(text, str) else text for text in objects]
    return {**none, **residue_arrays(texts)}


def restored_objects(
    scheme: ScoringScheme | None,
    residues: NDArray[Any] | None,
    ends: NDArray[Any] | None,
    vectors: NDArray[Any] | None,
) -> tuple[bytes, ...] | Objects | None:
    """Return the objects of :func:`stored_objects`."""
    if residues is None or ends is None:
        return vectors
    texts = split_residues(residues, ends)
    return texts if scheme else np.array([text.decode() for text in texts], dtype=object)


def final_model(
    dataset: Dataset,
    classifier: LandmarkClassifier,
    scheme: ScoringScheme | None,
    source: Mapping[str, Any],
    figures: Mapping[str, Any],
    factor: Mapping[str, Any],
    landmark_rows: Sequence[int],
) -> Model:
    """Put a classifier trained on everything and its landmarks together.

    ``figures`` and ``factor`` are for people: what the training said, and the row of
    :func:`~kreinflow.fitting.factors.factor_table`.
    """
    first = dict(zip(dataset.rows.tolist()[::-1], dataset.ids[::-1], strict=True))
    inducing, records = classifier.inducing_rows, classifier.records
    asked = [] if records is None else records.rows.tolist()
    recipe = classifier.about.get("recipe") or {}
    apart = (recipe.get("cascade") or {}).get("records") == "apart"
    taken = dataset.payload.take(landmark_rows)
    landmarks: tuple[bytes, ...] | Objects | None = None
    compared = dataset.payload.objects if isinstance(dataset.payload, Compared) else None
    if isinstance(taken, Sequences | Compared):
        landmarks = taken.residues if isinstance(taken, Sequences) else taken.objects
    return Model(
        classifier=classifier,
        landmark_ids=tuple(first[row] for row in landmark_rows),
        landmarks=landmarks,
        scheme=scheme,
        kernel=dataset.payload.kernel_settings,
        matrix_kind=source.get("kind"),
        molecule=source.get("molecule", "protein") if scheme else None,
        about={
            "training": {
                key: value
                for key, value in figures.items()
                if key not in ("repeat", "fold", "inner_sizes", "inner_right", "inner_known")
            },
            "factor": {
                key: None if isinstance(value, float) and not np.isfinite(value) else value
                for key, value in factor.items()
                if key not in ("transform", "rank_wanted", "landmarks")
            },
            "records": len(dataset.ids),
            "versions": package_versions(),
        },
        inducing_ids=() if inducing is None else tuple(first[row] for row in inducing.tolist()),
        record_ids=tuple(first[row] for row in asked),
        record_digests=tuple(dataset.digests[row] for row in asked) if apart else (),
        record_objects=compared[asked] if asked and compared is not None else None,
    )
