import numpy as np
import pytest

from kreinflow.landmarks import sampled_scores
from kreinflow.landmarks.sampled_scores import Sketch
from landmarks.made_up import flip, indefinite_kernel, sketch_of
from threads import same_with_threads

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


@pytest.mark.parametrize("count", [25, 60, None])
def test_from_enough_rows_the_factor_is_the_flipped_kernel(count):
    K = indefinite_kernel(60, 12, 8)
    sketch = sketch_of(K, count)
    np.testing.assert_allclose(sketch.flipped @ sketch.flipped.T, flip(K), atol=1e-8)
    values = np.linalg.eigvalsh(K)
    values = values[np.argsort(-np.abs(values))][:20]
    np.testing.assert_allclose(sketch.eigenpairs[0], values, rtol=1e-9)
    U = sketch.eigenpairs[1]
    np.testing.assert_allclose(U.T @ U, np.eye(20), atol=1e-9)


def test_dissimilarities_are_centred_on_the_training_rows():
    K = indefinite_kernel(40, 6, 3)
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    J = np.eye(40) - 1 / 40
    for count in (15, None):
        sketch = sketch_of(D, count, "squared_dissimilarity")
        expected = flip(-J @ D @ J / 2)
        np.testing.assert_allclose(sketch.flipped @ sketch.flipped.T, expected, atol=1e-8)


def test_a_smaller_sketch_is_the_nystroem_factor_of_its_rows():
    K = indefinite_kernel(50, 30, 0, decay=0.5)
    sketch = sketch_of(K, 10)
    C = K[:, sketch.drawn]
    expected = C @ np.linalg.solve(C[sketch.drawn], C.T)
    np.testing.assert_allclose(sketch.flipped @ sketch.flipped.T, expected, atol=1e-7)


KERNEL_300 = indefinite_kernel(300, 200, 90)


def scores_of(K, candidates, kind="similarity"):
    candidates = np.asarray(candidates)
    rows, own = np.arange(len(K)) * 10, np.diag(K).copy()
    return Sketch(rows, candidates, K[:, candidates], own, kind)


def class_features(scores):
    (F,) = sampled_scores.class_features([scores])
    return F


def gram(F):
    return F @ F.T


@pytest.mark.parametrize("kind", ["similarity", "squared_dissimilarity"])
@pytest.mark.parametrize("count", [12, 20, 30])
@pytest.mark.parametrize(("p", "q"), [(6, 0), (5, 3)])
def test_features_are_of_the_kernel_or_of_its_square(p, q, count, kind):
    """Of the kernel if all members show that it is psd; dissimilarities are centred on some."""
    K = indefinite_kernel(30, p, q)
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    for order in (np.arange(30), np.random.default_rng(2).permutation(30)):
        candidates = order[:count]
        F = class_features(scores_of(K if kind == "similarity" else D, candidates, kind))
        assert F.shape == (30, p + q) or (q and count == 30)
        J = np.eye(30)
        J[:, candidates] -= 1 / count
        S = K if kind == "similarity" else -J @ D @ J.T / 2
        exact = count == 30 and q == 0
        np.testing.assert_allclose(gram(F), S if exact else S @ S, atol=1e-10 if exact else 1e-8)


@pytest.mark.parametrize("count", [12, 30])
def test_one_indefinite_class_makes_all_classes_use_the_square(count):
    psd, indefinite = indefinite_kernel(30, 6, 0), indefinite_kernel(30, 5, 3)
    both = [scores_of(K, range(count)) for K in (psd, indefinite)]
    for K, F in zip((psd, indefinite), sampled_scores.class_features(both), strict=True):
        np.testing.assert_allclose(gram(F), K @ K, atol=1e-8)
    alone, _ = sampled_scores.class_features([both[0], both[0]])
    np.testing.assert_allclose(gram(alone), psd if count == 30 else psd @ psd, atol=1e-8)


@pytest.mark.parametrize("count", [150, 300])
def test_same_bytes_whatever_the_number_of_threads(count):
    scores = scores_of(KERNEL_300, range(count))
    assert same_with_threads(lambda: class_features(scores).tobytes())
    assert same_with_threads(lambda: sketch_of(KERNEL_300, count).flipped.tobytes())
