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
)

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
    return sum(likelier) + p[y] * (1 - top) / ((len(p) - 1) * top)


def test_the_score_is_that_of_the_definition():
    p, _ = draw(np.random.default_rng(0), 50)
    p[0], p[1] = [0.25] * 4, [0.4, 0.1, 0.4, 0.1]
    expected = [[naive_score(row, c) for c in range(4)] for row in p]
    np.testing.assert_allclose(nonconformity(p), expected, atol=1e-14)
    sure = np.array([[1.0, 1e-30], [1.0, 0.0]])
    np.testing.assert_allclose(nonconformity(sure), [[1e-30, 1.0], [0.0, 1.0]])


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
    """Also of a model that is hardly better than chance, and of one that is nearly always right."""
    whole, classes = coverage(20, 1000, 2000, confidence, sharp=sharp)
    assert whole == pytest.approx(confidence, abs=0.01)
    assert max(abs(own - confidence) for own in classes) <= 0.02


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
    n, needed = len(near.closeness), confidence / (1 - confidence)
    bins = min(8, int(n // (2 * np.ceil(needed - 1e-9))))
    edges = sorted({near.closeness[n * b // bins] for b in range(1, bins)})
    kept, last = [], 0
    for edge in edges:
        below = int((near.closeness < edge).sum())
        if below - last >= needed - 1e-9:
            kept, last = [*kept, edge], below
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
