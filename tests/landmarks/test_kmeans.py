import numpy as np
import pytest
from sklearn.cluster import KMeans

from kreinflow.landmarks.kmeans import (
    ColumnClusters,
    KernelKMeansPlusPlus,
    central_rows,
    kmeans_plus_plus,
    share_budget,
)
from kreinflow.landmarks.weighted_draw import draw_row
from landmarks.made_up import flip, indefinite_kernel, keys_of, sketch_of
from threads import same_with_threads


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


def test_shares_follow_the_square_root():
    assert share_budget([10000, 2500, 400], 170).tolist() == [100, 50, 20]


@pytest.mark.parametrize("seed", range(10))
def test_shares_sum_to_the_budget_stay_in_bounds_and_rise_with_it(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 50, rng.integers(1, 30))
    before = np.zeros(len(sizes), dtype=int)
    for budget in range(len(sizes), sizes.sum() + 1):
        shares = share_budget(sizes, budget)
        assert shares.sum() == budget
        assert (np.maximum(before, 1) <= shares).all()
        assert (shares <= sizes).all()
        if budget >= np.minimum(sizes, 2).sum():
            assert (shares >= np.minimum(sizes, 2)).all()
        ordered = shares[np.argsort(sizes, kind="stable")]
        assert (np.maximum.accumulate(ordered) - ordered <= 1).all(), "by their sizes"
        before = shares


def test_draws_are_those_of_the_dense_flipped_kernel():
    """The sketch has the rank of the kernel, so its distances are exact."""
    K = indefinite_kernel(70, 14, 6, seed=1)
    keys = keys_of(70)
    H = flip(K)
    D = np.diag(H)[:, None] + np.diag(H) - 2 * H
    drawn = []
    free, rates = np.ones(70, dtype=bool), np.ones(70)
    for step in range(15):
        drawn.append(draw_row(rates, free, keys, step))
        free[drawn[-1]] = False
        rates = np.maximum(D[:, drawn].min(axis=1), 0.0)
    for count in (25, None):
        chosen = KernelKMeansPlusPlus({"budget": 15}).choose(sketch_of(K, count), 15, keys)
        assert chosen.tolist() == drawn


def test_each_is_nearest_to_its_centre_of_the_clusters_that_scikit_learn_finds():
    C = indefinite_kernel(80, 10, 5)[:, :30]
    keys = keys_of(80)
    rows = central_rows(C, 9, keys)
    means = KMeans(9, init=C[kmeans_plus_plus(C, 9, keys)], n_init=1, max_iter=100).fit(C)
    expected = []
    for cluster in range(9):
        members = np.flatnonzero(means.labels_ == cluster)
        distances = np.linalg.norm(C[members] - means.cluster_centers_[cluster], axis=1)
        nearest = members[np.isclose(distances, distances.min(), rtol=1e-9)]
        assert len(nearest) == 1 or len(members) == 2
        expected.append(nearest[np.argmin(keys[nearest])])
    assert rows.tolist() == expected


def test_the_columns_of_the_sketch_are_clustered():
    K, keys = indefinite_kernel(50, 10, 5), keys_of(50)
    sketch = sketch_of(K, 20)
    chosen = ColumnClusters({"budget": 7}).choose(sketch, 7, keys)
    assert chosen.tolist() == central_rows(K[:, sketch.drawn], 7, keys).tolist()


def test_the_budget_is_met_where_rows_coincide():
    C = np.repeat(np.eye(3), 4, axis=0)
    rows = central_rows(C, 8, keys_of(12))
    assert len(set(rows.tolist())) == 8
    assert set((rows // 4).tolist()) == {0, 1, 2}


def test_same_rows_whatever_the_number_of_threads():
    import sklearn.cluster  # noqa: F401  its threads are limited once it is loaded

    C = np.random.default_rng(1).standard_normal((2000, 20))
    assert same_with_threads(lambda: central_rows(C, 40, keys_of(2000)).tolist())
