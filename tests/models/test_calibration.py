"""Temperature scaling against scikit-learn and brute force."""

import numpy as np
import pytest
from sklearn.calibration import _TemperatureScaling
from sklearn.metrics import log_loss

from kreinflow.errors import InputError
from kreinflow.models.calibration import TemperatureCalibrator
from models.trainings import noisy_decisions


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("k", [2, 5])
def test_equals_brute_force_and_scikit_learn(k, scale):
    decisions, y = noisy_decisions(k=k)
    decisions *= scale
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


ROUNDING = 1e-13


@pytest.mark.parametrize("common", [1.0, -3e8, 2.5e-7])
def test_rounding_noise_is_no_decision(common):
    """Equal decisions that differ in their last digits tell nothing, of whatever size they are."""
    noise, y = noisy_decisions()
    calibrator = TemperatureCalibrator().fit(common * (1 + ROUNDING * noise), y)
    assert (calibrator.temperature_, calibrator.log_loss_) == (1.0, np.log(5))


@pytest.mark.parametrize("offset", [-1e6, -1.0])
def test_a_class_far_from_the_others_does_not_hide_their_rounding_noise(offset):
    """The class is never true; of the others, all as good, noise would be taken for a decision."""
    noise, y = noisy_decisions(k=4)
    decisions = abs(offset) * ROUNDING * np.insert(noise, 4, 0, axis=1)
    decisions[:, 4] += offset
    probabilities = TemperatureCalibrator().fit(decisions, y).probabilities(decisions)
    np.testing.assert_allclose(probabilities[:, :4], 0.25, atol=1e-3)
    assert probabilities[:, 4].max() < 1e-12


@pytest.mark.parametrize("offset", [-1e6, -1e3, 1e-3])
def test_a_class_far_from_the_others_leaves_what_they_say(offset):
    decisions, y = noisy_decisions(k=4)
    alone = TemperatureCalibrator().fit(decisions, y)
    if offset < -1:
        both = TemperatureCalibrator().fit(np.insert(decisions, 4, offset, axis=1), y)
    else:  # differences well above rounding, far below the common size
        both = TemperatureCalibrator().fit(1 + offset * decisions, y)
        both.temperature_ /= offset
    assert both.temperature_ == pytest.approx(alone.temperature_, rel=1e-8)


def test_decisions_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="finite"):
        TemperatureCalibrator().fit(np.full((2, 2), np.nan), np.array([0, 1]))


def test_useless_decisions_are_flattened():
    decisions, y = noisy_decisions()
    calibrator = TemperatureCalibrator().fit(-decisions, y)
    assert np.isfinite(calibrator.temperature_)
    assert np.ptp(calibrator.probabilities(-decisions)) < 0.01
    assert TemperatureCalibrator().fit(np.zeros((4, 2)), np.array([0, 1, 0, 1])).temperature_ == 1.0
