"""The landmarks of a fold, and the Krein factor of its training records that recipes share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.base.numerics import FloatArray, IntArray, tile_map
from kreinflow.base.tiled_matrix import MatrixLike, TiledMatrix, select
from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.krein.eigen import Eigenpairs, eigenpairs, singular_triplets
from kreinflow.krein.factor import KreinFactor, Rank


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The landmarks of a fold, and the scores of all distinct rows with them.

    ``scores``, of shape (n_distinct, n_landmarks), are as aligned or measured, not transformed;
    ``reverse`` are those of the landmarks with all rows, of an asymmetric matrix. ``rows`` and
    ``classes`` are of the landmarks: distinct rows (landmarks that are alike have one) and codes.
    ``kind`` is "sequences", "similarity", "asymmetric" or "squared_dissimilarity".
    """

    scores: NDArray[Any] | TiledMatrix
    self_scores: FloatArray
    lengths: FloatArray
    rows: IntArray
    classes: IntArray
    kind: str
    reverse: NDArray[Any] | TiledMatrix | None = None

    def some(self, kept: NDArray[np.bool_]) -> "Landmarks":
        """Return the landmarks that a mask names."""
        columns = np.flatnonzero(kept)

        def chosen(scores: NDArray[Any] | TiledMatrix) -> TiledMatrix:
            shape = (len(scores), len(columns))
            return TiledMatrix(shape, lambda rows: np.asarray(scores[rows]).take(columns, axis=1))

        return replace(
            self,
            scores=chosen(self.scores),
            reverse=None if self.reverse is None else chosen(self.reverse),
            rows=self.rows[columns],
            classes=self.classes[columns],
        )


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """The records that may be learned from.

    ``rows`` are distinct rows, ``labels`` codes; records of one of the ``groups`` share an inner
    fold. Of several labels a record ``memberships``, of shape (n, n_classes), has all, and
    ``labels`` the rarest. ``paths``: see :class:`kreinflow.sequences.dataset.Dataset`.
    """

    rows: IntArray
    labels: IntArray
    groups: NDArray[Any]
    classes: tuple[str, ...]
    memberships: NDArray[np.bool_] | None = None
    paths: tuple[str, ...] | None = None

    @property
    def grouped(self) -> bool:
        """Whether any group holds different objects."""
        return len(np.unique(self.groups)) < len(np.unique(self.rows))

    @property
    def truth(self) -> NDArray[Any]:
        """What is to be predicted: ``labels``, or of several labels ``memberships``."""
        return self.labels if self.memberships is None else self.memberships


@dataclass(frozen=True, eq=False)
class LandmarkKernel:
    """Transformed scores with the landmarks: C of the training records, W, k_ii.

    ``negative_dissimilarities`` are squared, None for similarities. ``reverse`` has the scores of
    the landmarks with the training records, in the shape of C; None if the kernel is symmetric.
    """

    transform: ScoreTransform
    centring: LandmarkCentring | None
    C: MatrixLike
    W: MatrixLike
    self_similarities: FloatArray
    negative_dissimilarities: TiledMatrix | None
    reverse: MatrixLike | None = None

    def with_landmarks(self, kept: IntArray) -> "LandmarkKernel":
        """Return the same of some of the landmarks, by their places: columns of no centring."""
        assert self.centring is None, "columns are centred by all landmarks"

        def columns(matrix: MatrixLike) -> TiledMatrix:
            shape = (len(matrix), len(kept))
            return TiledMatrix(shape, lambda rows: matrix[rows].take(kept, axis=1))

        return replace(
            self,
            C=columns(self.C),
            W=select(columns(self.W), kept),
            reverse=None if self.reverse is None else columns(self.reverse),
        )

    def on(self, places: IntArray) -> "LandmarkKernel":
        """Return the same of some of the records."""
        return replace(
            self,
            C=select(self.C, places),
            self_similarities=self.self_similarities[places],
            reverse=None if self.reverse is None else select(self.reverse, places),
        )

    @cached_property
    def nearness(self) -> MatrixLike:
        """What grows as a record nears a landmark: C, or the negative dissimilarities."""
        return self.C if (near := self.negative_dissimilarities) is None else near.kept()


def landmark_kernel(
    landmarks: Landmarks, part: TrainingPart, transform: ScoreTransform
) -> LandmarkKernel:
    """Transform the scores of the training records, dissimilarities by landmark centring."""

    def transformed(rows: IntArray, scores: Any = landmarks.scores) -> FloatArray:
        return transform.apply(
            np.asarray(scores[rows]),
            landmarks.self_scores[rows],
            landmarks.self_scores[landmarks.rows],
            landmarks.lengths[rows],
            landmarks.lengths[landmarks.rows],
        )

    n = len(part.rows)

    def tiled(function: Callable[[IntArray], FloatArray]) -> TiledMatrix:
        return TiledMatrix((n, len(landmarks.rows)), lambda places: function(part.rows[places]))

    W = transformed(landmarks.rows)
    if landmarks.kind != "squared_dissimilarity":
        self_scores, lengths = landmarks.self_scores[part.rows], landmarks.lengths[part.rows]
        own = transform.self_similarity(self_scores, lengths)
        reverse = landmarks.reverse
        other = None if reverse is None else tiled(lambda rows: transformed(rows, reverse)).kept()
        return LandmarkKernel(transform, None, tiled(transformed).kept(), W, own, None, other)
    centring, D = LandmarkCentring.fit(W), tiled(transformed)
    own = np.concatenate([*tile_map(lambda tile: centring.self_similarities(D[tile]), n)])
    C = tiled(lambda rows: centring.columns(transformed(rows))).kept()
    negative = tiled(lambda rows: -transformed(rows))
    return LandmarkKernel(transform, centring, C, centring.columns(W), own, negative)


def factor_of(kernel: LandmarkKernel, rank: Rank) -> tuple[KreinFactor, Eigenpairs]:
    """Return the factor of a kernel, fitted to all its records, and its eigenpairs."""
    factor = KreinFactor.fit(
        kernel.C,
        np.asarray(kernel.W),
        kernel.self_similarities,
        rank=rank,
        centre=kernel.centring is not None,
        reverse=kernel.reverse,
    )
    if kernel.reverse is not None:
        return factor, singular_triplets(factor.rows(kernel.C), factor.functions(kernel.reverse))
    return factor, eigenpairs(factor.rows(kernel.C), factor.signs)
