"""Routines that give the interpreter's lock back, against those of SciPy that do not."""

import ctypes

import numpy as np
import pytest
import scipy

from kreinflow.base import lapack
from kreinflow.base.lapack import add_products, solve_by_cholesky


def positive(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n + 3, n))
    return X.T @ X


@pytest.mark.parametrize("k", [1, 7, 60])
def test_products_are_those_of_scipy_bit_for_bit(k):
    X, before = np.random.default_rng(k).normal(size=(k, 33)), positive(33)
    upper = np.asfortranarray(before)
    add_products(X, upper)
    expected = scipy.linalg.blas.dsyrk(1.0, X.T, beta=1.0, c=np.asfortranarray(before))
    np.testing.assert_array_equal(upper, expected)
    np.testing.assert_allclose(np.triu(upper), np.triu(before + X.T @ X), rtol=1e-12)
    np.testing.assert_array_equal(np.tril(upper, -1), np.tril(before, -1))
    other = np.asfortranarray(before)
    add_products(np.asfortranarray(X), other)
    np.testing.assert_array_equal(other, upper)


@pytest.mark.parametrize("shape", [(40,), (40, 1), (40, 6)])
def test_solutions_are_those_of_scipy_bit_for_bit(shape):
    A, b = positive(40), np.random.default_rng(1).normal(size=shape)
    given = b.copy()
    expected = scipy.linalg.lapack.dposv(A.T, b, lower=0)[1].reshape(shape)
    x, solved = solve_by_cholesky(A.copy(), b)
    assert solved
    assert x.shape == shape
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_allclose(A @ x, b, atol=1e-9)
    np.testing.assert_array_equal(b, given)
    np.testing.assert_array_equal(solve_by_cholesky(np.asfortranarray(A), b)[0], expected)


def test_a_matrix_that_is_not_positive_definite_is_told():
    assert not solve_by_cholesky(-positive(5), np.ones(5))[1]


def test_the_upper_triangle_of_a_matrix_that_is_solved_stays():
    A = positive(20)
    before = A.copy()
    solve_by_cholesky(A, np.ones(20))
    np.testing.assert_array_equal(np.triu(A, 1), np.triu(before, 1))
    assert not np.array_equal(A, before)


def test_a_routine_gives_the_lock_of_the_interpreter_back():
    """Only those of ``PyDLL`` keep it: see the flags of ctypes."""
    for library, name in (("blas", "dsyrk"), ("lapack", "dposv")):
        assert not lapack._routine(library, name)._flags_ & ctypes._FUNCFLAG_PYTHONAPI
