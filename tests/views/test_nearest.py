"""The nearest points against all distances written out, sorted."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kreinflow.base.numerics import PRODUCT_ROWS, TILE, limited
from kreinflow.views import nearest
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed, Words
from views.test_words import drawn, naive

LETTERS, LENGTHS, M = "ARNDCQEGHI", (1, 2, 3), 6
RATES = {"scores": 0.7, "words": 0.4, "vectors": 0.05}
VIEWS = [("scores",), ("words",), ("vectors",), ("scores", "words"), ("scores", "words", "vectors")]


def case(views, p, n, form="gaussian", offset=0.0):
    """Points of six families, of which a quarter stand there again, and other objects."""
    rng = np.random.default_rng(p)
    total = p + n
    roots = [list(root) for root in drawn(6, LETTERS, longest=60, seed=1)]
    family = rng.integers(6, size=total)
    sequences = []
    for root in (roots[f] for f in family.tolist()):
        letters = np.array(root, dtype=np.uint8)
        changed = rng.random(len(letters)) < 0.4
        letters[changed] = rng.choice(list(LETTERS.encode()), changed.sum())
        sequences.append(letters.tobytes()[rng.integers(3) :] or b"A")
    U = offset + rng.normal(size=(6, M))[family] + 0.3 * rng.normal(size=(total, M))
    U = U.astype(np.float32)
    vectors = rng.normal(size=(6, 3))[family] + rng.normal(size=(total, 3))
    for place in rng.choice(p, size=p // 4, replace=False).tolist():
        other = int(rng.integers(p))
        U[place], vectors[place], sequences[place] = U[other], vectors[other], sequences[other]
    lift = Lift(
        form,
        {view: RATES[view] for view in views},
        Words(LENGTHS, LETTERS) if "words" in views else None,
        U[:p],
        Viewed(sequences[:p], vectors[:p]),
    )
    return lift, U[p:].astype(np.float64), Viewed(sequences[p:], vectors[p:])


def written_out(lift, U, objects):
    """All squared distances, view by view, by loops over pairs."""
    given = {
        "scores": (U, lift.scores.astype(np.float64)),
        "words": [naive(o.sequences, LENGTHS, LETTERS) for o in (objects, lift.objects)],
        "vectors": (objects.vectors, lift.objects.vectors),
    }
    return sum(rate * cdist(*given[view], "sqeuclidean") for view, rate in lift.rates.items())


def check(found, D, atol=2e-6):
    """Fail unless these are different points of the smallest distances, in order."""
    q = min(found.shape[1], D.shape[1])
    np.testing.assert_allclose(
        np.take_along_axis(D, found, axis=1), np.sort(D, axis=1)[:, :q], rtol=0, atol=atol
    )
    assert all(len(set(row)) == q for row in found.tolist())


@pytest.mark.parametrize("form", ["gaussian", "linear"])
@pytest.mark.parametrize("views", VIEWS, ids=" ".join)
def test_the_nearest_are_those_of_all_distances_in_order(form, views, monkeypatch):
    lift, U, objects = case(views, 200, 20, form)
    D = written_out(lift, U, objects)
    assert (np.diff(np.sort(D, axis=1), axis=1) == 0).sum() > 500  # ties, and many
    for q in (1, 2, 17, 199, 200, 1000):
        found = lift.nearest(U, objects, q)
        assert found.shape == (20, min(q, 200))
        check(found, D)
    monkeypatch.setattr(nearest, "WIDTH", 32)
    lift.forget()
    for q in (3, 50):
        check(lift.nearest(U, objects, q), D)


def test_a_constant_of_all_points_costs_no_digits():
    lift, U, objects = case(("scores",), 500, 50, offset=1e4)
    D = RATES["scores"] * cdist(U, lift.scores.astype(np.float64), "sqeuclidean")
    check(lift.nearest(U, objects, 20), D, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_unit_of_a_view_does_not_matter(scale):
    lift, U, _ = case(("scores",), 300, 30)
    scaled = Lift("linear", {"scores": 1.0}, None, lift.scores * np.float32(scale), Viewed())
    found = scaled.nearest(U.astype(np.float32) * np.float32(scale), None, 10)
    check(found, cdist(U, lift.scores.astype(np.float64), "sqeuclidean"), atol=1e-5)


@pytest.mark.parametrize("far", [1e15, 1e30])
def test_a_point_or_row_far_away_does_not_blur_the_others(far):
    lift, U, objects = case(("scores", "words"), 300, 30)
    lift.scores[17] = far
    U[3] = -far
    near = np.arange(30) != 3
    check(lift.nearest(U, objects, 20)[near], written_out(lift, U, objects)[near])
    assert (lift.nearest(U, objects, 300)[:, -1] == 17).all()


def test_a_row_has_the_same_nearest_among_others_alone_and_with_threads():
    lift, U, objects = case(VIEWS[-1], 250, TILE + 30)
    together = lift.nearest(U, objects, 9)
    for places in (np.array([0]), np.array([PRODUCT_ROWS, TILE, TILE + 29]), np.arange(300, 0, -7)):
        np.testing.assert_array_equal(
            lift.nearest(U[places], objects.take(places), 9), together[places]
        )
    lift.forget()
    with limited(threads=2, memory_mb=0):  # the tiles are made again each time
        np.testing.assert_array_equal(lift.nearest(U, objects, 9), together)
        assert not lift._search._tiles
