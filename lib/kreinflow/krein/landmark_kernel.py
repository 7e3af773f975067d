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

    Parameters
    ----------
    scores : ndarray or TiledMatrix of shape (n_distinct, n_landmarks)
        As aligned or measured, not transformed.
    self_scores, lengths : ndarray of shape (n_distinct,)
    rows, classes : ndarray of shape (n_landmarks,)
        Distinct rows of the landmarks (landmarks that are alike have one), and codes of classes.
    kind : {"sequences", "similarity", "asymmetric", "squared_dissimilarity"}
    reverse : TiledMatrix of shape (n_distinct, n_landmarks), optional
        Of an asymmetric matrix: the scores of the landmarks with all distinct rows.
    """

    scores: NDArray[Any] | TiledMatrix
    self_scores: FloatArray
    lengths: FloatArray
    rows: IntArray
    classes: IntArray
    kind: str
    reverse: TiledMatrix | None = None

    def __post_init__(self) -> None:
        if (self.kind == "asymmetric") != (self.reverse is not None):
            raise ValueError(f"landmarks of kind {self.kind!r}: the other direction does not fit.")

    def some(self, kept: NDArray[np.bool_]) -> "Landmarks":
        """Return the landmarks that a mask names."""
        columns = np.flatnonzero(kept)

        def chosen(scores: NDArray[Any] | TiledMatrix) -> TiledMatrix:
            def read(rows: IntArray) -> NDArray[Any]:
                return np.ascontiguousarray(np.asarray(scores[rows])[:, columns])

            return TiledMatrix((len(scores), len(columns)), read)

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

    Parameters
    ----------
    rows, labels, groups : ndarray of shape (n,)
        The distinct row of each record, the code of its class, and its group; records of one
        group share an inner fold.
    classes : tuple of str
    memberships : ndarray of shape (n, n_classes), bool, optional
        Of records with several labels: which each record has. ``labels`` is the rarest of them.
    """

    rows: IntArray
    labels: IntArray
    groups: NDArray[Any]
    classes: tuple[str, ...]
    memberships: NDArray[np.bool_] | None = None

    @property
    def truth(self) -> NDArray[Any]:
        """What is to be predicted: ``labels``, or of several labels ``memberships``."""
        return self.labels if self.memberships is None else self.memberships


@dataclass(frozen=True, eq=False)
class LandmarkKernel:
    """Transformed scores with the landmarks: C of the training records, W, k_ii.

    ``negative_dissimilarities`` are those to the landmarks, squared, for the few learners that need
    them; None for similarities. ``reverse`` has the scores of the landmarks with the training
    records, in the shape of C; None if the kernel is symmetric.
    """

    transform: ScoreTransform
    centring: LandmarkCentring | None
    C: MatrixLike
    W: MatrixLike
    self_similarities: FloatArray
    negative_dissimilarities: TiledMatrix | None
    reverse: MatrixLike | None = None

    def on(self, places: IntArray) -> "LandmarkKernel":
        """Return the same of some of the records: what a factor of these needs."""
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
            (rows, landmarks.rows),
        )

    def tiled(
        function: Callable[[FloatArray], FloatArray], scores: Any = landmarks.scores
    ) -> TiledMatrix:
        shape = (len(part.rows), len(landmarks.rows))
        return TiledMatrix(shape, lambda places: function(transformed(part.rows[places], scores)))

    W = transformed(landmarks.rows)
    if landmarks.kind != "squared_dissimilarity":
        own = transform.self_similarity(
            landmarks.self_scores[part.rows], landmarks.lengths[part.rows]
        )
        reverse = landmarks.reverse
        other = None if reverse is None else tiled(lambda R: R, reverse).kept()
        return LandmarkKernel(transform, None, tiled(lambda C: C).kept(), W, own, None, other)
    centring = LandmarkCentring.fit(W)
    D = tiled(lambda C: C)
    own = np.concatenate(
        [*tile_map(lambda tile: centring.self_similarities(D[tile]), len(part.rows))]
    )
    return LandmarkKernel(
        transform,
        centring,
        tiled(centring.columns).kept(),
        centring.columns(W),
        own,
        tiled(np.negative),
    )


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
