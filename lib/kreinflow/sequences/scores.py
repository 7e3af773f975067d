"""Sources of scores: the store of aligned ones, a matrix, or a kernel."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.backends import Backend
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.store import ScoreStore
from kreinflow.alignment.transforms import ScoreTransform, make_transform
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, tiles
from kreinflow.base.tiled_matrix import TiledMatrix, release
from kreinflow.files.arrays import new_array
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.matrix_files import LARGEST_ENTRY
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
    """Scores of sequences, from the store alone: nothing is aligned here."""

    sequences: Sequence[bytes]
    digests: Sequence[str]
    scheme: ScoringScheme
    folder: Path

    @cached_property
    def _store(self) -> ScoreStore:
        return ScoreStore(self.folder, self.scheme, self.sequences, self.digests)

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """16 bits where all scores of the data set fit, else 32."""
        small = self.scheme.score_bound(self.sequences) <= np.iinfo(np.int16).max
        return np.dtype(np.int16 if small else np.int32)

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


@dataclass(frozen=True, eq=False)
class MatrixScores(Scores):
    """Scores as they stand in the user's matrix."""

    matrix: NDArray[np.floating]
    dtype = np.dtype(np.float64)

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        for part in tiles(len(rows)):
            out[part] = self.matrix[rows[part]][:, columns]

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


def open_scores(
    dataset: Dataset, scheme: ScoringScheme | None = None, folder: Path = Path()
) -> Scores:
    """Return the scores of a data set; sequences need a scheme and the folder of their store."""
    match dataset.payload:
        case Matrix(values=matrix):
            return MatrixScores(matrix)
        case Compared(objects=objects, kernel=kernel):
            return KernelScores(objects, kernel, dataset.first_id)
        case Sequences(residues=sequences) if scheme is not None:
            return StoredScores(sequences, dataset.digests, scheme, folder)
    raise TypeError("sequences need a scoring scheme")


def reverse_scores(dataset: Dataset, landmarks: IntArray) -> TiledMatrix | None:
    """Return the scores of landmarks with all distinct rows of an asymmetric matrix; else None.

    The result, (n_distinct, n_landmarks), is read from the matrix tile by tile: the entry at row i
    and column j is that of landmark j (row of the matrix) with object i (column).
    """
    if dataset.kind != "asymmetric":
        return None
    matrix = dataset.matrix

    def read(places: IntArray) -> FloatArray:
        block = np.ascontiguousarray(matrix[np.ix_(landmarks, places)].T, dtype=np.float64)
        release(matrix)
        return block

    return TiledMatrix((len(matrix), len(landmarks)), read)


def write_columns(path: Path, scores: Scores, rows: IntArray, union: IntArray) -> None:
    """Write the scores of distinct rows with the union of the landmarks, atomically.

    They go straight into a memory map: the columns of a large data set need not fit in memory.
    """
    with new_array(path, scores.dtype, (len(rows), len(union))) as out:
        scores.into(out, rows, union)
