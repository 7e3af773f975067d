"""The incremental probabilistic classification vector machine on a Krein factor (Ny-EPCVM)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.base.numerics import RANK_TOLERANCE, FloatArray, tile_sum
from kreinflow.base.settings import SettingsSchema
from kreinflow.learners.basis_functions import BasisFunctionLearner, SparseFunction, basis_schema
from kreinflow.learners.learner import Problem
from kreinflow.learners.one_against_rest import fitted_classes

_BETA = 3.0  # slope of the sigmoid that stands for the step of the truncated prior
_BIAS_PRECISION = 1.0  # alpha of the bias at the start
_SMALLEST_GAIN = 1e-3  # what an action must promise
_HELD = 4  # functions are held as columns if they are at most so many times the rank
_DECREMENT = 1e-12  # squared distance to the mode, in standard deviations, at the last step
_NEWTON_STEPS = 200
_UNSOLVED = "Ny-EPCVM: a mode was not found; the factor is not finite."


class EPCVMLearner(BasisFunctionLearner):
    r"""Sparse logistic machines of all classes against the rest, grown one function at a time.

    Class c has targets :math:`y = \pm 1`, :math:`t = (1 + y)/2`, a bias and basis functions j
    (training rows), each a column of unit length times its own target:

    .. math::
        P(y = 1 | x) = \sigma(f(x)), \quad \sigma(u) = 1/(1 + e^{-u}), \quad f = \Psi w, \quad
        \psi_0 = 1, \quad \psi_j = y_j \tilde K_{\cdot j}/\rho_j, \quad
        \rho_j = |\tilde K_{\cdot j}|, \quad \tilde K = Z\,diag(s)\,Z' .

    The weights have normal priors of precision :math:`\alpha_j`, and all but the bias are kept
    positive by a factor :math:`e_j = \sigma(\beta w_j)`, :math:`\beta = 3`. Those of finite
    precision are in the model. The log posterior has the gradient g and the Hessian -H,

    .. math::
        g = \Psi'(t - \sigma) - A w + k, \quad H = \Psi' B \Psi + A + D, \quad B = \sigma(1 -
        \sigma), \quad k_j = \beta(1 - e_j), \quad D_j = \beta^2 e_j (1 - e_j)

    with :math:`k_0 = D_0 = 0`. At its mode Laplace's approximation of the evidence is
    :math:`E = \sum \log P(y) - w'A w/2 + \log|A|/2 - \log|H|/2`. At fixed B it depends on one
    precision as

    .. math::
        l(\alpha) = (\log \alpha - \log(\alpha + s) + q^2/(\alpha + s))/2, \qquad l(\infty) = 0,

    with :math:`s = \psi_j'B\psi_j - \psi_j'B\Psi \Sigma \Psi'B\psi_j`, :math:`q = \psi_j'(t -
    \sigma)` of a function outside the model, :math:`\Sigma = H^{-1}`, and for one inside
    :math:`s = 1/\Sigma_{jj} - \alpha_j - D_j`, :math:`q = w_j/\Sigma_{jj} - k_j - D_j w_j` (what
    they would be if it were left out). The best precision is :math:`s^2/(q^2 - s)` if
    :math:`q^2 > s` and :math:`q > 0`, else infinite; the bias has no sign and always stays.

    A model starts with the bias and the function of largest :math:`\psi_j'y`. An action sets one
    precision to its best, and so adds a function, deletes one, or changes the prior of one. That
    of the largest gain is tried, and kept only if E rises at the new mode; else the next is tried.
    The model is ready when none that promises 1e-3 is left. A copy of a function in the model is
    never added.

    With :math:`Z = QR` and :math:`G = Z_B diag(s) R'` the columns are :math:`Q g_j`, so
    :math:`\rho_j = |g_j|` and :math:`\psi_j'B\psi_j = g_j'(Q'BQ)g_j/\rho_j^2`. The paper's factor
    lambda of f is no parameter: (lambda, beta, alpha) and (1, beta/lambda, alpha/lambda^2) are one
    model.

    Sources: schleif2015epcvm, sections II-B, II-C and II-F (which approximates rho and s by a
    Nyström step for squared entries: not done here); Chen, Tino, Yao (2014), IEEE TNNLS 25,
    356-369; Tipping, Faul (2003), Fast marginal likelihood maximisation for sparse Bayesian
    models, AISTATS.
    """

    method, title = "ny_epcvm", "Ny-EPCVM"
    how = "which adds and deletes basis functions at {} one by one while its evidence rises"
    references = ("schleif2015epcvm",)
    settings_schema: ClassVar[SettingsSchema] = basis_schema(
        "actions tried for a class at most: to add a basis function, to delete one, to estimate "
        "its precision anew",
        1000,
    )

    def grow(
        self, problem: Problem, basis: NDArray[np.intp]
    ) -> tuple[Sequence[SparseFunction], float]:
        columns = _Basis.of(np.asarray(problem.Z), problem.functions(basis), basis)
        found = []
        for c in fitted_classes(problem.n_classes):
            y = np.where(problem.labels == c, 1.0, -1.0)
            model, tried, ready = _grow(columns, y, self.settings["max_iter"])
            found.append(model.function(tried, ready))
        return found, 1.0


@dataclass(frozen=True, eq=False)
class _Basis:
    """The functions to choose from, without their targets; number 0 is the bias.

    The columns of the others are ``left @ right.T``, that is Q G' with rows of G of unit length, or
    ``left`` alone.
    """

    rows: NDArray[np.intp]  # training row of each but the bias
    rho: FloatArray  # |g_j|
    left: FloatArray
    right: FloatArray | None

    @classmethod
    def of(cls, Z: FloatArray, Y: FloatArray, rows: NDArray[np.intp]) -> "_Basis":
        Q, triangle = np.linalg.qr(Z)
        G = Y @ triangle.T
        rho = np.linalg.norm(G, axis=1)
        largest = rho.max()
        if not (np.isfinite(largest) and largest > 0):
            raise InputError("kernel: it is zero for all basis functions (or not finite).")
        kept = rho > RANK_TOLERANCE * largest  # a column of zeros has no direction
        rows, rho = rows[kept], rho[kept]
        G = G[kept] / rho[:, None]
        if len(rows) <= _HELD * Z.shape[1]:
            return cls(rows, rho, np.asfortranarray(Q @ G.T), None)
        return cls(rows, rho, Q, G)

    def column(self, j: int) -> FloatArray:
        if j == 0:
            return np.ones(len(self.left))
        if self.right is None:
            return self.left[:, j - 1]
        return np.asarray(self.left @ self.right[j - 1])

    def project(self, X: FloatArray) -> FloatArray:
        """Return the products (n_functions, k) of all functions and the columns of X."""
        products = self.left.T @ X
        if self.right is not None:
            products = self.right @ products
        return np.vstack([X.sum(axis=0), products])

    def squares(self, curvature: FloatArray) -> FloatArray:
        """Return psi_j'B psi_j of all functions; ``curvature`` is the diagonal of B."""
        n = len(self.left)
        if self.right is None:
            sums = tile_sum(lambda rows: np.square(self.left[rows]).T @ curvature[rows], n)
        else:

            def inner(rows: slice) -> FloatArray:
                scaled = self.left[rows] * np.sqrt(curvature[rows, None])
                return scaled.T @ scaled

            sums = np.einsum("jr,jr->j", self.right @ tile_sum(inner, n), self.right)
        return np.append(curvature.sum(), sums)


@dataclass(frozen=True, eq=False)
class _Point:
    """The posterior of the weights of some functions, seen from one point w."""

    psi: FloatArray  # (N, n), the bias first
    alpha: FloatArray
    w: FloatArray
    residual: FloatArray  # t - sigma
    curvature: FloatArray  # the diagonal of B
    slope: FloatArray  # k
    bend: FloatArray  # the diagonal of D
    gradient: FloatArray
    triangle: FloatArray  # lower Cholesky factor of H
    evidence: float  # E, if w is the mode

    @classmethod
    def at(cls, psi: FloatArray, y: FloatArray, alpha: FloatArray, w: FloatArray) -> "_Point":
        f = psi @ w
        residual = y * scipy.special.expit(-y * f)
        curvature = scipy.special.expit(f) * scipy.special.expit(-f)
        slope = _BETA * scipy.special.expit(-_BETA * w)
        slope[0] = 0.0
        bend = slope * (_BETA - slope)  # zero for the bias too
        scaled = psi * np.sqrt(curvature)[:, None]
        hessian = scaled.T @ scaled
        hessian.flat[:: len(w) + 1] += alpha + bend
        triangle, failed = scipy.linalg.lapack.dpotrf(hessian, lower=1)
        if failed:
            raise KreinflowError(_UNSOLVED)
        evidence = scipy.special.log_expit(y * f).sum() - 0.5 * (alpha @ w**2 - np.log(alpha).sum())
        evidence -= np.log(np.diagonal(triangle)).sum()
        gradient = psi.T @ residual - alpha * w + slope
        derivatives = residual, curvature, slope, bend, gradient, triangle
        return cls(psi, alpha, w, *derivatives, float(evidence))

    @classmethod
    def mode(cls, psi: FloatArray, y: FloatArray, alpha: FloatArray, start: FloatArray) -> "_Point":
        """Return the mode, by Newton steps that are halved until the posterior rises."""
        point, height = cls.at(psi, y, alpha, start), _objective(psi, y, alpha, start)
        for _ in range(_NEWTON_STEPS):
            step, _ = scipy.linalg.lapack.dpotrs(point.triangle, point.gradient, lower=1)
            decrement = float(point.gradient @ step)
            if decrement <= _DECREMENT:  # the whole step squares the distance once more
                return cls.at(psi, y, alpha, point.w + step)
            length, rounding = 1.0, 1e-12 * abs(height)
            while True:
                w = point.w + length * step
                reached = _objective(psi, y, alpha, w)
                if reached >= height + 1e-4 * length * decrement - rounding:
                    break
                length /= 2.0
            point, height = cls.at(psi, y, alpha, w), reached
        raise KreinflowError(_UNSOLVED)


def _objective(psi: FloatArray, y: FloatArray, alpha: FloatArray, w: FloatArray) -> float:
    """Return the log posterior, up to a constant."""
    prior = 0.5 * (alpha @ w**2) - scipy.special.log_expit(_BETA * w[1:]).sum()
    return float(scipy.special.log_expit(y * (psi @ w)).sum() - prior)


@dataclass(frozen=True, eq=False)
class _SparseModel:
    """One class against the rest: the functions in the model, and the mode of their weights."""

    basis: _Basis
    y: FloatArray
    targets: FloatArray  # of all functions; 1 for the bias
    members: NDArray[np.intp]  # in the order of ``mode.w``; the bias first
    mode: _Point

    @classmethod
    def start(cls, basis: _Basis, y: FloatArray) -> "_SparseModel":
        """Return the model of the bias and the function of largest psi_j'y, if it is wanted.

        Its precision is the best at w = 0, where s = 1/4 and q = psi_j'y/2 for all functions.
        """
        targets = np.append(1.0, y[basis.rows])
        members, alpha, psi = np.array([0]), np.array([_BIAS_PRECISION]), basis.column(0)[:, None]
        likeness = targets[1:] * basis.project(y[:, None])[1:, 0]
        first = int(np.argmax(likeness)) + 1
        if likeness[first - 1] > 1.0:
            members = np.append(members, first)
            alpha = np.append(alpha, 0.25 / (likeness[first - 1] ** 2 - 1.0))
            psi = np.column_stack([psi, targets[first] * basis.column(first)])
        mode = _Point.mode(psi, y, alpha, np.zeros(len(members)))
        return cls(basis, y, targets, members, mode)

    def function(self, tried: int, ready: bool) -> SparseFunction:
        places, w = self.members[1:] - 1, self.mode.w
        coefficients = w[1:] * (self.targets[self.members[1:]] / self.basis.rho[places])
        rows = self.basis.rows[places]
        return SparseFunction(rows, w[1:], coefficients, float(w[0]), tried, ready)

    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Return s and q of all functions; an s that is all rounding error is zero."""
        mode, members = self.mode, self.members
        B_psi = mode.psi * mode.curvature[:, None]
        products = self.basis.project(np.column_stack([mode.residual, B_psi]))
        products *= self.targets[:, None]
        q = products[:, 0].copy()
        whole = self.basis.squares(mode.curvature)
        half, _ = scipy.linalg.lapack.dtrtrs(mode.triangle, products[:, 1:].T, lower=1)
        s = whole - np.square(half).sum(axis=0)
        half, _ = scipy.linalg.lapack.dtrtrs(mode.triangle, np.eye(len(members)), lower=1)
        whole[members] = 1.0 / np.square(half).sum(axis=0)
        s[members] = whole[members] - mode.alpha - mode.bend
        q[members] = mode.w * whole[members] - mode.slope - mode.bend * mode.w
        s[s <= RANK_TOLERANCE * whole] = 0.0
        return s, q

    def actions(self) -> tuple[FloatArray, FloatArray]:
        """Return the best precision of all functions, and what each alone would gain."""
        s, q = self.factors()
        wanted = (s > 0.0) & (q**2 > s) & (q > 0.0)
        wanted[0] = (s[0] > 0.0) & (q[0] ** 2 > s[0])
        best, now = np.full(len(s), np.inf), np.full(len(s), np.inf)
        best[wanted] = s[wanted] ** 2 / (q[wanted] ** 2 - s[wanted])
        now[self.members] = self.mode.alpha
        if not wanted[0]:
            best[0] = now[0]
        return best, _marginal(best, s, q) - _marginal(now, s, q)

    def has_copy(self, j: int) -> bool:
        if (self.members == j).any():
            return False
        similarity = self.mode.psi[:, 1:].T @ (self.targets[j] * self.basis.column(j))
        return bool(similarity.max(initial=0.0) > 1.0 - RANK_TOLERANCE)

    def changed(self, j: int, alpha: float) -> "_SparseModel":
        mode, members = self.mode, self.members
        psi, precisions, w = mode.psi, mode.alpha, mode.w
        inside = members == j
        if np.isinf(alpha):
            members, precisions, w = members[~inside], precisions[~inside], w[~inside]
            psi = psi[:, ~inside]
        elif inside.any():
            precisions = np.where(inside, alpha, precisions)
        else:
            members, precisions = np.append(members, j), np.append(precisions, alpha)
            w = np.append(w, 0.0)
            psi = np.column_stack([psi, self.targets[j] * self.basis.column(j)])
        mode = _Point.mode(psi, self.y, precisions, w)
        return replace(self, members=members, mode=mode)


def _marginal(alpha: FloatArray, s: FloatArray, q: FloatArray) -> FloatArray:
    """Return l(alpha), the part of the log marginal likelihood that depends on one precision."""
    with np.errstate(invalid="ignore"):
        own = 0.5 * (np.log(alpha) - np.log(alpha + s) + q**2 / (alpha + s))
    return np.where(np.isfinite(alpha), own, 0.0)


def _grow(basis: _Basis, y: FloatArray, max_iter: int) -> tuple[_SparseModel, int, bool]:
    """Return the model of a class, the number of actions tried, and whether it is ready."""
    model = _SparseModel.start(basis, y)
    tried, rising = 0, True
    while rising:
        rising = False
        best, gains = model.actions()
        for j in np.argsort(-gains, kind="stable").tolist():
            if gains[j] < _SMALLEST_GAIN:
                break
            if model.has_copy(j):
                continue
            if tried == max_iter:
                return model, tried, False
            tried += 1
            changed = model.changed(j, float(best[j]))
            if changed.mode.evidence > model.mode.evidence:
                model, rising = changed, True
                break
    return model, tried, True
