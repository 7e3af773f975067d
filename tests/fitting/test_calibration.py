"""Temperature scaling and Platt's against scikit-learn, brute force and their own equations."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax
from sklearn.calibration import _sigmoid_calibration, _TemperatureScaling
from sklearn.metrics import log_loss

from fitting.trainings import noisy_decisions
from kreinflow.fitting.calibration import PlattCalibrator, TemperatureCalibrator


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("k", [2, 5])
def test_equals_brute_force_and_scikit_learn(k, scale):
    decisions, y = noisy_decisions(k=k)
    decisions *= scale
    calibrator = TemperatureCalibrator().fit(decisions, y)
    grid, rows = calibrator.temperature_ * np.exp(np.linspace(-0.2, 0.2, 401)), np.arange(len(y))
    losses = [-log_softmax(decisions / t, axis=1)[rows, y].mean() for t in grid]
    assert np.argmin(losses) == 200
    assert calibrator.losses(decisions, y).mean() == pytest.approx(min(losses), abs=1e-12)
    # scikit-learn optimises to a relative 1e-5 of log(1/T) and takes decisions as logits
    if k > 2:
        theirs = _TemperatureScaling().fit(decisions / scale, y)
        assert 1 / theirs.beta_ == pytest.approx(calibrator.temperature_ / scale, rel=1e-4)


def test_separated_decisions_have_the_documented_loss():
    y = np.arange(60) % 3
    decisions = np.eye(3)[y] * np.linspace(0.5, 2.0, 60)[:, None]
    calibrator = TemperatureCalibrator().fit(decisions, y)
    loss = log_loss(y, calibrator.probabilities(decisions))
    assert loss == pytest.approx(np.log(2) / 61)


ROUNDING = 1e-13


@pytest.mark.parametrize("common", [1.0, -3e8, 2.5e-7])
def test_rounding_noise_is_no_decision(common):
    """Equal decisions that differ in their last digits tell nothing, of whatever size they are."""
    noise, y = noisy_decisions()
    assert TemperatureCalibrator().fit(common * (1 + ROUNDING * noise), y).temperature_ == 1.0


@pytest.mark.parametrize("offset", [-1e6, -1.0])
def test_a_class_far_from_the_others_does_not_hide_their_rounding_noise(offset):
    """The class is never true; of the others, all as good, noise would be taken for a decision."""
    noise, y = noisy_decisions(k=4)
    decisions = abs(offset) * ROUNDING * np.insert(noise, 4, 0, axis=1)
    decisions[:, 4] += offset
    probabilities = TemperatureCalibrator().fit(decisions, y).probabilities(decisions)
    np.testing.assert_allclose(probabilities[:, :4], 0.25, atol=1e-3)
    assert probabilities[:, 4].max() < 1e-12


def test_a_class_far_from_the_others_leaves_what_they_say():
    """So do differences well above rounding, far below the common size."""
    decisions, y = noisy_decisions(k=4)
    alone = TemperatureCalibrator().fit(decisions, y).temperature_
    for offset in (-1e6, -1e3):
        both = TemperatureCalibrator().fit(np.insert(decisions, 4, offset, axis=1), y)
        assert both.temperature_ == pytest.approx(alone, rel=1e-8)
    small = TemperatureCalibrator().fit(1 + 1e-3 * decisions, y)
    assert small.temperature_ == pytest.approx(1e-3 * alone, rel=1e-8)


def test_useless_decisions_are_flattened():
    decisions, y = noisy_decisions()
    calibrator = TemperatureCalibrator().fit(-decisions, y)
    assert np.isfinite(calibrator.temperature_)
    assert np.ptp(calibrator.probabilities(-decisions)) < 0.01
    assert TemperatureCalibrator().fit(np.zeros((4, 2)), np.array([0, 1, 0, 1])).temperature_ == 1.0


def labelled(n=300, k=4, seed=0, signal=1.5):
    """Decisions of several labels, in units and at places of their own, and which labels are."""
    rng = np.random.default_rng(seed)
    memberships = rng.random((n, k)) < np.linspace(0.02, 0.6, k)
    memberships[:2] = True
    decisions = rng.normal(size=(n, k)) + signal * memberships
    return decisions * 10.0 ** np.arange(k) + 3.0 * np.arange(k), memberships


@pytest.mark.parametrize("seed", range(5))
def test_platt_scaling_is_that_of_scikit_learn(seed):
    decisions, memberships = labelled(seed=seed)
    found = PlattCalibrator().fit(decisions, memberships)
    for code in range(4):
        slope, intercept = _sigmoid_calibration(decisions[:, code], memberships[:, code] * 1.0)
        expected = expit(-(slope * decisions[:, code] + intercept))
        ours = found.probabilities(decisions)[:, code]
        np.testing.assert_allclose(ours, expected, atol=2e-5)


@pytest.mark.parametrize(("unit", "zero"), [(1e-6, -40.0), (1e-200, 0.0), (1e200, 0.0)])
def test_platt_scaling_does_not_depend_on_the_unit_and_the_zero_of_decisions(unit, zero):
    decisions, memberships = labelled()
    one = PlattCalibrator().fit(decisions, memberships)
    moved = unit * decisions + zero
    other = PlattCalibrator().fit(moved, memberships)
    np.testing.assert_allclose(one.probabilities(decisions), other.probabilities(moved), rtol=1e-6)


def test_labels_that_decisions_tell_apart_have_finite_probabilities():
    memberships = np.arange(40)[:, None] < 10
    found = PlattCalibrator().fit(np.where(memberships, 1.0, -1.0), memberships)
    p = found.probabilities(np.array([[1.0], [-1.0]]))[:, 0]
    np.testing.assert_allclose(p, [11 / 12, 1 / 32], rtol=1e-9)


@pytest.mark.parametrize("wrong_way", [False, True])
def test_decisions_that_tell_nothing_give_the_share(wrong_way):
    rng = np.random.default_rng(3)
    memberships = rng.random((400, 1)) < 0.3
    decisions = np.zeros((400, 1)) + 1e3
    if wrong_way:
        decisions = rng.normal(size=(400, 1)) - 2.0 * memberships
    found = PlattCalibrator().fit(decisions, memberships)
    assert (found.slopes_ > 0).all()
    np.testing.assert_allclose(found.probabilities(decisions), memberships.mean(), atol=0.01)


def test_labels_that_too_few_rows_have_or_lack_share_one_line():
    decisions, memberships = labelled()
    memberships[:, 0] = np.arange(300) == 5
    memberships[:, 3] = np.arange(300) != 5
    found = PlattCalibrator().fit(decisions, memberships)
    assert found.shared_.tolist() == [True, False, False, True]
    together = PlattCalibrator().fit(decisions.reshape(-1, 1), memberships.reshape(-1, 1))
    assert found.slopes_[0] == found.slopes_[3] == together.slopes_[0]
    assert found.intercepts_[0] == found.intercepts_[3] == together.intercepts_[0]
