"""Least squares with a penalty for each part of a Kreĭn space: Krein LSM and Krein VC-LSM."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy

from kreinflow.base.numerics import RANK_TOLERANCE, FloatArray, single_threaded
from kreinflow.base.settings import SettingsSchema
from kreinflow.learners.hyper_parameters import (
    COARSE_LAMBDA_GRID,
    LAMBDA_GRID,
    in_words,
    number_or_inner,
)
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded
from kreinflow.learners.moments import Moments, least_squares_of


class KreinLearner(Learner):
    r"""A learner with a penalty for each part of a Kreĭn space.

    The rows z of the factor split by the signs into :math:`z_+` and :math:`z_-`, the weights
    likewise, and what is minimised has the penalties

    .. math:: N t \lambda_+ \|w_+\|^2 + N t \lambda_- \|w_-\|^2 , \qquad t = tr(T)/r ,

    with the covariance T of all N rows of r columns, so that lambdas do not depend on the scale.
    """

    settings_schema: ClassVar[SettingsSchema] = {
        name: number_or_inner(
            f"penalty of the {part} part of the spectrum, as a share of the mean variance of the "
            "factor's columns, or 'inner': chosen on inner folds",
            exclusiveMinimum=0,
        )
        for name, part in (("lambda_plus", "positive"), ("lambda_minus", "negative"))
    }
    grids: Mapping[str, Sequence[float]] = {"lambda_plus": LAMBDA_GRID, "lambda_minus": LAMBDA_GRID}
    references = ("oglic2019",)

    def choices(self, columns: int = 0) -> Sequence[Choice]:
        """See :meth:`Learner.choices`; by falling product of lambda+ and lambda-, then by ratio."""

        def rank(choice: Choice) -> tuple[float, float, float]:
            plus, minus = np.log10((choice["lambda_plus"], choice["lambda_minus"]))
            return -round(plus + minus, 9), round(abs(plus - minus), 9), -minus

        return sorted(super().choices(columns), key=rank)

    def describe_penalties(self) -> str:
        shown = [in_words(self.settings[key]) for key in ("lambda_plus", "lambda_minus")]
        how = shown[0] if shown[0] == shown[1] else f"{shown[0]} and {shown[1]}"
        return f"penalties lambda+ and lambda- of the two parts of the spectrum ({how})"


def penalties_by_sign(signs: FloatArray, choice: Choice) -> FloatArray:
    """Return lambda+ where a sign is +1 and lambda- where it is -1, of shape (r,)."""
    return np.where(signs > 0, choice["lambda_plus"], choice["lambda_minus"])


class KreinLeastSquaresLearner(KreinLearner):
    r"""Krein LSM: least squares with a penalty for each part of a Kreĭn space.

    In the notation of :class:`KreinLearner`, class c against the rest has targets
    :math:`y = \pm 1`, :math:`f(z) = w'z + b`, the loss :math:`\sum_{i=1}^N (f(z_i) - y_i)^2` and,
    with :math:`q = \sum (z - \bar z) y/N`,

    .. math:: w = (T + t \Lambda)^{-1} q, \qquad b = \bar y - w'\bar z .

    The paper (oglic2019, section 2.4) has no intercept. In its low-rank form (``correction:
    landmark_basis``) the parts are those of the landmark matrix, on which the result then depends
    even where K~ is exact.
    """

    method = "krein_lsm"
    needs_symmetric = True
    by_tiles = True

    def describe(self) -> str:
        loss = "Krein LSM, one class against the rest, least squares"
        return f"{loss} with {self.describe_penalties()}"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        moments = least_squares_of(problem.Z, problem.labels, problem.n_classes)
        penalties = [penalties_by_sign(problem.signs, choice) for choice in choices]
        return [Fitted(folded(problem, *moments.least_squares(each))) for each in penalties]


def on_sphere(gaps: FloatArray, c: FloatArray, radius: float) -> tuple[FloatArray, float]:
    r"""Minimise :math:`\sum_j g_j \gamma_j^2 - 2 c_j \gamma_j` where :math:`|\gamma|` is given.

    The secular equation :math:`\varphi(\nu) = \sum c_j^2/(g_j + \nu)^2 = radius^2` is solved by
    Newton's method on :math:`\varphi^{-1/2}`, which is concave: from any point left of the root
    it rises to the root. The gaps g rise from exactly 0.
    Returns gamma, of shape (k,), and :math:`\nu \ge 0`, zero in the hard case: no root because c is
    zero wherever g is.
    """
    # At the root no part of the sum exceeds the whole: each prefix gives a lower bound.
    lower = float((np.sqrt(np.cumsum(c * c)) / radius - gaps).max())
    if lower <= 0.0:
        open_ = gaps > 0.0
        gamma = np.divide(c, gaps, out=np.zeros_like(c), where=open_)
        missing = radius**2 - float(gamma @ gamma)
        if missing >= 0.0:
            gamma[0] = np.sqrt(missing)
            return gamma, 0.0
        lower = np.finfo(float).tiny
    shift = lower
    for _ in range(200):
        gamma = c / (gaps + shift)
        norm = float(np.sqrt(gamma @ gamma))
        slope = float(gamma @ (gamma / (gaps + shift)))
        new = max(lower, shift + norm**2 / slope * (norm - radius) / radius)
        if abs(new - shift) <= 4.0 * np.finfo(float).eps * new:
            break
        shift = new
    return c / (gaps + shift), shift


class KreinVarianceConstrainedLearner(KreinLearner):
    r"""Krein VC-LSM: least squares where the variance of the decisions is given.

    In the notation of :class:`KreinLeastSquaresLearner`, with :math:`v` the ``variance``,

    .. math::
        \min_w\ t\, w'\Lambda w - 2 q'w \quad \text{subject to} \quad
        w'Tw = \rho = v\,(1 - \bar y^2), \qquad b = \bar y - w'\bar z ,

    (:math:`w'Tw` is the variance of f over the training rows, so the paper's
    :math:`r^2 = N \rho`). Let :math:`T = B S^2 B'` over the eigenvalues other than zero and

    .. math::
        E = (S B' (t\Lambda)^{-1} B S)^{-1} = X\,diag(e)\,X', \quad c = X'S^{-1}B'q, \quad
        \gamma = X'S B'w .

    Then :math:`\gamma_j = c_j/(e_j + \mu)` where :math:`\mu > -e_1` is the root of
    :math:`\sum c_j^2/(e_j + \mu)^2 = \rho`. In the *hard case* (:math:`c_1 = 0`, no root)
    :math:`\mu = -e_1`, and the bottom eigenvector of E makes up for the missing variance. The
    optimum satisfies :math:`(t\Lambda + \mu T) w = q`: with :math:`\mu = 1` it is the least
    squares solution.

    The paper (oglic2019, section 2.4) has two classes and a centred kernel. Here the mean of the
    targets is added back, and each class against the rest has its own :math:`\rho`. With zero
    singular values E is not the paper's :math:`S^{-1} B' t\Lambda B S^{-1}`, which confines w to
    the span of the centred rows. See also Gander, Golub, von Matt (1989), A constrained eigenvalue
    problem, Linear Algebra Appl. 114/115, 815-839.
    """

    method = "krein_vc_lsm"
    needs_symmetric = True
    by_tiles = True
    settings_schema: ClassVar[SettingsSchema] = {
        **KreinLearner.settings_schema,
        "variance": number_or_inner(
            "variance of the decisions as a share of the variance of the targets, "
            "or 'inner': chosen on inner folds, with fewer values of lambda_plus and lambda_minus",
            default=1.0,
            exclusiveMinimum=0,
        ),
    }

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        lambdas = COARSE_LAMBDA_GRID if self.settings["variance"] == "inner" else LAMBDA_GRID
        pair = dict.fromkeys(("lambda_plus", "lambda_minus"), lambdas)
        self.grids = {**pair, "variance": (0.5, 0.75, 1.0)}

    def describe(self) -> str:
        loss = "Krein VC-LSM, one class against the rest, least squares whose decisions have"
        how = (
            f"a given share of the variance of the targets ({in_words(self.settings['variance'])})"
        )
        return f"{loss} {how}, with {self.describe_penalties()}"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        moments = Moments.of(problem.Z, problem.labels, problem.n_classes)
        definite = bool((problem.signs > 0).all())  # lambda- plays no part
        spectra: dict[float, tuple[FloatArray, FloatArray, FloatArray]] = {}
        fitted = []
        with single_threaded():
            values, B = scipy.linalg.eigh(moments.covariance, driver="evd")
            kept = values > RANK_TOLERANCE * values[-1]
            S, B = np.sqrt(values[kept]), B[:, kept]
            projected = (B.T @ moments.cross) / S[:, None]
            for choice in choices:
                ratio = 1.0 if definite else choice["lambda_minus"] / choice["lambda_plus"]
                ratio = float(f"{ratio:.12g}")  # those of a grid differ by rounding alone
                if ratio not in spectra:
                    # With D = Lambda/lambda+, the singular values sigma of D^(-1/2) B S give
                    # e = t lambda+ / sigma^2 with all digits of the smallest e.
                    roots = np.sqrt(np.where(problem.signs > 0, 1.0, ratio))[:, None]  # D^(1/2)
                    U, sigma, right = scipy.linalg.svd(B * S / roots, full_matrices=False)
                    spectra[ratio] = U / roots / sigma, right @ projected, sigma**-2.0
                back, c, inverse_squares = spectra[ratio]
                e = moments.scale * choice["lambda_plus"] * inverse_squares
                radii = np.sqrt(choice["variance"] * (1.0 - moments.target_means**2)).tolist()
                gammas = [on_sphere(e - e[0], own, r)[0] for own, r in zip(c.T, radii, strict=True)]
                coef = back @ np.column_stack(gammas)
                intercept = moments.target_means - moments.mean @ coef
                fitted.append(Fitted(folded(problem, coef, intercept)))
        return fitted
