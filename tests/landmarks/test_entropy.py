import numpy as np
import pytest

from kreinflow.landmarks.entropy import RenyiEntropy, swap_for_entropy
from landmarks.made_up import flip, indefinite_kernel, keys_of, sketch_of


def brute_force(K, chosen):
    return -np.log(np.mean([[K[i, j] for j in chosen] for i in chosen]))


@pytest.fixture(name="gaussians")
def gaussian_kernel():
    X = np.random.default_rng(0).standard_normal((60, 2))
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2))


def test_it_rises_with_every_swap_and_is_the_value_by_brute_force(gaussians):
    chosen, entropies = swap_for_entropy(gaussians, 8, keys_of(60))
    assert len(entropies) > 10
    assert (np.diff(entropies) > 0).all()
    assert entropies[0] == pytest.approx(brute_force(gaussians, range(8)), rel=1e-12)
    assert entropies[-1] == pytest.approx(brute_force(gaussians, chosen), rel=1e-12)
    assert len(set(chosen.tolist())) == 8


def test_it_comes_near_the_best_of_all_subsets(gaussians):
    from itertools import combinations

    K = gaussians[:12, :12]
    best = max(brute_force(K, chosen) for chosen in combinations(range(12), 4))
    reached = [swap_for_entropy(K, 4, keys_of(12, seed=s))[1][-1] for s in range(10)]
    start = brute_force(K, range(4))
    assert max(reached) == pytest.approx(best)
    assert np.mean(reached) > best - 0.2 * (best - start)


def test_the_kernel_is_flipped_where_it_is_indefinite():
    K = indefinite_kernel(40, 6, 5, seed=2)
    sketch, keys = sketch_of(K), keys_of(40)
    chosen = RenyiEntropy({"budget": 6}).choose(sketch, 6, keys)
    H = flip(K)[np.ix_(sketch.drawn, sketch.drawn)]
    expected, entropies = swap_for_entropy(H, 6, keys[sketch.drawn])
    assert chosen.tolist() == sketch.drawn[expected].tolist()
    assert np.isfinite(entropies).all()


def test_rows_of_the_sketch_are_taken_and_others_only_if_they_do_not_suffice():
    sketch = sketch_of(indefinite_kernel(40, 6, 5), 15)
    selector = RenyiEntropy({"budget": 5})
    assert set(selector.choose(sketch, 10, keys_of(40))) <= set(sketch.drawn)
    assert selector.choose(sketch, 20, keys_of(40)).tolist() == sketch.order[:20].tolist()
