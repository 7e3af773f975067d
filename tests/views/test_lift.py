"""The lift against dense formulas written out."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kreinflow.base.numerics import limited
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed, Words
from views.test_words import drawn, naive

RATES = {"scores": 0.7, "words": 0.4, "vectors": 0.05}
M, P, N, LETTERS = 5, 12, 40, "ACGT"


def lift_and_objects(form="gaussian", views=("scores", "words", "vectors"), n=N):
    rng = np.random.default_rng(0)
    words = Words((1, 2), LETTERS)
    own = Viewed(drawn(P, LETTERS, seed=1), rng.normal(size=(P, 3)))
    lift = Lift(
        form,
        {view: RATES[view] for view in views},
        words if "words" in views else None,
        rng.normal(size=(P, M)).astype(np.float32),
        own,
    )
    return lift, rng.normal(size=(n, M)), Viewed(drawn(n, LETTERS, seed=2), rng.normal(size=(n, 3)))


def written_out(lift, U, objects):
    """The kernel by loops over views; the scores in single precision, as the model file has them.

    A loop over all pairs of a view is what scipy's distances are.
    """
    given = {
        "scores": (U.astype(np.float32).astype(float), lift.scores.astype(float)),
        "words": [naive(o.sequences, (1, 2), LETTERS) for o in (objects, lift.objects)],
        "vectors": (objects.vectors, lift.objects.vectors),
    }
    K = np.ones((len(U), len(lift))) if lift.form == "gaussian" else np.zeros((len(U), len(lift)))
    for view, rate in lift.rates.items():
        x, y = given[view]
        if lift.form == "gaussian":  # a product of Gaussians
            K *= np.exp(-rate * cdist(x, y) ** 2)
        else:
            K += rate * np.array([[a @ b for b in y] for a in x])
    return K


VIEWS = [("scores",), ("words",), ("scores", "words"), ("scores", "words", "vectors")]


@pytest.mark.parametrize("form", ["gaussian", "linear"])
@pytest.mark.parametrize("views", VIEWS, ids=" ".join)
def test_columns_are_those_of_the_formula(form, views):
    lift, U, objects = lift_and_objects(form, views)
    found = lift.columns(U, objects)
    np.testing.assert_allclose(found, written_out(lift, U, objects), rtol=3e-6, atol=5e-7)


@pytest.mark.parametrize("form", ["gaussian", "linear"])
def test_the_unit_of_scores_may_be_so_large_that_squares_leave_single_precision(form):
    lift, U, _ = lift_and_objects(form, ("scores",))
    rates = {"scores": lift.rates["scores"] / 1e44}
    large = replace(lift, scores=(1e22 * lift.scores.astype(float)).astype("f4"), rates=rates)
    found, expected = large.columns(1e22 * U, None), lift.columns(U, None)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    far = large.columns(np.full_like(U, 1e38), None)
    assert (far == 0).all() if form == "gaussian" else np.abs(far).min() > 1e12


def test_scores_alone_need_no_objects_and_other_views_do():
    lift, U, _ = lift_and_objects(views=("scores",))
    assert lift.columns(U, None).shape == (N, P)
    lift, U, _ = lift_and_objects()
    with pytest.raises(TypeError, match="the view words needs what the objects are"):
        lift.columns(U, None)


@pytest.mark.parametrize("form", ["gaussian", "linear"])
def test_a_row_has_the_same_bits_among_others_alone_and_with_threads(form):
    lift, U, objects = lift_and_objects(form, n=4200)
    together = lift.columns(U, objects)
    for places in (np.array([0]), np.array([511, 512, 4095, 4096]), np.arange(4199, 3000, -23)):
        np.testing.assert_array_equal(
            lift.columns(U[places], objects.take(places)), together[places]
        )
    with limited(threads=2, memory_mb=1):
        np.testing.assert_array_equal(lift.columns(U, objects), together)


def test_columns_hold_a_part_of_the_views_at_a_time():
    lift, U, objects = lift_and_objects(views=("scores", "words"), n=4096)
    lift = replace(
        lift, scores=np.tile(lift.scores, (40, 1)), objects=Viewed(lift.objects.sequences * 40)
    )
    lift.columns(U[:1], objects.take(np.arange(1)))  # compiles, and prepares the inducing points
    tracemalloc.start()
    columns = lift.columns(U, objects)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert columns.shape == (4096, 480)
    assert held < 1.6 * columns.nbytes  # two views of 4,096 rows would be twice as much
