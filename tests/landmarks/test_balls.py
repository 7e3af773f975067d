import numpy as np
import pytest

from kreinflow.landmarks import meb
from kreinflow.landmarks.balls import EnclosingBalls, fit_budget
from kreinflow.landmarks.meb import minimum_enclosing_ball
from landmarks.made_up import indefinite_kernel, problem_of

N = 90
LABELS = np.array(["a"] * 50 + ["b"] * 30 + ["c"] * 9 + ["d"])
K = indefinite_kernel(N, 10, 5, seed=1)


def select(budget=None, **settings):
    selector = EnclosingBalls({"budget": budget} | settings)
    return selector.select(problem_of(K, LABELS, budget))


def test_ball_says_weight_radius_and_whether_it_was_reached(monkeypatch):
    table = select()
    assert table["reached"].all()
    for label, part in table.groupby("class"):
        assert part["weight"].sum() == pytest.approx(1, abs=1e-4)
        assert part["radius"].nunique() == 1
        assert len(part) == 1 if label == "d" else len(part) >= 2
    monkeypatch.setattr(meb, "MAX_CORE", 2)
    table = select(epsilon=1e-9)
    assert not table.loc[table["class"] != "d", "reached"].any()
    assert table.loc[table["class"] == "d", "reached"].all()


def test_class_of_identical_members_has_two_landmarks():
    for budget, expected in ((None, [3, 5]), (3, [3, 5, 8])):
        problem = problem_of(np.full((9, 9), 4.0), ["a"] * 9, budget, rows=[3, 5, 8])
        table = EnclosingBalls({}).select(problem)
        assert table["row"].tolist() == expected
        np.testing.assert_allclose(table["radius"], 0, atol=1e-7)


def test_the_natural_number_is_kept_by_its_own_budget_and_below_a_limit():
    natural = select()
    assert select(len(natural)).equals(natural)
    assert select(len(natural) + 20, grow=False).equals(natural)
    assert select(len(natural) - 3, grow=False).equals(select(len(natural) - 3))
    assert "shrunk, where they are more, to 9 of" in EnclosingBalls(
        {"budget": 9, "grow": False}
    ).describe("scores")


def test_each_class_has_two_points_at_least_though_others_need_them_more():
    rng = np.random.default_rng(6)
    features = [rng.standard_normal((60, 12)), np.zeros((3, 2)), rng.standard_normal((1, 4))]
    balls = [minimum_enclosing_ball(F, 0.01) for F in features]
    most = sum(len(ball.support) for ball in balls)
    for budget in range(5, most + 5):
        sizes = list(map(len, fit_budget(features, balls, budget)))
        assert sum(sizes) == budget
        assert sizes[1:] == [2, 1]
    # Where the budget is too small for that, one.
    assert [len(points) for points in fit_budget(features, balls, 3)] == [1, 1, 1]
    assert [len(points) for points in fit_budget(features, balls, 4)] == [2, 1, 1]


def test_a_smaller_budget_is_what_a_larger_epsilon_leaves():
    rng = np.random.default_rng(2)
    F = rng.standard_normal((60, 12))
    ball = minimum_enclosing_ball(F, 0.01)
    for count in range(2, len(ball.support)):
        (few,) = fit_budget([F], [ball], count)
        # The points that had joined when the count was reached, less those that left later.
        joined = [p for p in ball.core.tolist() if p in set(ball.support.tolist())]
        assert few.tolist() == joined[:count]


def test_a_larger_budget_goes_to_the_exact_ball_and_then_to_the_farthest():
    rng = np.random.default_rng(3)
    F = rng.standard_normal((60, 12))
    ball, exact = minimum_enclosing_ball(F, 0.3), minimum_enclosing_ball(F, 0.0)
    union = set(ball.support.tolist()) | set(exact.support.tolist())
    (chosen,) = fit_budget([F], [ball], len(union))
    assert set(chosen.tolist()) == union
    assert len(union) > len(ball.support)
    for count in range(len(union), 40):
        distances = np.linalg.norm(F[:, None] - F[chosen], axis=2).min(axis=1)
        (chosen,) = fit_budget([F], [ball], count + 1)
        assert chosen[-1] == np.argmax(distances)


def test_need_is_measured_in_radii():
    """Of two classes that differ in scale alone neither is favoured."""
    F = np.random.default_rng(4).standard_normal((40, 6))
    features = [F, 1000 * F]
    balls = [minimum_enclosing_ball(G, 0.05) for G in features]
    for budget in (8, 20, 50):
        small, large = fit_budget(features, balls, budget)
        assert sorted(small) == sorted(large)


def test_core_points_joined_while_they_were_outside():
    F = np.random.default_rng(5).standard_normal((80, 8))
    ball = minimum_enclosing_ball(F, 0.01)
    assert len(set(ball.core.tolist())) == len(ball.core) == len(ball.excess)
    assert np.isinf(ball.excess[:2]).all()
    assert (ball.excess[2:] > 0.01).all()
    for count in range(2, len(ball.core)):
        before = minimum_enclosing_ball(F[ball.core[:count]], 0.0)
        outside = np.linalg.norm(F[ball.core[count]] - before.centre) / before.radius - 1
        assert ball.excess[count] == pytest.approx(outside, abs=1e-6)
