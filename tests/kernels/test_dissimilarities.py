"""Dissimilarities against the plain formula and naive loops."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import entropy

from kreinflow.kernels.registry import make_kernel


def test_ball_surfaces():
    """Points on two spheres come as near to each other as the kernel says."""
    balls = np.array([[0, 0, 0, 1.0], [5, 0, 0, 2.0], [0, 2.5, 0, 2.0], [0, 0, 8.0, 0.0]])
    D = make_kernel({"name": "ball"}).columns(balls, balls)
    directions = np.random.default_rng(0).standard_normal((4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    surfaces = [ball[:3] + ball[3] * directions for ball in balls]
    for i, j in ((0, 1), (0, 3), (1, 2), (1, 3)):
        nearest = cdist(surfaces[i], surfaces[j]).min()
        assert nearest - 0.05 <= np.sqrt(D[i, j]) <= nearest
    assert "A ball is its centre, then its radius" in make_kernel({"name": "ball"}).first_fault(
        balls[:, :1]
    )
    assert D[0, 2] == 0  # they overlap
    assert np.sqrt(D[0, 1]) == 2


def test_spectral_information_divergence_is_the_symmetrised_relative_entropy():
    random = np.random.default_rng(1)
    X, Y = random.random((6, 9)) * 1000, random.random((5, 9))
    kernel = make_kernel({"name": "spectral_information_divergence"})
    D = kernel.columns(X, Y)
    for i, x in enumerate(X):
        for j, y in enumerate(Y):  # scipy divides by the sum
            assert D[i, j] == pytest.approx(entropy(x, y) + entropy(y, x), rel=1e-12)
    # A zero is far, but not infinitely far.
    D = kernel.columns(np.array([[0, 1.0]]), np.array([[0.5, 0.5]]))
    expected = entropy([1e-6, 1], [0.5, 0.5]) + entropy([0.5, 0.5], [1e-6, 1])
    assert D[0, 0] == pytest.approx(expected, rel=1e-5)


def edit(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def test_edit_distance():
    random = np.random.default_rng(2)
    words = ["".join(random.choice(list("abcd"), random.integers(0, 15))) for _ in range(40)]
    words += ["kitten", "sitting", "Ångström", "Angstrom"]
    X = np.array(words, dtype=object)
    D = make_kernel({"name": "edit_distance"}).columns(X, X)
    expected = [[edit(a, b) ** 2 for b in words] for a in words]
    np.testing.assert_array_equal(D, expected)
    assert D[-4, -3] == 9
    assert D[-2, -1] == 4


def warp(x, y, window):
    cost = np.full((len(x) + 1, len(y) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if abs(i - j) < window:
                step = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
                cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 + step
    return cost[-1, -1]


@pytest.mark.parametrize("window", [None, 1, 2, 5])
def test_dynamic_time_warping(window):
    random = np.random.default_rng(3)
    X, Y = random.standard_normal((6, 12)), random.standard_normal((5, 12))
    X.flags.writeable = False  # as of a data set, which jobs map into memory
    D = make_kernel({"name": "dynamic_time_warping", "window": window}).columns(X, Y)
    expected = [[warp(x, y, window or 99) for y in Y] for x in X]
    np.testing.assert_allclose(D, expected, rtol=1e-12)
    if window == 1:  # nothing is warped
        np.testing.assert_allclose(D, cdist(X, Y, "sqeuclidean"), rtol=1e-12)
