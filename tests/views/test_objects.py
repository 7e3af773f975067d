"""Squared distances and products of views against scipy, and sequences as arrays and back."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

from kreinflow.base.numerics import PRODUCT_ROWS, limited
from kreinflow.views import objects as module
from kreinflow.views.objects import Points, Words, residue_arrays, split_residues, square_norms
from small_inputs import PROTEIN
from views.test_words import drawn


def squared_distances(X, Y):
    return Points(Y).squared_distances(X)


def dense(n, width=7, offset=0.0, seed=0):
    return offset + np.random.default_rng(seed).normal(size=(n, width))


def sparse(n, seed=0):
    return Words((1, 2), "ACGT").features(drawn(n, "ACGT", seed=seed))


@pytest.mark.parametrize("make", [dense, sparse])
def test_distances_and_products_are_those_of_scipy_and_of_dense_algebra(make):
    X, Y = make(600), make(50, seed=1)
    x, y = (Z.toarray() if scipy.sparse.issparse(Z) else Z for Z in (X, Y))
    distances = squared_distances(X, Y)
    np.testing.assert_allclose(distances, cdist(x, y, "sqeuclidean"), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(Points(Y).inner_products(X), x @ y.T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(square_norms(X), (x**2).sum(axis=1), rtol=1e-13)
    assert (squared_distances(X, X) >= 0).all()


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_distances_far_from_the_origin_are_those_near_it(offset):
    """Vectors of a user may have a mean much larger than what tells them apart."""
    X, Y = dense(60, offset=offset), dense(20, offset=offset, seed=1)
    np.testing.assert_allclose(squared_distances(X, Y), cdist(X, Y, "sqeuclidean"), rtol=1e-8)


def test_words_in_single_precision_are_those_in_double():
    X, Y = (Words((1, 2, 3), PROTEIN).features(drawn(n, PROTEIN, 60, seed=n)) for n in (600, 400))
    double, single = squared_distances(X, Y), squared_distances(*(Z.astype("f4") for Z in (X, Y)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=1e-5)


@pytest.mark.parametrize("p", [3, 60, 400])  # too few for common words, some, most of the shorter
def test_products_of_common_and_of_rare_words_are_those_of_dense_algebra(p, monkeypatch):
    words = Words((1, 2, 3), PROTEIN)
    X, Y = (words.features(drawn(n, PROTEIN, 60, seed=n)) for n in (600, p))
    points = Points(Y)
    common = points._columns[0]
    assert (len(common) > 0) == (p >= 60)
    assert len(common) < Y.shape[1]
    products = points.inner_products(X)
    np.testing.assert_allclose(products, X.toarray() @ Y.toarray().T, rtol=1e-12, atol=1e-14)
    some = np.array([PRODUCT_ROWS, PRODUCT_ROWS - 1, 599])
    np.testing.assert_array_equal(points.inner_products(X[some]), products[some])
    with limited(threads=2, memory_mb=1):
        np.testing.assert_array_equal(points.inner_products(X), products)
    single = Points(Y.astype("f4")), X[some].astype("f4")
    compiled = single[0].inner_products(single[1])
    monkeypatch.setattr(module, "worth_compiling", lambda microseconds: False)
    np.testing.assert_array_equal(points.inner_products(X[some]), products[some])
    np.testing.assert_array_equal(single[0].inner_products(single[1]), compiled)


def test_sequences_come_back_from_arrays():
    sequences = drawn(20, "ACGT")
    arrays = residue_arrays(sequences)
    assert split_residues(arrays["residues"], arrays["ends"]) == tuple(sequences)
    with pytest.raises(ValueError, match="do not agree"):
        split_residues(arrays["residues"][:-1], arrays["ends"])
