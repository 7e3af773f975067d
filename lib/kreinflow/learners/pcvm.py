"""The probabilistic classification vector machine on a Krein factor (Ny-PCVM), exactly."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import (
    FloatArray,
    IntArray,
    ordered_map,
    single_threaded,
    tile_map,
    tile_sum,
)
from kreinflow.base.settings import SettingsSchema
from kreinflow.base.tiled_matrix import MatrixLike, gram_matrix
from kreinflow.krein.eigen import triangular_factor
from kreinflow.learners.basis_functions import BasisFunctionLearner, SparseFunction, basis_schema
from kreinflow.learners.learner import Problem
from kreinflow.learners.linear_systems import solve_positive
from kreinflow.learners.one_against_rest import fitted_classes

_START = 5.0  # first latent values are 5 y: on the right side of the labels, well inside probit
_DEPENDENT = 1e-8  # singular values of Z below this share of the largest add 1e-16 to the kernel


class PCVMLearner(BasisFunctionLearner):
    r"""Sparse probit machines of all classes against the rest on a Krein factor.

    Class c has targets :math:`y = \pm 1`, basis functions i in B (training rows), weights
    :math:`w \ge 0` and a bias b with priors :math:`w^{-1/2}` and :math:`|b|^{-1/2}`, and

    .. math::
        P(y = 1 | x) = \Phi(f(x)), \qquad
        f(x) = \sum_{i \in B} w_i\, y_i\, \tilde k(x, x_i)/\kappa + b, \qquad
        \kappa = mean |k_{ii}| .

    With the columns :math:`\varphi_i = y_i \tilde K_{\cdot i} / \kappa` in F and
    :math:`M = \sqrt 2\, diag(w)`, one step of EM is

    .. math::
        h &= f + y\,\phi(f)/\Phi(y f), \\
        w &\leftarrow M (I + M F'F M)^{-1} M F'(h - b 1), \\
        b &\leftarrow t^2/(1 + t^2 N) {\textstyle\sum} (h - F w), \quad t = \sqrt 2 |b| .

    Weights that come out negative are dropped and the step is solved again until none is; those
    below ``threshold`` are pruned, the bias likewise. At a fixed set of weights,
    :math:`L = \sum \log \Phi(y f) - \sum \log(w)/2 - \log|b|/2` rises with each step. The first
    step has h = 5 y, w = 1, :math:`t = \sqrt 2`, and as b the mean of h. Swapped labels swap the
    decisions, bit for bit. If no function is left, nor the bias, b is the probit of the share of
    the positive targets. With :math:`Z = QR` the F'F of n functions has rank r at most, so a step
    costs O(N r + n min(n, r)^2) or so.

    The :math:`k_{ii}` are the true ones where they are known, else the factor's own. Where all are
    zero, as for a difference of two Gaussians, :math:`\kappa` is the root mean square of the kernel
    of all rows with the basis.

    A class has converged when a step prunes nothing and changes no weight, nor the bias, by more
    than ``tol`` times the largest. With ``accelerate``, two EM steps in (log w, log|b|) are
    extrapolated by SQUAREM; the point is kept only if it prunes nothing and L rises.

    Sources: schleif2018, section 5.1; Chen, Tino, Yao (2009), IEEE TNN 20; Varadhan, Roland (2008),
    Scand. J. Statist. 35, 335-353, scheme S3.
    """

    method, title = "ny_pcvm", "Ny-PCVM"
    how = "with basis functions at {}, exact steps of expectation maximisation"
    by_tiles = True
    references = ("schleif2018", "schleif2015pcvm")
    settings_schema: ClassVar[SettingsSchema] = basis_schema(
        "steps of expectation maximisation at most", 500
    )
    threshold = 1e-3
    tol = 1e-3
    accelerate = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        # Else there is a basis function, with r numbers, for each record.
        self.by_tiles = self.settings["basis"] == "landmarks"

    def grow(
        self, problem: Problem, basis: NDArray[np.intp]
    ) -> tuple[Sequence[SparseFunction], float]:
        y = problem.labels
        # Positive less negative targets: swapped labels change its sign, bit for bit.
        surplus = (2 * np.bincount(y) - len(y)) / len(y)
        scale = kernel_scale(problem, basis)
        space = _Space.of(problem, basis, scale)
        machines = [
            _ProbitMachine.start(c, y[basis] == c, float(surplus[c]), self)
            for c in fitted_classes(problem.n_classes).tolist()
        ]
        running = machines
        for step in range(self.settings["max_iter"]):
            pairs = zip(running, space.expect(y, running, step == 0), strict=True)
            deque(ordered_map(lambda pair: pair[0].advance(space, pair[1]), pairs), maxlen=0)
            running = [machine for machine in running if not machine.converged]
            if not running:
                break
        for machine in running:
            machine.settle()
        return [machine.function(basis) for machine in machines], scale


class _Expectation(NamedTuple):
    """What the M-step needs of the latent values h of one class."""

    log_likelihood: float  # NaN at the start, where h belongs to no f
    projected: FloatArray  # Q'h, of shape (r,)
    total: float  # 1'h


def kernel_scale(problem: Problem, basis: NDArray[np.intp]) -> float:
    """Return kappa; InputError if it is zero, or not finite."""
    Z, signs, own = problem.Z, problem.signs, problem.self_similarities
    if own is None:
        own = np.concatenate([*tile_map(lambda rows: (Z[rows] ** 2) @ signs, len(Z))])
    scale = float(np.abs(own).mean())
    if scale == 0:  # the root mean square of the entries of Z Y', in O(N r^2)
        Y = problem.functions(basis)
        with single_threaded():
            squares = np.sum(gram_matrix(Z) * (Y.T @ Y))
        scale = float(np.sqrt(max(0.0, squares) / (len(Z) * len(Y))))
    if not (np.isfinite(scale) and scale > 0):
        raise InputError("kernel: all similarities are zero (or not finite).")
    return scale


@dataclass(frozen=True)
class _Space:
    """K~/kappa = Z Y'/kappa with orthonormal Q = Z T, never formed: F = Q G' diag(y_B)."""

    Z: MatrixLike
    map: FloatArray  # T, (r, k)
    ones: FloatArray  # Q'1
    functions: FloatArray  # G, (n_basis, k)
    gram: FloatArray | None  # G G', which all classes share, if the functions are at most k

    @classmethod
    def of(cls, problem: Problem, basis: NDArray[np.intp], scale: float) -> "_Space":
        # Z = Q_0 R, R = U diag(e) V': Q = Q_0 U = Z V / e, G = Y V diag(e).
        Z = problem.Z
        _, e, Vt = scipy.linalg.svd(triangular_factor(Z), full_matrices=False)
        kept = e > _DEPENDENT * e[0]
        T = np.ascontiguousarray(Vt[kept].T / e[kept])
        weights = Vt[kept].T * (e[kept] / scale)
        ones = tile_sum(lambda rows: Z[rows].sum(axis=0), len(Z))
        tiles = tile_map(lambda rows: problem.functions(basis[rows]) @ weights, len(basis))
        functions = np.concatenate([*tiles])
        gram = functions @ functions.T if len(functions) <= functions.shape[1] else None
        return cls(Z, T, ones @ T, functions, gram)

    def expect(
        self, y: IntArray, machines: list["_ProbitMachine"], first: bool
    ) -> list[_Expectation]:
        """E-step of all classes in one pass: h = f + y phi(f)/Phi(y f) and sum log Phi(y f).

        phi(u)/Phi(u) = sqrt(2/pi)/erfcx(-u/sqrt 2) is exact to rounding for every u. At the first
        step the latent values agree with the labels, h = 5 y.
        """
        classes = np.array([machine.code for machine in machines])
        V = self.map @ np.column_stack([machine.direction(self) for machine in machines])
        b = np.array([machine.b for machine in machines])

        def sums(rows: slice) -> FloatArray:
            block = self.Z[rows]
            targets = np.where(y[rows, None] == classes, 1.0, -1.0)
            if first:
                h, logs = _START * targets, np.full(targets.shape, np.nan)
            else:
                f = block @ V + b
                u = targets * f
                mills = scipy.special.erfcx(u * -np.sqrt(0.5))
                h = f + targets * (np.sqrt(2.0 / np.pi) / mills)
                # Beyond 30, Phi is 1 and erfcx soon overflows to infinity.
                near = np.minimum(u, 30.0)
                logs = np.log(0.5 * np.minimum(mills, 1e300)) - 0.5 * near * near
                logs = np.where(u < 30.0, logs, 0.0)
            return np.vstack([block.T @ h, h.sum(axis=0), logs.sum(axis=0)])

        found = tile_sum(sums, len(y))
        projected, (totals, log_likelihoods) = self.map.T @ found[:-2], found[-2:].tolist()
        return list(map(_Expectation, log_likelihoods, projected.T, totals))


@dataclass
class _ProbitMachine:
    """The state of one class against the rest."""

    code: int
    targets: FloatArray  # y_B of the active functions
    active: NDArray[np.intp]  # places in the basis
    w: FloatArray
    b: float
    surplus: float  # the mean of all targets
    learner: PCVMLearner
    steps: int = 0
    converged: bool = False
    # F'F without the targets, once at most k functions of more are left
    gram: FloatArray | None = None
    history: list[FloatArray] = field(default_factory=list)  # (log w, log|b|) of the cycle
    fallback: tuple[FloatArray, float] | None = None  # where to return if a trial fails
    reference: float = 0.0  # what L of a trial must exceed
    length: float = 1.0  # how far the trial went
    longest: float = 16.0  # bound of the length: fourfold with success, a quarter with failure

    @classmethod
    def start(
        cls, code: int, own: NDArray[np.bool_], surplus: float, learner: PCVMLearner
    ) -> "_ProbitMachine":
        n, b = len(own), _START * surplus
        return cls(code, np.where(own, 1.0, -1.0), np.arange(n), np.ones(n), b, surplus, learner)

    def function(self, basis: NDArray[np.intp]) -> SparseFunction:
        b = self.b
        if not (len(self.w) or b):
            larger = (1.0 + abs(self.surplus)) / 2.0  # of two labels the same, whichever it is
            b = float(np.copysign(scipy.special.ndtri(larger), self.surplus))
        coefficients = self.targets * self.w
        return SparseFunction(
            basis[self.active], self.w, coefficients, b, self.steps, self.converged
        )

    def direction(self, space: _Space) -> FloatArray:
        return np.asarray(space.functions[self.active].T @ (self.targets * self.w))

    def objective(self, log_likelihood: float) -> float:
        bias = np.log(abs(self.b)) if self.b else 0.0
        return float(log_likelihood - 0.5 * (np.log(self.w).sum() + bias))

    def settle(self) -> None:
        if self.fallback is not None:
            self.w, self.b = self.fallback
            self.fallback = None

    def advance(self, space: _Space, expectation: _Expectation) -> None:
        """Judge the point if it was a trial, make one EM step, and extrapolate if it is time."""
        self.steps += 1
        objective = self.objective(expectation.log_likelihood)
        if self.fallback is not None:
            if not objective > self.reference:
                self.settle()
                self.longest = max(2.0, self.length / 4.0)
                return
            self.fallback = None
            if self.length == self.longest:
                self.longest *= 4.0
        old_w, old_b, size = self.w, self.b, len(self.w)
        self.maximise(space, expectation)
        if len(self.w) < size or (self.b == 0.0) != (old_b == 0.0):
            self.history.clear()  # another objective: begin a new cycle
            return
        change = max(np.abs(self.w - old_w).max(initial=0.0), abs(self.b - old_b))
        largest = max(self.w.max(initial=0.0), abs(self.b))
        if change <= self.learner.tol * largest:
            self.converged = True
        elif self.learner.accelerate:
            if self.b * old_b < 0:
                self.history.clear()
                return
            self.history.append(_logarithms(old_w, old_b))
            if len(self.history) == 2:
                self.extrapolate(objective)

    def extrapolate(self, objective: float) -> None:
        """SQUAREM: theta_0 - 2 a (theta_1 - theta_0) + a^2 (theta_2 - 2 theta_1 + theta_0)."""
        first, second = self.history
        self.history.clear()
        third = _logarithms(self.w, self.b)
        step, bend = second - first, third - 2.0 * second + first
        curvature = float(np.linalg.norm(bend))
        length = float(np.linalg.norm(step)) / curvature if curvature > 0 else self.longest
        length = min(length, self.longest)
        trial = first + 2.0 * length * step + length**2 * bend
        # A length of 1 is the second step itself; below it, dying weights speed up by themselves.
        if length <= 1.0 or trial.min() <= np.log(self.learner.threshold):
            return
        self.fallback, self.reference, self.length = (self.w, self.b), objective, length
        n = len(self.w)
        self.w = np.exp(trial[:n])
        if self.b:
            self.b = float(np.copysign(np.exp(trial[n]), self.b))

    def maximise(self, space: _Space, expectation: _Expectation) -> None:
        """M-step: w at the old b, then b at the new w, then prune."""
        q = expectation.projected - self.b * space.ones
        rows = space.functions[self.active]
        while len(self.w):
            new = self._weights(space, rows, q)
            positive = new > 0
            if positive.all():
                self.w = new
                break
            rows = rows[positive]
            self._keep(positive)
        kept = self.w >= self.learner.threshold
        if not kept.all():
            self._keep(kept)
        # Of the first step it is 1, as w is: from b = 0 the bias would never move.
        width = abs(self.b) if self.steps > 1 else 1.0
        square, n_rows = 2.0 * width**2, len(space.Z)
        fitted = float(space.ones @ self.direction(space))  # 1'F w
        self.b = square / (1.0 + square * n_rows) * (expectation.total - fitted)
        if abs(self.b) < self.learner.threshold:
            self.b = 0.0

    def _keep(self, mask: NDArray[np.bool_]) -> None:
        self.active, self.targets, self.w = self.active[mask], self.targets[mask], self.w[mask]
        if self.gram is not None:
            self.gram = self.gram[np.ix_(mask, mask)]

    def _weights(self, space: _Space, rows: FloatArray, q: FloatArray) -> FloatArray:
        """Return M (I + M F'F M)^-1 M G q, or M^2 G (I_r + G'M^2 G)^-1 q if that is smaller.

        ``rows`` are those of G without the targets, which join M here: (MG) = (M y_B) rows.
        """
        n, r = rows.shape
        m = np.sqrt(2.0) * self.w
        signed = m * self.targets
        if n > r:
            scaled = rows * signed[:, None]
            return np.asarray(m * (scaled @ _solve(scaled.T @ scaled, q)))
        if space.gram is not None:
            gram = space.gram[np.ix_(self.active, self.active)]
        else:
            self.gram = gram = rows @ rows.T if self.gram is None else self.gram
        return np.asarray(m * _solve(gram * signed[:, None] * signed, signed * (rows @ q)))


def _solve(A: FloatArray, b: FloatArray) -> FloatArray:
    return solve_positive(
        A, b, 1.0, "Ny-PCVM: a step could not be solved; the factor is not finite."
    )


def _logarithms(w: FloatArray, b: float) -> FloatArray:
    return np.log(np.append(w, abs(b)) if b else w)
