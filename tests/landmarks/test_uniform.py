import numpy as np
import pytest

from kreinflow.errors import InputError
from kreinflow.landmarks.uniform import uniform_landmarks

DIGESTS = [f"digest {i}" for i in range(300)]


def test_only_training_rows_and_as_many_as_asked_for():
    training = np.arange(0, 300, 3)
    rows = uniform_landmarks(training, DIGESTS, 1, 25)
    assert len(set(rows.tolist())) == 25
    assert set(rows.tolist()) <= set(training.tolist())
    assert not np.array_equal(rows, uniform_landmarks(training, DIGESTS, 2, 25))


def test_neither_the_order_of_rows_nor_other_rows_matter():
    training = np.arange(200)
    rows = uniform_landmarks(training, DIGESTS, 1, 30)
    assert np.array_equal(rows, uniform_landmarks(training[::-1], DIGESTS, 1, 30))
    shifted = uniform_landmarks(training + 1, ["a new one", *DIGESTS], 1, 30)
    assert np.array_equal(shifted, rows + 1)


def test_folds_overlap_and_added_rows_displace_few():
    rows = set(uniform_landmarks(np.arange(200), DIGESTS, 1, 40).tolist())
    more = uniform_landmarks(np.arange(220), DIGESTS, 1, 40).tolist()
    assert len(rows - set(more)) == sum(row >= 200 for row in more)
    fold = set(uniform_landmarks(np.arange(20, 200), DIGESTS, 1, 40).tolist())
    assert rows - fold == {row for row in rows if row < 20}


def test_budget_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="budget of 6 landmarks does not fit 5 distinct"):
        uniform_landmarks(np.arange(5), DIGESTS, 1, 6)
    with pytest.raises(InputError, match="budget of 0"):
        uniform_landmarks(np.arange(5), DIGESTS, 1, 0)
