"""More landmarks are the fewer ones and others: a step up costs the alignments of the new alone."""

import numpy as np
import pytest

from kreinflow.landmarks.kmeans import share_budget
from kreinflow.landmarks.registry import make_selector
from landmarks.made_up import indefinite_kernel, problem_of


def selected(method, K, labels, budget, seed):
    selector = make_selector({"method": method, "budget": budget})
    return set(selector.select(problem_of(K, labels, budget, seed=seed))["row"])


@pytest.mark.parametrize("method", ["meb", "kmeans++", "uniform"])
@pytest.mark.parametrize("seed", range(4))
def test_the_landmarks_of_a_smaller_budget_are_among_those_of_a_larger(method, seed):
    """Of every pair of budgets that follow each other, from one a class to all rows."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 25, random.integers(2, 7))
    labels = np.repeat([f"class {j}" for j in range(len(sizes))], sizes)
    n = len(labels)
    K = indefinite_kernel(n, 8, 4, seed=seed)
    K[labels == "class 0"] = K[:, labels == "class 0"] = 0.0  # all alike
    before: set[int] = set()
    for budget in range(len(sizes), n + 1):
        rows = selected(method, K, labels, budget, seed)
        assert len(rows) == budget
        assert before < rows
        before = rows


@pytest.mark.parametrize("seed", range(20))
def test_a_larger_budget_takes_no_landmark_from_a_class(seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 50, random.integers(1, 30))
    shares = np.array([share_budget(sizes, b) for b in range(len(sizes), sizes.sum() + 1)])
    steps = np.diff(shares, axis=0)
    assert (steps >= 0).all()
    assert (steps.sum(axis=1) == 1).all()
