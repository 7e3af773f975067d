"""The squared hinge loss on a core set: the conditions of optimality."""

import numpy as np

from krein_problems import mixture_rows
from kreinflow.learners.squared_hinge import GramCore, LinearCore, minimise_squared_hinge


def test_the_core_problem_is_solved_exactly_whichever_way():
    """beta = C max(0, 1 - margin) is the condition of optimality; rows or their Gram matrix."""
    for n, r in ((200, 10), (50, 80)):
        Z, _, y = mixture_rows(n, 1.0, r)
        t = np.where(y == 1, 1.0, -1.0)
        X = np.hstack([Z / np.sqrt(r), np.ones((n, 1))]) * t[:, None]
        rows, gram = LinearCore(X), GramCore(X @ X.T)
        start = np.random.default_rng(1).uniform(size=n)
        for penalty in (0.1, 100.0):
            betas = minimise_squared_hinge(rows, np.zeros(n), penalty)
            margins = gram.margins(betas)
            expected = penalty * np.maximum(0, 1 - margins)
            np.testing.assert_allclose(betas, expected, atol=1e-9 * betas.max())
            again = minimise_squared_hinge(gram, start, penalty)
            np.testing.assert_allclose(betas, again, atol=1e-9 * betas.max())
