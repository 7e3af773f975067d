"""The nearest points against all distances written out, sorted."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kreinflow.base.numerics import PRODUCT_ROWS, TILE, limited
from kreinflow.views import nearest
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed
from kreinflow.views.words import Words
from views.test_words import drawn, naive

LETTERS, LENGTHS, M = "ARNDCQEGHI", (1, 2, 3), 6
RATES = {"scores": 0.7, "words": 0.4, "vectors": 0.05}
VIEWS = [("scores",), ("words",), ("vectors",), ("scores", "words"), ("scores", "words", "vectors")]


def case(views, p, n, form="gaussian", offset=0.0, again=0.25):
    """Points of six families, of which some stand there again, and other objects."""
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
    for place in rng.choice(p, size=int(again * p), replace=False).tolist():
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


def check(found, D):
    """Fail unless these are the smallest distances in order, and of the same points the first."""
    q = min(found.shape[1], D.shape[1])
    np.testing.assert_allclose(
        np.take_along_axis(D, found, axis=1), np.sort(D, axis=1)[:, :q], rtol=0, atol=1e-12
    )
    same = np.unique(D, axis=1, return_inverse=True)[1].ravel()
    for row in found:
        for point in set(same[row].tolist()):
            own = row[same[row] == point]
            np.testing.assert_array_equal(own, np.flatnonzero(same == point)[: len(own)])


@pytest.mark.parametrize("form", ["gaussian", "linear"])
@pytest.mark.parametrize("views", VIEWS, ids=" ".join)
def test_the_nearest_are_those_of_all_distances_in_order(form, views):
    lift, U, objects = case(views, 200, 20, form)
    D = written_out(lift, U, objects)
    assert (np.diff(np.sort(D, axis=1), axis=1) == 0).sum() > 500  # ties, and many
    for q in (1, 2, 17, 199, 200, 1000):
        found = lift.nearest(U, objects, q)
        assert found.shape == (20, min(q, 200))
        check(found, D)


def test_of_points_that_are_all_the_same_the_first_are_taken():
    lift, U, objects = case(VIEWS[-1], 40, 5)
    same = Lift(
        lift.form,
        lift.rates,
        lift.words,
        np.repeat(lift.scores[:1], 40, axis=0),
        lift.objects.take(np.zeros(40, dtype=int)),
    )
    assert (same.nearest(U, objects, 7) == np.arange(7)).all()


@pytest.mark.parametrize("alike", [20_000, 10_000])
def test_points_that_are_alike_take_no_memory_for_each_row(monkeypatch, alike):
    """All of them for each row would be 90 MB."""
    rng = np.random.default_rng(alike)
    scores = rng.normal(size=(20_000, 3)).astype(np.float32)
    scores[rng.permutation(20_000)[:alike]] = 0.5
    lift = Lift("gaussian", {"scores": 1.0}, None, scores, Viewed())
    U = np.where(np.arange(PRODUCT_ROWS)[:, None] % 5, 0.5, rng.normal(size=(PRODUCT_ROWS, 3)))
    U = U.astype(np.float32).astype(np.float64)
    monkeypatch.setattr(nearest, "WIDTH", 512)
    lift.nearest(U[:1], None, 5)  # what is compiled and kept once
    tracemalloc.start()
    found = lift.nearest(U, None, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6
    for row, own in zip(U, found, strict=True):
        D = ((scores.astype(np.float64) - row) ** 2).sum(axis=1)
        np.testing.assert_array_equal(own, np.argsort(D, kind="stable")[:5])


def test_a_tie_at_the_last_place_goes_to_the_lower_place_of_another_tile(monkeypatch):
    lift, U, objects = case(("scores", "words"), 300, 40, again=0.9)
    D = written_out(lift, U, objects)
    monkeypatch.setattr(nearest, "WIDTH", 32)
    monkeypatch.setattr(nearest, "_CROWD", 0)
    for q in (3, 10, 50):
        ranked = np.sort(D, axis=1)
        assert (ranked[:, q - 1] == ranked[:, q]).mean() > 0.3
        check(lift.nearest(U, objects, q), D)


@pytest.mark.parametrize("offset", [1e2, 1e4])
def test_digits_that_single_precision_lacks_are_not_missed(offset):
    """With all but a few digits in common a product of matrices cannot tell who is near."""
    lift, U, objects = case(("scores",), 500, 50, offset=offset, again=0.0)
    for own, there in ((lift, U), (lift, U + 1e5)):  # of far rows nothing is left but rounding
        D = cdist(there.astype(np.float32).astype(np.float64), own.scores.astype(np.float64)) ** 2
        np.testing.assert_array_equal(
            own.nearest(there, objects, 20), np.argsort(D, axis=1, kind="stable")[:, :20]
        )


@pytest.mark.parametrize("scale", [1e-20, 1e-12, 1e12, 1e18])
def test_the_unit_of_a_view_does_not_matter(scale):
    lift, U, _ = case(("scores",), 300, 30)
    scaled = Lift("linear", {"scores": 1.0}, None, lift.scores * np.float32(scale), Viewed())
    np.testing.assert_array_equal(
        scaled.nearest(U.astype(np.float32) * np.float32(scale), None, 10),
        lift.nearest(U, None, 10),
    )


@pytest.mark.parametrize("far", [1e15, 1e25, 1e30])
def test_one_point_or_row_far_away_hides_nobody(far):
    lift, U, objects = case(("scores", "words"), 300, 30)
    lift.scores[17] = far
    U[3] = -far
    near = np.arange(30) != 3
    check(lift.nearest(U, objects, 20)[near], written_out(lift, U, objects)[near])
    assert (lift.nearest(U, objects, 300)[:, -1] == 17).all()


def test_a_row_has_the_same_nearest_among_others_alone_and_with_threads(monkeypatch):
    lift, U, objects = case(VIEWS[-1], 250, TILE + 30)
    together = lift.nearest(U, objects, 9)
    for places in (np.array([0]), np.array([PRODUCT_ROWS, TILE, TILE + 29]), np.arange(300, 0, -7)):
        np.testing.assert_array_equal(
            lift.nearest(U[places], objects.take(places), 9), together[places]
        )
    with limited(threads=2, memory_mb=0):  # the tiles are made again each time
        again = Lift(lift.form, lift.rates, lift.words, lift.scores, lift.objects)
        np.testing.assert_array_equal(again.nearest(U, objects, 9), together)
        assert not again._search._kept
        assert again._search.held < lift._search.held
    lift.forget()
    assert lift._search.held == 0
    np.testing.assert_array_equal(
        lift.nearest(U[:50], objects.take(np.arange(50)), 9), together[:50]
    )
    for width in (1, 64, 249):
        monkeypatch.setattr(nearest, "WIDTH", width)
        again = Lift(lift.form, lift.rates, lift.words, lift.scores, lift.objects)
        np.testing.assert_array_equal(
            again.nearest(U[:50], objects.take(np.arange(50)), 9), together[:50]
        )


def test_no_rows_have_no_nearest():
    lift, U, objects = case(VIEWS[-1], 50, 3)
    assert lift.nearest(U[:0], objects.take(np.arange(0)), 4).shape == (0, 4)


def test_what_the_views_need_is_asked_for():
    lift, U, objects = case(("scores", "words"), 50, 3)
    with pytest.raises(TypeError, match="the view words"):
        lift.nearest(U, None, 4)
    lift, U, objects = case(VIEWS[-1], 50, 3)
    with pytest.raises(TypeError, match="the view vectors"):
        lift.nearest(U, Viewed(objects.sequences), 4)
