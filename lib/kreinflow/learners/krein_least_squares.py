"""Least squares in a Kreĭn space: Krein LSM and Krein VC-LSM on a Krein factor."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh, lapack, svd

from kreinflow.errors import InputError
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded, number_or_inner
from kreinflow.learners.linear import LinearEstimator
from kreinflow.learners.one_against_rest import Moments, with_mirror
from kreinflow.numerics import RANK_TOLERANCE, FloatArray, IntArray, single_threaded
from kreinflow.settings import SettingsSchema
from kreinflow.tall import Tall

LAMBDA_GRID: tuple[float, ...] = (1.0, 1e-2, 1e-4, 1e-6, 1e-8)
"""Values of lambda+ and of lambda- that are tried, as pairs."""

COARSE_LAMBDA_GRID: tuple[float, ...] = (1.0, 1e-3, 1e-6)
"""The same where a third hyper-parameter is tried with them."""

VARIANCE_GRID: tuple[float, ...] = (0.5, 0.75, 1.0)
"""Shares of the variance of the targets that are tried."""

PENALTIES_SCHEMA: SettingsSchema = {
    name: number_or_inner(
        f"penalty of the {part} part of the spectrum, as a share of the mean variance of the "
        "factor's columns, or 'inner': chosen on inner folds",
        exclusiveMinimum=0,
    )
    for name, part in (("lambda_plus", "positive"), ("lambda_minus", "negative"))
}


def penalty_choices(
    settings: Mapping[str, Any], grid: Sequence[float] = LAMBDA_GRID
) -> list[Choice]:
    """Return the pairs (lambda+, lambda-) to try, by falling product.

    Of equal products the pair nearest to equality stands first, then the one with the larger
    lambda-.

    Parameters
    ----------
    settings : mapping
        With ``lambda_plus`` and ``lambda_minus``, each a number or "inner".
    grid : sequence of float
        What "inner" stands for.

    Examples
    --------
    >>> wanted = {"lambda_plus": "inner", "lambda_minus": "inner"}
    >>> [tuple(pair.values()) for pair in penalty_choices(wanted, (1.0, 0.1))]
    [(1.0, 1.0), (0.1, 1.0), (1.0, 0.1), (0.1, 0.1)]
    """

    def values(key: str) -> Sequence[float]:
        return grid if settings[key] == "inner" else (float(settings[key]),)

    def rank(pair: tuple[float, float]) -> tuple[float, float, float]:
        plus, minus = np.log10(pair)
        return -round(plus + minus, 9), round(abs(plus - minus), 9), -minus

    pairs = sorted(product(values("lambda_plus"), values("lambda_minus")), key=rank)
    return [{"lambda_plus": plus, "lambda_minus": minus} for plus, minus in pairs]


def describe_penalties(settings: Mapping[str, Any]) -> str:
    """Return the words of the methods paragraph about lambda+ and lambda-."""
    values = [settings["lambda_plus"], settings["lambda_minus"]]
    shown = ["chosen on inner folds" if v == "inner" else f"{v:g}" for v in values]
    how = shown[0] if shown[0] == shown[1] else f"{shown[0]} and {shown[1]}"
    return f"penalties lambda+ and lambda- of the two parts of the spectrum ({how})"


def check_positive(**values: float) -> None:
    """Raise an InputError unless all are finite positive numbers."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name}: {value} is not a positive number. Give one such.")


def penalties_by_sign(signs: FloatArray, choice: Choice) -> FloatArray:
    """Return lambda+ where a sign is +1 and lambda- where it is -1, of shape (r,)."""
    return np.where(signs > 0, choice["lambda_plus"], choice["lambda_minus"])


class KreinLeastSquares(LinearEstimator):
    r"""Krein LSM: least squares with a penalty for each part of a Kreĭn space.

    The rows z of the factor split by the signs into :math:`z_+` and :math:`z_-`, the weights
    likewise. Class c against the rest has targets :math:`y = \pm 1`, :math:`f(z) = w'z + b` and

    .. math::
        \min_{w, b}\ \sum_{i=1}^N (f(z_i) - y_i)^2
            + N t \lambda_+ \|w_+\|^2 + N t \lambda_- \|w_-\|^2 , \qquad
        t = tr(T)/r ,

    where T is the covariance of all rows and r their number of columns: so equal lambdas
    regularise equally whatever the scale of the kernel. With :math:`q = \sum (z - \bar z) y/N`,

    .. math:: w = (T + t \Lambda)^{-1} q, \qquad b = \bar y - w'\bar z .

    All classes share T and its factorisation.

    Parameters
    ----------
    lambda_plus, lambda_minus : float
        Both positive.

    Attributes
    ----------
    coef_ : ndarray of shape (r, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.
    scale_ : float
        t.

    Notes
    -----
    The paper has no intercept. On the factor :math:`C_e |a|^{1/2}` of the eigenpairs of K~ this is
    its :math:`\alpha = (H + N \Lambda)^{-1} P y`, and lambda+ = lambda- is ridge regression on the
    flipped K~. On the factor of the landmarks, as in the paper's low-rank form (``correction:
    landmark_basis``), the parts are those of the landmark matrix: the result then depends on the
    landmarks even where K~ is exact, and lambda+ = lambda- is ridge regression with a flipped
    landmark matrix.

    References
    ----------
    D. Oglic, T. Gärtner (2019), Scalable learning in reproducing kernel Kreĭn spaces, ICML,
    PMLR 97, section 2.4.
    """

    scale_: float

    def __init__(self, lambda_plus: float = 1e-2, lambda_minus: float = 1e-2) -> None:
        check_positive(lambda_plus=lambda_plus, lambda_minus=lambda_minus)
        self.lambda_plus = lambda_plus
        self.lambda_minus = lambda_minus

    def fit(self, Z: Tall, signs: FloatArray, y: IntArray, n_classes: int) -> "KreinLeastSquares":
        """Fit all classes, O(N r^2 + r^3).

        Parameters
        ----------
        Z : ndarray of shape (N, r)
            Rows of the Krein factor.
        signs : ndarray of shape (r,)
            +1 or -1.
        y : ndarray of shape (N,)
            Class codes, 0 to ``n_classes - 1``; each must occur.
        n_classes : int

        Raises
        ------
        InputError
            If a class has no row, all rows are the same, or the penalties are too small for the
            precision of the machine.
        """
        moments = Moments.of(Z, y, n_classes)
        choice = {"lambda_plus": self.lambda_plus, "lambda_minus": self.lambda_minus}
        coef, intercept = penalised_least_squares(moments, penalties_by_sign(signs, choice))
        self.coef_, self.intercept_ = with_mirror(coef, intercept, n_classes)
        self.scale_ = moments.scale
        return self


def penalised_least_squares(
    moments: Moments, penalties: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return w = (T + t diag(penalties))^-1 q and b of the classes that moments hold.

    Parameters
    ----------
    moments : Moments
    penalties : ndarray of shape (r,)

    Raises
    ------
    InputError
        If the matrix is not positive definite in the precision of the machine.
    """
    with single_threaded():
        matrix = moments.covariance.copy()
        matrix.flat[:: len(matrix) + 1] += moments.scale * penalties
        _, coef, failed = lapack.dposv(matrix, moments.cross, lower=1)
        if failed:
            raise InputError(
                f"a penalty of {penalties.min():g} is too small to solve the least squares "
                "problem. Give a larger one."
            )
        return np.asarray(coef), moments.target_means - moments.mean @ coef


class KreinVarianceConstrained(LinearEstimator):
    r"""Krein VC-LSM: least squares where the variance of the decisions is given.

    In the notation of :class:`KreinLeastSquares`, with :math:`v` the ``variance``,

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

    Parameters
    ----------
    lambda_plus, lambda_minus : float
        As for :class:`KreinLeastSquares`.
    variance : float
        The variance of the decisions over the training rows as a share of that of the targets.

    Attributes
    ----------
    coef_ : ndarray of shape (r, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.
    multipliers_ : ndarray of shape (n_classes,)
        mu.
    scale_ : float
        t.

    Notes
    -----
    The paper has two classes and a centred kernel. Here the mean of the targets is added back, and
    each class against the rest has its own :math:`\rho`, the same share of the variance of its own
    targets, :math:`4 p (1 - p)` for a class with a share p of the rows. So the decisions of all
    classes estimate targets of +1 and -1 as those of least squares do, and the largest wins. One
    :math:`\rho` for all would let the rarest class win.

    Centring may lower the rank of the factor. With zero singular values E above is not the paper's
    :math:`S^{-1} B' t\Lambda B S^{-1}`, which confines w to the span of the centred rows, where a
    penalty with two values is not at its smallest; otherwise both are the same matrix.

    References
    ----------
    D. Oglic, T. Gärtner (2019), Scalable learning in reproducing kernel Kreĭn spaces, ICML,
    PMLR 97, section 2.4.
    W. Gander, G. H. Golub, U. von Matt (1989), A constrained eigenvalue problem, Linear Algebra
    Appl. 114/115, 815-839.
    """

    multipliers_: FloatArray
    scale_: float

    def __init__(
        self, lambda_plus: float = 1e-2, lambda_minus: float = 1e-2, variance: float = 1.0
    ) -> None:
        check_positive(lambda_plus=lambda_plus, lambda_minus=lambda_minus, variance=variance)
        self.lambda_plus = lambda_plus
        self.lambda_minus = lambda_minus
        self.variance = variance

    def fit(
        self, Z: Tall, signs: FloatArray, y: IntArray, n_classes: int
    ) -> "KreinVarianceConstrained":
        """Fit all classes, O(N r^2 + r^3).

        Parameters
        ----------
        Z, signs, y, n_classes
            As for :meth:`KreinLeastSquares.fit`.

        Raises
        ------
        InputError
            If a class has no row, or all rows are the same.
        """
        moments = Moments.of(Z, y, n_classes)
        spectrum = _Spectrum(_Span(moments), signs, self.lambda_minus / self.lambda_plus)
        coef, intercept, multipliers = spectrum.solve(self.lambda_plus, self.variance)
        self.coef_, self.intercept_ = with_mirror(coef, intercept, n_classes)
        self.multipliers_ = np.resize(multipliers, n_classes)
        self.scale_ = moments.scale
        return self


class _Span:
    """T = B S^2 B' without its zero eigenvalues, and S^-1 B' q: the same for all penalties."""

    def __init__(self, moments: Moments) -> None:
        with single_threaded():
            values, B = eigh(moments.covariance, driver="evd")
            kept = values > RANK_TOLERANCE * values[-1]
            self.moments = moments
            self.S, self.B = np.sqrt(values[kept]), B[:, kept]
            self.projected = (self.B.T @ moments.cross) / self.S[:, None]


class _Spectrum:
    """E of all problems with the same lambda-/lambda+, up to the factor t lambda+.

    With D = Lambda/lambda+, the singular values sigma of D^(-1/2) B S = U diag(sigma) X' give
    e = t lambda+ / sigma^2 with all digits of the smallest e, and w = D^(-1/2) U (gamma/sigma).
    """

    def __init__(self, span: _Span, signs: FloatArray, ratio: float) -> None:
        roots = np.sqrt(np.where(signs > 0, 1.0, ratio))[:, None]  # D^(1/2)
        with single_threaded():
            U, sigma, right = svd(span.B * span.S / roots, full_matrices=False)
            self.c = right @ span.projected
        self.moments = span.moments
        self.back = U / roots / sigma
        self.inverse_squares = sigma**-2.0  # rising, as sigma falls

    def solve(
        self, lambda_plus: float, variance: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return w, b and mu of the classes."""
        moments = self.moments
        e = moments.scale * lambda_plus * self.inverse_squares
        radii = np.sqrt(variance * (1.0 - moments.target_means**2))
        gammas, multipliers = np.empty_like(self.c), np.empty_like(radii)
        for k, radius in enumerate(radii.tolist()):
            gammas[:, k], shift = on_sphere(e - e[0], self.c[:, k], radius)
            multipliers[k] = shift - e[0]
        with single_threaded():
            coef = self.back @ gammas
            return coef, moments.target_means - moments.mean @ coef, multipliers


def on_sphere(gaps: FloatArray, c: FloatArray, radius: float) -> tuple[FloatArray, float]:
    r"""Minimise :math:`\sum_j g_j \gamma_j^2 - 2 c_j \gamma_j` where :math:`|\gamma|` is given.

    The secular equation :math:`\varphi(\nu) = \sum c_j^2/(g_j + \nu)^2 = radius^2` is solved by
    Newton's method on :math:`\varphi^{-1/2}`, which is concave: from any point left of the root
    it rises to the root.

    Parameters
    ----------
    gaps : ndarray of shape (k,)
        g, rising from exactly 0.
    c : ndarray of shape (k,)
    radius : float
        Positive.

    Returns
    -------
    gamma : ndarray of shape (k,)
    shift : float
        :math:`\nu \ge 0`, zero in the hard case: no root because c is zero wherever g is.
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


class KreinLeastSquaresLearner(Learner):
    """:class:`KreinLeastSquares` as a recipe's learner."""

    method = "krein_lsm"
    by_tiles = True
    settings_schema = PENALTIES_SCHEMA
    references = ("oglic2019",)

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return (
            "Krein LSM, one class against the rest, least squares with "
            f"{describe_penalties(self.settings)}"
        )

    def choices(self) -> Sequence[Choice]:
        """See :meth:`Learner.choices`."""
        return penalty_choices(self.settings)

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; one pass over the rows for all choices."""
        moments = Moments.of(problem.Z, problem.labels, problem.n_classes)
        fitted = []
        for choice in choices:
            penalties = penalties_by_sign(problem.signs, choice)
            coef, intercept = penalised_least_squares(moments, penalties)
            fitted.append(Fitted(folded(problem, *with_mirror(coef, intercept, problem.n_classes))))
        return fitted


class KreinVarianceConstrainedLearner(Learner):
    """:class:`KreinVarianceConstrained` as a recipe's learner."""

    method = "krein_vc_lsm"
    by_tiles = True
    settings_schema: ClassVar[SettingsSchema] = {
        **PENALTIES_SCHEMA,
        "variance": number_or_inner(
            "variance of the decisions as a share of the variance of the targets, "
            "or 'inner': chosen on inner folds, with fewer values of lambda_plus and lambda_minus",
            default=1.0,
            exclusiveMinimum=0,
        ),
    }
    references = ("oglic2019",)

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        variance = self.settings["variance"]
        how = "chosen on inner folds" if variance == "inner" else f"{variance:g}"
        return (
            "Krein VC-LSM, one class against the rest, least squares whose decisions have a given "
            f"share of the variance of the targets ({how}), with "
            f"{describe_penalties(self.settings)}"
        )

    def choices(self) -> Sequence[Choice]:
        """See :meth:`Learner.choices`."""
        variance = self.settings["variance"]
        if variance != "inner":
            return [{**pair, "variance": variance} for pair in penalty_choices(self.settings)]
        pairs = penalty_choices(self.settings, COARSE_LAMBDA_GRID)
        return [{**pair, "variance": share} for pair in pairs for share in VARIANCE_GRID]

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; one pass over the rows for all choices."""
        span = _Span(Moments.of(problem.Z, problem.labels, problem.n_classes))
        definite = bool((problem.signs > 0).all())  # lambda- plays no part
        spectra: dict[float, _Spectrum] = {}
        fitted = []
        for choice in choices:
            ratio = 1.0 if definite else choice["lambda_minus"] / choice["lambda_plus"]
            ratio = float(f"{ratio:.12g}")  # pairs of a grid share their ratios but for rounding
            if ratio not in spectra:
                spectra[ratio] = _Spectrum(span, problem.signs, ratio)
            coef, intercept, _ = spectra[ratio].solve(choice["lambda_plus"], choice["variance"])
            fitted.append(Fitted(folded(problem, *with_mirror(coef, intercept, problem.n_classes))))
        return fitted
