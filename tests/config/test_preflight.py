"""Checks before a run."""

import numpy as np
import pytest

from data_sets import six_objects
from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.preflight import check_budgets, check_files
from kreinflow.sequences.partition import Partition
from small_inputs import configuration


@pytest.fixture
def dataset():
    return six_objects()


def test_results_that_cannot_be_made_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    config = {"datasets": {}, "classify": {}, "selectors": {}}
    check_files(config | {"results": str(tmp_path / "new" / "folder")}, tmp_path)
    for name in ("file", "file/results"):
        with pytest.raises(InputError, match="file: is a file where a folder is expected"):
            check_files(config | {"results": str(tmp_path / name)}, tmp_path)
    mine = complete_configuration(configuration({"type": "simulated"}))
    check_files(mine | {"results": str(tmp_path)}, tmp_path)
    (tmp_path / "mine").write_text("of the user's own")
    with pytest.raises(InputError, match="mine: is a file where a folder is expected"):
        check_files(mine | {"results": str(tmp_path)}, tmp_path)
    for long in ("x" * 300, "x" * 200 + "/" + "y/" * 1000):
        with pytest.raises(InputError, match=r"(File name too long|more than 2000 bytes)"):
            check_files(config | {"results": str(tmp_path / long)}, tmp_path)


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
