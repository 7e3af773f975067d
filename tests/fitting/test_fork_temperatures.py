"""Temperatures of the forks of a tree: against a naive way, the truth, and chance."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from kreinflow.answering.fork_temperatures import ForkTemperatures
from kreinflow.base.errors import InputError
from kreinflow.base.hierarchy import Tree
from kreinflow.fitting.calibration import TemperatureCalibrator, fork_temperatures

PATHS = ("a.1", "a.2", "a.3", "b.1", "b.2", "c")
FORKS = Tree.of(PATHS, ".").forks
PARENTS = {"": [[0, 1, 2], [3, 4], [5]], "a": [[0], [1], [2]], "b": [[3], [4]]}
"""The classes of each branch at each fork, in their order."""


def drawn(rng, n, of_forks, scale=2.0):
    """Decisions of temperature 1, and classes drawn with the temperatures of forks."""
    decisions = scale * rng.normal(size=(n, 6))
    q = softmax(decisions, axis=1)
    p = naive(q, of_forks)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    return decisions, np.minimum(y, 5), p


def naive(q, of_forks):
    """The definition, fork by fork, in probabilities."""
    p = np.ones_like(q)
    for branches, temperature in zip(PARENTS.values(), of_forks, strict=True):
        sums = np.stack([q[:, own].sum(axis=1) for own in branches], axis=1)
        flat = sums ** (1.0 / temperature)
        flat /= flat.sum(axis=1, keepdims=True)
        for own, column in zip(branches, flat.T, strict=True):
            p[:, own] *= column[:, None]
    return p


def loss(log_p, y):
    return -log_p[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("of_forks", [(0.3, 2.0, 1.0), (1.0, 1.0, 1.0), (5.0, 0.1, 0.5)])
def test_log_probabilities_are_those_of_the_definition(of_forks):
    decisions = np.random.default_rng(0).normal(size=(50, 6))
    found = ForkTemperatures(FORKS, 0.7, np.array(of_forks)).log_probabilities(decisions)
    expected = naive(softmax(decisions / 0.7, axis=1), of_forks)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_temperatures_that_made_the_classes_are_found(seed):
    true = np.array([0.5, 2.0, 1.2])
    decisions, y, p = drawn(np.random.default_rng(seed), 20_000, true)
    found, _ = fork_temperatures(FORKS, decisions, y, 1.0)
    np.testing.assert_allclose(found.of_forks, true, rtol=0.1)
    assert loss(found.log_probabilities(decisions), y) < loss(np.log(p), y) + 1e-4


@pytest.mark.parametrize("seed", range(10))
def test_one_temperature_is_never_better_on_the_decisions_that_it_was_found_by(seed):
    rng = np.random.default_rng(seed)
    decisions, y, _ = drawn(rng, 300, rng.uniform(0.3, 3.0, 3))
    one = TemperatureCalibrator().fit(decisions, y)
    found, said = fork_temperatures(FORKS, decisions, y)
    assert found.temperature == one.temperature_
    np.testing.assert_array_equal(said, found.log_probabilities(decisions))
    assert loss(said, y) <= one.losses(decisions, y).mean() + 1e-12


def far_off(seed, n=600):
    """Right by little for most rows, far off for one in five; one parent has many children."""
    rng = np.random.default_rng(seed)
    forks = Tree.of([f"a.{i}" for i in range(2)] + [f"b.{i}" for i in range(12)], ".").forks
    y = np.where(rng.random(n) < 0.5, rng.integers(0, 2, n), rng.integers(2, 14, n))
    decisions = np.eye(14)[y] + 0.2 * rng.normal(size=(n, 14))
    off = rng.random(n) < 0.2
    decisions[off] += 60.0 * np.eye(14)[rng.integers(0, 14, off.sum())]
    return forks, decisions, y


@pytest.mark.parametrize("seed", range(3))
def test_temperatures_of_forks_do_not_cost_right_classes(seed):
    forks, decisions, y = far_off(seed)
    part, rest = slice(0, 400), slice(400, None)
    found, said = fork_temperatures(forks, decisions[part], y[part])
    np.testing.assert_array_equal(found.of_forks, 1.0)
    np.testing.assert_array_equal(said, found.log_probabilities(decisions[part]))
    log_p = found.log_probabilities(decisions[rest])
    np.testing.assert_array_equal(log_p.argmax(axis=1), decisions[rest].argmax(axis=1))
    scaled = log_softmax(decisions[part] / found.temperature, axis=1)
    forced, _ = fork_temperatures(forks, scaled, y[part], 1.0)
    unseen = log_softmax(decisions[rest] / found.temperature, axis=1)
    after = forced.log_probabilities(unseen).argmax(axis=1) == y[rest]
    assert after.mean() < (decisions[rest].argmax(axis=1) == y[rest]).mean() - 0.1


def test_noise_gives_chance():
    rng = np.random.default_rng(6)
    decisions, y = rng.normal(size=(2000, 6)), rng.integers(0, 6, 2000)
    found, _ = fork_temperatures(FORKS, decisions[:1000], y[:1000])
    p = np.exp(found.log_probabilities(decisions[1000:]))
    assert loss(np.log(p), y[1000:]) < loss(log_softmax(decisions[1000:], axis=1), y[1000:])
    assert p[:, :3].sum(axis=1).mean() == pytest.approx(1 / 2, abs=0.1)
    assert p.max() < 0.6


def test_a_fork_without_records_has_the_temperature_of_the_fork_above_it():
    decisions, y, _ = drawn(np.random.default_rng(7), 900, (0.5, 2.0, 1.2))
    kept = (y != 3) & (y != 4)
    found, _ = fork_temperatures(FORKS, decisions[kept], y[kept])
    assert found.of_forks[2] == found.of_forks[0] != found.of_forks[1]


@pytest.mark.parametrize("decisions", [np.zeros((0, 6)), np.full((2, 6), np.nan)])
def test_decisions_that_are_none_are_refused(decisions):
    with pytest.raises(InputError, match="finite decisions only"):
        fork_temperatures(FORKS, decisions, np.zeros(len(decisions), dtype=int))
