import tracemalloc

import numpy as np
import pytest
import scipy.linalg

from kreinflow.krein import eigen
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import DegenerateKernelError


def dense(Z, signs):
    return (Z * signs) @ Z.T


def check_against_dense(Z, signs):
    """Eigenvalues, orthonormality and the matrix rebuilt, against scipy's eigh of K~."""
    pairs = eigenpairs(Z, signs)
    K = dense(Z, signs)
    reference = scipy.linalg.eigvalsh(K)[::-1]
    scale = np.abs(reference).max()
    reference = reference[np.abs(reference) > 1e-10 * scale]
    assert len(pairs.values) == len(reference)
    np.testing.assert_allclose(pairs.values, reference, atol=1e-12 * scale)
    C_e = Z @ pairs.map
    np.testing.assert_allclose(C_e.T @ C_e, np.eye(len(reference)), atol=1e-9)
    np.testing.assert_allclose((C_e * pairs.values) @ C_e.T, K, atol=1e-12 * scale)
    np.testing.assert_allclose(K @ C_e, C_e * pairs.values, atol=1e-11 * scale)
    # Scores of new with training objects survive the map.
    new = np.random.default_rng(0).standard_normal((6, Z.shape[1]))
    mapped = (new @ pairs.map * pairs.values) @ C_e.T
    np.testing.assert_allclose(mapped, (new * signs) @ Z.T, atol=1e-11)
    return pairs


def signs_of(r):
    return np.where(np.arange(r) % 3 == 1, -1.0, 1.0)


def test_eigenpairs_equal_the_dense_ones_over_tiles(monkeypatch):
    monkeypatch.setattr("kreinflow.base.numerics.TILE", 64)
    Z = np.random.default_rng(1).standard_normal((90, 12))
    pairs = check_against_dense(Z, signs_of(12))
    assert pairs.signature == (8, 4, 78)
    a = np.linalg.eigvalsh(dense(Z, signs_of(12)))
    assert pairs.negative_fraction == pytest.approx(np.abs(a[a < -1e-9]).sum() / np.abs(a).sum())
    scaled = eigenpairs(Z / 100, signs_of(12))
    assert scaled.negative_fraction == pytest.approx(pairs.negative_fraction)


def test_the_condition_is_about_that_of_the_inverse():
    R = np.triu(np.random.default_rng(3).standard_normal((20, 20))) + 5 * np.eye(20)
    assert eigen._condition(R) == pytest.approx(np.linalg.cond(R, 1), rel=0.4)


def lost_a_dimension(rng):
    Z = rng.standard_normal((10, 10))
    return Z - Z.mean(axis=0)


def zero_column(rng):
    return rng.standard_normal((30, 6)) * (np.arange(6) != 2)


@pytest.mark.parametrize(
    ("make", "rank"),
    [
        (lambda rng: rng.standard_normal((9, 14)), 9),  # fewer rows than columns
        (lost_a_dimension, 9),  # by centring
        (lambda rng: rng.standard_normal((70, 5)) @ rng.standard_normal((5, 11)), 5),
        (zero_column, 5),
        (lambda rng: rng.standard_normal((50, 8)) * np.logspace(0, -4, 8), 8),  # badly scaled
    ],
)
def test_degenerate_rows(make, rank):
    Z = make(np.random.default_rng(2))
    assert len(check_against_dense(Z, signs_of(Z.shape[1])).values) == rank


def test_pairs_of_opposite_eigenvalues_do_not_mix():
    rng = np.random.default_rng(7)
    Q = np.linalg.qr(rng.standard_normal((40, 4)))[0]
    a = np.array([3.0, -3.0, 2.0, -2.0])
    mix = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    K = (Q * a) @ Q.T
    # Any factor with Z diag(s) Z' = K: landmarks that are rotations of the eigenvectors.
    values, U = np.linalg.eigh(mix.T @ np.diag(a) @ mix)
    Z, signs = Q @ np.diag(a) @ mix @ U / np.sqrt(np.abs(values)), np.sign(values)
    np.testing.assert_allclose(dense(Z, signs), K, atol=1e-13)
    pairs = check_against_dense(Z, signs)
    np.testing.assert_allclose(pairs.values, [3, 2, -2, -3], atol=1e-13)
    C_e = Z @ pairs.map
    flipped = (C_e * np.abs(pairs.values)) @ C_e.T
    np.testing.assert_allclose(flipped, (Q * np.abs(a)) @ Q.T, atol=1e-13)


@pytest.mark.parametrize("condition", [1e6, 3e7, 1e9])
def test_rows_of_any_condition_in_the_memory_of_a_tile(condition, monkeypatch):
    """Beyond the limit of CholeskyQR2 too: nothing as large as N x N, or even as Z, is made."""
    monkeypatch.setattr("kreinflow.base.numerics.TILE", 256)
    n, r = 20_000, 12
    rng = np.random.default_rng(10)
    U = np.linalg.qr(rng.standard_normal((n, r)))[0]
    V = np.linalg.qr(rng.standard_normal((r, r)))[0]
    Z = (U * np.geomspace(1, 1 / condition, r)) @ V.T
    assert np.linalg.cond(Z) == pytest.approx(condition, rel=1e-2)
    assert (eigen._cholesky_qr2(Z) is None) == (condition > 1e7)
    eigenpairs(Z[:300], signs_of(r))  # what is loaded at first use
    tracemalloc.start()
    pairs = eigenpairs(Z, signs_of(r))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < Z.nbytes / 4
    C_e, Q = Z @ pairs.map, Z @ np.linalg.inv(pairs.triangle)
    np.testing.assert_allclose(C_e.T @ C_e, np.eye(len(pairs.values)), atol=1e-13 * condition)
    np.testing.assert_allclose(Q.T @ Q, np.eye(r), atol=1e-13 * condition)
    rebuilt = (pairs.map * pairs.values) @ pairs.map.T
    np.testing.assert_allclose(Z @ rebuilt @ Z.T[:, :50], Z * signs_of(r) @ Z[:50].T, atol=1e-11)


def test_zero_rows_are_refused():
    with pytest.raises(DegenerateKernelError, match="the kernel is zero"):
        eigenpairs(np.zeros((4, 2)), np.ones(2))
