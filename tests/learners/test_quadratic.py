"""iKQD: the formula on the kernel matrix, scikit-learn, and what must not matter."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from krein_problems import learned, scale_of
from kreinflow.base.errors import InputError
from kreinflow.krein.factor import Embedding
from kreinflow.learners.decisions import QuadraticDecision


def problem(n_classes=3, n=120, r=6, negative=2, seed=0):
    """Rows of a factor; classes differ in their means and covariances, and in size."""
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, size=n, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    shapes = rng.normal(size=(n_classes, r, r)) / np.sqrt(r)
    Z = rng.normal(size=(n_classes, r))[y]
    Z += np.einsum("ij,ijk->ik", rng.normal(size=(n, r)), shapes[y])
    signs = np.where(np.arange(r) < r - negative, 1.0, -1.0)
    return Z, signs, y


def decision(ridge, Z, y):
    """The discriminant of rows Z; the signs of the factor play no part."""
    return learned({"method": "ikqd", "ridge": ridge}, Z, np.ones(Z.shape[1]), y).decision


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_ridge_it_is_the_dense_formula_on_the_indefinite_kernel(n_classes):
    """With centred kernel vectors u = k(x) - mean and S = mean of u u' over a class, f is
    -u'pinv(S)u/2 - log pdet(S)/2 + log share, but for the same constant in all classes."""
    Z, signs, y = problem(n_classes)
    new = np.random.default_rng(9).normal(size=(15, Z.shape[1]))
    K, k = (Z * signs) @ Z.T, (new * signs) @ Z.T
    assert np.linalg.eigvalsh(K).min() < -1
    expected = np.empty((len(new), n_classes))
    for c in range(n_classes):
        mean = K[y == c].mean(axis=0)
        U = K[y == c] - mean
        values, vectors = np.linalg.eigh(U.T @ U / len(U))
        values, vectors = values[-Z.shape[1] :], vectors[:, -Z.shape[1] :]
        distances = (((k - mean) @ vectors) ** 2 / values).sum(axis=1)
        expected[:, c] = -(distances + np.log(values).sum()) / 2 + np.log(len(U) / len(y))
    ours = learned({"method": "ikqd", "ridge": 0.0}, Z, signs, y).decision.decide(new)
    differences, others = ours - ours[:, :1], expected - expected[:, :1]
    np.testing.assert_allclose(differences, others, atol=1e-9 * np.abs(others).max())


class Ridge(BaseEstimator):
    """A covariance for scikit-learn: that of the rows plus a multiple of the identity."""

    def __init__(self, penalty=0.0):
        self.penalty = penalty

    def fit(self, X):
        self.covariance_ = np.cov(X.T, bias=True) + self.penalty * np.eye(X.shape[1])


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_it_is_the_quadratic_discriminant_of_scikit_learn_on_the_rows(ridge):
    Z, _, y = problem()
    theirs = QuadraticDiscriminantAnalysis(
        solver="eigen", tol=1e-9, covariance_estimator=Ridge(ridge * scale_of(Z))
    ).fit(Z, y)
    ours = decision(ridge, Z, y).decide(Z)
    np.testing.assert_allclose(ours, theirs.decision_function(Z), rtol=1e-9)


def test_the_folded_decision_is_that_of_the_embedded_rows():
    Z, _, y = problem()
    rng = np.random.default_rng(3)
    C = rng.normal(size=(50, 9))
    embedding = Embedding(rng.normal(size=(9, 6)), rng.normal(size=6), np.ones(6))
    on_rows = decision(0.1, Z, y)
    _, *arrays = on_rows.to_parts()[1].values()
    folded = QuadraticDecision.folded(embedding, *arrays)
    np.testing.assert_allclose(folded.decide(C), on_rows.decide(embedding.transform(C)), rtol=1e-9)


def test_fewer_rows_than_dimensions_need_a_ridge():
    Z, _, y = problem(n=30, r=25)
    with pytest.raises(InputError, match="covariances of 3 of 3 classes are singular"):
        decision(0.0, Z, y)
    assert np.isfinite(decision(0.1, Z, y).decide(Z)).all()
