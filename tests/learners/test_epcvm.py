"""Ny-EPCVM against the definitions on the N x N matrix."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.linear_model import LogisticRegression

from krein_problems import MIXTURES, mixture_rows, problem_of, sparse_functions
from kreinflow.learners.epcvm import EPCVMLearner, _Basis, _Point, _SparseModel

BETA = 3.0


problem = partial(mixture_rows, n=60, noise=0.8)


def kernel(Z, signs):
    return (Z * signs) @ Z.T


class Dense:
    """The model of one class by its definitions, with K, all of Psi and inverses written out."""

    def __init__(self, K, positive, rows):
        self.y = np.where(positive, 1.0, -1.0)
        columns = K[:, rows] / np.sqrt((K[:, rows] ** 2).sum(axis=0)) * self.y[rows]
        self.Psi = np.hstack([np.ones((len(K), 1)), columns])
        self.alpha = {0: 1.0}
        q = self.Psi.T @ self.y / 2
        q[0] = 0
        j = int(np.argmax(q))
        if q[j] ** 2 > 1 / 4:  # s = 1/4
            self.alpha[j] = (1 / 16) / (q[j] ** 2 - 1 / 4)
        self.evidence = self.settle()

    def objective(self, w):
        alpha = np.array(list(self.alpha.values()))
        f = self.Psi[:, list(self.alpha)] @ w
        return log_expit(self.y * f).sum() - alpha @ w**2 / 2 + log_expit(BETA * w[1:]).sum()

    def gradient(self, w):
        Psi, alpha = self.Psi[:, list(self.alpha)], np.array(list(self.alpha.values()))
        k = np.append(0, BETA * (1 - expit(BETA * w[1:])))
        return Psi.T @ ((1 + self.y) / 2 - expit(Psi @ w)) - alpha * w + k

    def hessian(self, w):
        """Minus the Hessian."""
        Psi, sigma = self.Psi[:, list(self.alpha)], expit(self.Psi[:, list(self.alpha)] @ w)
        e = expit(BETA * w[1:])
        D = np.append(0, BETA**2 * e * (1 - e))
        B = sigma * (1 - sigma)
        return Psi.T @ (B[:, None] * Psi) + np.diag(list(self.alpha.values())) + np.diag(D)

    def settle(self):
        """Find the mode by a general optimiser; return Laplace's evidence."""
        found = minimize(
            lambda w: -self.objective(w),
            np.ones(len(self.alpha)),
            jac=lambda w: -self.gradient(w),
            hess=self.hessian,
            method="trust-exact",
            options={"gtol": 1e-9, "maxiter": 1000},
        )
        self.w = found.x + np.linalg.solve(self.hessian(found.x), self.gradient(found.x))
        Psi, alpha = self.Psi[:, list(self.alpha)], np.array(list(self.alpha.values()))
        likelihood = log_expit(self.y * (Psi @ self.w)).sum()
        determinants = np.log(alpha).sum() - np.linalg.slogdet(self.hessian(self.w))[1]
        return likelihood - alpha @ self.w**2 / 2 + determinants / 2

    def expansion(self, members, j):
        """The quadratic model of some functions at w, in which j has no truncation.

        The logistic terms and the truncation of all other weights are replaced by their second
        order expansions. Returns Psi, B, the gradient of the likelihood plus B f, the linear
        term of the weights, and minus the Hessian but for the precisions.
        """
        w = dict(zip(self.alpha, self.w, strict=True))
        now = np.array([w.get(i, 0.0) for i in members])
        f = self.Psi[:, list(self.alpha)] @ self.w
        B = expit(f) * (1 - expit(f))
        pseudo = B * f + (1 + self.y) / 2 - expit(f)
        e = expit(BETA * now)
        truncated = np.array([i not in (0, j) for i in members])
        k, D = BETA * (1 - e) * truncated, BETA**2 * e * (1 - e) * truncated
        Psi = self.Psi[:, members]
        return Psi, B, pseudo, Psi.T @ pseudo + D * now + k, Psi.T @ (B[:, None] * Psi) + np.diag(D)

    def marginal(self, j, alpha_j):
        """Log marginal likelihood of the quadratic model at w, with another precision of j.

        The integral over the weights is Gaussian.
        """
        members = [i for i in self.alpha if i != j] + ([j] if np.isfinite(alpha_j) else [])
        alpha = np.array([alpha_j if i == j else self.alpha[i] for i in members])
        *_, linear, H = self.expansion(members, j)
        H = H + np.diag(alpha)
        quadratic = linear @ np.linalg.solve(H, linear)
        return (np.log(alpha).sum() - np.linalg.slogdet(H)[1] + quadratic) / 2

    def factors(self, j):
        """Return s and q of j with all others in the model, at fixed B."""
        without = [i for i in self.alpha if i != j]
        Psi, B, pseudo, linear, H = self.expansion(without, j)
        psi = self.Psi[:, j]
        Sigma = np.linalg.inv(H + np.diag([self.alpha[i] for i in without]))
        crossed = psi @ (B[:, None] * Psi)
        mean = Sigma @ linear
        return psi @ (B * psi) - crossed @ Sigma @ crossed, psi @ pseudo - crossed @ mean

    def actions(self):
        """Return (gain, function, best precision) of all that gain 1e-3, the best first."""
        found = []
        for j in range(self.Psi.shape[1]):
            s, q = self.factors(j)
            best = s**2 / (q**2 - s) if q**2 > s and (q > 0 or j == 0) else np.inf
            now = self.alpha.get(j, np.inf)
            if (j == 0 and np.isinf(best)) or (np.isinf(best) and np.isinf(now)):
                continue
            gain = self.marginal(j, best) - self.marginal(j, now)
            if gain >= 1e-3:
                found.append((gain, j, best))
        return sorted(found, key=lambda action: -action[0])

    def act(self, j, alpha):
        before = dict(self.alpha), self.w, self.evidence
        if np.isinf(alpha):
            del self.alpha[j]
        else:
            self.alpha[j] = alpha
        self.evidence = self.settle()
        if self.evidence <= before[2]:
            self.alpha, self.w, self.evidence = before
            return False
        return True

    def grow(self):
        """Return the number of actions tried, and what the kept ones were."""
        tried, kinds = 0, []
        while True:
            for _, j, alpha in self.actions():
                tried += 1
                kind = "delete" if np.isinf(alpha) else "again" if j in self.alpha else "add"
                if self.act(j, alpha):
                    kinds.append(kind)
                    break
            else:
                return tried, kinds


def chosen(case, basis):
    """Return Z, signs, y, the rows of the basis, and the classes that are fitted."""
    Z, signs, y = problem(**MIXTURES[case])
    rows = np.arange(len(y)) if basis == "all" else np.arange(0, len(y), 3)
    n_classes = MIXTURES[case]["n_classes"]
    return Z, signs, y, rows, [1] if n_classes == 2 else range(n_classes)


def solved(Z, signs, y, rows=None):
    """Return what is found with basis functions at some rows, or at all."""
    learner = EPCVMLearner({"basis": "all" if rows is None else "landmarks"})
    found = sparse_functions(learner, problem_of(Z, signs, y, basis=rows))
    assert found.converged.all()
    return found


def decisions_of(found, Z):
    return Z @ found.coef + found.intercept


@pytest.mark.parametrize("case", MIXTURES)
@pytest.mark.parametrize("basis", ["landmarks", "all"])
def test_whole_runs_equal_the_definitions(case, basis):
    Z, signs, y, rows, classes = chosen(case, basis)
    found = solved(Z, signs, y, None if basis == "all" else rows)
    decisions = decisions_of(found, Z)
    kinds = set()
    for i, c in enumerate(classes):
        dense = Dense(kernel(Z, signs), y == c, rows)
        tried, own = dense.grow()
        kinds.update(own)
        members = np.array(list(dense.alpha))
        assert found.n_iter[i] == tried
        np.testing.assert_array_equal(found.active[i], rows[members[1:] - 1])
        np.testing.assert_allclose(found.weights[i], dense.w[1:], rtol=1e-7)
        expected = dense.Psi[:, members] @ dense.w
        np.testing.assert_allclose(decisions[:, i], expected, rtol=1e-7, atol=1e-7)
    if (case, basis) == ("unbalanced", "all"):
        assert kinds == {"add", "delete", "again"}


def test_mode_is_found_from_far_away():
    rng = np.random.default_rng(4)
    psi = np.column_stack([np.ones(50), rng.normal(size=(50, 3))])
    alpha = np.array([1.0, 1e-8, 1e-4, 10.0])
    for noise in (0.0, 1.0):  # separable labels, and others, where whole steps diverge
        y = np.where(psi[:, 1] + noise * rng.normal(size=50) > 0, 1.0, -1.0)
        starts = [np.zeros(4), *(300.0 * rng.normal(size=(5, 4)))]
        modes = [_Point.mode(psi, y, alpha, start) for start in starts]
        for mode in modes:
            np.testing.assert_allclose(mode.w, modes[0].w, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(mode.gradient, 0.0, atol=1e-10)


def test_factor_that_is_all_rounding_error_is_zero():
    Z, signs, y = problem()
    Z[1], y[1] = Z[0], y[0]
    start = _SparseModel.start(_Basis.of(Z, Z[:2] * signs, np.arange(2)), 2.0 * y - 1.0)
    column = start.targets[1] * start.basis.column(1)
    psi, alpha = np.column_stack([np.ones(len(y)), column]), np.array([1.0, 1e-14])
    mode = _Point.mode(psi, start.y, alpha, np.zeros(2))
    machine = replace(start, members=np.array([0, 1]), mode=mode)
    s, _ = machine.factors()  # of a copy: 1/(1/1e-14 + 1/s)
    assert s[2] == 0.0
    assert s[1] > 1e-3
    best, gains = machine.actions()
    assert np.isinf(best[2])
    assert gains[2] == 0.0


def test_best_precisions_maximise_the_marginal_likelihood():
    Z, signs, y, rows, _ = chosen("unbalanced", "all")
    dense = Dense(kernel(Z, signs), y == 1, rows)
    for _ in range(7):
        actions = dense.actions()
        for _, j, best in actions:
            around = np.append(np.geomspace(1e-6, 1e6, 25), best * np.array([0.99, 1.01]))
            others = [dense.marginal(j, alpha) for alpha in around[np.isfinite(around)]]
            # What the likelihood would like is forbidden to a weight that is not positive.
            assert dense.factors(j)[1] <= 0 or dense.marginal(j, best) >= max(others) - 1e-10
        dense.act(*actions[0][1:])


def test_columns_and_products_are_the_same_over_more_rows_than_a_tile():
    Z, signs, _ = problem(n=5000, r=6, n_classes=3)
    # four times the rank are held as columns, one more are not
    columns, products = (_Basis.of(Z, Z[:n] * signs, np.arange(n)) for n in (24, 25))
    assert columns.right is None
    assert products.right is not None
    rng = np.random.default_rng(0)
    X, B = rng.normal(size=(5000, 2)), rng.uniform(size=5000)
    psi = kernel(Z, signs)[:, :24]
    psi = np.hstack([np.ones((5000, 1)), psi / np.linalg.norm(psi, axis=0)])
    for basis in (columns, products):
        np.testing.assert_allclose(basis.project(X)[:25], psi.T @ X, atol=1e-11)
        np.testing.assert_allclose(basis.squares(B)[:25], (psi**2).T @ B, rtol=1e-11)
        np.testing.assert_allclose(basis.column(7), psi[:, 7], atol=1e-13)
        np.testing.assert_array_equal(basis.column(0), 1.0)


def test_probabilities_are_those_of_logistic_regression():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    Z = rng.normal(size=(3000, 2)) + np.array([[-0.8, -0.4], [0.8, 0.4]])[y]
    probabilities = expit(decisions_of(solved(Z, np.ones(2), y, np.arange(20)), Z)[:, 0])
    other = LogisticRegression(C=1e9).fit(Z, y).predict_proba(Z)[:, 1]
    assert np.abs(probabilities - other).max() < 0.02  # the prior shrinks a little


def test_dependent_columns_and_copies_of_basis_functions_change_nothing():
    Z, signs, y = problem(n_classes=3)
    rows, labels = np.arange(len(y)), np.append(y, y)
    plain = solved(np.vstack([Z, Z]), signs, labels, rows)
    wide, more = np.hstack([Z, 0.5 * Z[:, :2]]), np.append(signs, signs[:2])
    wide[:, :2] *= np.sqrt(0.75)
    copies = solved(np.vstack([wide, wide]), more, labels)
    np.testing.assert_allclose(kernel(wide, more), kernel(Z, signs), atol=1e-12)
    for one, two in zip(plain.active, copies.active, strict=True):
        np.testing.assert_array_equal(two % len(y), one)
    np.testing.assert_array_equal(copies.n_iter, plain.n_iter)
    np.testing.assert_allclose(
        decisions_of(copies, wide), decisions_of(plain, Z), rtol=1e-6, atol=1e-6
    )


def test_functions_that_are_zero_are_left_out():
    Z, signs, y = problem(n_classes=3)
    wide, labels = np.vstack([Z, np.zeros((6, Z.shape[1]))]), np.append(y, [0, 1, 2, 0, 1, 2])
    everything, proper = (solved(wide, signs, labels, rows) for rows in (None, np.arange(len(y))))
    np.testing.assert_array_equal(everything.coef, proper.coef)
