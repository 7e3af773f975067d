import numpy as np
import pytest
import scipy.linalg
from sklearn.kernel_approximation import Nystroem

from kreinflow.krein.correction import CORRECTIONS, LANDMARK_COORDINATES, correct, embed
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import DegenerateKernelError, Embedding, KreinFactor
from threads import same_with_threads

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


FORMULAS = {
    "none": lambda a: a,
    "flip": np.abs,
    "clip": lambda a: a * (a > 0),
    "square": np.square,
    "shift": lambda a: a - min(0, a.min()),
}


@pytest.fixture
def example():
    """Training and new columns of an indefinite kernel that the landmarks do not span."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 30)) * np.linspace(2, 0.2, 30)
    K = (X * rng.choice([-1.0, 1.0], 30, p=[0.3, 0.7])) @ X.T
    train, new = K[:70, :20], K[70:, :20]
    factor = KreinFactor.fit(train, K[:20, :20], np.diag(K)[:70].copy(), rank=12)
    return factor, train, new


@pytest.mark.parametrize("method", CORRECTIONS)
@pytest.mark.parametrize("centre", [False, True])
def test_correction_equals_its_dense_form_in_and_out_of_sample(example, method, centre):
    factor, train, new = example
    if centre:
        mean = factor.transform(train).mean(axis=0)
        factor = Embedding(factor.matrix, mean, factor.signs)
    Z, Z_new = factor.transform(train), factor.transform(new)
    K = (Z * factor.signs) @ Z.T
    cross = (Z_new * factor.signs) @ Z.T
    corrected = embed(factor, eigenpairs(Z, factor.signs), method)
    Zs, Zs_new = corrected.transform(train), corrected.transform(new)
    a, V = scipy.linalg.eigh(K)
    kept = np.abs(a) > 1e-10 * np.abs(a).max()
    a, V = a[kept], V[:, kept]
    a_corrected = FORMULAS[method](a)
    scale = np.abs(a_corrected).max()
    np.testing.assert_allclose(
        (Zs * corrected.signs) @ Zs.T, (V * a_corrected) @ V.T, atol=1e-12 * scale
    )
    # A new object: its eigenvector coordinates are k(x)' V / a.
    np.testing.assert_allclose(
        (Zs_new * corrected.signs) @ Zs.T,
        (cross @ V / a * a_corrected) @ V.T,
        atol=1e-11 * scale,
    )
    if method != "none":
        assert (corrected.signs == 1).all()


def test_directions_that_become_zero_are_dropped(example):
    assert correct(np.array([3.0, 1.0, 0.5]), "shift").tolist() == [3.0, 1.0, 0.5]
    factor, train, _ = example
    pairs = eigenpairs(factor.transform(train), factor.signs)
    p, q, _ = pairs.signature
    assert q > 1
    assert embed(factor, pairs, "clip").rank == p
    assert embed(factor, pairs, "shift").rank == p + q - 1


@pytest.mark.parametrize("method", ["clip", "landmark_mds"])
def test_a_negative_kernel_is_refused_where_nothing_is_left_of_it(method):
    C = -np.eye(3)
    factor = KreinFactor.fit(C, C, np.diag(C).copy())
    with pytest.raises(DegenerateKernelError, match=f"'{method}' leaves nothing"):
        embed(factor, eigenpairs(factor.transform(C), factor.signs), method)


def test_flipped_landmark_matrix_is_what_scikit_learn_takes_for_the_kernel(example):
    _, train, new = example
    C = np.vstack([train, new])
    factor = KreinFactor.fit(train, train[:20], np.ones(70), rank=1.0)
    pairs = eigenpairs(factor.transform(train), factor.signs)
    ours = embed(factor, pairs, "flip_landmark_matrix").transform(C)
    sklearn = Nystroem(kernel=lambda i, j: C[int(i[0]), int(j[0])], n_components=20)
    theirs = sklearn.fit(np.arange(20)[:, None]).transform(np.arange(90)[:, None])
    kernel = theirs @ theirs.T
    scale = np.abs(kernel).max()
    np.testing.assert_allclose(ours @ ours.T, kernel, atol=1e-12 * scale)
    flipped = embed(factor, pairs, "flip").transform(C)
    assert np.abs(flipped @ flipped.T - kernel).max() > 0.01 * scale, "not the flipped kernel"


@pytest.mark.parametrize("method", [*CORRECTIONS, *LANDMARK_COORDINATES])
def test_values_of_an_embedding_are_the_eigenvalues_of_its_kernel(example, method):
    factor, train, _ = example
    kept = embed(factor, eigenpairs(factor.transform(train), factor.signs), method)
    Z = kept.transform(train)
    dense = scipy.linalg.eigvalsh((Z * kept.signs) @ Z.T)
    dense = dense[np.abs(dense) > 1e-10 * np.abs(dense).max()]
    np.testing.assert_allclose(np.sort(kept.values), dense, rtol=1e-9)
    assert kept.method == method


def test_landmark_basis_gives_the_coordinates_of_the_landmark_factor(example):
    """oglic2019 2.4: Phi = K_XZ U |D|^(-1/2) S with u = S z; and its kernel is K~."""
    factor, train, new = example
    pairs = eigenpairs(factor.transform(train), factor.signs)
    kept = embed(factor, pairs, "landmark_basis")
    D, U = scipy.linalg.eigh(train[:20])
    order = np.argsort(-np.abs(D))[:12]
    Phi = new @ U[:, order] / np.sqrt(np.abs(D[order])) * np.sign(D[order])
    u = kept.transform(new) * kept.signs
    np.testing.assert_allclose(np.abs(u), np.abs(Phi), atol=1e-11)
    plain = embed(factor, pairs, "none")
    np.testing.assert_allclose(
        (kept.transform(new) * kept.signs) @ kept.transform(train).T,
        (plain.transform(new) * plain.signs) @ plain.transform(train).T,
        atol=1e-10,
    )


def test_same_bytes_whatever_the_number_of_threads():
    rng = np.random.default_rng(2)
    C = rng.standard_normal((5000, 220))
    W = C[:220]

    def flipped():
        factor = KreinFactor.fit(C, W, np.ones(5000), centre=True)
        pairs = eigenpairs(factor.transform(C), factor.signs)
        return embed(factor, pairs, "flip").transform(C).tobytes()

    assert same_with_threads(flipped)
