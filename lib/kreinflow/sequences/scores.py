"""Sources of scores: the store of aligned or asked ones, a matrix, or a kernel."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.backends import Backend, backend_named
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.scorer import Aligner, Scorer
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.store import ScoreStore
from kreinflow.alignment.transforms import ScoreTransform, make_transform
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import LARGEST_ENTRY, FloatArray, IntArray, tiles
from kreinflow.files.arrays import new_array
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import asked_kernel
from kreinflow.sequences.asking import Asking
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Compared, Matrix, Sequences


def read_scheme(dataset: Dataset, scoring: Mapping[str, Any], data: Path) -> ScoringScheme | None:
    """Return the scoring scheme of a data set's settings; None if nothing is aligned."""
    if not isinstance(dataset.payload, Sequences):
        return None
    return ScoringScheme(
        load_substitution_matrix(scoring["matrix"], Path(data)),
        scoring["gap_open"],
        scoring["gap_extend"],
        scoring["mode"],
    )


def transforms_of(
    names: Iterable[str], constants: Mapping[str, Any], scheme: ScoringScheme | None
) -> dict[str, ScoreTransform]:
    """Return score transforms with the constants of the config, by name."""
    found = {}
    for name in dict.fromkeys(names):
        given = {key: value for key, value in constants.get(name, {}).items() if value is not None}
        found[name] = make_transform(name, scheme, **given)
    return found


def evidence_of(
    constants: Mapping[str, Any], scheme: ScoringScheme | None
) -> ScoreTransform | None:
    """Return expected values of local alignments, if the scheme has constants for them."""
    if scheme is None or scheme.mode != "local":
        return None
    try:
        return transforms_of(["evalue"], constants, scheme)["evalue"]
    except InputError:
        return None


class Scores(ABC):
    """A source of scores; its ``dtype`` holds all scores of the data set."""

    dtype: np.dtype[Any]

    @abstractmethod
    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        """Write the scores of rows x columns into ``out``, which may be a memory map."""

    @abstractmethod
    def self_scores(self) -> FloatArray:
        """Return the score of each distinct row with itself."""

    def rectangle(self, rows: IntArray, columns: IntArray) -> NDArray[Any]:
        """Return the scores of rows x columns."""
        out = np.empty((len(rows), len(columns)), self.dtype)
        self.into(out, rows, columns)
        return out


@dataclass(frozen=True, eq=False)
class StoredScores(Scores):
    """Scores from the store alone: nothing is aligned, and nobody asked, here."""

    make: Callable[[], Scorer]
    digests: Sequence[str]
    folder: Path

    @cached_property
    def _scorer(self) -> Scorer:
        return self.make()

    @cached_property
    def _store(self) -> ScoreStore:
        return ScoreStore(self.folder, self._scorer, self.digests)

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self._scorer.kept_dtype

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        self._store.gather_into(out, rows, columns)

    def self_scores(self) -> FloatArray:
        return self._store.self_scores(np.arange(len(self.digests))).astype(np.float64)


class AlignedScores(Scores):
    """Scores of sequences in memory, which no store keeps: aligned when asked for, and counted.

    ``own`` are the scores with themselves of the first sequences, where they are known.
    """

    dtype = np.dtype(np.int32)

    def __init__(
        self,
        sequences: Sequence[bytes],
        scheme: ScoringScheme,
        threads: int,
        backend: Backend,
        own: FloatArray | tuple[()] = (),
    ) -> None:
        self._packed = pack(sequences, scheme, threads)
        self._align = backend
        rows = np.arange(len(own), len(sequences))
        alone = self_scores(self._packed, rows)
        self._own: FloatArray = np.append(own, alone.astype(np.float64))
        self.aligned = len(rows)

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        for part in tiles(len(rows)):
            out[part] = self._align(self._packed, rows[part], columns)
        self.aligned += len(rows) * len(columns)

    def self_scores(self) -> FloatArray:
        return self._own


class AskedScores(Scores):
    """A score of the user's in memory, which no store keeps: each pair is asked for once.

    ``own`` are the scores with themselves of the first objects, where they are known.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, asking: Asking, own: FloatArray | tuple[()] = ()) -> None:
        self.asking = asking
        alone = asking.alone(np.arange(len(own), len(asking.objects)))
        self._own: FloatArray = np.append(own, alone)
        self._columns: dict[int, FloatArray] = {}

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        wanted = np.isnan(self._known(rows, columns))
        if not self.asking.ordered:  # where (i, j) and (j, i) are wanted, one is asked for
            r, c = np.flatnonzero(np.isin(rows, columns)), np.flatnonzero(np.isin(columns, rows))
            wanted[np.ix_(r, c)] &= rows[r][:, None] < columns[c]
        if wanted.any():
            found = self.asking.score(rows, columns, wanted)
            for place, column in enumerate(columns.tolist()):
                new = wanted[:, place]
                self._columns[column][rows[new]] = found[new, place]
        out[...] = self._known(rows, columns)

    def _known(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return what was asked for, NaN where nothing was."""
        known, symmetric = self._columns, not self.asking.ordered
        found = np.empty((len(rows), len(columns)))
        for number, column in enumerate(columns.tolist()):
            if column not in known:
                known[column] = np.full(len(self._own), np.nan)
                known[column][column] = self._own[column]
            found[:, number] = known[column][rows]
        for place in np.flatnonzero([symmetric and row in known for row in rows.tolist()]):
            turned = known[int(rows[place])][columns]
            found[place] = np.where(np.isnan(found[place]), turned, found[place])
        return found

    def self_scores(self) -> FloatArray:
        return self._own


@dataclass(frozen=True, eq=False)
class MatrixScores(Scores):
    """Scores as they stand in the user's matrix."""

    matrix: NDArray[np.floating]
    dtype = np.dtype(np.float64)

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        for part in tiles(len(rows)):
            out[part] = self.matrix[np.ix_(rows[part], columns)]

    def self_scores(self) -> FloatArray:
        return np.diagonal(self.matrix).astype(np.float64)


@dataclass(frozen=True, eq=False)
class KernelScores(Scores):
    """The kernel of vectors or strings, computed when needed; ``id_of`` is for messages."""

    objects: Objects
    kernel: Kernel
    id_of: Callable[[int], str]
    dtype = np.dtype(np.float64)

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        others = self.objects[columns]
        for part in tiles(len(rows)):
            values = self.kernel.columns(self.objects[rows[part]], others)
            out[part] = self._checked(values, rows[part][:, None], columns)

    def self_scores(self) -> FloatArray:
        rows = np.arange(len(self.objects))
        return self._checked(self.kernel.diagonal(self.objects), rows, rows)

    def _checked(self, values: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
        wrong = np.argwhere(~(np.abs(values) <= LARGEST_ENTRY))
        if len(wrong):
            place = tuple(wrong[0])
            pair = (np.broadcast_to(number, values.shape)[place] for number in (rows, columns))
            raise InputError(
                f"{self.kernel.describe()} of {' and '.join(map(self.id_of, pair))} is not finite, "
                f"or above {LARGEST_ENTRY:g} in size. Give vectors with smaller numbers, or change "
                "the kernel's settings."
            )
        return values


def scorer_of(
    dataset: Dataset,
    scheme: ScoringScheme | None,
    backend: str = "auto",
    asked: Mapping[str, Any] | None = None,
    data: Path = Path(),
) -> Scorer | None:
    """Return what scores the rows of a data set for a store; None if none keeps their scores.

    ``asked`` are the settings of the user's score in the config, which alone may name code that is
    run. Without them a score of the user's can be read of the store, and not asked for.
    """
    match dataset.payload:
        case Sequences(residues=sequences) if scheme is not None:
            return Aligner.of(scheme, sequences, backend_named(backend))
        case Compared(objects=objects, kernel=AskedKernel() as kernel):
            live = kernel if asked is None else asked_kernel(asked).loaded([data])
            return Asking(objects, live, dataset.first_ids)
    return None


def open_scores(
    dataset: Dataset, scheme: ScoringScheme | None = None, folder: Path = Path()
) -> Scores:
    """Return the scores of a data set; sequences need a scheme and the folder of their store."""
    match dataset.payload:
        case Matrix(values=matrix):
            return MatrixScores(matrix)
        case Compared(objects=objects, kernel=kernel) if not kernel.asked:
            return KernelScores(objects, kernel, dataset.first_id)
        case Sequences() if scheme is None:
            raise TypeError("sequences need a scoring scheme")

    def make() -> Scorer:
        scorer = scorer_of(dataset, scheme)
        assert scorer is not None, "scores that no store keeps"
        return scorer

    return StoredScores(make, dataset.digests, folder)


def scores_in_memory(
    dataset: Dataset, kernel: Kernel | None = None, own: FloatArray | tuple[()] = ()
) -> Scores:
    """Return the scores of a data set whose sequences are not aligned, without a store.

    A score of the user's is asked by the ``kernel``, else by that of the data; for ``own`` see
    :class:`AskedScores`.
    """
    payload = dataset.payload
    if isinstance(payload, Compared) and isinstance(payload.kernel, AskedKernel):
        live = kernel if isinstance(kernel, AskedKernel) else payload.kernel
        return AskedScores(Asking(payload.objects, live, dataset.first_ids), own)
    return open_scores(dataset)


def column_rectangles(
    dataset: Dataset, rows: IntArray, union: IntArray
) -> list[tuple[IntArray, IntArray]]:
    """Return rows and columns of the scores of some rows with landmarks, and back if they differ.

    The landmarks of an asymmetric kernel are asked in the first, and ask in the second.
    """
    both = [(union, rows)] if dataset.kind == "asymmetric" else []
    return [(rows, union), *both]


def write_columns(
    path: Path, scores: Scores, rows: IntArray, union: IntArray, directed: bool = False
) -> None:
    """Write the scores of distinct rows with the union of the landmarks, atomically.

    They go straight into a memory map: the columns of a large data set need not fit in memory.
    Behind those of a ``directed`` (asymmetric) kernel stand the scores of the landmarks with the
    rows: of shape (n_rows, 2 n_landmarks).
    """
    with new_array(path, scores.dtype, (len(rows), (1 + directed) * len(union))) as out:
        _columns_into(out, scores, rows, union)


def columns_in_memory(dataset: Dataset, scores: Scores, landmarks: IntArray) -> NDArray[Any]:
    """Return what :func:`write_columns` writes of all rows of a data set."""
    rows = np.arange(len(dataset.digests))
    width = (1 + (dataset.kind == "asymmetric")) * len(landmarks)
    out = np.empty((len(rows), width), scores.dtype)
    _columns_into(out, scores, rows, landmarks)
    return out


def _columns_into(out: NDArray[Any], scores: Scores, rows: IntArray, union: IntArray) -> None:
    m = len(union)
    scores.into(out[:, :m], rows, union)
    for part in tiles(len(rows)) if out.shape[1] > m else ():
        out[part, m:] = scores.rectangle(union, rows[part]).T
