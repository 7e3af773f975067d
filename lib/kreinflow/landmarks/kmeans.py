"""Kernel k-means++ seeding inside each class, and the sharing of a budget among classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, tiles
from kreinflow.base.settings import SettingsSchema
from kreinflow.landmarks.budgets import BUDGET, how_many
from kreinflow.landmarks.features import class_features
from kreinflow.landmarks.selector import (
    CANDIDATES,
    TRANSFORM,
    Needs,
    SelectionProblem,
    Selector,
)
from kreinflow.landmarks.weighted_draw import draw_row

if TYPE_CHECKING:
    import pandas as pd


def kmeans_plus_plus(F: FloatArray, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    r"""Return rows of F, each drawn with probability proportional to D^2.

    .. math:: D_i^2 = \min_{j \text{ chosen}} \| f_i - f_j \|^2

    The first is drawn uniformly, and so are those left when all distances are zero. The random
    numbers belong to rows, see :mod:`kreinflow.landmarks.weighted_draw`: two folds that share most
    rows draw mostly the same ones, and their landmarks need to be aligned once.

    Parameters
    ----------
    F : ndarray of shape (n, d)
    count : int
        At most n.
    keys : ndarray of shape (n,), uint64
        One for each row, from its digest.

    Returns
    -------
    ndarray of shape (count,)
        Distinct row numbers, in the order of the draws.

    Raises
    ------
    ValueError
        If ``count`` is not in 1, ..., n, or not every row has its key.

    References
    ----------
    .. [1] Arthur, D., Vassilvitskii, S.: k-means++: the advantages of careful seeding.
       SODA 2007, 1027-1035.
    """
    n = len(keys)
    if F.shape[0] != n or not 1 <= count <= n:
        raise ValueError(f"{count} of {F.shape[0]} rows cannot be drawn with {n} keys.")
    chosen = np.empty(count, dtype=np.intp)
    distances = np.full(n, np.inf)
    free = np.ones(n, dtype=bool)
    rates = np.ones(n)
    for step in range(count):
        drawn = draw_row(rates, free, keys, step)
        chosen[step] = drawn
        free[drawn] = False
        for part in tiles(n):
            differences = F[part] - F[drawn]
            nearer = np.einsum("ij,ij->i", differences, differences)
            distances[part] = np.minimum(distances[part], nearer)
        rates = distances
    return chosen


def share_budget(class_sizes: Sequence[int], budget: int) -> NDArray[np.intp]:
    r"""Share a number of landmarks among classes by the square root of their sizes.

    The landmarks are given out one by one. Each class gets its first one, then each its second
    one, then always the class with the largest

    .. math:: \frac{\sqrt{n_i}}{b_i + 1/2}, \qquad b_i < n_i ,

    for the b_i that it has (the method of Webster and Sainte-Laguë; of equal classes the first).
    So a larger budget takes no landmark from any class, as rounding by the largest remainder
    would.

    Parameters
    ----------
    class_sizes : sequence of int
        n_i, each at least 1.
    budget : int
        From the number of classes to that of all their members.

    Returns
    -------
    ndarray of shape (n_classes,)
        Whole numbers that sum to the budget, from 1 to n_i each.

    References
    ----------
    .. [1] Balinski, M. L., Young, H. P.: Fair representation: meeting the ideal of one man, one
       vote. Yale University Press, 1982.

    Examples
    --------
    >>> share_budget([100, 25, 4], 16).tolist()
    [9, 5, 2]
    """
    sizes = np.asarray(class_sizes, dtype=np.intp)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    had = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    claims = np.sqrt(sizes)[owner] / (had + 0.5)
    order = np.lexsort((-claims, np.minimum(had, 2)))
    return np.bincount(owner[order[:budget]], minlength=len(sizes))


class ClassKMeansPlusPlus(Selector):
    """Kernel k-means++ seeds of each class, the budget shared by the root of the class sizes."""

    method = "kmeans++"
    needs: ClassVar[Needs] = "class_scores"
    settings_schema: ClassVar[SettingsSchema] = {
        "transform": TRANSFORM,
        "candidates": CANDIDATES,
        "budget": BUDGET,
    }
    references = ("arthur2007",)

    def describe(self, unit: str) -> str:
        """Return what the methods paragraph says of it."""
        budget = how_many(self.settings["budget"], unit)
        return (
            f"kernel k-means++ in each class, {budget}, shared out by the square root of class "
            "sizes"
        )

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        """Draw the seeds; see :func:`kmeans_plus_plus` and :func:`share_budget`."""
        sizes = [len(scores.rows) for scores in problem.classes]
        shares = share_budget(sizes, problem.wanted_of_classes)
        features = class_features(problem.classes)
        parts = []
        for scores, F, share in zip(problem.classes, features, shares, strict=True):
            keys = problem.keys(self.method, scores.rows)
            parts.append(scores.rows[kmeans_plus_plus(F, int(share), keys)])
        return problem.table(np.concatenate(parts))
