import numpy as np

from kreinflow.landmarks.features import ClassScores
from kreinflow.landmarks.selector import SelectionProblem
from kreinflow.landmarks.uniform import Uniform

DIGESTS = [f"digest {i}" for i in range(300)]


def draw(rows, budget, digests=DIGESTS, seed=1):
    classes = [ClassScores.without_scores("a", np.asarray(rows))]
    table = Uniform({}).select(SelectionProblem(classes, digests, seed, "0", budget))
    return table["row"].to_numpy()


def test_only_training_rows_and_as_many_as_asked_for():
    training = np.arange(0, 300, 3)
    rows = draw(training, 25)
    assert len(set(rows.tolist())) == 25
    assert set(rows.tolist()) <= set(training.tolist())
    assert not np.array_equal(rows, draw(training, 25, seed=2))


def test_other_rows_do_not_matter():
    training = np.arange(200)
    assert np.array_equal(draw(training + 1, 30, ["a new one", *DIGESTS]), draw(training, 30) + 1)


def test_folds_overlap_and_added_rows_displace_few():
    rows = set(draw(np.arange(200), 40).tolist())
    more = draw(np.arange(220), 40).tolist()
    assert len(rows - set(more)) == sum(row >= 200 for row in more)
    fold = set(draw(np.arange(20, 200), 40).tolist())
    assert rows - fold == {row for row in rows if row < 20}
