"""Pairs, seconds and megabytes of recipes with a cascade, beside what a fit asks and takes."""

import numpy as np

from kreinflow import cascade_costs
from kreinflow.models.cascading import BLOCKS, STEPS


def statistics(n=10_000, classes=20, length=300.0):
    sizes = {f"c{i}": n // classes for i in range(classes)}
    lengths = {"mean": length}
    return {"distinct": n, "class_sizes": sizes, "lengths": lengths, "unknown": {"u": 50}}


def both(m=120, lengths=3, inner=5, tested=0.2, **changed):
    given = statistics(**changed)
    seconds = cascade_costs.cascade_seconds(given, m, lengths, inner, tested).on(1)
    return seconds, cascade_costs.cascade_mb(given, m, inner, tested)


def test_what_is_asked_is_bounded_by_the_records_the_sample_and_all_pairs():
    large = cascade_costs.asked_pairs(statistics(100_000, 1000), 0.0)
    # With a thousand classes 2,000 records are held out; three classes have 300 members.
    assert large == 2000 * (STEPS[-1] + 300) + BLOCKS * 100_000
    tested = cascade_costs.asked_pairs(statistics(100_000, 1000), 0.2)
    assert tested == large + 20_000 * (STEPS[-1] + 300)
    assert cascade_costs.asked_pairs(statistics(100, 5), 0.2) == 100 * 101 / 2


def test_what_is_asked_of_unknown_records_is_bounded_by_all_pairs():
    one = cascade_costs.unknown_asked_pairs(statistics(100_000, 1000), 1)
    assert one == 50 * (STEPS[-1] + 300)
    assert cascade_costs.unknown_asked_pairs(statistics(100_000, 1000), 3) == 3 * one
    assert cascade_costs.unknown_asked_pairs(statistics(100, 5), 30) == 50 * 100


def test_what_makes_a_cascade_dearer_is_counted():
    seconds, mb = both()
    for more in ({"n": 20_000}, {"inner": 10}, {"tested": 0.5}, {"m": 500}):
        assert both(**more)[0] > seconds, more
        assert both(**more)[1] > mb, more
    for more in ({"length": 600.0}, {"lengths": 4}):
        assert both(**more)[0] > seconds, more
    assert both(lengths=0)[0] < seconds
    assert both(n=100_000)[1] < 12 * mb, "what grows with the square of the records"
    assert np.isfinite(both(n=4, classes=2)).all()
