"""Seconds and megabytes of recipes with a lift, beside what runs took."""

from dataclasses import replace

import pytest

from kreinflow.config import lift_costs
from kreinflow.config.lift_costs import Lifted
from kreinflow.learners.registry import make_learner

SF_LSM = make_learner({"method": "sf_lsm", "ridge": "inner", "weights": "classes"})
FISHER = make_learner(
    {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares", "ridge": "inner"}
)
ONE = Lifted(SF_LSM, inducing=4000, lengths=3, views=1)


def statistics(n, classes, length):
    sizes = {f"c{i}": n // classes for i in range(classes)}
    return {"distinct": n, "class_sizes": sizes, "lengths": {"mean": length}}


def both(n=10_000, classes=20, length=300.0, m=120, inner=5, **changed):
    data, recipe = statistics(n, classes, length), replace(ONE, **changed)
    seconds = lift_costs.lifted_seconds(data, m, recipe, inner).on(1)
    return seconds, lift_costs.lifted_mb(data, recipe, 16_000)


def test_what_makes_a_lift_dearer_is_counted():
    seconds, mb = both()
    for more in ({"n": 20_000}, {"classes": 40}, {"inducing": 6000}):
        assert both(**more)[0] > seconds, more
        assert both(**more)[1] > mb, more
    for more in ({"length": 600.0}, {"m": 4000}, {"inner": 10}, {"views": 2}, {"lengths": 4}):
        assert both(**more)[0] > seconds, more
    assert both(lengths=0, views=0) < (seconds, mb)
    assert both(learner=FISHER) > (seconds, mb)


@pytest.mark.parametrize(
    ("n", "inducing", "m", "length", "classes", "seconds", "mb"),
    [(4099, 4099, 120, 372.0, 28, 34, 940), (20_000, 1000, 100, 150.0, 10, 14, 829)],
)
def test_what_runs_took_is_expected(n, inducing, m, length, classes, seconds, mb):
    """Seconds are of a loaded machine; jobs ask for three times what is expected."""
    found = both(n=n, inducing=inducing, m=m, length=length, classes=classes)
    assert seconds / 2 < found[0] < 2 * seconds
    assert mb < 850 + found[1] < 3 * mb
