"""The factor of an asymmetric kernel against dense formulas on the N x N matrix."""

import numpy as np
import pytest

from kreinflow.base.numerics import TILE
from kreinflow.krein.correction import embed
from kreinflow.krein.eigen import eigenpairs, singular_triplets
from kreinflow.krein.factor import DegenerateKernelError, KreinFactor
from landmarks.made_up import indefinite_kernel

FORMS = ("none", "landmark_basis")

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


def directed(n, rank, seed, decay=0.0):
    """A square matrix of some rank that is far from symmetric."""
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2, n, rank))
    return (left * np.exp(-decay * np.arange(rank))) @ right.T


def fit(K, S, rank=1.0):
    """The factor of a dense matrix, its singular triplets, and both its sides."""
    C, reverse = K[:, S], K[S].T
    factor = KreinFactor.fit(C, C[S], np.diagonal(K).copy(), rank=rank, reverse=reverse)
    Z, Y = factor.transform(C), np.asarray(factor.functions(reverse))
    return factor, singular_triplets(Z, Y), Z, Y


def sides(K, S, form, rank=1.0):
    """Rows of objects and of basis functions of one of the two forms."""
    factor, pairs, *_ = fit(K, S, rank)
    embedding = embed(factor, pairs, form)
    return embedding, embedding.transform(K[:, S]), np.asarray(embedding.functions(K[S].T))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("m", "rank"), [(12, 1.0), (30, "misfit")])
def test_a_matrix_of_rank_m_is_reproduced_and_new_rows_too(form, m, rank):
    K = directed(80, 12, seed=2)
    embedding, Z, Y = sides(K[:60, :60], np.arange(m), form, rank)
    assert embedding.rank == 12
    np.testing.assert_allclose(Z @ Y.T, K[:60, :60], atol=1e-8)
    new = embedding.transform(K[60:, :m])  # rows of the matrix: new object against landmark
    np.testing.assert_allclose(new @ Y.T, K[60:, :60], atol=1e-8)


def test_singular_triplets_are_those_of_the_dense_generalised_nystroem_method():
    K, S = directed(90, 90, seed=3, decay=0.1), np.arange(25)
    _, pairs, Z, Y = fit(K, S)
    dense = K[:, S] @ np.linalg.inv(K[np.ix_(S, S)]) @ K[S]
    U, a, Vt = np.linalg.svd(dense)
    np.testing.assert_allclose(pairs.values, a[:25], rtol=1e-9)
    left, right = Z @ pairs.map, Y @ pairs.dual_map
    np.testing.assert_allclose(left.T @ left, np.eye(25), atol=1e-9)
    np.testing.assert_allclose(right.T @ right, np.eye(25), atol=1e-9)
    np.testing.assert_allclose(np.abs(np.diagonal(U[:, :25].T @ left)), 1, atol=1e-7)
    np.testing.assert_allclose(np.abs(np.diagonal(Vt[:25] @ right)), 1, atol=1e-7)
    np.testing.assert_allclose((left * pairs.values) @ right.T, dense, atol=1e-9)
    assert pairs.signature == (25, 0, 65)
    # Columns and rows of the landmarks are exact, in their own direction.
    np.testing.assert_allclose(Z @ Y[S].T, K[:, S], atol=1e-9)
    np.testing.assert_allclose(Z[S] @ Y.T, K[S], atol=1e-9)
    assert np.abs(K[:, S] - K[S].T).max() > 1


def test_the_svd_form_is_that_of_the_paper():
    """schleif2015epcvm, II-E: eigenvectors of K~ K~', a Nystroem approximation of it, and back."""
    K, S = directed(60, 60, seed=4, decay=0.05), np.arange(10)
    _, pairs, Z, Y = fit(K, S)
    approximated = Z @ Y.T
    squared = approximated @ approximated.T
    again = squared[:, S] @ np.linalg.inv(squared[np.ix_(S, S)]) @ squared[S]  # its landmarks
    values, vectors = np.linalg.eigh(again)
    values, vectors = values[::-1][:10], vectors[:, ::-1][:, :10]
    np.testing.assert_allclose(pairs.values, np.sqrt(values), rtol=1e-4)  # squares cost digits
    np.testing.assert_allclose(np.abs(np.diagonal(vectors.T @ (Z @ pairs.map))), 1, atol=1e-5)


@pytest.mark.parametrize("rank", [1.0, 7, "misfit"])
def test_both_forms_are_one_matrix(rank):
    K, S = directed(50, 50, seed=5, decay=0.2), np.arange(20)
    (svd, Z, Y), (generalised, Z2, Y2) = (sides(K, S, form, rank) for form in FORMS)
    np.testing.assert_allclose(Z @ Y.T, Z2 @ Y2.T, atol=1e-9 * np.abs(K).max())
    np.testing.assert_allclose(svd.values, generalised.values, rtol=1e-9)
    np.testing.assert_allclose(Z.T @ Z, np.diag(svd.values), atol=1e-8 * svd.values[0])
    np.testing.assert_allclose(Y.T @ Y, np.diag(svd.values), atol=1e-8 * svd.values[0])
    assert (svd.signs == 1).all()
    assert svd.same_kernel
    assert generalised.same_kernel


def test_truncation_keeps_the_largest_singular_values_of_the_landmark_matrix():
    K, S = directed(40, 40, seed=6, decay=0.3), np.arange(20)
    factor, _, Z, Y = fit(K, S, rank=6)
    U, values, Vt = np.linalg.svd(K[np.ix_(S, S)])
    np.testing.assert_allclose(factor.landmark_eigenvalues, values, rtol=1e-9, atol=1e-12)
    inverse = (Vt[:6].T / values[:6]) @ U[:, :6].T
    np.testing.assert_allclose(Z @ Y.T, K[:, S] @ inverse @ K[S], atol=1e-10)
    own = np.diagonal(K)
    expected = np.abs(np.diagonal(Z @ Y.T) - own).sum() / np.abs(own).sum()
    assert factor.misfit == pytest.approx(expected, rel=1e-9)


def test_a_symmetric_matrix_gives_what_the_symmetric_factor_gives():
    K, S = indefinite_kernel(60, 9, 6, seed=9), np.arange(40)
    for rank in (1.0, 8, "misfit"):
        factor, pairs, Z, Y = fit(K, S, rank)
        symmetric = KreinFactor.fit(K[:, S], K[np.ix_(S, S)], np.diagonal(K).copy(), rank=rank)
        Z2 = symmetric.transform(K[:, S])
        assert (factor.rank, symmetric.dual) == (symmetric.rank, None)
        assert factor.misfit == pytest.approx(symmetric.misfit, rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(Z @ Y.T, (Z2 * symmetric.signs) @ Z2.T, atol=1e-9)
        values = eigenpairs(Z2, symmetric.signs).values
        np.testing.assert_allclose(pairs.values, np.sort(np.abs(values))[::-1], rtol=1e-8)


@pytest.mark.parametrize(("of", "rank"), [(6, 6), (30, 8)])
def test_fewer_rows_than_landmarks_and_dependent_ones(of, rank):
    K = directed(40, of, seed=11)
    C, reverse = K[:8, :20], K[:20, :8].T  # 8 training rows of 20 landmarks: R is not square
    factor = KreinFactor.fit(C, K[:20, :20], np.diagonal(K)[:8], rank=1.0, reverse=reverse)
    Z, Y = factor.transform(C), np.asarray(factor.functions(reverse))
    pairs = singular_triplets(Z, Y)
    assert factor.rank == min(of, 20)
    np.testing.assert_allclose(Z @ Y.T, K[:8, :8], atol=1e-9)
    left, right = Z @ pairs.map, Y @ pairs.dual_map
    np.testing.assert_allclose((left * pairs.values) @ right.T, Z @ Y.T, atol=1e-9)
    np.testing.assert_allclose(left.T @ left, np.eye(rank), atol=1e-8)


def test_rows_of_basis_functions_do_not_depend_on_other_rows_bit_for_bit():
    rng = np.random.default_rng(13)
    C, reverse = rng.standard_normal((2, TILE + 300, 15))
    factor = KreinFactor.fit(C, rng.standard_normal((15, 15)), np.ones(len(C)), reverse=reverse)
    Y = np.asarray(factor.functions(reverse))
    for rows in ([0], [TILE - 1, TILE, 3], rng.permutation(len(C))):
        assert np.array_equal(np.asarray(factor.functions(reverse[rows])), Y[rows])


def test_what_is_refused():
    K = directed(20, 20, seed=15)
    K[:5, :5] = 0
    with pytest.raises(DegenerateKernelError, match="all scores among the 5 landmarks are zero"):
        fit(K, np.arange(5))
    with pytest.raises(DegenerateKernelError, match="the kernel is zero"):
        singular_triplets(np.zeros((9, 2)), np.ones((9, 2)))
