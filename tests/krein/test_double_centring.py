import numpy as np
import pytest

from kreinflow.krein.correction import embed
from kreinflow.krein.double_centring import LandmarkCentring, double_centre_factor
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")

P, Q, N = 5, 3, 50


@pytest.fixture(name="D")
def dissimilarities():
    """Squared pseudo-Euclidean dissimilarities of signature (5, 3)."""
    X = np.random.default_rng(1).standard_normal((N + 12, P + Q)) + 2.0
    K = (X * np.repeat([1.0, -1.0], [P, Q])) @ X.T
    return np.diag(K)[:, None] + np.diag(K) - 2 * K


def centred(D, n=N):
    J = np.eye(n) - 1 / n
    return -J @ D[:n, :n] @ J / 2


def cross(D, n=N):
    """Dense similarities of the new rows with the training rows, origin at the training mean."""
    new, train = D[n:, :n], D[:n, :n]
    return -(new - new.mean(axis=1)[:, None] - train.mean(axis=0) + train.mean()) / 2


def centred_factor(D, m, **options):
    centring = LandmarkCentring.fit(D[:m, :m])
    C = centring.columns(D[:, :m])
    factor = KreinFactor.fit(
        C[:N], C[:m], centring.self_similarities(D[:N, :m]), centre=True, **options
    )
    return factor, factor.transform(C[:N]), factor.transform(C[N:])


@pytest.mark.parametrize("m", [P + Q + 1, 20])
def test_landmark_centring_is_exact_from_p_plus_q_plus_1_landmarks(D, m):
    factor, Z, Z_new = centred_factor(D, m, rank=1.0)
    S = centred(D)
    assert factor.rank == P + Q
    np.testing.assert_allclose((Z * factor.signs) @ Z.T, S, atol=1e-8)
    np.testing.assert_allclose((Z_new * factor.signs) @ Z.T, cross(D), atol=1e-8)
    pairs = eigenpairs(Z, factor.signs)
    assert pairs.signature == (P, Q, N - P - Q)
    factor, Z, _ = centred_factor(D, P + Q, rank=1.0)
    assert np.abs((Z * factor.signs) @ Z.T - S).max() > 1e-3, "one landmark fewer is not enough"


def test_landmark_similarities_and_diagonal_are_exact(D):
    """Against a double centring written with the projector on the landmark mean."""
    m, n = 11, len(D)
    J = np.eye(n) - np.outer(np.ones(n), (np.arange(n) < m) / m)
    S = -J @ D @ J.T / 2
    centring = LandmarkCentring.fit(D[:m, :m])
    np.testing.assert_allclose(centring.columns(D[:, :m]), S[:, :m], atol=1e-12)
    np.testing.assert_allclose(centring.self_similarities(D[:, :m]), np.diag(S), atol=1e-12)


def test_centring_does_not_follow_the_memory_layout(D):
    centring = LandmarkCentring.fit(D[:9, :9])
    columns = D[:, :9]
    for layout in (np.asfortranarray(columns), np.ascontiguousarray(columns)):
        assert np.array_equal(centring.columns(layout), centring.columns(columns))
        assert np.array_equal(centring.columns(layout[17:18]), centring.columns(columns)[17:18])


@pytest.mark.parametrize("m", [P + Q + 2, 25])
def test_double_centring_equals_the_dense_one(D, m):
    factor = KreinFactor.fit(D[:N, :m], D[:m, :m], np.zeros(N), rank=1.0, centre=True)
    assert factor.rank == P + Q + 2
    S = double_centre_factor(factor)
    Z, Z_new = S.transform(D[:N, :m]), S.transform(D[N:, :m])
    np.testing.assert_allclose((Z * S.signs) @ Z.T, centred(D), atol=1e-7)
    np.testing.assert_allclose((Z_new * S.signs) @ Z.T, cross(D), atol=1e-7)
    pairs = eigenpairs(Z, S.signs)  # two zero eigenvalues and a singular R
    reference = np.linalg.eigvalsh(centred(D))[::-1]
    np.testing.assert_allclose(
        pairs.values, reference[np.abs(reference) > 1e-8], atol=1e-8 * reference.max()
    )


def test_double_centring_is_that_of_the_approximation_when_it_is_not_exact(D):
    noisy = D + np.abs(np.random.default_rng(2).standard_normal(D.shape))
    noisy = np.triu(noisy, 1) + np.triu(noisy, 1).T
    factor = KreinFactor.fit(noisy[:N, :20], noisy[:20, :20], np.zeros(N), rank=9, centre=True)
    plain = KreinFactor.fit(noisy[:N, :20], noisy[:20, :20], np.zeros(N), rank=9)
    Z = plain.transform(noisy[:N, :20])
    J = np.eye(N) - 1 / N
    S = double_centre_factor(factor)
    Z_S = S.transform(noisy[:N, :20])
    expected = -J @ ((Z * plain.signs) @ Z.T) @ J / 2
    np.testing.assert_allclose((Z_S * S.signs) @ Z_S.T, expected, atol=1e-11)


def test_positive_part_is_landmark_mds(D):
    """Against the formula of de Silva and Tenenbaum, up to signs of the axes."""
    m = 15
    centring = LandmarkCentring.fit(D[:m, :m])
    C = centring.columns(D[:, :m])
    factor = KreinFactor.fit(C, C[:m], centring.self_similarities(D[:, :m]), rank=1.0)
    ours = embed(factor, eigenpairs(factor.transform(C), factor.signs), "landmark_mds")
    assert ours.signs.tolist() == [1] * P
    J = np.eye(m) - 1 / m
    values, V = np.linalg.eigh(-J @ D[:m, :m] @ J / 2)
    values, V = values[::-1][:P], V[:, ::-1][:, :P]
    theirs = -(D[:, :m] - D[:m, :m].mean(axis=0)) @ (V / np.sqrt(values)) / 2
    np.testing.assert_allclose(
        ours.transform(C) @ ours.transform(C).T, theirs @ theirs.T, atol=1e-10
    )
