"""The full iKFD and PCVM are Ny-iKFD and Ny-PCVM with every training point a landmark.

So the papers' dense formulas on the N x N indefinite kernel are the oracles, new points included.
"""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from kreinflow.krein.correction import CORRECTIONS, embed
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor
from kreinflow.learners.fisher import NystroemFisher
from kreinflow.learners.pcvm import NystroemPCVM


def kernel_of(negative, rank, n=70, n_new=20, seed=0):
    """K of training points, k of new ones with them, and labels in three classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = 0.8 * rng.normal(size=(n + n_new, rank))
    X[:n] += rng.normal(size=(3, rank))[y]
    signs = np.where(np.arange(rank) < negative, -1.0, 1.0)
    K = (X * signs) @ X.T
    return K[:n, :n], K[n:, :n], y


def embedding_of(K, correction="none"):
    """The embedding of the whole kernel: all points are landmarks, nothing is cut off."""
    factor = KreinFactor.fit(K, K, np.diag(K).copy(), rank=1.0)
    return embed(factor, eigenpairs(factor.transform(K), factor.signs), correction)


def dense_fisher(K, k, positive):
    """schleif2018 2.3 (Haasdonk, Pekalska 2008): alpha = pinv(within) (mu+ - mu-)."""
    plus, minus = K[positive], K[~positive]
    means = plus.mean(axis=0), minus.mean(axis=0)
    within = np.cov(plus.T, bias=True) + np.cov(minus.T, bias=True)
    alpha = np.linalg.pinv(within, rcond=1e-10, hermitian=True) @ (means[0] - means[1])
    return k @ alpha - alpha @ (means[0] + means[1]) / 2


# Of rank 40 the scatter is regular; of rank 90 the kernel has the rank of its 70 points, and the
# pseudo-inverse of the paper decides.
@pytest.mark.parametrize(("rank", "singular"), [(40, False), (90, True)])
@pytest.mark.parametrize("negative", [0, 15])
def test_ikfd_is_the_dense_recipe_on_the_indefinite_kernel(rank, singular, negative):
    K, k, y = kernel_of(negative, rank)
    assert (np.linalg.eigvalsh(K).min() < -1) == (negative > 0)
    embedding = embedding_of(K)
    fisher = NystroemFisher().fit(embedding.transform(K), embedding.signs, y, 3)
    assert fisher.singular_ == singular
    ours = fisher.decision_function(embedding.transform(k))
    for c in range(3):
        expected = dense_fisher(K, k, y == c)
        np.testing.assert_allclose(ours[:, c], expected, atol=1e-8 * np.ptp(expected))


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_ikfd_is_linear_discriminant_analysis_on_the_embedding(correction):
    """Of two classes of equal prior: twice the function of the paper, whose scatter is a sum."""
    K, k, y = kernel_of(negative=15, rank=40)
    y = (y == 0).astype(int)
    embedding = embedding_of(K, correction)
    Z, new = embedding.transform(K), embedding.transform(k)
    fisher = NystroemFisher().fit(Z, embedding.signs, y, 2)
    lda = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.5, 0.5]).fit(Z, y)
    np.testing.assert_allclose(
        2 * fisher.decision_function(new)[:, 1], lda.decision_function(new), rtol=1e-7
    )


def pcvm_after(steps, K, y, n_classes, basis):
    embedding = embedding_of(K)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = NystroemPCVM("landmarks", tol=1e-12, max_iter=steps, accelerate=False).fit(
            embedding.transform(K),
            embedding.signs,
            y,
            n_classes,
            basis_rows=np.asarray(basis),
            self_similarities=np.diag(K).copy(),
        )
    return machine, embedding


SMALL = np.array([[2.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 0.0]])
"""Indefinite, its |k_ii| of mean 1."""


def test_first_steps_of_pcvm_with_one_basis_function_by_hand():
    """The function of the first point is (2, 1, -1), the targets (1, 1, -1), w = 1, b = 1.

    With h = 5 y = (5, 5, -5) and M^2 = 2: w = 2 (2, 1, -1)(4, 4, -6)' / (1 + 2 * 6) = 36/13; then
    with t^2 = 2: b = 2/(1 + 2 * 3) * (5 - 2 * 36/13) = -2/13.
    """
    y = np.array([1, 1, 0])
    machine, embedding = pcvm_after(1, SMALL, y, 2, [0])
    assert machine.weights_[1] == pytest.approx([36 / 13], rel=1e-12)
    assert machine.intercept_[1] == pytest.approx(-2 / 13, rel=1e-12)
    f = np.array([70, 34, -38]) / 13
    np.testing.assert_allclose(
        machine.decision_function(embedding.transform(SMALL))[:, 1], f, rtol=1e-12
    )
    # The second step: h is the mean of a unit Gaussian about f on the side of the target.
    targets = np.array([1, 1, -1])
    h = f + targets * norm.pdf(f) / norm.cdf(targets * f)
    squares = 2 * (36 / 13) ** 2, 2 * (2 / 13) ** 2
    w = squares[0] * (SMALL[0] @ (h + 2 / 13)) / (1 + squares[0] * 6)
    b = squares[1] / (1 + squares[1] * 3) * (h.sum() - 2 * w)
    machine, _ = pcvm_after(2, SMALL, y, 2, [0])
    assert machine.weights_[1] == pytest.approx([w], rel=1e-10)
    assert machine.intercept_[1] == pytest.approx(b, rel=1e-10)


def test_a_step_of_full_pcvm_by_equations_5_and_6():
    """All functions of four points; those whose weights come out negative leave, at the same h."""
    K = np.array([[1, 1, -1, -1], [1, 1, -1, -2], [-1, -1, 0, -1], [-1, -2, -1, -2]], dtype=float)
    y = np.array([1, 1, 0, 0])
    targets = np.array([1.0, 1.0, -1.0, -1.0])
    Phi, h, M = K * targets, 5 * targets, np.sqrt(2) * np.eye(4)
    rest = np.arange(4)
    while True:
        F, D = Phi[:, rest], M[np.ix_(rest, rest)]
        inverse = np.linalg.inv(D @ F.T @ F @ D + np.eye(len(rest)))
        w = D @ inverse @ D @ (F.T @ h - 1.0 * F.T @ np.ones(4))
        if (w > 0).all():
            break
        rest = rest[w > 0]
    assert len(rest) == 2
    t = np.sqrt(2)
    b = t / (1 + t * 4 * t) * t * (h.sum() - (F @ w).sum())
    machine, _ = pcvm_after(1, K, y, 2, range(4))
    np.testing.assert_array_equal(machine.active_[1], rest)
    np.testing.assert_allclose(machine.weights_[1], w, rtol=1e-12)
    assert machine.intercept_[1] == pytest.approx(b, rel=1e-12)


def test_objective_of_full_pcvm_rises_between_prunings():
    """sum log Phi(y f) - sum log(w)/2 - log|b|/2, with f from the N x N kernel itself."""
    K, _, y = kernel_of(negative=6, rank=25)
    scaled = K / np.abs(np.diag(K)).mean()
    assert np.linalg.eigvalsh(scaled).min() < -1
    last, compared = {}, 0
    for steps in range(1, 40):
        machine, _ = pcvm_after(steps, K, y, 3, range(len(K)))
        for c in range(3):
            w, active, b = machine.weights_[c], machine.active_[c], machine.intercept_[c]
            if b == 0:
                continue
            targets = np.where(y == c, 1, -1)
            f = scaled[:, active] @ (targets[active] * w) + b
            value = norm.logcdf(targets * f).sum() - np.log(w).sum() / 2 - np.log(abs(b)) / 2
            if c in last and last[c][0] == len(w):
                assert value > last[c][1] - 1e-9
                compared += 1
            last[c] = len(w), value
    assert compared > 30
