"""The indefinite kernel Fisher discriminant on a Krein factor (Ny-iKFD), at linear cost."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import (
    RANK_TOLERANCE,
    FloatArray,
    IntArray,
    single_threaded,
    tiled_product,
)
from kreinflow.base.settings import SettingsSchema, one_of
from kreinflow.base.tiled_matrix import MatrixLike, select
from kreinflow.krein.eigen import triangular_factor
from kreinflow.learners.hyper_parameters import RIDGE_GRID, in_words, number_or_inner
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded
from kreinflow.learners.moments import class_counts, class_means, covariance_about
from kreinflow.learners.one_against_rest import fitted_classes, with_mirror

SCATTERS: Mapping[str, str] = {
    "balanced": "the mean of the two class scatters",
    "pooled": "the pooled scatter",
}
BIASES: Mapping[str, str] = {
    "midpoint": "the bias at the midpoint of the class means",
    "log_prior": "the log prior in the bias",
    "least_squares": "the bias of least squares",
}


class FisherLearner(Learner):
    r"""Fisher discriminants of all classes against the rest on a Krein factor.

    With the rows :math:`z` of the factor, class means :math:`m_+, m_-`, class covariances
    :math:`C_+, C_-` (divided by the class size), :math:`d = m_+ - m_-` and weights
    :math:`\pi_\pm` of the two sides,

    .. math::
        C = \pi_+ C_+ + \pi_- C_-, \qquad G = (C + \lambda I)^{-1}, \qquad f(z) = w'z + b .

    The weights are 1/2 each for the scatter ``balanced`` (the paper's, its eq. 3, is
    :math:`C_w = 2 C`), the shares :math:`p_\pm` of the rows for ``pooled``. By the bias,

    * ``midpoint``: :math:`w = C_w^{-1} d` (balanced, the paper) or :math:`G d` (pooled),
      :math:`b = -w'(m_+ + m_-)/2`;
    * ``log_prior``, linear discriminant analysis: :math:`w = G d`,
      :math:`b = -w'(m_+ + m_-)/2 + \log(n_+/n_-)`;
    * ``least_squares``, with targets :math:`\pm 1`, a free intercept, and rows weighted by
      :math:`\pi_\pm / n_\pm`: :math:`w = k G d`, :math:`k = 2c/(1 + c\, d'Gd)`,
      :math:`c = \pi_+\pi_-`, :math:`b = \pi_+ - \pi_- - w'(\pi_+ m_+ + \pi_- m_-)`.

    Balanced, midpoint and no ridge is the method under the paper's name: it equals the dense
    recipe ``alpha = pinv(within) (mu_+ - mu_-)`` on the N x N matrix :math:`Z\,diag(s)\,Z'`,
    whatever the signs, because they cancel. The ridge is a multiple of the mean diagonal of the
    *total* covariance, the same number for all classes and both scatters.

    Without ridge, :math:`C` is singular if r > N - 2, or if the factor has dependent columns: when
    the reciprocal condition number of :math:`C`, scaled to a unit diagonal, is below
    :data:`kreinflow.base.numerics.RANK_TOLERANCE`. Then the pseudo-inverse is the paper's, in
    :math:`u = R\,diag(s)\,z` with :math:`Z = QR`.

    Source: schleif2018, eq. 3 and section 5.2.
    """

    method = "ny_ikfd"
    by_tiles = True
    references = ("schleif2018",)
    settings_schema: ClassVar[SettingsSchema] = {
        "scatter": one_of(*SCATTERS, about="balanced: the mean of both class scatters; or pooled"),
        "bias": one_of(*BIASES, about="the intercept"),
        "ridge": number_or_inner(
            "multiple of the mean diagonal of the covariance; inner: chosen on the inner folds",
            default=0,
            minimum=0,
        ),
    }
    grids: Mapping[str, Sequence[float]] = {"ridge": RIDGE_GRID}

    def describe(self) -> str:
        ridge = self.settings["ridge"]
        how = "no ridge" if ridge == 0 else f"a ridge {in_words(ridge, 'of {:g}')}"
        parts = f"{SCATTERS[self.settings['scatter']]}, {BIASES[self.settings['bias']]}"
        return f"Ny-iKFD, one class against the rest, with {parts} and {how}"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        functions = fisher_path(
            *(problem.Z, problem.signs, problem.labels, problem.n_classes),
            self.settings["scatter"],
            self.settings["bias"],
            [choice["ridge"] for choice in choices],
        )
        return [
            Fitted(folded(problem, f.coef, f.intercept), notes={"singular": f.singular})
            for f in functions
        ]


class FisherFunctions(NamedTuple):
    """f(z) = z' coef + intercept of all classes, and which of them needed a pseudo-inverse."""

    coef: FloatArray
    intercept: FloatArray
    singular: NDArray[np.bool_]

    def decide(self, Z: FloatArray) -> FloatArray:
        """Return the decisions of rows z, of shape (n, n_classes); the largest wins."""
        return tiled_product(Z, self.coef) + self.intercept


class _Sides(NamedTuple):
    """Class c against the rest: means, their difference, and the shares of the rows."""

    mean_plus: FloatArray
    mean_minus: FloatArray
    difference: FloatArray
    share_plus: float
    share_minus: float


def fisher_path(
    Z: MatrixLike,
    signs: FloatArray,
    y: IntArray,
    n_classes: int,
    scatter: str = "balanced",
    bias: str = "midpoint",
    ridges: Sequence[float] = (0.0,),
) -> list[FisherFunctions]:
    """Fit the discriminants of :class:`FisherLearner` for each of several ridges.

    It takes two passes over the rows, O(N r^2 + K r^3); the pooled scatter one, O(N r^2 + K r^2),
    by ``C = T - p_+ p_- d d'`` with the total covariance T.
    """
    counts, r = class_counts(y, n_classes), Z.shape[1]
    with single_threaded():
        means = class_means(Z, y, counts)
        total = covariance_about(Z, counts @ means / len(y))
        penalties = [ridge * (float(np.trace(total)) / r) for ridge in ridges]
        regular = [penalty > 0 or r <= len(y) - 2 for penalty in penalties]
        # Of two classes the second is solved and the first is its mirror image, bit for bit.
        classes = fitted_classes(n_classes).tolist()
        sides = [_against_rest(means, counts, c) for c in classes]
        # directions[i][:, c] is G d of class c at ridge i; NaN marks a singular covariance.
        directions = [
            _pooled_directions(total, penalty, sides, scatter == "pooled" and use)
            for penalty, use in zip(penalties, regular, strict=True)
        ]
        factor = cache(lambda: triangular_factor(Z) * signs)
        singular = np.zeros((len(ridges), len(classes)), dtype=bool)
        for column, (c, side) in enumerate(zip(classes, sides, strict=True)):
            left = [i for i, d in enumerate(directions) if not np.isfinite(d[:, column]).all()]
            covariance = _within(Z, y == c, total, side, scatter) if left else total
            for i in left:
                penalised = covariance + penalties[i] * np.eye(r)
                solved = _solve(penalised, side.difference[:, None]) if regular[i] else None
                singular[i, column] = solved is None
                if solved is None:
                    solved = _pseudo_solve(factor(), penalised, side.difference)[:, None]
                directions[i][:, column] = solved[:, 0]
        return [
            FisherFunctions(
                *with_mirror(*_functions(direction, sides, scatter, bias), n_classes),
                np.resize(needed, n_classes),
            )
            for direction, needed in zip(directions, singular, strict=True)
        ]


def _against_rest(means: FloatArray, counts: IntArray, c: int) -> _Sides:
    share = float(counts[c] / counts.sum())
    others = counts.copy()
    others[c] = 0
    rest = others @ means / others.sum()
    return _Sides(means[c], rest, means[c] - rest, share, 1.0 - share)


def _within(
    Z: MatrixLike, members: NDArray[np.bool_], total: FloatArray, side: _Sides, scatter: str
) -> FloatArray:
    """Return pi_+ C_+ + pi_- C_-; the rest's part comes from the total covariance."""
    p, q, d = side.share_plus, side.share_minus, side.difference
    pooled: FloatArray = total - p * q * np.outer(d, d)  # p C_+ + q C_-
    if scatter == "pooled":
        return pooled
    own = covariance_about(select(Z, np.flatnonzero(members)), side.mean_plus)
    return (own + (pooled - p * own) / q) / 2.0


def _pooled_directions(
    total: FloatArray, penalty: float, sides: list[_Sides], regular: bool
) -> FloatArray:
    """G d of all classes from one factorisation: u / (1 - c d'u) with u = (T + lambda)^-1 d."""
    differences = np.column_stack([side.difference for side in sides])
    solved = _solve(total + penalty * np.eye(len(total)), differences) if regular else None
    if solved is None:
        return np.full(differences.shape, np.nan)
    products = np.array([side.share_plus * side.share_minus for side in sides])
    remaining = 1.0 - products * np.einsum("ij,ij->j", differences, solved)
    return np.ascontiguousarray(np.where(remaining > RANK_TOLERANCE, solved / remaining, np.nan))


def _solve(A: FloatArray, B: FloatArray) -> FloatArray | None:
    """Solve by Cholesky after scaling A to a unit diagonal; None if A counts as singular."""
    diagonal = np.diagonal(A)
    if not (diagonal > 0).all():
        return None
    scale = 1.0 / np.sqrt(diagonal)
    scaled = A * scale[:, None] * scale
    norm = float(np.abs(scaled).sum(axis=0).max())
    factor, failed = scipy.linalg.lapack.dpotrf(scaled, lower=1)
    if failed or scipy.linalg.lapack.dpocon(factor, norm, uplo="L")[0] < RANK_TOLERANCE:
        return None
    solved, _ = scipy.linalg.lapack.dpotrs(factor, B * scale[:, None], lower=1)
    return np.asarray(solved * scale[:, None])


def _pseudo_solve(A: FloatArray, covariance: FloatArray, difference: FloatArray) -> FloatArray:
    """Return A' pinv(A C A') A d, the pseudo-inverse in the coordinates u = A z."""
    values, vectors = np.linalg.eigh(A @ covariance @ A.T)
    kept = values > RANK_TOLERANCE * values[-1]
    vectors = vectors[:, kept]
    return np.asarray(A.T @ (vectors @ ((vectors.T @ (A @ difference)) / values[kept])))


def _functions(
    directions: FloatArray, sides: list[_Sides], scatter: str, bias: str
) -> tuple[FloatArray, FloatArray]:
    """Turn G d of the classes into weights and intercepts of the wanted kind."""
    coef = np.empty_like(directions)
    intercept = np.empty(len(sides))
    for column, side in enumerate(sides):
        direction = directions[:, column]
        p, q = side.share_plus, side.share_minus
        pi_plus, pi_minus = (0.5, 0.5) if scatter == "balanced" else (p, q)
        if bias == "least_squares":
            c = pi_plus * pi_minus
            w = direction * (2.0 * c / (1.0 + c * float(side.difference @ direction)))
            centre = pi_plus * side.mean_plus + pi_minus * side.mean_minus
            intercept[column] = pi_plus - pi_minus - float(w @ centre)
        else:
            # The paper's scatter is the sum of both covariances, twice their mean.
            paper = scatter == "balanced" and bias == "midpoint"
            w = direction / 2.0 if paper else direction
            prior = np.log(p / q) if bias == "log_prior" else 0.0
            intercept[column] = prior - float(w @ (side.mean_plus + side.mean_minus)) / 2.0
        coef[:, column] = w
    return coef, intercept
