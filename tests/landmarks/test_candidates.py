import numpy as np
import pytest

from kreinflow.landmarks.candidates import all_candidates, candidate_order, first_candidates

N = 60
DIGESTS = [f"digest {i}" for i in range(N)]
LABELS = ["b" if i % 3 else "a" for i in range(N)]
FOLDS = [np.array([i for i in range(N) if i % 5 != fold]) for fold in range(5)]


def test_order_is_a_permutation_that_added_rows_leave_alone():
    order = candidate_order(DIGESTS, 1)
    assert sorted(order.tolist()) == list(range(N))
    longer = candidate_order([*DIGESTS, "x", "y"], 1)
    assert longer[longer < N].tolist() == order.tolist()
    assert candidate_order(DIGESTS, 2).tolist() != order.tolist()


@pytest.mark.parametrize("count", [4, None])
def test_candidates_are_the_first_members_that_a_fold_trains_on_and_of_all_their_union(count):
    order = candidate_order(DIGESTS, 1)
    union = all_candidates(order, LABELS, FOLDS, count)
    for label in ("a", "b"):
        of_folds = [
            [i for i in order if LABELS[i] == label and i in training][:count] for training in FOLDS
        ]
        for training, expected in zip(FOLDS, of_folds, strict=True):
            found = first_candidates(order, LABELS, training, count)
            assert found[label].tolist() == expected
        assert union[label].tolist() == [i for i in order if any(i in own for own in of_folds)]
