"""Whether two recipes are right on different records: an exact test, and an interval.

They ask about the models that were fitted. What other training samples would have given is the
question of :func:`~kreinflow.evaluation.comparison.corrected_t_test`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from kreinflow.base.binomial import probability
from kreinflow.base.numerics import IntArray

LEVEL = 0.95
"""Of the interval."""


class PairedDifference(NamedTuple):
    """The accuracy of the first recipe less that of the second; no interval of a single group."""

    difference: float
    low: float
    high: float
    p: float


def paired_difference(
    first: NDArray[np.bool_], second: NDArray[np.bool_], groups: IntArray, repeats: int = 1
) -> PairedDifference:
    r"""Compare two recipes on the same predictions, whose groups are independent.

    Prediction i has the difference d_i: 1 if the first recipe alone is right, -1 if the second
    alone is, else 0. A group g has the sum d_g of its predictions. ``p`` is that of
    :func:`sign_flip_test` of these sums. Repeats predict the same records again, so they belong to
    the group of the record, and add nothing that the test would take for independent.

    The interval is Bonett and Price's for paired proportions [1]_, after Rao and Scott's division
    of all counts by the design effect [2]_. With b and c the numbers of d_i = 1 and d_i = -1, and
    n and n_g those of all predictions and of a group's, all of these and d_g divided by the number
    of repeats R, and the difference D = (b - c)/n,

    .. math::

        e = \max\Bigl(\frac{1}{R}, \frac{\sum_g (d_g - D n_g)^2}{b + c - n D^2}\Bigr), \quad
        p_1 = \frac{b/e + 1}{n/e + 2}, \quad p_2 = \frac{c/e + 1}{n/e + 2},

        p_1 - p_2 \pm t \sqrt{\frac{p_1 + p_2 - (p_1 - p_2)^2}{n/e + 2}},

    t the quantile of Student's distribution with one degree of freedom less than there are groups.
    For single records that are predicted once e = 1; repeats that differ make it smaller. If no
    prediction differs, or all in the same way, e is not known: it is then that of groups whose
    records are all alike, :math:`\sum_g n_g^2 / n`.

    ``first`` and ``second`` say which predictions are right.

    References
    ----------
    .. [1] Bonett and Price, Journal of Educational and Behavioral Statistics 37, 479-488 (2012).
       doi:10.3102/1076998611411915
    .. [2] Rao and Scott, Biometrics 48, 577-585 (1992). doi:10.2307/2532311
    """
    d = first.astype(np.int64) - second
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes) / repeats
    sums = np.bincount(codes, weights=d)
    n, b, c = (float(count) / repeats for count in (len(d), np.sum(d > 0), np.sum(d < 0)))
    difference = (b - c) / n
    p = sign_flip_test(sums.astype(np.int64))
    if len(sizes) < 2:
        return PairedDifference(difference, float("nan"), float("nan"), p)
    single = b + c - n * difference**2
    effect = float(np.sum(sizes**2)) / n
    if single > 1e-9 * n:  # else nothing varies, but for rounding
        effect = max(
            1 / repeats, float(np.sum((sums / repeats - difference * sizes) ** 2)) / single
        )
    n_kept = n / effect + 2
    p_1, p_2 = (b / effect + 1) / n_kept, (c / effect + 1) / n_kept
    middle = p_1 - p_2
    half = float(stdtrit(len(sizes) - 1, (1 + LEVEL) / 2))
    half *= np.sqrt((p_1 + p_2 - middle**2) / n_kept)
    return PairedDifference(difference, max(-1.0, middle - half), min(1.0, middle + half), p)


def sign_flip_test(sums: IntArray) -> float:
    r"""Return the exact p-value, of two sides, of sums whose signs may be chance.

    If the two recipes are alike, each group's sum d_g may as well have the other sign [1]_. The
    p-value is the share of all :math:`2^G` choices of signs for which :math:`|\sum_g \pm d_g|` is
    at least :math:`|\sum_g d_g|`. Where all sums are -1, 0 or 1, as those of single records are,
    this is McNemar's exact test [2]_: :math:`\sum_g \pm d_g` is then a binomial number, moved.

    No choice is drawn: whole numbers have few different totals, so that the distribution of their
    sum follows group by group [3]_, in O(G T) operations and O(T) memory,
    :math:`T = \sum_g |d_g|`.

    References
    ----------
    .. [1] Canay, Romano and Shaikh, Econometrica 85, 1013-1030 (2017): groups of dependent
       observations. doi:10.3982/ECTA13081
    .. [2] McNemar, Psychometrika 12, 153-157 (1947). doi:10.1007/BF02295996
    .. [3] Pagano and Tritchler, J. Am. Stat. Assoc. 78, 435-440 (1983).

    Examples
    --------
    >>> round(sign_flip_test(np.array([1, 1, 1, 1, 0])), 6)
    0.125
    """
    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    if not len(sizes):
        return 1.0
    unit = np.gcd.reduce(sizes)
    chances = np.ones(1)  # of the total of the sums that keep a positive sign, in units
    for size, count in zip((sizes // unit).tolist(), counts.tolist(), strict=True):
        before, chances = chances, np.zeros(len(chances) + size * count)
        for positive, chance in enumerate(probability(np.arange(count + 1), count, 0.5)):
            chances[size * positive :][: len(before)] += chance * before
    total = len(chances) - 1
    least = (total - abs(int(sums.sum()) // int(unit))) // 2
    return min(1.0, 2.0 * float(np.sum(chances[: least + 1])))
