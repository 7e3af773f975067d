"""New objects of a file, a batch at a time, with their scores with the landmarks of a model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.backends import (
    SAMPLE,
    Backend,
    align_with_others,
    backend_named,
    checked,
)
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.answering.query_and_answers import Ask, Query
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, tiles
from kreinflow.base.wording import abridged, plural
from kreinflow.classify.model_file import Model
from kreinflow.files.text_files import STANDARD_INPUT
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.sequences.fasta import LONGEST, Columns, FastaRecord, read_any
from kreinflow.sequences.matrix_files import (
    DISSIMILARITIES,
    ReadMatrix,
    read_matrix,
    read_objects,
    read_record_vectors,
)
from kreinflow.sequences.strands import FRAMES, reverse_complements, six_frames, strand_fault
from kreinflow.views.objects import Viewed

_RECORDS = 768  # of a batch, at most: more take memory, and save no time
_LETTERS = 1 << 22  # of headers and residues
_PAIRS = 1 << 22
_CHECKED = 0.005  # of pairs, but all of the first
_DNA, _SHORTEST = "ACGTRYSWKMBDHVN", 5  # of what is translated: each frame has a codon


@dataclass(frozen=True)
class Options:
    """How new objects are read and scored, and what is told of them.

    Results do not depend on the threads, nor on what aligns (``backend``, "auto" if it is left
    out): the first 1,000 pairs are held against parasail, and then one of 200.
    """

    threads: int = 1
    strand: str = "given"  # or both, auto: see docs/guide.md
    translate: bool = False  # DNA into its best frame, for a model of proteins
    backend: Backend | None = None
    vectors: Path | None = None  # of the objects by id, for a model that looks at them
    columns: Columns | None = None  # of the file, if it is a table of sequences
    confidence: float | None = None  # adds the columns set and set_size
    errors: float | None = None  # adds the column error_p
    first: int = 0  # objects of the file that are left out at its beginning
    last: int | None = None  # the object from which on all are left out
    on_fault: Callable[[str], object] | None = None  # without it the first fault is raised
    on_evidence: Callable[[Any], object] | None = None  # called with the Evidence of each batch


DEFAULTS = Options()


class Shard(NamedTuple):
    """The k-th of n parts of objects in a row, counted from 1; the first is the largest."""

    number: int = 1
    of: int = 1

    def bounds(self, total: int) -> tuple[int, int]:
        """Return the first object of the part, and the first behind it, of so many.

        Examples
        --------
        >>> [Shard(k, 3).bounds(4) for k in (1, 2, 3)]
        [(0, 2), (2, 3), (3, 4)]
        """
        first, last = (-(-k * total // self.of) for k in (self.number - 1, self.number))
        return first, last


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch(Query):
    """Some new objects in their order, and the query of those that can be scored."""

    per_object: ClassVar[tuple[str, ...]] = (*Query.per_object, "scored", "strands", "given")

    ids: list[str]
    place: Callable[[int], str]  # what messages call an object, by its number
    faults: dict[int, str]  # what is wrong with an object and what to do, by its number
    scored: NDArray[np.int64]  # the numbers of the others, in order: the objects of the query
    strands: NDArray[Any] | None = None  # the strand or frame that is scored, if others were tried
    given: IntArray | None = None  # residues as given, of sequences
    tried: int = 1  # strands or frames that met the landmarks
    turning: str = "strand"  # what the strands are called: they may be frames

    @property
    def sequences(self) -> Sequence[bytes] | None:
        """The residues that are scored."""
        return None if self.objects is None else self.objects.sequences

    @property
    def turned(self) -> dict[str, NDArray[Any]]:
        """The column strand (+ or -) or frame (+1 to -3), if others were tried."""
        return {} if self.strands is None else {self.turning: self.strands}

    def with_vectors(self, read: ReadMatrix, path: Path | None) -> "Batch":
        """Return the objects with their vectors; those that have none are at fault."""
        places = read.places([self.ids[number] for number in self.scored.tolist()])
        has = places >= 0
        fault = f"has no vector in {path}. Add it."
        faults = self.faults | dict.fromkeys(self.scored[~has].tolist(), fault)
        found = self.take(np.flatnonzero(has))
        objects = Viewed(found.sequences, read.values[places[has]])
        return replace(found, faults=faults, objects=objects)


def score_new(model: Model, path: Path, options: Options = DEFAULTS) -> Iterator[Batch]:
    """Yield the objects of a file with their scores, in order.

    FASTA is read as it is needed, so the memory does not depend on how many records there are. A
    row of the scores depends on its own object alone. For the file see
    :func:`~kreinflow.classify.classification.classify_batches`.

    An InputError says that a file cannot be read, or does not fit the model. Of FASTA a record at
    fault is not raised but told in the faults of its batch, and so is any object without a vector.
    """
    lift, width = model.classifier.lift, None
    if lift is not None and "vectors" in lift.rates and lift.objects.vectors is not None:
        width = lift.objects.vectors.shape[1]
    read = vectors_to_look_at(width, options.vectors, "objects")
    if options.strand == "both" and model.molecule != "nucleotide":
        raise InputError(
            "--strand both: the model is not one of nucleotides, so its objects have no other "
            "strand. Leave it out."
        )
    if options.translate and (model.scheme is None or model.molecule != "protein"):
        raise InputError("--translate: the model is not one of proteins. Leave it out.")
    if model.scheme is not None:
        aligner = _Aligner(model, options)
        batches: Iterator[Batch] = map(aligner.align, aligner.batches(path))
    else:
        batches = _measured_batches(model, path, options)
    for batch in batches:
        yield batch if read is None else batch.with_vectors(read, options.vectors)


def n_objects(model: Model, path: Path, columns: Columns | None = None) -> int:
    """Return how many objects :func:`score_new` finds in a file, those at fault included."""
    if model.scheme is not None:
        return sum(1 for _ in read_any(path, columns))
    return len(_read_measured(model, path)[0])


def vectors_to_look_at(width: int | None, path: Path | None, what: str) -> ReadMatrix | None:
    """Read the vectors of new objects for a model that looks at so many numbers, or at none."""
    if path is None and width is not None:
        raise InputError(
            f"the model looks at vectors of {plural(width, 'number')}. Give those of the new "
            f"{what}: --vectors with a table of ids and numbers."
        )
    if path is not None and width is None:
        raise InputError(f"--vectors {path}: the model looks at no vectors. Leave it out.")
    return None if path is None or width is None else read_record_vectors(path, width)


def clean_sequences(
    model: Model, path: Path, columns: Columns | None = None
) -> Iterator[tuple[FastaRecord, bytes]]:
    """Yield the records of a file with their residues as in training, or refuse one."""
    aligner = _Aligner(model, Options(columns=columns))
    for records in aligner.batches(path):
        cleaned = [aligner.alphabet.clean(record.residues) for record in records]
        for number, fault in sorted(aligner.faults(records, cleaned).items()):
            raise InputError(f"{records[number].named}: {fault}")
        yield from zip(records, cleaned, strict=True)


class _Aligner:
    """New sequences against the landmarks and the records of a model."""

    def __init__(self, model: Model, options: Options) -> None:
        assert model.scheme is not None, "a model of other objects than sequences"
        self.model, self.scheme, self.options = model, model.scheme, options
        self.landmarks = model.landmarks if isinstance(model.landmarks, tuple) else ()
        self.letters = _DNA if options.translate else self.scheme.matrix.alphabet
        molecule = "nucleotide" if options.translate else model.molecule or "protein"
        self.alphabet = ResidueAlphabet(self.letters, molecule)
        seeds = model.record_residues is not None and options.strand == "auto"
        self.records = model.classifier.records if seeds and not options.translate else None
        # If a score differs from that of parasail and the user named no backend, no other helps.
        advice = "Use the alignment backend parasail." if options.backend else ""
        named = options.backend or backend_named("auto")
        self.checked = checked(named, _CHECKED, advice, first=SAMPLE)

    def batches(self, path: Path) -> Iterator[list[FastaRecord]]:
        """Yield the records of a file, batch by batch."""
        # Enough for all threads, with many of about one length, and small in memory.
        most = min(_RECORDS, max(256, _PAIRS // len(self.landmarks)))
        batch: list[FastaRecord] = []
        total = 0
        records = read_any(path, self.options.columns)
        for record in islice(records, self.options.first, self.options.last):
            batch.append(record)
            total += len(record.header) + len(record.residues)
            if len(batch) == most or total >= _LETTERS:
                yield batch
                batch, total = [], 0
        if batch:
            yield batch

    def align(self, records: Sequence[FastaRecord]) -> Batch:
        """Align a batch, leaving out the sequences that the transform cannot take."""
        cleaned = [self.alphabet.clean(record.residues) for record in records]
        faults, threads = self.faults(records, cleaned), self.options.threads
        places = np.delete(np.arange(len(records)), list(faults))
        m, n, chosen = len(self.landmarks), len(places), None
        sequences = [cleaned[place] for place in places.tolist()]
        given = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        names, versions = self._versions(sequences)
        if len(names) > 1 and self.records is not None:
            found = (self.records.by_seeds.by_hits(own, 1)[1][:, 0] for own in versions)
            chosen = np.argmax([*found], axis=0)  # the first of equals
            versions = [[versions[own][row] for row, own in enumerate(chosen.tolist())]]
        tried, sequences = len(versions), [*chain(*versions)]
        packed = pack([*self.landmarks, *sequences], self.scheme, threads)
        rows = m + np.arange(len(sequences))
        scores = self.checked(packed, rows, np.arange(m))
        own = self_scores(packed, rows).astype(np.float64)
        if tried > 1:
            normalised = np.nan_to_num(normalised_scores(self.model, scores, own), nan=-np.inf)
            chosen = normalised.max(axis=1, initial=-np.inf).reshape(tried, n).argmax(axis=0)
            picked = np.arange(n) + n * chosen
            sequences = [sequences[i] for i in picked.tolist()]
            scores, own = scores[picked], own[picked]
        lengths = np.array([len(sequence) for sequence in sequences], dtype=np.float64)
        unusable = unusable_rows(self.model, scores, own, lengths)
        faults |= {int(places[row]): fault for row, fault in unusable.items()}
        kept = np.delete(np.arange(n), list(unusable))
        sequences = [sequences[row] for row in kept.tolist()]
        ask, known = None, self.model.record_residues
        if known is not None:
            how: dict[str, Any] = {"scheme": self.scheme, "threads": threads}
            ask = partial(align_with_others, sequences, known, **how, backend=self.checked)
        return Batch(
            np.ascontiguousarray(scores[kept]),
            own[kept],
            lengths[kept],
            Viewed(sequences),
            ask,
            ids=[record.id for record in records],
            place=lambda number: records[number].named,
            faults=faults,
            scored=places[kept],
            strands=None if chosen is None else np.array([*names])[chosen[kept]],
            given=given[kept],
            tried=tried,
            turning="frame" if self.options.translate else "strand",
        )

    def _versions(self, sequences: list[bytes]) -> tuple[Sequence[str], list[Sequence[bytes]]]:
        """Return the strands or frames that are tried, and the sequences of each.

        With the strand auto what cannot be turned is on both as it was given.
        """
        if self.options.translate:
            frames = [six_frames(sequence) for sequence in sequences]
            return FRAMES, [[own[i] for own in frames] for i in range(len(FRAMES))]
        if self.options.strand == "given" or self.model.molecule != "nucleotide":
            return "+", [sequences]
        pairs = zip(sequences, reverse_complements(sequences, self.letters), strict=True)
        return "+-", [sequences, [s if strand_fault(s, self.letters) else t for s, t in pairs]]

    def faults(self, records: Sequence[FastaRecord], cleaned: Sequence[bytes]) -> dict[int, str]:
        """Return why records cannot be aligned, by their number."""
        fine = self._fault_of_letters(b"".join(cleaned)) is None  # of all, so of each
        found: dict[int, str] = {}
        for number, (record, residues) in enumerate(zip(records, cleaned, strict=True)):
            if record.fault is not None:
                found[number] = record.fault
            elif len(residues) > LONGEST:
                found[number] = f"has more than {LONGEST:,} residues. Cut it, or remove it."
            elif not fine and (fault := self._fault_of_letters(residues)) is not None:
                found[number] = fault
            elif not residues:
                found[number] = "has no residues. Remove the record."
            elif self.options.translate and len(residues) < _SHORTEST:
                found[number] = f"has fewer than {_SHORTEST} nucleotides. Remove the record."
            elif self.alphabet.are_nucleotides(residues):
                found[number] = (
                    "has no residues but A, C, G, T and N, and the model is one of proteins. "
                    "Translate it, or ask for --translate."
                )
        return found

    def _fault_of_letters(self, residues: bytes) -> str | None:
        matrix = self.scheme.matrix
        if found := self.alphabet.illegal(residues):
            position, letter = found
            lacks = f"the substitution matrix {matrix.name} lacks"
            lacks = "is no sign of nucleotides" if self.options.translate else lacks
            return f"residue {position} is {letter!r}, which {lacks}. Correct or remove it."
        return strand_fault(residues, matrix.alphabet) if self.options.strand == "both" else None


def unusable_rows(
    model: Model, scores: NDArray[Any], self_scores: FloatArray, lengths: FloatArray
) -> dict[int, str]:
    """Return what the transform cannot take, by row."""
    transform, faults = model.classifier.transform, {}
    if not transform.takes_negative:
        for row in np.flatnonzero((scores < 0).any(axis=1)).tolist():
            landmark = model.landmark_ids[int((scores[row] < 0).argmax())]
            faults[row] = (
                f"its score with the landmark {landmark} is negative, which the transform "
                f"{transform.name} cannot take. Remove the record."
            )
    for row in transform.unusable(self_scores, lengths).tolist():
        faults[row] = (
            f"scores {self_scores[row]:.0f} with itself, too little to compare it "
            f"(transform {transform.name}). Remove the record."
        )
    return faults


def normalised_scores(model: Model, scores: NDArray[Any], self_scores: FloatArray) -> FloatArray:
    r"""Return :math:`s_{xl} / \sqrt{s_{xx} s_{ll}}`, NaN where a self-score is not positive.

    The model is one of sequences; ``scores`` are of shape (n, n_landmarks).
    """
    own = model.classifier.landmark_self_scores
    with np.errstate(divide="ignore", invalid="ignore"):
        values = self_scores[:, None] * own
        np.divide(scores, np.sqrt(values, out=values), out=values)
    values[self_scores <= 0] = np.nan
    values[:, own <= 0] = np.nan
    return values


def _read_measured(model: Model, path: Path) -> tuple[list[str], Any, Kernel | None]:
    """Return ids, what is known of the objects, and the kernel that compares them."""
    if path == STANDARD_INPUT:
        raise InputError("standard input is read for models of sequences only. Name a file.")
    if model.kernel is None:
        return *_rows_of_matrix(model, path), None
    kernel, landmarks = model.comparing, np.asarray(model.landmarks)
    assert kernel is not None, "a model of vectors or strings, and nothing that compares them"
    kernel = kernel.at(path, {*model.landmark_ids, *model.record_ids})
    read = read_objects(path, kernel, width=None if kernel.strings else landmarks.shape[1])
    return list(read.ids or map(str, range(1, len(read.values) + 1))), read.values, kernel


def _measured_batches(model: Model, path: Path, options: Options) -> Iterator[Batch]:
    ids, given, kernel = _read_measured(model, path)
    first, last, _ = slice(options.first, options.last).indices(len(ids))
    for part in tiles(last - first):
        rows = slice(first + part.start, first + part.stop)
        names, scores, n = ids[rows], given[rows], len(ids[rows])
        if kernel is not None:
            landmarks = np.asarray(model.landmarks)
            scores = kernel.compare(scores, landmarks, names, model.landmark_ids)
            wrong = ~np.isfinite(scores).all(axis=1)
            if wrong.any():
                row = rows.start + int(wrong.argmax())
                raise InputError(
                    f"{path}, row {row + 1} ({ids[row]}): {kernel.describe()} is not finite for "
                    "it. Its numbers are too large."
                )
        ask, known = None, model.record_objects
        if known is not None and isinstance(kernel, AskedKernel):
            ask = asking_lists(kernel, given[rows], known, names, model.record_ids)
        yield Batch(
            scores,
            np.zeros(n),
            np.zeros(n),
            ask=ask,
            ids=names,
            place=lambda number, names=names: f"{path}, {names[number]}",  # type: ignore[misc]
            faults={},
            scored=np.arange(n),
        )


def asking_lists(
    kernel: AskedKernel, X: Objects, Y: Objects, ids: Sequence[str], others: Sequence[str]
) -> Ask:
    """Return what asks for the scores of new objects X, by their numbers, with records Y."""

    def ask(rows: IntArray, lists: IntArray) -> FloatArray:
        return kernel.compare_lists(X[rows], Y, [ids[row] for row in rows.tolist()], others, lists)

    return ask


def _rows_of_matrix(model: Model, path: Path) -> tuple[list[str], FloatArray]:
    """Read a matrix of new objects and landmarks; dissimilarities are squared."""
    matrix = read_matrix(path, square=False)
    values, m = matrix.values, model.classifier.n_landmarks
    ids = list(matrix.ids or map(str, range(1, len(values) + 1)))
    if matrix.column_ids and len(matrix.column_ids) == values.shape[1]:
        place = {id: column for column, id in enumerate(matrix.column_ids)}
        if missing := [id for id in model.landmark_ids if id not in place]:
            raise InputError(
                f"{path}: no column for {len(missing)} of the {m} landmarks of the model: "
                f"{abridged(missing)}. Add them; `kreinflow classify --landmarks` lists all."
            )
        columns = [place[id] for id in model.landmark_ids]
    elif values.shape[1] == m:
        columns = list(range(m))
    else:
        raise InputError(
            f"{path}: has {plural(values.shape[1], 'column')} where the model has {m} landmarks. "
            f"Give the {model.matrix_kind} of each new object (row) with each landmark (column)."
        )
    values = np.ascontiguousarray(values[:, columns], dtype=np.float64)
    wrong, why = ~np.isfinite(values), "is not a finite number. Fill it in."
    if model.matrix_kind in DISSIMILARITIES and not wrong.any():
        wrong, why = values < 0, f"is negative, which no {model.matrix_kind} is."
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"{path}, row {row + 1} ({ids[row]}), column {columns[column] + 1}: "
            f"{values[row, column]:.6g} {why}"
        )
    return ids, values * values if model.matrix_kind == "dissimilarity" else values
