import numpy as np
import pytest

from kreinflow.landmarks.budgets import landmarks_wanted, paid_landmarks, pairs_with


@pytest.mark.parametrize("objects", [2, 3, 17, 40])
@pytest.mark.parametrize("parts", [1, 3, 6])
def test_alignments_pay_for_the_most_landmarks_that_they_suffice_for(objects, parts):
    """Against a search of all numbers, with pairs counted one by one."""
    for union in range(objects + 1):
        counted = sum(1 for i in range(objects) for j in range(i) if j < union)
        assert pairs_with(union, objects) == counted
    for alignments in range(objects * (objects - 1) // 2 + 3):
        unions = [m for m in range(objects + 1) if pairs_with(m, objects) <= alignments]
        all_paid = alignments >= objects * (objects - 1) // 2
        expected = objects if all_paid else max(unions) // parts
        assert paid_landmarks(alignments, objects, parts) == expected


def test_a_budget_in_ranks_is_k_log_n():
    assert landmarks_wanted({"rank": 25}, 1000) == int(np.ceil(25 * np.log(1000)))
    assert paid_landmarks(100_000, 1000, 6) == 17
    assert landmarks_wanted(7, 1000) == 7
    assert landmarks_wanted("meb", 1000, 31) == 31
    assert landmarks_wanted(None, 1000) is None


def test_a_budget_is_the_smallest_of_what_its_keys_say():
    def wanted(n=1000, **budget):
        return landmarks_wanted(budget, n, classes=30, objects=1000, parts=5)

    assert wanted(share=0.25) == 250
    assert wanted(share=0.25, n=102) == 30, "one of each class"
    assert wanted(share=0.25, n=25) == 25
    assert wanted(share=1.0) == wanted(most=1000) == wanted(most=2000) == 1000
    assert wanted(alignments=499_499) == 199
    assert wanted(alignments=499_500) == 1000, "all pairs of the data set"
    assert wanted(alignments=499_499, n=80) == 80
    assert wanted(share=0.25, most=70, alignments=499_499) == 70
    assert wanted(rank=10, most=2000) == landmarks_wanted({"rank": 10}, 1000) == 70


def test_a_rule_leaves_one_of_each_class_of_few_as_far_as_alignments_pay_for_them():
    """Of few classes class-wise selectors refuse fewer landmarks, of which a rule knows nothing."""
    paid = {"alignments": pairs_with(450, 3000)}
    for rule in ({"share": 0.1}, {"most": 500}, {"rank": 5}, {"share": 0.1, "most": 120}):
        few = landmarks_wanted(rule, 3000, classes=10)
        assert landmarks_wanted(rule, 3000, classes=150) == max(few, 150)
        assert landmarks_wanted(rule, 3000, classes=600) == max(few, 200), "a first stage has few"
        assert landmarks_wanted(rule, 100, classes=600) == 100, "there are no more"
        assert landmarks_wanted(rule | paid, 3000, classes=600, objects=3000) <= 450
    assert landmarks_wanted(500, 3000, classes=600) == 500, "a number is what it says"
