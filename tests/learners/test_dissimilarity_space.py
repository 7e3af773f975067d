"""The dissimilarity space: dense solutions of its machines, and what must not matter."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.svm import LinearSVC

from krein_problems import learned
from kreinflow.base import numerics
from kreinflow.base.errors import InputError
from kreinflow.kernels import products
from kreinflow.kernels.products import ELMKernel
from kreinflow.learners import cvm
from kreinflow.learners.decisions import ELMDecision


def machine(kernel, penalty, D, y):
    settings = {"method": "dissimilarity_space", "kernel": kernel, "penalty": penalty}
    return learned(settings, D, np.ones(D.shape[1]), y)


def board(n=200, m=15, n_classes=2, seed=0):
    """Squared distances from landmarks of points on a board with alternating labels."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, size=(n, 2))
    y = np.floor(X).astype(int).sum(axis=1) % n_classes
    return ((X[:, None] - X[:m]) ** 2).sum(axis=2), y


def standardised(D, new):
    return (new - D.mean(axis=0)) / D.std(axis=0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_is_the_machine_of_scikit_learn_on_standardised_features(n_classes):
    D, y = board(n_classes=n_classes)
    X = standardised(D, D) / np.sqrt(D.shape[1])  # a mean diagonal of 1
    ours = machine("linear", 10.0, D, y).decision.decide(D)
    theirs = LinearSVC(C=5.0, dual=False, tol=1e-10, max_iter=100000).fit(X, y)
    expected = theirs.decision_function(X)
    if n_classes == 2:
        expected = np.column_stack([-expected, expected])
    np.testing.assert_allclose(ours, expected, atol=2e-3)


def dense_machine(K, positive, penalty):
    """The betas of min beta'Q beta/2 - sum beta, beta >= 0, by non-negative least squares."""
    t = np.where(positive, 1.0, -1.0)
    L = np.linalg.cholesky((K + 1) * np.outer(t, t) + np.eye(len(t)) / penalty)
    betas, _ = nnls(L.T, np.linalg.solve(L, np.ones(len(t))), maxiter=10000)
    return t * betas


@pytest.mark.parametrize("n_classes", [2, 3])
def test_elm_is_the_dense_solution_of_its_kernel(n_classes):
    D, y = board(n_classes=n_classes)
    new = board(seed=1)[0]
    X, X_new = standardised(D, D), standardised(D, new)
    kernel = ELMKernel({})
    K, k = kernel.columns(X, X), kernel.columns(X_new, X)
    decision = machine("elm", 10.0, D, y).decision
    decisions = decision.decide(new)
    for c in range(n_classes):
        a = dense_machine(K, y == c, 10.0)
        np.testing.assert_allclose(decisions[:, c], k @ a + a.sum(), atol=5e-3)
    assert isinstance(decision, ELMDecision)
    assert len(decision.support) < len(y)


def test_no_block_of_the_elm_kernel_is_larger_than_a_tile(monkeypatch):
    D, y = board(n=300, n_classes=3)
    whole = machine("elm", 10.0, D, y).decision
    shapes, real = set(), products.elm_kernel

    def recording(X, Y):
        shapes.add((len(X), len(Y)))
        return real(X, Y)

    monkeypatch.setattr(numerics, "TILE", 64)
    monkeypatch.setattr(products, "elm_kernel", recording)
    monkeypatch.setattr(cvm, "elm_kernel", recording)
    tiled = machine("elm", 10.0, D, y).decision
    assert len(tiled.support) > 128
    assert max(map(max, shapes)) == 64
    np.testing.assert_allclose(tiled.decide(D), whole.decide(D), atol=1e-6)


def test_constant_features_tell_nothing():
    D, y = board()
    constant = np.hstack([D, np.full((len(D), 1), 3.0)])
    one = machine("elm", 1.0, D, y).decision.decide(D)
    other = machine("elm", 1.0, constant, y).decision.decide(constant)
    np.testing.assert_allclose(one, other, atol=1e-6)
    with pytest.raises(InputError, match="all training rows are zero"):
        machine("linear", 1.0, np.ones_like(D), y)
