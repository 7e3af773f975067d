"""Words by compiled loops: the same as dense algebra, in little memory."""

import tracemalloc

import numpy as np
import pytest

from kreinflow.base.numerics import PRODUCT_ROWS, limited
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Points, Viewed
from kreinflow.views.words import Words

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX*"


def drawn(n, length, seed=0, letters=LETTERS[:20]):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), length)).encode() for _ in range(n)]


def peak_mb(function):
    """Return the most that a function holds beside what was there, and what it gave."""
    tracemalloc.start()
    try:
        given = function()
        return tracemalloc.get_traced_memory()[1] / 2**20, given
    finally:
        tracemalloc.stop()


def test_counting_long_words_holds_no_table_of_all_words_for_each_sequence():
    words = Words((4,), LETTERS)
    words.features([b"ARND"])  # compiles
    held, features = peak_mb(lambda: words.features(drawn(300, 40)))
    assert held < 20  # 256 rows of 331,776 words would be 650
    assert features.shape == (300, 24**4)
    assert features.has_sorted_indices
    np.testing.assert_allclose(features.multiply(features).sum(axis=1), 1.0)


@pytest.mark.parametrize("p", [3, 60, 400])  # too few for common words, some, most of the shorter
def test_products_of_common_and_of_rare_words_are_those_of_dense_algebra(p):
    words = Words((1, 2, 3), LETTERS)
    X, Y = words.features(drawn(600, 50, seed=1)), words.features(drawn(p, 50, seed=2))
    points = Points(Y)
    common = points._columns[0]
    assert (len(common) > 0) == (p >= 60)
    assert len(common) < Y.shape[1]
    products = points.inner_products(X)
    np.testing.assert_allclose(products, X.toarray() @ Y.toarray().T, rtol=1e-12, atol=1e-14)
    for places in (np.array([0]), np.array([PRODUCT_ROWS, PRODUCT_ROWS - 1, 599])):
        np.testing.assert_array_equal(points.inner_products(X[places]), products[places])
    with limited(threads=2, memory_mb=1):
        np.testing.assert_array_equal(points.inner_products(X), products)


def test_columns_of_a_lift_hold_a_part_of_the_views_at_a_time():
    inducing, given = drawn(500, 30, seed=3), Viewed(drawn(4096, 30, seed=4))
    rng = np.random.default_rng(0)
    scores, U = rng.normal(size=(500, 8)).astype(np.float32), rng.normal(size=(4096, 8))
    words = Words((1, 2), LETTERS)
    lift = Lift("gaussian", {"scores": 0.1, "words": 0.5}, words, scores, Viewed(inducing))
    lift.columns(U[:1], given.take(np.arange(1)))  # compiles, and makes the inducing points ready
    held, columns = peak_mb(lambda: lift.columns(U, given))
    assert columns.shape == (4096, 500)
    assert held < 1.6 * columns.nbytes / 2**20  # two views of 4,096 rows would be twice as much
