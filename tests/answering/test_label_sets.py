"""Sets and p-values against naive loops, and their promises by simulation."""

import numpy as np
import pytest

from kreinflow.answering.label_sets import (
    ByCloseness,
    Calibration,
    accepted,
    nonconformity,
    of_own_classes,
    outcomes,
    weights_in_groups,
)
from kreinflow.base.errors import InputError

LEVELS = (0.9, 0.95, 0.99)


def draw(rng, n, classes=4, sharp=3.0, shares=None):
    """Probabilities and classes, right with the former."""
    logits = sharp * rng.normal(size=(n, classes))
    if shares is not None:
        logits += np.log(shares)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    return p, np.minimum(y, classes - 1)


def naive_score(p, y):
    """Of one object and class, by the definition."""
    likelier = [q for c, q in enumerate(p) if q > p[y] or (q == p[y] and c < y)]
    top = p.max()
    return sum(likelier) + p[y] * (1 - top) / ((len(p) - 1) * top) if likelier else 0.0


def test_the_score_is_that_of_the_definition():
    p, _ = draw(np.random.default_rng(0), 50)
    p[0], p[1] = [0.25] * 4, [0.4, 0.1, 0.4, 0.1]
    expected = [[naive_score(row, c) for c in range(4)] for row in p]
    np.testing.assert_allclose(nonconformity(p), expected, atol=1e-14)
    sure = np.array([[1.0, 1e-30], [1.0, 0.0]])
    np.testing.assert_allclose(nonconformity(sure), [[0.0, 1.0], [0.0, 1.0]])


def naive_sets(p, y, new, confidence):
    """Class by class and object by object; classes with few records share them."""
    counts = [int((y == c).sum()) for c in range(p.shape[1])]
    small = [c for c, count in enumerate(counts) if count / (count + 1) < confidence]
    rest = sorted(set(range(len(counts))) - {*small}, key=lambda c: counts[c])
    while (
        small and sum(counts[c] for c in small) / (sum(counts[c] for c in small) + 1) < confidence
    ):
        small.append(rest.pop(0))
    sets = np.zeros(new.shape, dtype=bool)
    for c in range(p.shape[1]):
        group = small if c in small else [c]
        scores = [
            naive_score(row, label) for row, label in zip(p, y, strict=True) if label in group
        ]
        for i, row in enumerate(new):
            # The share of records, the object among them, that fit at most as well.
            fit_worse = sum(score >= naive_score(row, c) - 1e-12 for score in scores)
            sets[i, c] = (fit_worse + 1) / (len(scores) + 1) > 1 - confidence + 1e-12
    return sets


@pytest.mark.parametrize("shares", [None, [1, 1, 0.05, 0.02]])
@pytest.mark.parametrize("confidence", LEVELS)
def test_sets_are_those_of_a_naive_loop(confidence, shares):
    rng = np.random.default_rng(2)
    (p, y), (new, _) = draw(rng, 250, shares=shares), draw(rng, 60, shares=shares)
    sets = Calibration.of(p, y).sets(new, confidence)
    np.testing.assert_array_equal(sets, naive_sets(p, y, new, confidence))


def coverage(seeds, n, m, confidence, **kind):
    """Of all, and of each class, over draws of calibrating and new objects."""
    held, classes = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        (p, y), (new, truth) = draw(rng, n, **kind), draw(rng, m, **kind)
        sets = Calibration.of(p, y).sets(new, confidence)
        held.append(sets[np.arange(m), truth])
        classes.append(truth)
    held, classes = np.concatenate(held), np.concatenate(classes)
    return held.mean(), [held[classes == c].mean() for c in np.unique(classes)]


@pytest.mark.parametrize("confidence", LEVELS)
@pytest.mark.parametrize("sharp", [0.5, 3.0, 40.0])
def test_the_coverage_is_the_confidence_over_seeds(confidence, sharp):
    """Also of a model that is hardly better than chance; more if the likeliest is right more often.

    That is a share of .982 of the last.
    """
    whole, classes = coverage(20, 1000, 2000, confidence, sharp=sharp)
    expected = max(confidence, 0.982) if sharp == 40.0 else confidence
    assert whole == pytest.approx(expected, abs=0.01)
    assert max(abs(own - expected) for own in classes) <= 0.02


@pytest.mark.parametrize("confidence", LEVELS)
def test_no_set_is_empty_whatever_drifts(confidence):
    """So new objects that the model is less sure of than of all records have a set that holds."""
    rng = np.random.default_rng(3)
    (p, y), (new, truth) = draw(rng, 500, sharp=40.0), draw(rng, 500, sharp=1.0)
    sets, likeliest = Calibration.of(p, y).sets(new, confidence), new.argmax(axis=1)
    assert sets[np.arange(500), likeliest].all()
    assert sets[np.arange(500), truth].mean() >= (likeliest == truth).mean()


def test_a_model_that_knows_nothing_still_covers():
    """Its probabilities have nothing to do with the classes."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        (p, _), (new, _) = draw(rng, 500), draw(rng, 500)
        y, truth = rng.integers(4, size=(2, 500))
        held.append(Calibration.of(p, y).sets(new, 0.9)[np.arange(500), truth].mean())
    assert np.mean(held) == pytest.approx(0.9, abs=0.01)


def test_classes_with_few_records_are_covered_together():
    whole, classes = coverage(40, 600, 3000, 0.95, shares=[1, 1, 0.06, 0.04])
    assert whole == pytest.approx(0.95, abs=0.01)
    assert classes[0] == pytest.approx(0.95, abs=0.02)

    def pooled(*counts):
        return Calibration(np.array(counts), np.zeros(sum(counts)), np.empty(0)).pooled(0.9)

    assert pooled(100, 0, 8, 30).tolist() == [False, True, True, True], "8 are not enough"
    assert pooled(100, 1, 8, 30).tolist() == [False, True, True, False]
    assert not pooled(9, 20).any()


def naive_bin_limit(near, c, confidence):
    """Of the records in the bin of an object, from the definition; each has enough of them."""
    n, needed = len(near.closeness), np.ceil(confidence / (1 - confidence) - 1e-9)
    bins = min(8, n // (2 * needed))
    places = [n * b / bins for b in np.arange(bins - 1, 0, -1)]
    while places and places[-1] >= 4 * needed:
        places.append(places[-1] / 2)
    kept, last = [], n
    for place in places:
        below = int((near.closeness < near.closeness[int(place)]).sum())
        if last - below >= needed and below >= needed:
            kept, last = [*kept, near.closeness[int(place)]], below
    if not kept:
        return -np.inf
    low = max([-np.inf, *(e for e in kept if e <= c)])
    high = min([np.inf, *(e for e in kept if e > c)])
    own = sorted(near.conformity[(near.closeness >= low) & (near.closeness < high)])
    return own[int(np.ceil((len(own) + 1) * confidence - 1e-9)) - 1]


@pytest.mark.parametrize("n", [30, 36, 300, 1000])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("confidence", LEVELS)
def test_limits_by_closeness_are_those_of_a_naive_loop(n, ties, confidence):
    rng = np.random.default_rng(n)
    closeness = rng.random(n)
    if ties:
        closeness = np.maximum(0, closeness.round(1) - 0.3)
    (p, y), new = draw(rng, n), np.append(rng.random(60), [0.0, 0.1, np.nan])
    near = Calibration.of(p, y).with_closeness(closeness, p, y).near
    assert (np.diff(near.closeness) >= 0).all()
    assert sorted(near.conformity) == sorted(of_own_classes(p, y))
    found = near.limits(new, confidence)
    assert found.shape == (63, 1)
    expected = [naive_bin_limit(near, c, confidence) for c in new[:-1]]
    assert found[:, 0].tolist() == [*expected, -np.inf]
    limited = n >= 4 * np.ceil(confidence / (1 - confidence) - 1e-9)
    assert np.isfinite(found[:-1]).all() == limited
    if n == 1000 and confidence == 0.9 and not ties:
        assert len({*expected}) == 10, "seven of 125 records, of 63, 31 and 31"


@pytest.mark.parametrize("n", [48, 49, 98, 150, 500])
def test_of_objects_like_the_records_few_are_beyond(n):
    """Exactly the share k / (n + 1) is in expectation, with the largest whole k that is allowed."""
    shares = []
    for seed in range(2000):
        c = np.random.default_rng(seed).random(n + 20)
        near = ByCloseness(np.sort(c[:n]), np.zeros(n))
        shares.append(near.beyond(c[n:]).mean())
    expected = int(0.02 * (n + 1) + 1e-9) / (n + 1)
    assert expected <= 0.02
    assert np.mean(shares) == pytest.approx(expected, abs=4 * np.std(shares) / 2000**0.5 + 1e-12)
    assert (near.least is None) == (n < 49)


def drifting(rng, n, lowest=0.0):
    """The closer an object, the surer the probabilities are of its class."""
    closeness = rng.uniform(lowest, 1.0, n) ** 2
    y = rng.integers(4, size=n)
    logits = rng.normal(size=(n, 4))
    logits[np.arange(n), y] += 1 + 12 * closeness
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return closeness, p / p.sum(axis=1, keepdims=True), y


def test_sets_of_far_objects_hold_the_label_too():
    alone, both, of_same = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        closeness, p, y = drifting(rng, 1200)
        calibration = Calibration.of(p, y).with_closeness(closeness, p, y)
        for found, near in ((of_same, 1.0), (both, 0.1)):
            c, new, truth = drifting(rng, 4000)
            c, new, truth = c[c < near], new[c < near], truth[c < near]
            sets = calibration.sets(new, 0.9, c)
            assert (sets >= calibration.sets(new, 0.9)).all()
            found.append(sets[np.arange(len(c)), truth].mean())
        alone.append(calibration.sets(new, 0.9)[np.arange(len(c)), truth].mean())
    assert np.mean(alone) < 0.8
    assert np.mean(both) == pytest.approx(0.9, abs=0.01)
    assert 0.9 <= np.mean(of_same) < 0.97


def test_what_is_beyond_is_told_where_it_is_known():
    rng = np.random.default_rng(4)
    closeness, p, y = drifting(rng, 200)
    calibration = Calibration.of(p, y)
    assert outcomes(calibration, p, y)["beyond"].isna().all()
    assert calibration.beyond(closeness) is None
    calibration = calibration.with_closeness(closeness, p, y)
    found = outcomes(calibration, p, y, closeness)
    assert found["beyond"].tolist() == (closeness < np.sort(closeness)[3]).tolist()
    assert found["size_90"].sum() >= outcomes(calibration, p, y)["size_90"].sum()
    assert calibration.beyond(np.full(3, np.nan)) is None
    told = calibration.inspected({})["beyond"]
    assert told == {"closeness_below": np.sort(closeness)[3], "records": 200}


def test_p_values_are_those_of_a_naive_loop():
    rng = np.random.default_rng(5)
    (p, y), (new, _) = draw(rng, 200), draw(rng, 50)
    p, new = p.round(1), new.round(1)  # ties
    found = Calibration.of(p, y).p_values(new.max(axis=1))
    for row, value in zip(new, found, strict=True):
        surer = [q for q, c in zip(p, y, strict=True) if q.argmax() != c and q.max() >= row.max()]
        assert value == (1 + len(surer)) / 201
    Calibration.of(p, y).check_errors(1 / 201)  # so many are enough


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("sharp", [2.0, 6.0])
def test_the_share_of_wrong_among_the_accepted_is_at_most_the_asked_one(share, sharp):
    shares, many = [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        (p, y), (new, truth) = draw(rng, 800, sharp=sharp), draw(rng, 800, sharp=sharp)
        kept = accepted(Calibration.of(p, y).p_values(new.max(axis=1)), share)
        wrong = new.argmax(axis=1) != truth
        shares.append(wrong[kept].mean() if kept.any() else 0.0)
        many += int(kept.sum())
    assert np.mean(shares) <= share + 2 * np.std(shares) / np.sqrt(60)
    assert many > 0


def test_noise_is_not_accepted():
    """Where probabilities tell nothing and most predictions are wrong, all accepted are luck."""
    taken = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        (p, _), (new, _) = draw(rng, 300), draw(rng, 300)
        y = rng.integers(4, size=300)
        taken.append(accepted(Calibration.of(p, y).p_values(new.max(axis=1)), 0.1).mean())
    assert np.mean(taken) < 0.03


def test_accepted_is_benjamini_and_hochberg():
    from scipy.stats import false_discovery_control

    rng = np.random.default_rng(6)
    for m in (1, 7, 300):
        p = rng.random(m) ** 3
        np.testing.assert_array_equal(accepted(p, 0.1), false_discovery_control(p) <= 0.1)
    assert not accepted(np.array([0.5, 0.6]), 0.1).any()
    assert accepted(np.full(3, 0.1), 0.1).all(), "at the limit, whatever the rounding"
    assert accepted(np.empty(0), 0.1).tolist() == []


def grouped(rng, groups, classes=3, most=12):
    """Probabilities, classes and groups: those of a group are nearly alike, and as wrong."""
    sizes = rng.integers(1, most + 1, groups)
    group = np.repeat(np.arange(groups), sizes)
    y = rng.integers(classes, size=groups)
    logits = rng.normal(size=(groups, classes))
    logits[np.arange(groups), y] += 0.5 + rng.exponential(0.8, groups)
    logits = logits[group] + 0.05 * rng.normal(size=(len(group), classes))
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True), y[group], group


def test_weights_are_those_of_a_loop_and_of_single_records_none_are_needed():
    rng = np.random.default_rng(0)
    groups, y = rng.integers(20, size=100), rng.integers(3, size=100)
    found = weights_in_groups(np.array([f"g{number}" for number in groups]), y)
    for weight, group, label in zip(found, groups, y, strict=True):
        assert weight == 1 / ((groups == group) & (y == label)).sum()
    (p, y), (new, _) = draw(rng, 300), draw(rng, 50)
    closeness, same = rng.random(300), np.ones(300)
    alone = Calibration.of(p, y).with_closeness(closeness, p, y)
    ones = Calibration.of(p, y, same).with_closeness(closeness, p, y, same)
    for confidence in (0.9, 0.95):
        assert alone.limits(confidence).tolist() == ones.limits(confidence).tolist()
        limits = [of.near.limits(closeness, confidence).tolist() for of in (alone, ones)]
        assert limits[0] == limits[1]
    assert alone.near.least == ones.near.least
    assert alone.p_values(new.max(axis=1)).tolist() == ones.p_values(new.max(axis=1)).tolist()


def test_whole_groups_count_as_their_records_would_once():
    """If all records of a group are the same, weights are as good as one record of each."""
    rng = np.random.default_rng(1)
    (p, y), sizes = draw(rng, 200), rng.integers(1, 6, 200)
    closeness, new = rng.random(200), draw(rng, 40)[0]
    once = Calibration.of(p, y).with_closeness(closeness, p, y)
    of = np.repeat(np.arange(200), sizes)
    weights = weights_in_groups(of, y[of])
    many = Calibration.of(p[of], y[of], weights)
    many = many.with_closeness(closeness[of], p[of], y[of], weights)
    assert many.units.tolist() == once.units.tolist()
    for confidence in (0.9, 0.95):
        assert many.limits(confidence).tolist() == once.limits(confidence).tolist()
        limits = [one.near.limits(closeness, confidence) for one in (once, many)]
        np.testing.assert_array_equal(*limits)
    assert many.near.least == once.near.least
    found = [one.p_values(new.max(axis=1)) for one in (once, many)]
    np.testing.assert_allclose(*found, rtol=1e-12)
    with pytest.raises(InputError, match="the model has 200 groups of them"):
        many.limits(0.999)
    with pytest.raises(InputError, match="the model has 200 groups of them"):
        many.check_errors(0.001)


def test_sets_of_new_groups_hold_the_label_as_often_as_asked():
    """Few groups, of which some are large: by single records single trainings are far off."""
    held = {True: [], False: []}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        p, y, group = grouped(rng, 60)
        new, truth, of_new = grouped(rng, 400)
        first = np.unique(of_new, return_index=True)[1]
        for weighted, found in held.items():
            weights = weights_in_groups(group, y) if weighted else None
            sets = Calibration.of(p, y, weights).sets(new[first], 0.9)
            found.append(sets[np.arange(len(first)), truth[first]].mean())
    error = np.std(held[True]) / 300**0.5
    assert np.mean(held[True]) >= 0.9 - 2 * error
    assert np.mean(held[False]) < 0.9 - 3 * error
