"""Kernel k-means++ seeding inside each class, and the sharing of a budget among classes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray


def kmeans_plus_plus(F: FloatArray, uniforms: FloatArray) -> NDArray[np.intp]:
    r"""Return rows of F, each drawn with probability proportional to D^2.

    .. math:: D_i^2 = \min_{j \text{ chosen}} \| f_i - f_j \|^2

    The first is drawn uniformly, and so are those left when all distances are zero. Draw t is an
    exponential race: the row with the smallest :math:`-\log(u_{it}) / D_i^2` wins, which has just
    this probability. As the numbers u belong to rows, two folds that share most rows draw mostly
    the same ones, and their landmarks need to be aligned once.

    Parameters
    ----------
    F : ndarray of shape (n, d)
    uniforms : ndarray of shape (n, count)
        Numbers in [0, 1): one a row and draw. ``count`` is at most n.

    Returns
    -------
    ndarray of shape (count,)
        Distinct row numbers, in the order of the draws.

    Raises
    ------
    ValueError
        If ``count`` is not in 1, ..., n.

    References
    ----------
    .. [1] Arthur, D., Vassilvitskii, S.: k-means++: the advantages of careful seeding.
       SODA 2007, 1027-1035.
    """
    n, count = uniforms.shape
    if F.shape[0] != n or not 1 <= count <= n:
        raise ValueError(f"{count} of {F.shape[0]} rows cannot be drawn with {n} rows of numbers.")
    chosen = np.empty(count, dtype=np.intp)
    distances = np.full(n, np.inf)
    free = np.ones(n, dtype=bool)
    rates = np.ones(n)
    times = -np.log1p(-uniforms)
    for step in range(count):
        arrivals = np.full(n, np.inf)
        np.divide(times[:, step], rates, out=arrivals, where=rates > 0)
        drawn = int(np.argmin(arrivals))
        chosen[step] = drawn
        free[drawn] = False
        differences = F - F[drawn]
        distances = np.minimum(distances, np.einsum("ij,ij->i", differences, differences))
        rates = np.where(free, distances, 0.0)
        if not rates.any():
            rates = free.astype(np.float64)
    return chosen


def share_budget(class_sizes: Sequence[int], budget: int) -> NDArray[np.intp]:
    r"""Share a number of landmarks among classes by the square root of their sizes.

    .. math:: b_i \approx clip(\lambda \sqrt{n_i}, \min(2, n_i), n_i), \qquad \sum_i b_i = budget

    with \lambda such that the sum is right, rounded by the largest remainder; of equal remainders
    the first is rounded up. Where two a class are more than the budget, each has at least one.

    Parameters
    ----------
    class_sizes : sequence of int
        n_i, each at least 1.
    budget : int

    Returns
    -------
    ndarray of shape (n_classes,)
        Whole numbers that sum to the budget, from 1 to n_i each.

    Raises
    ------
    InputError
        If the budget is larger than all classes together, or smaller than their number.

    Examples
    --------
    >>> share_budget([100, 25, 4], 16).tolist()
    [9, 5, 2]
    """
    sizes = np.asarray(class_sizes, dtype=np.intp)
    if budget > sizes.sum():
        raise InputError(
            f"a budget of {budget} landmarks is larger than the {sizes.sum()} distinct training "
            f"rows: give at most {sizes.sum()}."
        )
    if budget < len(sizes):
        raise InputError(
            f"a budget of {budget} landmarks is smaller than the number of classes, "
            f"{len(sizes)}: give at least {len(sizes)}."
        )
    lowest = np.minimum(sizes, 2)
    if lowest.sum() > budget:
        lowest = np.ones_like(sizes)
    roots = np.sqrt(sizes)
    low, high = 0.0, float(roots.max()) + 1.0  # at roots.max() every class is taken whole
    for _ in range(100):
        middle = (low + high) / 2
        if np.clip(middle * roots, lowest, sizes).sum() < budget:
            low = middle
        else:
            high = middle
    shares = np.clip(high * roots, lowest, sizes)
    whole = np.floor(shares).astype(np.intp)
    remainders = np.where(whole < sizes, shares - whole, -1.0)
    rounded_up = np.argsort(-remainders, kind="stable")[: budget - whole.sum()]
    whole[rounded_up] += 1
    return whole
