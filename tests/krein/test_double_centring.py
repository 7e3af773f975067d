import numpy as np
import pytest

from kreinflow.krein.correction import embed
from kreinflow.krein.double_centring import LandmarkCentring
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


@pytest.mark.parametrize("m", [P + Q, P + Q + 1, 20])
def test_landmark_centring_is_exact_from_p_plus_q_plus_1_landmarks(D, m):
    """Against dense double centring around the training mean, with the new rows."""
    centring = LandmarkCentring.fit(D[:m, :m])
    C = centring.columns(D[:, :m])
    own = centring.self_similarities(D[:N, :m])
    factor = KreinFactor.fit(C[:N], C[:m], own, rank=1.0, centre=True)
    Z = factor.transform(C)
    train = D[:N, :N]
    dense = -(D[:, :N] - D[:, :N].mean(axis=1)[:, None] - train.mean(axis=0) + train.mean()) / 2
    error = np.abs((Z * factor.signs) @ Z[:N].T - dense).max()
    if m == P + Q:
        assert error > 1e-3, "one landmark fewer is not enough"
    else:
        assert error < 1e-8
        assert eigenpairs(Z[:N], factor.signs).signature == (P, Q, N - factor.rank)


def test_landmark_similarities_and_diagonal_are_exact_whatever_the_memory_layout(D):
    """Against a double centring written with the projector on the landmark mean."""
    m, n = 11, len(D)
    J = np.eye(n) - np.outer(np.ones(n), (np.arange(n) < m) / m)
    S = -J @ D @ J.T / 2
    centring = LandmarkCentring.fit(D[:m, :m])
    np.testing.assert_allclose(centring.columns(D[:, :m]), S[:, :m], atol=1e-12)
    np.testing.assert_allclose(centring.self_similarities(D[:, :m]), np.diag(S), atol=1e-12)
    columns = D[:, :m]
    for layout in (np.asfortranarray(columns), np.ascontiguousarray(columns)):
        assert np.array_equal(centring.columns(layout), centring.columns(columns))
        assert np.array_equal(centring.columns(layout[17:18]), centring.columns(columns)[17:18])


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
