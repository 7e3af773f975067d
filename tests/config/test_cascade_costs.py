"""Pairs, seconds and megabytes of recipes with a cascade, beside what a fit asks and takes."""

import numpy as np

from kreinflow.config import cascade_costs
from kreinflow.fitting.cascade_choice import NEAREST_AT_MOST, Wanted
from kreinflow.fitting.fit_cascade import BLOCKS, MEMBERS, SAMPLE


def statistics(n=10_000, classes=20, length=300.0):
    sizes = {f"c{i}": n // classes for i in range(classes)}
    lengths = {"mean": length}
    return {"distinct": n, "class_sizes": sizes, "lengths": lengths, "unknown": {"u": 50}}


LOSS = Wanted(loss=0.001)


def both(m=120, lengths=3, inner=5, tested=0.2, wanted=LOSS, most=2048, **changed):
    given = statistics(**changed)
    seconds = cascade_costs.cascade_seconds(given, wanted, m, lengths, inner, tested).on(1)
    return seconds, cascade_costs.cascade_mb(given, wanted, m, lengths, inner, tested, most)


def test_what_is_asked_is_bounded_by_the_records_the_sample_and_all_pairs():
    def asked(n, classes, tested, wanted=LOSS):
        return cascade_costs.asked_pairs(statistics(n, classes), wanted, tested)

    # With a thousand classes 1,500 records are held out; three classes have 300 members.
    large = asked(100_000, 1000, 0.0)
    assert large == SAMPLE * (NEAREST_AT_MOST + 300) + BLOCKS * 100_000
    assert asked(100_000, 1000, 0.2) == large + 20_000 * (NEAREST_AT_MOST + 300)
    more = asked(100_000, 1000, 0.0, Wanted(alignments=600))
    assert more == SAMPLE * (1200 + 300) + BLOCKS * 100_000
    assert asked(100, 5, 0.2) == 100 * 101 / 2


def test_what_is_asked_is_bounded_by_the_largest_classes():
    """A query of three of these has their 3,000 members in front of it, not 3 times the mean."""
    given = statistics()
    few, many = {f"b{i}": 1000 for i in range(3)}, {f"s{i}": 14 for i in range(500)}

    def one(sizes):
        return cascade_costs.unknown_asked_pairs(
            given | {"class_sizes": sizes, "unknown": {"u": 1}}, [LOSS]
        )

    assert one(few | many) == NEAREST_AT_MOST + 3000
    # Machines have two classes of 2,000 members at most; two of them have a class in common.
    assert one({f"b{i}": 1900 for i in range(3)} | many) == NEAREST_AT_MOST + 2 * MEMBERS


def test_what_is_asked_of_unknown_records_is_bounded_by_all_pairs():
    large, small = statistics(100_000, 1000), statistics(100, 5)
    one = cascade_costs.unknown_asked_pairs(large, [LOSS])
    assert one == 50 * (NEAREST_AT_MOST + 300)
    assert cascade_costs.unknown_asked_pairs(large, 3 * [LOSS]) == 3 * one
    assert cascade_costs.unknown_asked_pairs(small, 30 * [LOSS]) == 50 * 100


def test_what_makes_a_cascade_dearer_is_counted():
    seconds, mb = both()
    dear = {"wanted": Wanted(alignments=900)}
    for more in (dear, {"n": 20_000}, {"inner": 10}, {"tested": 0.5}, {"m": 500}):
        assert both(**more)[0] > seconds, more
        assert both(**more)[1] > mb, more
    for more in ({"length": 600.0}, {"lengths": 4}):
        assert both(**more)[0] > seconds, more
        assert both(**more)[1] > mb, more
    assert both(lengths=0)[0] < seconds
    assert both(most=100)[1] < mb, "a search keeps a quarter of it"
    assert both(n=100_000)[1] < 12 * mb, "what grows with the square of the records"
    assert np.isfinite(both(n=4, classes=2)).all()
