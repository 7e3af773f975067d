import numpy as np

from kreinflow.landmarks.uniform import Uniform
from landmarks.made_up import members_problem


def draw(rows, budget=40):
    return set(Uniform({}).select(members_problem({"a": rows}, budget=budget))["row"])


def test_folds_overlap_and_added_rows_displace_few():
    rows = draw(np.arange(200))
    more = draw(np.arange(220))
    assert len(rows - more) == sum(row >= 200 for row in more)
    fold = draw(np.arange(20, 200))
    assert rows - fold == {row for row in rows if row < 20}
