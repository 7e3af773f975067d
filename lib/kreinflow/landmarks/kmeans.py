"""Selectors by k-means: kernel k-means++ seeds, in classes or in all, and clusters of columns."""

import warnings
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.late import pandas as pd
from kreinflow.base.numerics import FloatArray, single_threaded, tiles
from kreinflow.base.settings import SettingsSchema
from kreinflow.landmarks.budgets import BUDGET, ONE_EACH, how_many
from kreinflow.landmarks.sampled_scores import Sketch, class_features
from kreinflow.landmarks.selector import (
    CANDIDATES,
    TRANSFORM,
    Needs,
    SelectionProblem,
    Selector,
    SketchSelector,
)
from kreinflow.landmarks.weighted_draw import draw_row

_MAX_ITERATIONS = 100  # of Lloyd's algorithm
_TIE = 1e-9


def kmeans_plus_plus(F: FloatArray, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    r"""Return rows of F in the order of draws, each with probability proportional to D^2.

    .. math:: D_i^2 = \min_{j \text{ chosen}} \| f_i - f_j \|^2

    The first is drawn uniformly, and so are those left when all distances are zero. Arthur &
    Vassilvitskii, SODA 2007, 1027-1035.
    """
    chosen = np.empty(count, dtype=np.intp)
    distances, free = np.full(len(F), np.inf), np.ones(len(F), dtype=bool)
    for step in range(count):
        rates = distances if step else np.ones(len(F))
        chosen[step] = drawn = draw_row(rates, free, keys, step)
        free[drawn] = False
        for part in tiles(len(F)):
            differences = F[part] - F[drawn]
            nearer = np.einsum("ij,ij->i", differences, differences)
            distances[part] = np.minimum(distances[part], nearer)
    return chosen


def share_budget(class_sizes: Sequence[int], budget: int) -> NDArray[np.intp]:
    r"""Share a number of landmarks among classes by the square root of their sizes.

    Each class gets its first landmark, the largest first, then each its second, then always the
    class with the largest

    .. math:: \frac{\sqrt{n_i}}{b_i + 1/2}, \qquad b_i < n_i ,

    for the b_i that it has (the method of Webster and Sainte-Laguë; of equal classes the first).
    So a larger budget takes no landmark from any class. Balinski & Young, Fair representation,
    Yale University Press, 1982.
    """
    sizes = np.asarray(class_sizes, dtype=np.intp)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    had = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    claims = np.sqrt(sizes)[owner] / (had + 0.5)
    order = np.lexsort((-claims, np.minimum(had, 2)))
    return np.bincount(owner[order[:budget]], minlength=len(sizes))


class ClassKMeansPlusPlus(Selector):
    """Kernel k-means++ seeds of each class."""

    method = "kmeans++"
    needs: ClassVar[Needs] = "class_scores"
    settings_schema: ClassVar[SettingsSchema] = {
        "transform": TRANSFORM,
        "candidates": CANDIDATES,
        "budget": BUDGET,
    }
    references = ("arthur2007",)

    def describe(self, unit: str) -> str:
        budget = how_many(self.settings["budget"], unit)
        shared = "shared out by the square root of class sizes"
        return f"kernel k-means++ in each class, {budget}, {shared}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        members = list(problem.classes.values())
        shares = share_budget(list(map(len, members)), problem.wanted(min(len(members), ONE_EACH)))
        features = class_features(problem.class_scores)
        parts = []
        for rows, F, share in zip(members, features, shares.tolist(), strict=True):
            parts.append(rows[kmeans_plus_plus(F, share, problem.keys(self.method, rows))])
        return problem.table(np.concatenate(parts))


class KernelKMeansPlusPlus(SketchSelector):
    r"""Rows drawn by k-means++ with the distances of the flipped kernel (oglic2019, section 2.3).

    .. math:: \| z^*_i - z^*_j \|^2 = |\tilde K|_{ii} + |\tilde K|_{jj} - 2 |\tilde K|_{ij}
    """

    method = "kernel_kmeans++"
    references = ("oglic2019", "arthur2007")
    phrase = "approximate kernel k-means++ on the flipped kernel"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        return kmeans_plus_plus(sketch.flipped, count, keys)


def central_rows(C: FloatArray, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    r"""Cluster the rows of C by k-means and return the row nearest to each centre.

    .. math:: \min_{\mu, S} \sum_k \sum_{i \in S_k} \| c_i - \mu_k \|^2, \qquad
              j_k = \arg\min_{i \in S_k} \| c_i - \mu_k \|

    Lloyd's algorithm starts at k-means++ seeds. If fewer than ``count`` rows differ, seeds make up
    for the clusters that are missing.
    """
    from sklearn import cluster, exceptions  # heavy

    seeds = kmeans_plus_plus(C, count, keys)
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)  # made up for below
        means = cluster.KMeans(count, init=C[seeds], n_init=1, max_iter=_MAX_ITERATIONS).fit(C)
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
    """The rows nearest to the centres of k-means clusters of the sketch's columns.

    The Euclidean distance of two rows of K is their distance in the kernel K K' (schleif2018,
    section 4.2). zhang2010 takes the means of clusters in an input space; scores have none.
    """

    method = "kmeans"
    references = ("zhang2010",)
    phrase = "the rows nearest to the centres of k-means clusters of the columns"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        return central_rows(sketch.columns, count, keys)
