"""Units spread over folds, such that each fold has its share of each class."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import IntArray


def spread(keys: NDArray[np.uint64], k: int, offset: int) -> NDArray[np.intp]:
    """Return the folds of a class's units: key mod k, or the next fold with room.

    Folds get n // k units each, and n mod k of them, from ``offset`` on, one more. An added unit
    changes one chain of the moved units at most.
    """
    n = len(keys)
    room = np.full(k, n // k)
    room[(offset + np.arange(n % k)) % k] += 1
    return _fill(keys, room)


def _fill(keys: NDArray[np.uint64], room: IntArray) -> NDArray[np.intp]:
    """Return folds with exactly so many units each.

    Units stay at home in the order of their keys while there is room; then the others are placed,
    in the same order.
    """
    room, k = room.copy(), len(room)
    folds = np.full(len(keys), -1, dtype=np.intp)
    order = np.argsort(keys, kind="stable")
    for unit in order:
        home = int(keys[unit] % np.uint64(k))
        if room[home]:
            folds[unit] = home
            room[home] -= 1
    for unit in order[folds[order] < 0]:
        start = int(keys[unit] // np.uint64(k) % np.uint64(k))
        fold = next((start + step) % k for step in range(k) if room[(start + step) % k])
        folds[unit] = fold
        room[fold] -= 1
    return folds


def iterative_stratification(
    keys: NDArray[np.uint64], has: NDArray[np.bool_], k: int
) -> NDArray[np.intp]:
    """Return the folds, from 0, of units that have several labels each (Sechidis et al. 2011).

    The label that the fewest units without a fold have comes first: its units are given out one
    after the other, each to the fold j that lacks most of the label l,

    .. math:: c_j^l = n_l / k - n_{jl},

    where n_l units have the label and n_jl of them are in the fold; of equal ones to the fold that
    lacks most units of all, and of equal ones to the next one from (least key mod k) on. Then the
    next label comes. To have no label is a label of its own.

    That paper leaves open which unit of a label comes when. Here the numbers that the folds get are
    counted first. Then units go home, to key mod k, as in :func:`spread`. So an added unit moves
    few others.

    ``keys`` (n,) are random numbers of the units, ``has`` (n, n_labels) their labels.

    References
    ----------
    .. [1] Sechidis, K., Tsoumakas, G., Vlahavas, I.: On the stratification of multi-label data.
       ECML PKDD 2011, 145-158. doi:10.1007/978-3-642-23808-6_10
    """
    has = np.column_stack([has, ~has.any(axis=1)])
    folds = np.full(len(keys), -1, dtype=np.intp)
    left = has.sum(axis=0)
    # k times what each fold lacks, of each label and of all units: whole numbers.
    lacks, lacks_units = np.tile(left, (k, 1)), np.full(k, len(keys))
    while left.any():
        label = int(np.where(left > 0, left, len(keys) + 1).argmin())
        units = np.flatnonzero(has[:, label] & (folds < 0))
        given = _given(lacks[:, label], lacks_units, len(units), int(keys[units].min() % k))
        folds[units] = _fill(keys[units], given)
        for fold in range(k):
            lacks[fold] -= k * has[units[folds[units] == fold]].sum(axis=0)
        lacks_units -= k * given
        left -= has[units].sum(axis=0)
    return folds


def _given(lacks: IntArray, lacks_units: IntArray, n: int, first: int) -> IntArray:
    k = len(lacks)
    label, units, given = lacks.tolist(), lacks_units.tolist(), [0] * k
    order = [(first + step) % k for step in range(k)]
    for _ in range(n):
        fold = max(order, key=lambda j: (label[j], units[j]))  # of equal ones the first
        given[fold] += 1
        label[fold] -= k
        units[fold] -= k
    return np.array(given, dtype=np.int64)
