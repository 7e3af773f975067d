"""k-means clusters of the columns, each with the row nearest to its centre."""

import warnings

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.landmarks.kmeans import kmeans_plus_plus
from kreinflow.landmarks.selector import SketchSelector
from kreinflow.landmarks.sketch import Sketch

MAX_ITERATIONS = 100
"""Steps of Lloyd's algorithm at most."""

_TIE = 1e-9


def central_rows(C: FloatArray, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    r"""Cluster rows by k-means and return the row nearest to the centre of each cluster.

    .. math:: \min_{\mu, S} \sum_k \sum_{i \in S_k} \| c_i - \mu_k \|^2, \qquad
              j_k = \arg\min_{i \in S_k} \| c_i - \mu_k \|

    Lloyd's algorithm starts at k-means++ seeds. Clusters share no row, so no row is returned
    twice. If fewer than ``count`` rows differ, seeds make up for the clusters that are missing.

    Parameters
    ----------
    C : ndarray of shape (n, c)
    count : int
    keys : ndarray of shape (n,), uint64
        One for each row, from its digest.

    Returns
    -------
    ndarray of shape (count,)
        Distinct row numbers.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    seeds = kmeans_plus_plus(C, count, keys)
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer clusters, made up for below
        means = KMeans(count, init=C[seeds], n_init=1, max_iter=MAX_ITERATIONS).fit(C)
    differences = C - means.cluster_centers_[means.labels_]
    distances = np.einsum("ij,ij->i", differences, differences)
    least = np.full(count, np.inf)
    np.minimum.at(least, means.labels_, distances)
    # The two rows of a pair are equally near but for rounding: their keys decide.
    nearest = distances <= (1 + _TIE) * least[means.labels_]
    order = np.lexsort((keys, ~nearest, means.labels_))
    _, first = np.unique(means.labels_[order], return_index=True)
    central = order[first]
    more = seeds[~np.isin(seeds, central)][: count - len(central)]
    return np.concatenate([central, more])


class ColumnClusters(SketchSelector):
    """Centres of k-means clusters of the rows of the sketch's columns.

    The columns are those of the kernel itself: the Euclidean distance of two rows of K is their
    distance in the kernel K K', which is positive semi-definite (schleif2018 4.2). The paper's
    landmarks are the means of clusters in an input space; scores have none, so that the nearest
    training row stands for the mean.

    References
    ----------
    .. [1] Zhang, K., Kwok, J. T.: Clustered Nyström method for large scale manifold learning and
       dimension reduction. IEEE Transactions on Neural Networks 21, 1576-1587 (2010).
    """

    method = "kmeans"
    references = ("zhang2010",)
    phrase = "the rows nearest to the centres of k-means clusters of the columns"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Cluster the rows of the columns; see :func:`central_rows`."""
        return central_rows(sketch.columns, count, keys)
