"""The reject threshold against trying all thresholds."""

import numpy as np
import pytest

from kreinflow.models.reject_threshold import RejectRule, coverage_threshold, reject_threshold
from models.trainings import noisy_decisions


def noisy_probabilities(n=400, k=5, seed=0):
    """Probabilities with many ties, and the true classes."""
    decisions, y = noisy_decisions(n, k, seed)
    likely = np.exp(1.5 * decisions)
    return np.round(likely / likely.sum(axis=1, keepdims=True), 2), y


@pytest.mark.parametrize(
    ("rule", "stated"),
    [(RejectRule(0.05), {"error": 0.05}), (RejectRule(0.05, 0.8), {"coverage": 0.8})],
)
def test_a_coverage_goes_before_an_error(rule, stated):
    probabilities, y = noisy_probabilities()
    expected = reject_threshold(probabilities, y, 0.05)
    if rule.coverage:
        expected = coverage_threshold(probabilities, 0.8)
    assert rule.threshold(probabilities, y) == expected
    assert rule.stated == stated


def test_a_rule_of_nothing_is_refused():
    with pytest.raises(ValueError, match="an error or a coverage"):
        RejectRule(None)


def naive_threshold(probabilities, y, error):
    top, wrong = probabilities.max(axis=1), probabilities.argmax(axis=1) != y
    return min((t for t in top if wrong[top >= t].mean() <= error), default=1.0)


@pytest.mark.parametrize("error", [0.0, 0.01, 0.05, 0.2, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_reject_threshold_equals_trying_all(error, seed):
    probabilities, y = noisy_probabilities(150, seed=seed)
    assert reject_threshold(probabilities, y, error) == naive_threshold(probabilities, y, error)


def test_reject_threshold_at_its_ends():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    assert reject_threshold(probabilities, np.array([0, 1, 0])) == probabilities.max(axis=1).min()
    assert reject_threshold(probabilities, np.array([1, 0, 1])) == 1.0
    assert reject_threshold(probabilities, np.array([0, 1, 1])) == 0.8


@pytest.mark.parametrize("coverage", [1e-6, 0.07, 0.5, 0.95, 0.999, 1.0])
@pytest.mark.parametrize("n", [30, 100, 150])
def test_coverage_threshold_equals_trying_all(coverage, n):
    probabilities = noisy_probabilities(n, seed=n)[0]
    top = probabilities.max(axis=1)
    enough = [t for t in top if round(n * coverage, 9) <= np.count_nonzero(top >= t)]
    assert coverage_threshold(probabilities, coverage) == max(enough)


def test_coverage_threshold_without_ties_accepts_the_share():
    probabilities = np.linspace(0.5, 1, 100)[:, None] * [1, 0] + [0, 1e-9]
    for coverage in (0.07, 0.29, 0.57, 0.95):
        found = coverage_threshold(probabilities, coverage)
        assert np.mean(probabilities.max(axis=1) >= found) == pytest.approx(coverage, abs=1e-12)
