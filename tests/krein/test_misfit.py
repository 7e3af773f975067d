import numpy as np
import pytest

from krein.made_up import approximation, fit, kernel_of

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


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


def test_misfit_keeps_all_of_a_psd_kernel():
    rng = np.random.default_rng(7)
    K = kernel_of(1 / np.arange(1, 101) ** 2, rng)
    factor, _ = fit(K, np.arange(25))
    assert factor.rank == 25


def test_poor_factor_warns_and_says_what_to_do():
    K = np.eye(200)
    with pytest.warns(UserWarning, match=r"misses 9\d% of the self-scores.*more landmarks"):
        fit(K, np.arange(10))
