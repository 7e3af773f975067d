import itertools

import numpy as np
import pytest

from kreinflow.landmarks.kmeans import kmeans_plus_plus, share_budget
from landmarks.made_up import keys_of


def draw(F, count, seed, name):
    return kmeans_plus_plus(F, count, keys_of(len(F), name, seed))


@pytest.mark.parametrize("distinct", [1, 4])
def test_all_rows_are_drawn_and_distinct_points_come_before_their_copies(distinct):
    F = np.repeat(np.arange(distinct)[:, None], 5, axis=0)
    for seed in range(20):
        drawn = draw(F, len(F), seed, "copies")
        assert sorted(drawn.tolist()) == list(range(len(F)))
        assert sorted(F[drawn[:distinct], 0].tolist()) == list(range(distinct))


def test_second_draw_follows_the_squared_distance():
    F = np.array([[0.0], [1.0], [3.0]])
    counts = np.zeros((3, 3))
    for seed in range(6000):
        first, second = draw(F, 2, seed, "frequencies")
        counts[first, second] += 1
    D = (F - F.T) ** 2
    expected = D / D.sum(axis=1)[:, None] / 3
    np.testing.assert_allclose(counts / 6000, expected, atol=0.02)


def test_too_many_rows_are_refused():
    with pytest.raises(ValueError, match="4 of 3 rows"):
        draw(np.eye(3), 4, 1, "a")


@pytest.mark.parametrize("seed", range(30))
def test_shares_sum_to_the_budget_and_stay_in_bounds(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 200, rng.integers(1, 40))
    for budget in {len(sizes), sizes.sum(), *rng.integers(len(sizes), sizes.sum() + 1, 5)}:
        shares = share_budget(sizes, int(budget))
        assert shares.sum() == budget
        assert (shares >= 1).all()
        assert (shares <= sizes).all()
        if budget >= np.minimum(sizes, 2).sum():
            assert (shares >= np.minimum(sizes, 2)).all()
        for i, j in itertools.combinations(range(len(sizes)), 2):
            if sizes[i] >= sizes[j]:
                assert shares[i] >= shares[j] - 1


def test_shares_follow_the_square_root():
    assert share_budget([10000, 2500, 400], 170).tolist() == [100, 50, 20]
    assert share_budget([10000, 4, 1], 100).tolist() == [97, 2, 1]
    assert share_budget([9, 9, 9], 10).tolist() == [4, 3, 3]
    assert share_budget([3, 100], 100).tolist() == [3, 97]
