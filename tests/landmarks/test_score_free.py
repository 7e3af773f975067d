import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.landmarks.sampled_scores import ClassScores
from kreinflow.landmarks.score_free import NamedLandmarks
from kreinflow.landmarks.selector import SelectionProblem
from landmarks.made_up import digests_of


def select(members, given):
    nothing = np.empty(0)
    classes = [
        ClassScores(np.array(rows), nothing, np.empty((len(rows), 0)), nothing, label=label)
        for label, rows in members.items()
    ]
    problem = SelectionProblem(classes, digests_of(9), 1, "r0f1", given=given)
    return NamedLandmarks({"table": "x.tsv"}).select(problem)


def test_those_in_the_training_part_are_taken():
    table = select({"a": [1, 4, 5], "b": [0, 7]}, np.array([7, 2, 4, 3, 5]))
    assert table["row"].tolist() == [4, 5, 7]
    assert table["class"].tolist() == ["a", "a", "b"]
    assert table["reached"].all()


def test_too_few_are_refused():
    with pytest.raises(InputError, match="fold r0f1: trains on 1 of the given landmarks"):
        select({"a": [1, 4, 5], "b": [0, 7]}, np.array([7, 2]))
