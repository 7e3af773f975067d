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
def test_fold_takes_the_first_members_that_it_trains_on(count):
    order = candidate_order(DIGESTS, 1)
    for fold, training in enumerate(FOLDS):
        found = first_candidates(order, LABELS, training, count)
        for label in ("a", "b"):
            expected = [i for i in order if LABELS[i] == label and i % 5 != fold][:count]
            assert found[label].tolist() == expected


def test_union_over_folds():
    order = candidate_order(DIGESTS, 1)
    union = all_candidates(order, LABELS, FOLDS, 4)
    assert list(union) == ["a", "b"]
    for label, rows in union.items():
        folds = [first_candidates(order, LABELS, training, 4)[label] for training in FOLDS]
        assert set(rows.tolist()) == set(np.concatenate(folds).tolist())
        assert rows.tolist() == [i for i in order if i in set(rows.tolist())]
        assert len(rows) < 4 * len(FOLDS)
