import numpy as np
import pytest

from kreinflow.landmarks.sketch import Sketch
from landmarks.made_up import flip, indefinite_kernel, sketch_of
from threads import same_with_threads


@pytest.mark.parametrize("count", [25, 60, None])
def test_from_enough_rows_the_factor_is_the_flipped_kernel(count):
    K = indefinite_kernel(60, 12, 8)
    sketch = sketch_of(K, count)
    np.testing.assert_allclose(sketch.flipped @ sketch.flipped.T, flip(K), atol=1e-8)
    values = np.linalg.eigvalsh(K)
    values = values[np.argsort(-np.abs(values))][:20]
    np.testing.assert_allclose(sketch.eigenvalues, values, rtol=1e-9)
    U = sketch.eigenvectors
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
    C, W = K[:, sketch.drawn], K[np.ix_(sketch.drawn, sketch.drawn)]
    assert sketch.columns is sketch.scores
    expected = C @ np.linalg.solve(W, C.T)
    np.testing.assert_allclose(sketch.flipped @ sketch.flipped.T, expected, atol=1e-7)


def test_shapes_are_checked():
    rows = np.arange(4)
    for order, shape in ((rows, (3, 2)), (rows[:1], (4, 2)), (np.arange(5), (4, 2))):
        with pytest.raises(ValueError, match="4 rows, . of them in order, do not match scores"):
            Sketch(rows, order, np.ones(shape), np.ones(4))
    with pytest.raises(ValueError, match="4 rows need as many self-similarities"):
        Sketch(rows, rows, np.ones((4, 2)), np.ones(3))


def test_same_bytes_whatever_the_number_of_threads():
    K = indefinite_kernel(300, 100, 40)
    assert same_with_threads(lambda: sketch_of(K, 150).flipped.tobytes())
