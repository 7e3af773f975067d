import numpy as np
import pandas as pd
import pytest

from kreinflow.errors import InputError
from kreinflow.landmarks import meb
from kreinflow.landmarks.features import ClassScores
from kreinflow.landmarks.selection import METHODS, select_landmarks

DIGESTS = [f"digest {i}" for i in range(90)]


@pytest.fixture(name="classes")
def three_classes():
    """Three classes of 40, 30 and 1 members, by 12, 30 and 1 candidates."""
    rng = np.random.default_rng(1)
    rows = rng.permutation(90)
    classes = []
    for label, members, count in (
        ("a", rows[:40], 12),
        ("b", rows[40:70], 30),
        ("c", rows[80:81], 1),
    ):
        X = rng.standard_normal((len(members), 8))
        K = X @ X.T
        candidates = rng.permutation(len(members))[:count]
        classes.append(
            ClassScores(label, np.sort(members), candidates, K[:, candidates], np.diag(K).copy())
        )
    return classes


def select(method, classes, **options):
    options = {"seed": 1, "fold": "0", "budget": 12, "digests": DIGESTS} | options
    return select_landmarks(method, classes, **options)


@pytest.mark.parametrize("method", METHODS)
def test_table_holds_members_with_their_labels(classes, method):
    table = select(method, classes)
    assert list(table.columns) == ["row", "class", "weight", "radius", "reached"]
    assert table["row"].is_monotonic_increasing
    assert table["row"].is_unique
    assert table["reached"].dtype == bool
    members = {int(row): scores.label for scores in classes for row in scores.members}
    assert [members[row] for row in table["row"]] == list(table["class"])
    pd.testing.assert_frame_equal(table, select(method, classes))


def test_ball_says_weight_radius_and_whether_it_was_reached(classes, monkeypatch):
    table = select("meb", classes)
    assert table["reached"].all()
    for label, part in table.groupby("class"):
        assert part["weight"].sum() == pytest.approx(1, abs=1e-4)
        assert part["radius"].nunique() == 1
        assert len(part) == 1 if label == "c" else len(part) >= 2
    monkeypatch.setattr(meb, "MAX_CORE", 2)
    table = select("meb", classes, epsilon=0)
    assert not table.loc[table["class"] != "c", "reached"].any()
    assert table.loc[table["class"] == "c", "reached"].all()


def test_other_selectors_keep_to_the_budget(classes):
    for method in ("kmeans++", "uniform"):
        table = select(method, classes)
        assert len(table) == 12
        assert table[["weight", "radius"]].isna().all(axis=None)
    assert select("kmeans++", classes).groupby("class").size().tolist() == [6, 5, 1]


def test_kmeans_draws_follow_the_seed_and_the_rows_alone(classes):
    first = select("kmeans++", classes)
    pd.testing.assert_frame_equal(first, select("kmeans++", classes, fold="1"))
    assert not first.equals(select("kmeans++", classes, seed=2))
    assert not first.equals(select("kmeans++", classes, digests=[f"other {d}" for d in DIGESTS]))
    assert select("uniform", classes).equals(select("uniform", classes, fold="1"))
    assert select("meb", classes).equals(select("meb", classes, fold="1", seed=2))


def test_uniform_needs_no_scores(classes):
    bare = [ClassScores.without_scores(scores.label, scores.members) for scores in classes]
    assert select("uniform", bare).equals(select("uniform", classes))


def test_class_of_identical_members_has_two_landmarks():
    same = ClassScores(
        "a", np.array([3, 5, 8]), np.arange(2), np.full((3, 2), 4.0), np.full(3, 4.0)
    )
    table = select("meb", [same])
    assert table["row"].tolist() == [3, 5]
    assert table["radius"].tolist() == pytest.approx([0, 0], abs=1e-7)


@pytest.mark.parametrize("method", ["kmeans++", "uniform"])
def test_budget_larger_than_the_data_is_refused(classes, method):
    with pytest.raises(InputError, match="72 landmarks is larger than its 71 distinct"):
        select(method, classes, budget=72)
    with pytest.raises(ValueError, match="need a budget"):
        select(method, classes, budget=None)


def test_unknown_method_is_refused(classes):
    with pytest.raises(ValueError, match="give one of meb, kmeans"):
        select("entropy", classes)
