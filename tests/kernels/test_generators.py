"""The data are what their description says, and always the same."""

import hashlib

import numpy as np
import pytest
from scipy.stats import norm

from kreinflow.kernels.generators import GENERATORS, generate
from kreinflow.kernels.registry import make_kernel
from kreinflow.krein.eigen import eigenpairs


def by_label(data):
    labels = np.array(data.labels)
    return {label: data.vectors[labels == label] for label in np.unique(labels).tolist()}


DIGESTS = {
    "ball": "9cb31b08c50d",
    "checkerboard": "fdbcad547cb5",
    "gaussians": "13ff7afeedb9",
    "bananas": "cd3095adcf92",
    "three_gaussians": "d95133ef519c",
    "pseudo_euclidean_gaussians": "a086e5443ad1",
    "twonorm": "256c79f9ccdd",
    "ringnorm": "817556f79ae9",
    "waveform": "3af1c7595b62",
}


@pytest.mark.parametrize("name", GENERATORS)
def test_the_data_stay_what_they_were(name):
    """The digest of the first vectors, rounded: a change of a generator changes every result."""
    data, other = (generate({"name": name}, seed) for seed in (1, 2))
    text = repr((np.round(data.vectors[:5], 6) + 0.0).tolist()) + repr(data.labels[:5])
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == DIGESTS[name]
    assert not np.array_equal(data.vectors, other.vectors)
    assert len(np.unique(data.vectors, axis=0)) == len(data.vectors) == len(data.labels)


def test_balls():
    data, more = (generate({"name": "ball", "objects": n}, 1) for n in (200, 30_000))
    np.testing.assert_array_equal(more.vectors[:200], data.vectors)
    for label, radius in (("small", 1.0), ("large", 2.0)):
        part = by_label(more)[label]
        assert len(part) == 15_000
        assert (part[:, 3] == radius).all()
    assert 0 <= more.vectors[:, :3].min() < 5
    assert 95 < more.vectors[:, :3].max() < 100


@pytest.mark.parametrize("objects", [200, 400])
def test_negative_eigenfraction_of_balls(objects):
    """About 3.5 % at both sizes, and almost all of the rank is in the negative part."""
    X = generate({"name": "ball", "objects": objects}, 1).vectors
    D = make_kernel({"name": "ball"}).columns(X, X)
    J = np.eye(objects) - 1 / objects
    values, vectors = np.linalg.eigh(-J @ D @ J / 2)
    found = eigenpairs(vectors * np.sqrt(np.abs(values)), np.sign(values))
    assert 0.030 < found.negative_fraction < 0.040
    assert found.signature[1] > 0.9 * objects
    assert 0 < np.sum(D[np.triu_indices(objects, 1)] == 0) < 0.0005 * objects**2 / 2


def test_the_checkerboard_alternates_and_a_gap_moves_points_towards_the_middle():
    data = generate({"name": "checkerboard"}, 1)
    square = np.floor(data.vectors + 1.5).astype(int)
    black = square.sum(axis=1) % 2 == 0
    assert data.labels == tuple(np.where(black, "black", "white").tolist())
    assert np.unique(square @ [3, 1], return_counts=True)[1].tolist() == [100] * 9
    apart = generate({"name": "checkerboard", "gap": 0.1}, 1)
    assert apart.labels == data.labels
    middle = np.round(data.vectors)
    np.testing.assert_allclose(apart.vectors - middle, 0.9 * (data.vectors - middle))
    assert 0.44 < np.abs(apart.vectors - middle).max() <= 0.45


def test_bananas_without_overlap_are_half_circles():
    parts = by_label(generate({"name": "bananas", "overlap": 0, "objects": 2000}, 1))
    for name, centre, side in (("upper", [0, 0], 1), ("lower", [1, 0.5], -1)):
        radii = parts[name] - centre
        np.testing.assert_allclose(np.linalg.norm(radii, axis=1), 1)
        assert (side * radii[:, 1]).min() >= 0


def test_three_gaussians_of_which_the_large_one_may_be_moved():
    data = generate({"name": "three_gaussians"}, 1)
    parts = by_label(data)
    large, small = parts["large"], parts["small"]
    assert (large.shape, small.shape) == ((500, 10), (40, 10))
    np.testing.assert_allclose(large.std(axis=0), [5, 5, 0] + [0.1] * 7, rtol=0.1)
    assert not np.delete(small, 2, axis=1).any()
    assert np.sum(small[:, 2] > 5) == 20
    assert small[:, 2].min() > 2
    moved = generate({"name": "three_gaussians", "centre": 1}, 1).vectors - data.vectors
    np.testing.assert_allclose(moved[:500], np.tile([5, 5] + [0] * 8, (500, 1)))
    assert not moved[500:].any()


@pytest.mark.parametrize(
    ("name", "bayes"), [("gaussians", 0.919), ("pseudo_euclidean_gaussians", 0.953)]
)
def test_the_overlap_of_gaussians_is_as_stated(name, bayes):
    parts = by_label(generate({"name": name, "objects": 40_000}, 1))
    gap = parts["right"].mean(axis=0) - parts["left"].mean(axis=0)
    for part in parts.values():
        np.testing.assert_allclose(np.cov(part.T), np.eye(2), atol=0.03)
    assert norm.cdf(np.linalg.norm(gap) / 2) == pytest.approx(bayes, abs=0.003)


def test_the_bayes_rate_of_blurred_half_circles():
    """At the overlap that stands for the banana data: 90 %, by the densities of both classes."""
    data = generate({"name": "bananas", "overlap": 0.33, "objects": 10_000}, 1)
    angle = np.pi * (np.arange(200) + 0.5) / 200
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    up, down = (
        np.exp(-((data.vectors[:, None] - curve) ** 2).sum(axis=2) / (2 * 0.33**2)).sum(axis=1)
        for curve in (upper, [1, 0.5] - upper)
    )
    right = (up > down) == (np.array(data.labels) == "upper")
    assert abs(right.mean() - 0.900) < 0.009  # 3 standard errors


@pytest.mark.parametrize("name", ["twonorm", "ringnorm", "waveform"])
def test_breimans_data_are_normalised(name):
    X = generate({"name": name, "objects": 60_000}, 1).vectors
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)  # 5 standard errors
    np.testing.assert_allclose(X.std(axis=0), 1, atol=0.02)


@pytest.mark.parametrize(("name", "best"), [("twonorm", 0.977), ("ringnorm", 0.9876)])
def test_bayes_rates_of_breimans_gaussians(name, best):
    """The likelihood ratio of the densities, in the coordinates before the scaling."""
    data = generate({"name": name, "objects": 40_000}, 1)
    a = 2 / np.sqrt(20)
    first = np.array(data.labels) == data.labels[0]
    if name == "twonorm":
        X = data.vectors * np.sqrt(1 + a**2)
        says_first = X.sum(axis=1) > 0
    else:
        X = data.vectors * np.sqrt(2.5 + a**2 / 4) + a / 2
        wide = -(X**2).sum(axis=1) / 8 - 20 * np.log(2)
        says_first = wide > -((X - a) ** 2).sum(axis=1) / 2
    assert abs(np.mean(says_first == first) - best) < 0.004  # 5 standard errors


def test_classes_of_waveforms_are_their_waves():
    """A third of the points have the first label, and its mean is that of h_1 and h_2."""
    data = generate({"name": "waveform", "objects": 30_000}, 1)
    parts = by_label(data)
    assert len(parts["first"]) == 10_000
    gap = parts["first"].mean(axis=0) - parts["others"].mean(axis=0)
    i = np.arange(1, 22)
    h = [np.maximum(6.0 - np.abs(i - peak), 0) for peak in (11, 15, 7)]
    expected = (h[0] + h[1]) / 2 - (h[0] + h[2] + h[1] + h[2]) / 4
    scale = gap[expected != 0] / expected[expected != 0]
    assert (scale > 0.2).all()  # each coordinate by its own deviation, none below 1
    assert (scale < 1.05).all()
    np.testing.assert_allclose(gap[expected == 0], 0, atol=0.06)
