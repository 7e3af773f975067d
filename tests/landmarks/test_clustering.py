import numpy as np
from sklearn.cluster import KMeans

from kreinflow.landmarks.clustering import ColumnClusters, central_rows
from kreinflow.landmarks.kmeans import kmeans_plus_plus
from landmarks.made_up import indefinite_kernel, keys_of, sketch_of
from threads import same_with_threads


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
    K = indefinite_kernel(50, 10, 5)
    sketch, keys = sketch_of(K, 20), keys_of(50)
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
