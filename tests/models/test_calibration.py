"""Temperature scaling against scikit-learn and brute force; the reject threshold."""

import numpy as np
import pytest
from sklearn.calibration import _TemperatureScaling
from sklearn.metrics import log_loss

from kreinflow.errors import InputError
from kreinflow.models.calibration import (
    TemperatureCalibrator,
    coverage_threshold,
    reject_threshold,
)


def noisy_decisions(n=400, k=5, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    decisions = rng.normal(size=(n, k))
    decisions[np.arange(n), y] += 1.5
    return decisions * scale, y


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("k", [2, 5])
def test_equals_brute_force_and_scikit_learn(k, scale):
    decisions, y = noisy_decisions(k=k, scale=scale)
    calibrator = TemperatureCalibrator().fit(decisions, y)
    grid = calibrator.temperature_ * np.exp(np.linspace(-0.2, 0.2, 401))
    losses = []
    for temperature in grid:
        e = np.exp((decisions - decisions.max(axis=1, keepdims=True)) / temperature)
        losses.append(log_loss(y, e / e.sum(axis=1, keepdims=True)))
    assert np.argmin(losses) == 200
    assert calibrator.log_loss_ == pytest.approx(min(losses), abs=1e-12)
    # scikit-learn optimises to a relative 1e-5 of log(1/T) and takes decisions as logits
    if k > 2:
        theirs = _TemperatureScaling().fit(decisions / scale, y)
        assert 1 / theirs.beta_ == pytest.approx(calibrator.temperature_ / scale, rel=1e-4)


def test_probabilities_sum_to_one_and_keep_the_prediction():
    decisions, y = noisy_decisions()
    probabilities = TemperatureCalibrator().fit(decisions, y).probabilities(decisions)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), decisions.argmax(axis=1))


def test_shifted_rows_have_the_same_temperature():
    decisions, y = noisy_decisions()
    shift = np.random.default_rng(1).normal(size=(len(y), 1)) * 100
    one = TemperatureCalibrator().fit(decisions, y)
    other = TemperatureCalibrator().fit(decisions + shift, y)
    assert other.temperature_ == pytest.approx(one.temperature_, rel=1e-8)


def test_separated_decisions_have_the_documented_loss():
    y = np.arange(60) % 3
    decisions = np.eye(3)[y] * np.linspace(0.5, 2.0, 60)[:, None]
    calibrator = TemperatureCalibrator().fit(decisions, y)
    assert calibrator.log_loss_ == pytest.approx(np.log(2) / 61)
    loss = log_loss(y, calibrator.probabilities(decisions))
    assert loss == pytest.approx(np.log(2) / 61)


def test_one_error_keeps_the_minimum():
    y = np.arange(60) % 3
    decisions = np.eye(3)[y] * 2.0
    y[7] = (y[7] + 1) % 3
    calibrator = TemperatureCalibrator().fit(decisions, y)
    # with margin 2 of 59 right rows and -2 of one wrong row: p = 59/60 of the winning class
    share = calibrator.probabilities(decisions).max(axis=1)
    np.testing.assert_allclose(share, 59 / 60)


def test_decisions_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="finite"):
        TemperatureCalibrator().fit(np.full((2, 2), np.nan), np.array([0, 1]))


def test_useless_decisions_are_flattened():
    decisions, y = noisy_decisions()
    calibrator = TemperatureCalibrator().fit(-decisions, y)
    assert np.isfinite(calibrator.temperature_)
    assert np.ptp(calibrator.probabilities(-decisions)) < 0.01
    assert TemperatureCalibrator().fit(np.zeros((4, 2)), np.array([0, 1, 0, 1])).temperature_ == 1.0


def naive_threshold(probabilities, y, error):
    top, wrong = probabilities.max(axis=1), probabilities.argmax(axis=1) != y
    return min((t for t in top if wrong[top >= t].mean() <= error), default=1.0)


@pytest.mark.parametrize("error", [0.0, 0.01, 0.05, 0.2, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_reject_threshold_equals_trying_all(error, seed):
    decisions, y = noisy_decisions(n=150, seed=seed)
    probabilities = TemperatureCalibrator().fit(decisions, y).probabilities(decisions)
    probabilities = np.round(probabilities, 2)  # many ties
    found = reject_threshold(probabilities, y, error)
    assert found == naive_threshold(probabilities, y, error)
    accepted = probabilities.max(axis=1) >= found
    wrong = (probabilities.argmax(axis=1) != y)[accepted]
    assert wrong.size == 0 or wrong.mean() <= error or found == 1.0


def test_reject_threshold_at_its_ends():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    assert reject_threshold(probabilities, np.array([0, 1, 0])) == probabilities.max(axis=1).min()
    assert reject_threshold(probabilities, np.array([1, 0, 1])) == 1.0
    assert reject_threshold(probabilities, np.array([0, 1, 1])) == 0.8


@pytest.mark.parametrize("coverage", [1e-6, 0.07, 0.5, 0.95, 0.999, 1.0])
@pytest.mark.parametrize("n", [30, 100, 150])
def test_coverage_threshold_equals_trying_all(coverage, n):
    decisions, y = noisy_decisions(n=n, seed=n)
    probabilities = np.round(TemperatureCalibrator().fit(decisions, y).probabilities(decisions), 2)
    top = probabilities.max(axis=1)
    enough = [t for t in top if round(n * coverage, 9) <= np.count_nonzero(top >= t)]
    assert coverage_threshold(probabilities, coverage) == max(enough)


def test_coverage_threshold_without_ties_accepts_the_share():
    probabilities = np.linspace(0.5, 1, 100)[:, None] * [1, 0] + [0, 1e-9]
    for coverage in (0.07, 0.29, 0.57, 0.95):
        found = coverage_threshold(probabilities, coverage)
        assert np.mean(probabilities.max(axis=1) >= found) == pytest.approx(coverage, abs=1e-12)
