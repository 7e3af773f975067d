import numpy as np
import pytest

from krein.made_up import approximation, fit, kernel_of
from kreinflow.base.numerics import TILE
from kreinflow.krein.factor import DegenerateKernelError, KreinFactor
from landmarks.made_up import indefinite_kernel

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


def test_duplicated_landmarks_change_nothing():
    rng = np.random.default_rng(9)
    K = kernel_of(1 / np.arange(1, 41) * rng.choice([-1, 1], 40, p=[0.2, 0.8]), rng)
    (once, Z), (twice, Z2) = (fit(K, np.repeat(np.arange(10), n), rank=1.0) for n in (1, 2))
    assert twice.rank == once.rank == 10
    np.testing.assert_allclose(approximation(twice, Z2), approximation(once, Z), atol=1e-9)


@pytest.mark.parametrize(("m", "rank"), [(12, 1.0), (30, "misfit")])
def test_kernel_is_exact_from_as_many_independent_landmarks_as_its_rank_new_points_too(m, rank):
    K = indefinite_kernel(80, 7, 5, seed=2)
    factor, Z = fit(K[:60, :60], np.arange(m), rank=rank)
    np.testing.assert_allclose(approximation(factor, Z), K[:60, :60], atol=1e-9)
    new = factor.transform(K[60:, :m])
    np.testing.assert_allclose((new * factor.signs) @ Z.T, K[60:, :60], atol=1e-9)
    assert (factor.signs > 0).sum() == 7  # Sylvester: W has the signature of K
    assert (factor.signs < 0).sum() == 5


@pytest.mark.parametrize("rank", ["misfit", 1])
def test_rows_out_of_sample_equal_those_in_sample_bit_for_bit(rank):
    rng = np.random.default_rng(4)
    C = rng.standard_normal((TILE + 900, 23))
    W = rng.standard_normal((23, 23))
    factor = KreinFactor.fit(C, W, np.ones(len(C)), rank=rank, centre=True)
    Z = factor.transform(C)
    for rows in ([0], [5], [TILE - 1, TILE, 3], np.arange(700, 900), rng.permutation(len(C))):
        assert np.array_equal(factor.transform(C[rows]), Z[rows])


def test_badly_conditioned_landmark_matrix_does_not_blow_up():
    rng = np.random.default_rng(8)
    K = kernel_of(np.logspace(0, -18, 90) * rng.choice([-1, 1], 90, p=[0.3, 0.7]), rng)
    factor, Z = fit(K, np.arange(60))
    assert np.linalg.cond(K[:60, :60]) > 1e12
    assert np.isfinite(Z).all()
    relative = np.abs(factor.landmark_eigenvalues / factor.landmark_eigenvalues[0])
    assert factor.rank == (relative > 1e-10).sum() < 60
    assert np.abs(approximation(factor, Z) - K).max() < 1e-7 * np.abs(K).max()


def test_rank_as_number_and_fraction():
    K = indefinite_kernel(50, 8, 4, seed=10)
    assert fit(K, np.arange(20), rank=5)[0].rank == 5
    assert fit(K, np.arange(20), rank=0.5)[0].rank == 6  # half the numerical rank
    assert fit(K, np.arange(20), rank=10**6)[0].rank == 12
    K = kernel_of(1 / np.arange(1, 101) ** 2, np.random.default_rng(7))
    assert fit(K, np.arange(25))[0].rank == 25, "of a positive kernel the misfit keeps all"


def test_centring_uses_the_training_mean():
    K = indefinite_kernel(50, 6, 2, seed=11)
    factor, Z = fit(K, np.arange(20), centre=True)
    plain, Z_plain = fit(K, np.arange(20))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z, Z_plain - Z_plain.mean(axis=0), atol=1e-12)
    assert not plain.offset.any()
    np.testing.assert_allclose(factor.offset, Z_plain.mean(axis=0), atol=1e-12)


def test_zero_landmark_matrix_is_refused():
    with pytest.raises(DegenerateKernelError, match="all scores among the 3 landmarks are zero"):
        KreinFactor.fit(np.ones((5, 3)), np.zeros((3, 3)), np.ones(5))


def test_misfits_equal_the_dense_ones():
    rng = np.random.default_rng(6)
    K = kernel_of(rng.choice([-1, 1], 120) / np.arange(1, 121), rng)
    factor, _ = fit(K, np.arange(30))
    assert sorted(factor.misfits) == [10, 15, 20, 27, 30]
    for rank, misfit in factor.misfits.items():
        fixed, Z = fit(K, np.arange(30), rank=rank)
        dense = np.abs(np.diag(approximation(fixed, Z) - K)).sum() / np.abs(np.diag(K)).sum()
        assert misfit == pytest.approx(dense, rel=1e-9)
        assert fixed.misfit == pytest.approx(dense, rel=1e-9)
    assert factor.misfit == min(factor.misfits.values())
    assert factor.rank == min(factor.misfits, key=factor.misfits.get)


def test_misfit_tames_the_blow_up_of_an_indefinite_spectrum():
    """Spectrum 1/k, random signs, m = 100: untruncated, the median relative error is large."""
    full, chosen = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        K = kernel_of(rng.choice([-1, 1], 300) / np.arange(1, 301), rng)
        landmarks = rng.choice(300, 100, replace=False)
        for errors, rank in ((full, 1.0), (chosen, "misfit")):
            factor, Z = fit(K, landmarks, rank=rank)
            errors.append(np.linalg.norm(approximation(factor, Z) - K) / np.linalg.norm(K))
    assert np.median(full) > 0.5
    assert np.median(chosen) < 0.25
    assert max(chosen) < 0.4


def test_poor_factor_warns_and_says_what_to_do():
    K = np.eye(200)
    with pytest.warns(UserWarning, match=r"misses 9\d% of the self-scores.*more landmarks"):
        fit(K, np.arange(10))
