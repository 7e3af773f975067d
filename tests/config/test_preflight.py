"""Checks of records and folds before a run."""

import numpy as np
import pytest

from data_sets import six_objects
from kreinflow.base.errors import InputError
from kreinflow.config.preflight import check_budgets
from kreinflow.sequences.partition import Partition


@pytest.fixture
def dataset():
    return six_objects()


def test_alignments_that_pay_for_too_few_landmarks_are_refused(dataset):
    partition = Partition(groups=np.arange(6), folds=np.array([[0, 1, 0, 1, 0, 1]]))
    selectors = {"s": {"method": "uniform", "budget": {"alignments": 14}}}
    with pytest.raises(
        InputError,
        match="14 pay for 1 landmarks in each of 3 training parts of 6 distinct sequences, fewer "
        "than the 2 classes. Give at least 15, or use fewer folds",
    ):
        check_budgets(dataset, partition, selectors)
    check_budgets(dataset, partition, {"s": {"method": "uniform", "budget": {"alignments": 15}}})
