"""The paired test and its interval: against dense enumeration, scipy, and by simulation."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtrit

from kreinflow.evaluation.paired import paired_difference, sign_flip_test


def both(d, groups=None, repeats=1):
    """The paired difference of predictions that differ so."""
    d = np.asarray(d)
    groups = np.arange(len(d)) if groups is None else np.asarray(groups)
    return paired_difference(d > 0, d < 0, groups, repeats)


def differing(rng, sizes, shares, correlation):
    """Differences of records in groups, of which each record takes its group's with a chance."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    own, common = (rng.choice([1, -1, 0], size=n, p=shares) for n in (len(groups), len(sizes)))
    alike = rng.random(len(groups)) < np.sqrt(correlation)
    return np.where(alike, common[groups], own), groups


@pytest.mark.parametrize(
    ("b", "c"), [(0, 0), (5, 0), (0, 1), (3, 3), (9, 2), (40, 61), (177, 82), (200, 0)]
)
def test_of_single_records_it_is_the_exact_test_of_mcnemar(b, c):
    d = np.repeat([1, -1, 0], [b, c, 7])
    expected = stats.binomtest(b, b + c, 0.5).pvalue if b + c else 1.0
    assert sign_flip_test(d) == pytest.approx(expected, rel=1e-9)
    assert both(d).p == sign_flip_test(d) == sign_flip_test(-d)


@pytest.mark.parametrize("seed", range(6))
def test_of_groups_it_is_the_share_of_all_choices_of_signs(seed):
    rng = np.random.default_rng(seed)
    sums = rng.integers(-5, 6, 11) * (1 + seed % 3)  # with a common divisor as well
    sums[0] = 2
    signs = np.array(list(product([1, -1], repeat=len(sums))))
    expected = np.mean(np.abs(signs @ sums) >= abs(sums.sum()))
    assert sign_flip_test(sums) == pytest.approx(expected)


def test_the_first_and_the_second_recipe_are_alike():
    d, groups = differing(np.random.default_rng(3), np.arange(1, 30), (0.2, 0.1, 0.7), 0.4)
    one, other = both(d, groups), both(-d, groups)
    assert one.difference == pytest.approx(d.mean())
    assert other == pytest.approx((-one.difference, -one.high, -one.low, one.p))


def test_the_interval_of_single_records_is_that_of_bonett_and_price():
    """The example of ci.prop.ps in the R package statpsych: 0.44, standard error 0.09448809."""
    found = both(np.repeat([1, -1, 0], [26, 4, 18]))
    assert found.difference == pytest.approx(22 / 48)
    assert (found.low + found.high) / 2 == pytest.approx(0.44)
    half = stdtrit(47, 0.975) * 0.09448809  # by Student's distribution; theirs by the normal one
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-7)


def test_copies_in_a_group_and_repeats_add_nothing():
    d = np.random.default_rng(4).choice([1, -1, 0], 80, p=[0.2, 0.05, 0.75])
    records = np.arange(80)
    expected = pytest.approx(both(d))
    assert both(np.repeat(d, 7), np.repeat(records, 7)) == expected
    assert both(np.tile(d, 3), np.tile(records, 3), repeats=3) == expected
    d, groups = differing(np.random.default_rng(5), np.arange(1, 20), (0.2, 0.1, 0.7), 0.4)
    expected = pytest.approx(both(d, groups))
    assert both(np.tile(d, 3), np.tile(groups, 3), repeats=3) == expected
    assert both(d[::-1], 100 - groups[::-1]) == expected


def test_repeats_that_disagree_are_not_single_records():
    """Each record is predicted ten times, at random: the sums of the records are what counts."""
    rng = np.random.default_rng(6)
    d = rng.choice([1, -1, 0], (10, 60), p=[0.2, 0.1, 0.7])
    found = both(d.ravel(), np.tile(np.arange(60), 10), repeats=10)
    assert found.p == sign_flip_test(d.sum(axis=0))
    assert found.p != pytest.approx(both(d.ravel()).p)
    # As these repeats are drawn anew, they tell as much as ten times the records, and no more.
    many = both(d.ravel())
    assert found.high - found.low == pytest.approx(many.high - many.low, rel=0.15)


def test_where_nothing_differs_the_interval_is_not_empty():
    found = both(np.zeros(100, dtype=int))
    assert found.p == 1.0
    assert found.difference == 0.0
    assert found.high == -found.low == pytest.approx(stdtrit(99, 0.975) * np.sqrt(2) / 102)
    # Groups count for as much as they would if their records were all alike.
    grouped = both(np.zeros(100, dtype=int), np.arange(100) // 10)
    assert grouped.high == -grouped.low == pytest.approx(stdtrit(9, 0.975) * np.sqrt(2) / 12)


SIZES = {
    "single": np.ones(900, dtype=int),
    "tens": np.full(90, 10),
    "unlike": np.repeat([1, 5, 20, 60], [100, 40, 15, 5]),
}


@pytest.mark.parametrize("kind", SIZES)
def test_the_size_of_the_test_and_the_coverage_of_the_interval_hold(kind):
    """1,000 draws in which the recipes are alike: no more tests reject than they may."""
    rng = np.random.default_rng(7)
    correlation, draws = 0.0 if kind == "single" else 0.3, 1000
    p, wrong, covered = [], [], []
    for _ in range(draws):
        d, groups = differing(rng, SIZES[kind], (0.06, 0.06, 0.88), correlation)
        found = both(d, groups)
        p.append(found.p)
        wrong.append(both(d).p)
        covered.append(found.low <= 0 <= found.high)
    for level in (0.05, 0.01):
        slack = 3 * np.sqrt(level * (1 - level) / draws)
        assert np.mean(np.array(p) < level) < level + slack
    assert np.mean(np.array(p) < 0.05) > 0.02  # it is not merely never significant
    assert np.mean(covered) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / draws)
    # Taken as single records, those of groups reject far too often.
    assert (np.mean(np.array(wrong) < 0.05) > 0.15) == (kind != "single")


def test_the_interval_covers_a_difference():
    rng = np.random.default_rng(8)
    covered = []
    for _ in range(1000):
        d, groups = differing(rng, SIZES["unlike"], (0.15, 0.05, 0.8), 0.1)
        found = both(d, groups)
        covered.append(found.low <= 0.1 <= found.high)
    assert np.mean(covered) > 0.93


def test_where_all_differ():
    found = both(np.ones(50, dtype=int))
    assert found.difference == 1.0
    assert 0.8 < found.low < found.high <= 1.0
    grouped = both(np.ones(100, dtype=int), np.arange(100) // 10)
    assert grouped == both(np.ones(10, dtype=int))
    one = both(np.ones(50, dtype=int), np.zeros(50, dtype=int))
    assert one.p == 1.0
    assert np.isnan([one.low, one.high]).all()
