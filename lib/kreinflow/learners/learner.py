"""What a learner is given, what it returns, and how the workflow asks for it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray, tile_map
from kreinflow.base.settings import Configured
from kreinflow.base.tiled_matrix import MatrixLike, select
from kreinflow.krein.correction import CorrectedFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart
from kreinflow.learners.decisions import Decision, LinearDecision
from kreinflow.learners.one_against_rest import with_mirror


@dataclass(frozen=True, eq=False)
class Problem:
    """Training records as a learner sees them; nothing of any other record is in it."""

    embed: Callable[[], CorrectedFactor]  # see :attr:`embedding`; the same at each call
    everything: LandmarkKernel  # the scores of all records of the training part
    landmarks: Landmarks
    part: TrainingPart
    chosen: IntArray  # places in the training part of the records that this problem holds
    seed: int  # for learners that draw
    _shared: list[MatrixLike] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls,
        embedding: CorrectedFactor,
        kernel: LandmarkKernel,
        landmarks: Landmarks,
        part: TrainingPart,
        seed: int,
    ) -> "Problem":
        return cls(lambda: embedding, kernel, landmarks, part, np.arange(len(part.rows)), seed)

    def on(self, places: IntArray) -> "Problem":
        return replace(self, chosen=self.chosen[places])

    @property
    def embedding(self) -> CorrectedFactor:
        """The map from landmark scores to the rows z of the (corrected) factor."""
        return self.embed()

    def _rows(self, array: NDArray[Any]) -> NDArray[Any]:
        return array if len(self.chosen) == len(array) else array[self.chosen]

    def _tiled(self, matrix: MatrixLike) -> MatrixLike:
        return matrix if len(self.chosen) == len(matrix) else select(matrix, self.chosen)

    @cached_property
    def Z(self) -> MatrixLike:
        """Rows of the factor, of shape (N, rank); ``np.asarray`` holds all of them in memory."""
        if not self._shared:  # computed once for all problems on these records
            self._shared.append(self.embedding.rows(self.everything.C))
        return self._tiled(self._shared[0])

    @property
    def signs(self) -> FloatArray:
        return self.embedding.signs

    def functions(self, places: IntArray) -> FloatArray:
        """Return y of the basis functions of some records, one a row: k~(x, x_j) = z(x) y_j'.

        That is s z_j of a symmetric kernel.
        """
        if (reverse := self.everything.reverse) is None:
            return self.Z[places] * self.signs
        return np.asarray(self.embedding.functions(select(reverse, self.chosen[places])))

    @cached_property
    def C(self) -> MatrixLike:
        return self._tiled(self.everything.C)

    @cached_property
    def nearness(self) -> MatrixLike:
        """C, or the negative squared dissimilarities to the landmarks."""
        return self._tiled(self.everything.nearness)

    @property
    def self_similarities(self) -> FloatArray | None:
        """k_ii, of shape (N,); None of a corrected kernel: its diagonal is another."""
        if not self.embedding.same_kernel:
            return None
        return self._rows(self.everything.self_similarities)

    @property
    def labels(self) -> IntArray:
        return self._rows(self.part.labels)

    @property
    def n_classes(self) -> int:
        return len(self.part.classes)

    @property
    def n_landmarks(self) -> int:
        return len(self.landmarks.rows)

    @cached_property
    def landmark_records(self) -> IntArray:
        """Places of the landmarks that are among the records, one for landmarks that are alike."""
        rows = self._rows(self.part.rows).tolist()
        first = {row: place for place, row in reversed(list(enumerate(rows)))}
        places = [first[row] for row in dict.fromkeys(self.landmarks.rows.tolist()) if row in first]
        return np.array(places, dtype=np.int64)

    def itself(self, tile: slice) -> NDArray[np.bool_]:
        """Return where a record of a tile is the landmark, a row each, a column a landmark."""
        return np.asarray(self._rows(self.part.rows)[tile, None] == self.landmarks.rows)


NOTES: Mapping[str, str] = {
    "unlearned": "nothing was learned (no basis function or no landmark is left), so such a class "
    "is predicted only where the decisions of all other classes are lower",
    "singular": "the covariance is singular, so a pseudo-inverse took the place of the inverse",
}
"""What a fit can say of a class, by name. Log, tables and report pass it on."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a learner made of a problem."""

    decision: Decision
    basis_used: float | None = None  # share of the records that it rests on; None: the landmarks
    iterations: int = 1
    converged: bool = True
    # The classes, (n_classes,), that each of NOTES is true of.
    notes: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)


MANY_COLUMNS = 1000
"""Landmarks or inducing points beyond which fewer hyper-parameters are tried."""

Choice = Mapping[str, float]
"""Values of hyper-parameters, by name."""


class Learner(Configured, ABC):
    """A method that recipes can name: one subclass, and its line in the registry.

    ``settings`` are checked and complete: a value for each key of :attr:`settings_schema`.

    ``by_tiles``: it reads the rows of the factor a tile at a time; if not, it holds all of them in
    memory, and more. ``grids``: the values to try of each hyper-parameter whose setting is "inner",
    the preferred first; ``coarse_grids``: fewer, where each costs m^3 and there are more than
    :data:`MANY_COLUMNS`. ``references``: keys of :data:`kreinflow.base.references.REFERENCES`.
    ``needs_factor``: it learns from the Krein factor, not from the scores alone;
    ``needs_positive``: that has no negative signs; ``needs_symmetric``: the kernel is symmetric.
    ``linear``: its decisions are :class:`~kreinflow.learners.decisions.LinearDecision`. Some depend
    on the settings.
    """

    method: ClassVar[str]
    needs_factor: ClassVar[bool] = True
    needs_positive: ClassVar[bool] = False
    needs_symmetric: ClassVar[bool] = False
    by_tiles: bool = False
    linear: bool = True
    grids: Mapping[str, Sequence[float]] = {}
    coarse_grids: Mapping[str, Sequence[float]] = {}
    references: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def describe(self) -> str:
        """Return it in words, without reference and full stop, for the methods paragraph."""

    def choices(self, columns: int = 0) -> Sequence[Choice]:
        """Return all combinations of hyper-parameters to try, the preferred of equals first.

        ``columns`` are landmarks or inducing points; of many, :attr:`coarse_grids` count.
        """
        grids = {**self.grids, **(self.coarse_grids if columns > MANY_COLUMNS else {})}
        tried = [
            grid if self.settings[key] == "inner" else (float(self.settings[key]),)
            for key, grid in grids.items()
        ]
        return [dict(zip(grids, values, strict=True)) for values in product(*tried)]

    @abstractmethod
    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """Fit the records of a problem, once for each choice.

        InputError if they cannot be learned from, such as a class without any.
        """

    def decide(self, fitted: Fitted, problem: Problem) -> FloatArray:
        """Return the decisions for the records of a problem that the fit has not seen."""
        decision = fitted.decision
        matrix = problem.C if decision.space == "kernel" else problem.nearness
        parts = tile_map(
            lambda tile: decision.decide(self.seen(matrix[tile], problem, tile)), len(matrix)
        )
        return np.concatenate([np.empty((0, problem.n_classes)), *parts])

    def seen(self, rows: FloatArray, problem: Problem, tile: slice) -> FloatArray:
        """Return what a decision sees of the scores of a tile; each row for itself."""
        return rows


def folded(problem: Problem, coef: FloatArray, intercept: FloatArray) -> LinearDecision:
    """Return f(z) = z' coef + intercept of a problem's factor as a function of its scores.

    ``coef`` is of shape (rank, n_classes); of two classes the second may stand alone.
    """
    both = with_mirror(coef, intercept, problem.n_classes)
    return LinearDecision.folded(problem.embedding, *both)
