"""Positive definite systems: solved, or refused in the words of the learner."""

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.learners.linear_systems import solve_positive

REFUSED = InputError("too small")


@pytest.mark.parametrize("n", [1, 3, 90])
@pytest.mark.parametrize("columns", [(), (4,)])
def test_the_solution_is_that_of_the_whole_sum(n, columns):
    rng = np.random.default_rng(n)
    X, b = rng.standard_normal((n // 2 + 1, n)), rng.standard_normal((n, *columns))
    for shift in (0.5, rng.uniform(0.1, 2.0, n)):
        expected = np.linalg.solve(X.T @ X + np.diag(np.broadcast_to(shift, n)), b)
        np.testing.assert_allclose(solve_positive(X.T @ X, b, shift, REFUSED), expected, rtol=1e-9)


def test_what_is_not_positive_definite_or_not_finite_is_refused():
    """LAPACK counts a matrix with NaN as positive definite, and solves it: with NaN."""
    wrong = [np.ones((2, 2)), -np.eye(2)]
    for n in (1, 3, 90):
        for place in {(0, 0), (n - 1, 0), (n - 1, n - 1)}:
            A = 2.0 * np.eye(n)
            A[place] = A[place[::-1]] = np.nan
            wrong.append(A)
    for A in wrong:
        with pytest.raises(InputError, match="too small"):
            solve_positive(A, np.ones(len(A)), 0.0, REFUSED)
