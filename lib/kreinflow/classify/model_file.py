"""The model file: all that is needed to classify new objects, in one safetensors file.

Landmarks are stored as bytes or numbers, weights as arrays, everything else as JSON; nothing in it
is code.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.record_scores import Records
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.files.arrays import Sizes, read_arrays, write_arrays
from kreinflow.files.provenance import package_versions
from kreinflow.files.state import refusing_damage
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import known_kernel
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.fasta import LONGEST, read_fasta
from kreinflow.sequences.files import first_few, has_control
from kreinflow.sequences.matrix_files import MATRIX_KINDS
from kreinflow.sequences.payload import Compared, Sequences, digest
from kreinflow.views.objects import Viewed, cut, joined

KIND = "kreinflow model 2"
_UNSEALED = "kreinflow model 1"  # of versions up to 0.3.0, without a checksum
_ADVICE = "Give a model file that kreinflow wrote. Copy or train a damaged one again."
_DIGEST = 16  # bytes of the digest of a record
_MOST = 1 << 20  # numbers of a vector, bytes of a string, records where it is not said


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier with its landmarks, and how to score a new object with them.

    Parameters
    ----------
    classifier : LandmarkClassifier
    landmark_ids : tuple of str
        An id of each landmark in the training data.
    landmarks : tuple of bytes, ndarray or None
        Their sequences; or their vectors or strings; None if the model was trained on a matrix.
    scheme : ScoringScheme or None
        How sequences are scored.
    kernel : mapping or None
        What compares vectors or strings, as in the config.
    matrix_kind : str or None
        Of a matrix: what its entries are, as ``kind`` of the source.
        What a matrix of new objects has to hold.
    molecule : {"protein", "nucleotide"} or None
    about : dict
        Training figures, versions: for people.
    inducing_ids : tuple of str
        An id of each inducing point of a lift in the training data.
    record_ids : tuple of str
        An id of each training record that may be asked.
    record_digests : tuple of str
        Of records that are apart: the digest of each by
        :func:`~kreinflow.sequences.payload.digest`. Their residues are not in the model file.
    """

    classifier: LandmarkClassifier
    landmark_ids: tuple[str, ...]
    landmarks: tuple[bytes, ...] | Objects | None
    scheme: ScoringScheme | None
    kernel: Mapping[str, Any] | None
    matrix_kind: str | None
    molecule: str | None
    about: dict[str, Any]
    inducing_ids: tuple[str, ...] = ()
    record_ids: tuple[str, ...] = ()
    record_digests: tuple[str, ...] = ()

    @property
    def record_residues(self) -> Sequence[bytes] | None:
        """The residues of the records that may be asked; None if nobody can be asked."""
        records = self.classifier.records
        return None if records is None else records.index.objects.sequences

    @property
    def lacks_records(self) -> bool:
        """Whether it asks records, and has nobody to ask: they are apart."""
        return self.classifier.records is not None and self.record_residues is None

    @property
    def measured_kind(self) -> str | None:
        """What the scores of a matrix or a kernel are, as its ``kind``; None if they are aligned.

        Where models are asked a ``dissimilarity`` is squared.
        """
        return self.matrix_kind if self.kernel is None else known_kernel(self.kernel).kind

    @property
    def landmark_labels(self) -> NDArray[Any]:
        """The class of each landmark, by name."""
        return np.array(self.classifier.classes, dtype=object)[self.classifier.landmark_classes]

    @property
    def inducing_labels(self) -> NDArray[Any]:
        """The class of each inducing point, by name."""
        codes = self.classifier.inducing_classes
        return np.array(self.classifier.classes, dtype=object)[[] if codes is None else codes]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, atomically and always to the same bytes."""
        classifier, apart = self.classifier, self.record_digests
        if apart:
            classifier = _with_residues(classifier, None)
        header, arrays = classifier.to_parts()
        if apart:
            arrays["record_digests"] = np.frombuffer(
                bytes.fromhex("".join(apart)), dtype=np.uint8
            ).reshape(-1, _DIGEST)
        if isinstance(self.landmarks, tuple):
            arrays |= _joined(self.landmarks)
        elif self.landmarks is not None and self.landmarks.ndim == 1:
            arrays |= _joined(tuple(string.encode() for string in self.landmarks))
        elif self.landmarks is not None:
            arrays["landmark_vectors"] = self.landmarks
        content = {
            "classifier": header,
            "landmark_ids": list(self.landmark_ids),
            "scheme": self.scheme.to_dict() if self.scheme else None,
            "kernel": dict(self.kernel) if self.kernel else None,
            "matrix_kind": self.matrix_kind,
            "molecule": self.molecule,
            "about": self.about,
        }
        if self.classifier.lift is not None:
            content["inducing_ids"] = list(self.inducing_ids)
        if self.classifier.records is not None:
            content["record_ids"] = list(self.record_ids)
        write_arrays(path, KIND, content, arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], records: Sequence[str | os.PathLike[str]] = ()
    ) -> "Model":
        """Read a model file.

        Parameters
        ----------
        path : path
        records : sequence of paths, optional
            FASTA files that have the training records of a model whose records are apart. Others
            may be among them; ids do not matter. Without them the first stage answers.

        Raises
        ------
        InputError
            If it is damaged, of another kind, or its parts do not fit together; or if the records
            are not those that it needs.
        """
        model = cls._read(path)
        if not records:
            return model
        if model.scheme is None:
            raise model._needs_no_records()
        alphabet = ResidueAlphabet(model.scheme.matrix.alphabet, model.molecule or "protein")
        found = (
            alphabet.clean(record.residues) for file in records for record in read_fasta(Path(file))
        )
        return model.with_records(found, ", ".join(map(str, records)))

    def with_records(self, sequences: Iterable[bytes], name: str) -> "Model":
        """Return the model with the residues of its records, which are apart.

        Parameters
        ----------
        sequences : iterable of bytes
            Cleaned, in any order, with others among them.
        name : str
            What messages call them.

        Raises
        ------
        InputError
            If one is missing, or the model needs none.
        """
        if not self.record_digests:
            raise self._needs_no_records()
        wanted, found = set(self.record_digests), {}
        for sequence in sequences:
            if (own := digest(sequence)) in wanted:
                found[own] = sequence
        missing = [
            id
            for id, own in zip(self.record_ids, self.record_digests, strict=True)
            if own not in found
        ]
        if missing:
            raise InputError(
                f"{name}: lacks {len(missing)} of the {len(self.record_ids)} training records of "
                f"the model: {first_few(missing)}. Give the sequences that it was trained on."
            )
        residues = tuple(found[own] for own in self.record_digests)
        return replace(self, classifier=_with_residues(self.classifier, residues))

    def _needs_no_records(self) -> InputError:
        why = "its file has those that it asks" if self.record_ids else "it asks no records"
        return InputError(f"--records: the model needs none, {why}. Leave it out.")

    @classmethod
    def _read(cls, path: str | os.PathLike[str]) -> "Model":
        header, arrays = read_arrays(path, KIND, _ADVICE, _UNSEALED, _sizes)
        with refusing_damage(path, _ADVICE):
            return _of_parts(header, arrays)


def _with_residues(
    classifier: LandmarkClassifier, residues: Sequence[bytes] | None
) -> LandmarkClassifier:
    """Return a classifier that has these residues of its records."""
    records = classifier.records
    assert records is not None, "records of a model that asks none"
    objects = Viewed(residues, records.index.objects.vectors)
    index = replace(records.index, objects=objects)
    return classifier.with_records(replace(records, index=index))


def _sizes(header: Mapping[str, Any]) -> Sizes:
    """Return the arrays that a model may have, as its header says."""
    m = len(header["landmark_ids"])
    records = header["about"].get("records")  # for people, who may have changed it
    most = records if isinstance(records, int) else _MOST
    sizes = dict(LandmarkClassifier.sizes(header["classifier"], {"m": m, "s": most}))
    if header["scheme"] is not None or header["kernel"] is not None:
        sizes["landmark_residues"] = ("u", (m * max(LONGEST, _MOST),))
        sizes["landmark_ends"] = ("i", (m,))
    if header["kernel"] is not None:
        sizes["landmark_vectors"] = ("f", (m, _MOST))
    if (asked := header["classifier"].get("records")) is not None:
        sizes["record_digests"] = ("u", (int(asked["number"]), _DIGEST))
    return sizes


def _of_parts(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Model:
    """Build a model from a file's parts, which may be anybody's."""
    classifier = LandmarkClassifier.from_parts(header["classifier"], arrays)
    ids = tuple(str(i) for i in header["landmark_ids"])
    if len(ids) != classifier.n_landmarks:
        raise _refusal("ids and landmarks differ in number")
    inducing_ids = tuple(str(i) for i in header.get("inducing_ids", ()))
    lift = classifier.lift
    if len(inducing_ids) != (0 if lift is None else len(lift)):
        raise _refusal("ids and inducing points differ in number")
    words = None if lift is None else lift.words
    record_ids = tuple(str(i) for i in header.get("record_ids", ()))
    if any(map(has_control, (*ids, *inducing_ids, *record_ids, *classifier.classes))):
        raise _refusal("an id or a class has a control character, or one that is not shown")
    landmarks: tuple[bytes, ...] | Objects | None = None
    scheme, kernel = None, header["kernel"]
    if header["scheme"] is not None and kernel is not None:
        raise _refusal("it has two ways to compare objects")
    if header["scheme"] is not None:
        scheme = ScoringScheme.from_dict(header["scheme"])
        ResidueAlphabet(scheme.matrix.alphabet, header["molecule"])  # refuses others
        landmarks = _sequences(scheme, classifier.landmark_lengths, arrays)
    elif kernel is not None:
        landmarks = _objects(known_kernel(kernel), arrays)
        if len(landmarks) != len(ids):
            raise _refusal("ids and landmarks differ in number")
    elif header["matrix_kind"] not in MATRIX_KINDS:
        raise _refusal(f"its kind of matrix, {header['matrix_kind']!r}, is unknown")
    if words is not None and (scheme is None or words.letters != scheme.matrix.alphabet):
        raise _refusal("the words of its lift are not of the letters of its sequences")
    if lift is not None and words is not None and lift.objects.sequences is None:
        raise _refusal("its inducing points lack the residues that words are made of")
    digests: tuple[str, ...] = ()
    if classifier.records is not None:
        if scheme is None:
            raise _refusal("it asks training records, but does not say how they are aligned")
        digests = _checked_records(classifier.records, scheme, record_ids, arrays)
    elif record_ids:
        raise _refusal("it has records, and nothing that asks them")
    return Model(
        classifier=classifier,
        landmark_ids=ids,
        landmarks=landmarks,
        scheme=scheme,
        kernel=kernel,
        matrix_kind=header["matrix_kind"],
        molecule=header["molecule"],
        about=dict(header["about"]),
        inducing_ids=inducing_ids,
        record_ids=record_ids,
        record_digests=digests,
    )


def _checked_records(
    records: Records,
    scheme: ScoringScheme,
    ids: Sequence[str],
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[str, ...]:
    """Refuse records that do not fit; return their digests if they are apart."""
    index, sequences = records.index, records.index.objects.sequences
    if len(ids) != len(records):
        raise _refusal("ids and records differ in number")
    if index.words is not None and index.words.letters != scheme.matrix.alphabet:
        raise _refusal("the words of its records are not of the letters of its sequences")
    if sequences is not None:
        if [len(sequence) for sequence in sequences] != records.lengths.tolist():
            raise _refusal("the residues of its records are damaged")
        if any(sequence.translate(None, scheme.matrix.alphabet.encode()) for sequence in sequences):
            raise _refusal("a record has residues that its substitution matrix lacks")
        return ()
    digests = arrays["record_digests"]
    if digests.dtype != np.uint8 or digests.shape != (len(ids), _DIGEST):
        raise _refusal("the digests of its records are damaged")
    return tuple(row.tobytes().hex() for row in digests)


def _refusal(why: str) -> InputError:
    return InputError(f"{why}. {_ADVICE}")


def _joined(landmarks: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    return {f"landmark_{name}": array for name, array in joined(landmarks).items()}


def _sequences(
    scheme: ScoringScheme, lengths: FloatArray, arrays: Mapping[str, NDArray[Any]]
) -> tuple[bytes, ...]:
    """Return the landmarks that are aligned, refusing those that cannot be."""
    landmarks = cut(arrays["landmark_residues"], arrays["landmark_ends"])
    if [len(landmark) for landmark in landmarks] != lengths.tolist():
        raise _refusal("its landmark sequences are damaged")
    letters = set(scheme.matrix.alphabet.encode())
    if any(not letters.issuperset(landmark) for landmark in landmarks):
        raise _refusal("a landmark has residues that its substitution matrix lacks")
    return landmarks


def _objects(kernel: Kernel, arrays: Mapping[str, NDArray[Any]]) -> Objects:
    """Return the landmarks that a kernel compares, refusing those that it cannot."""
    if kernel.strings:
        strings = cut(arrays["landmark_residues"], arrays["landmark_ends"])
        return np.array([string.decode() for string in strings], dtype=object)
    vectors = arrays["landmark_vectors"]
    if vectors.dtype != np.float64 or vectors.ndim != 2 or vectors.shape[1] == 0:
        raise ValueError("its landmark vectors are no vectors")
    fault = kernel.first_fault(vectors) if np.isfinite(vectors).all() else "not finite"
    if fault is not None:
        raise ValueError(f"its landmark vectors: {fault}")
    return vectors


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
    :func:`~kreinflow.fitting.factor_file.factor_table`.
    """
    first = {row: place for place, row in reversed(list(enumerate(dataset.rows.tolist())))}
    inducing, records = classifier.inducing_rows, classifier.records
    asked = [] if records is None else records.rows.tolist()
    recipe = classifier.about.get("recipe") or {}
    apart = (recipe.get("cascade") or {}).get("records") == "apart"
    landmarks: tuple[bytes, ...] | Objects | None = None
    match dataset.payload.take(landmark_rows):
        case Sequences(residues=sequences):
            landmarks = sequences
        case Compared(objects=objects):
            landmarks = objects
    return Model(
        classifier=classifier,
        landmark_ids=tuple(dataset.ids[first[row]] for row in landmark_rows),
        landmarks=landmarks,
        scheme=scheme,
        kernel=dataset.payload.kernel_settings,
        matrix_kind=source.get("kind"),
        molecule=source.get("molecule", "protein") if scheme else None,
        about={
            "training": {
                key: value
                for key, value in figures.items()
                if key not in ("repeat", "fold", "inner_right", "inner_known")
            },
            "factor": {
                key: None if isinstance(value, float) and not np.isfinite(value) else value
                for key, value in factor.items()
                if key not in ("transform", "rank_wanted", "landmarks")
            },
            "records": len(dataset.ids),
            "versions": package_versions(),
        },
        inducing_ids=tuple(dataset.ids[first[row]] for row in inducing.tolist())
        if inducing is not None
        else (),
        record_ids=tuple(dataset.ids[first[row]] for row in asked),
        record_digests=tuple(dataset.digests[row] for row in asked) if apart else (),
    )
