"""The kernel with some of its landmarks, against the one that is made with these alone."""

import numpy as np
import pytest

from kreinflow.alignment.transforms import make_transform
from kreinflow.base.numerics import limited
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel


@pytest.mark.parametrize("memory_mb", [2048, 0.001])
@pytest.mark.parametrize("name", ["raw", "normalised", "log", "sqrt"])
@pytest.mark.parametrize("kind", ["similarity", "asymmetric"])
def test_some_landmarks_have_the_columns_of_a_kernel_with_them_alone(kind, name, memory_mb):
    rng = np.random.default_rng(1)
    n, rows = 40, np.sort(rng.permutation(40)[:9])
    S, reverse = rng.integers(0, 500, (2, n, 9))
    landmarks = Landmarks(
        *(S, rng.uniform(400, 900, n), rng.uniform(30, 60, n), rows, rows % 3, kind),
        reverse=reverse if kind == "asymmetric" else None,
    )
    places = rng.permutation(n)[:30]
    part = TrainingPart(places, places % 3, places, ("a", "b", "c"))
    kept = rng.random(9) < 0.6
    with limited(1, memory_mb):
        found = landmark_kernel(landmarks, part, make_transform(name))
        found = found.with_landmarks(np.flatnonzero(kept))
        naive = landmark_kernel(landmarks.some(kept), part, make_transform(name))
        for one, other in ((found.C, naive.C), (found.W, naive.W), (found.reverse, naive.reverse)):
            assert (one is None) == (other is None)
            if other is not None:
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
                np.testing.assert_array_equal(one[np.array([3, 1])], other[np.array([3, 1])])
    np.testing.assert_array_equal(found.self_similarities, naive.self_similarities)
