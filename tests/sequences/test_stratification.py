"""Units with several labels get the folds of the published algorithm, one unit after the other."""

from fractions import Fraction

import numpy as np
import pytest

from kreinflow.sequences.stratification import iterative_stratification


def drawn(seed, n=300, labels=12):
    """Keys, and labels of very different sizes: at least one a unit."""
    rng = np.random.default_rng(seed)
    has = rng.random((n, labels)) < rng.uniform(0.01, 0.4, labels)
    has[np.arange(n), rng.integers(labels, size=n)] = True
    return rng.integers(2**63, size=n).astype(np.uint64), has


def published(has, k, take, tie):
    """The algorithm as Sechidis et al. print it, in fractions: ``take`` picks the next unit.

    ``tie`` picks one of the folds that are equal.
    """
    n, labels = has.shape
    wanted = [Fraction(n, k) for _ in range(k)]
    of_label = [[Fraction(int(has[:, i].sum()), k) for i in range(labels)] for _ in range(k)]
    left, folds = set(range(n)), np.full(n, -1)
    while left:
        sizes = [sum(1 for x in left if has[x, i]) for i in range(labels)]
        label = min((i for i in range(labels) if sizes[i]), key=lambda i: sizes[i])
        members = {x for x in left if has[x, label]}
        first = True
        while members:
            most = max(of_label[j][label] for j in range(k))
            equal = [j for j in range(k) if of_label[j][label] == most]
            most = max(wanted[j] for j in equal)
            equal = [j for j in equal if wanted[j] == most]
            fold = tie(equal, members, first)
            first = False
            unit = take(members, fold)
            folds[unit] = fold
            members.remove(unit)
            left.remove(unit)
            wanted[fold] -= 1
            for i in np.flatnonzero(has[unit]):
                of_label[fold][i] -= 1
    return folds


@pytest.mark.parametrize(("seed", "k"), [(1, 5), (2, 3), (3, 10), (4, 2)])
def test_the_folds_are_a_run_of_the_published_algorithm(seed, k):
    """It leaves open which unit of a label comes when, and which of equal folds is taken."""
    keys, has = drawn(seed, n=120)
    ours = iterative_stratification(keys, has, k)
    start = 0

    def tie(equal, members, first):
        nonlocal start
        if first:
            start = int(min(keys[x] for x in members) % np.uint64(k))
        return min(equal, key=lambda j: (j - start) % k)

    def take(members, fold):
        return next(x for x in sorted(members) if ours[x] == fold)  # StopIteration: none is left

    np.testing.assert_array_equal(published(has, k, take, tie), ours)


def test_units_without_a_label_are_spread_out_and_the_order_does_not_matter():
    keys, has = drawn(5)
    has[::3] = False
    folds = iterative_stratification(keys, has, 4)
    assert np.ptp(np.bincount(folds[~has.any(axis=1)], minlength=4)) <= 8
    assert set(folds) == {0, 1, 2, 3}
    assert iterative_stratification(keys[:0], has[:0], 4).shape == (0,)
    order = np.random.default_rng(1).permutation(len(keys))
    turned = iterative_stratification(keys[order], has[order], 4)
    np.testing.assert_array_equal(folds[order], turned)


def test_a_unit_more_leaves_almost_all_others_where_they_were():
    """As docs/methods.md says."""
    same = []
    for seed in range(20):
        keys, has = drawn(seed)
        before = iterative_stratification(keys[:-1], has[:-1], 5)
        same.append((iterative_stratification(keys, has, 5)[:-1] == before).mean())
    assert round(np.mean(same), 2) == 0.96
