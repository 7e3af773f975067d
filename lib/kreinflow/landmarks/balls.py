"""Class-wise minimum enclosing balls: their support, or as many landmarks as a budget has."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.late import pandas as pd
from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import SettingsSchema, flag, number
from kreinflow.landmarks.budgets import BUDGET, ONE_EACH, how_many
from kreinflow.landmarks.meb import EnclosingBall, minimum_enclosing_ball
from kreinflow.landmarks.sampled_scores import class_features
from kreinflow.landmarks.selector import CANDIDATES, TRANSFORM, Needs, SelectionProblem, Selector

Positions = NDArray[np.intp]


def fit_budget(
    features: Sequence[FloatArray], balls: Sequence[EnclosingBall], budget: int
) -> list[Positions]:
    r"""Choose a given number of points by the need of the classes; positions in each class.

    The classes compete for the budget with their points, in this order:

    1. the support of its ball, in the order in which the points joined the core set, by their
       excess: a smaller budget is what a larger epsilon would have left;
    2. what the ball of epsilon = 0 adds to the support, by excess too;
    3. the points that are worst represented (Gonzalez, Theoretical Computer Science 38, 293-306,
       1985), each time the one with the largest

       .. math:: \min_{s \text{ chosen}} \| f_i - f_s \|^2 / R_j^2 .

    But the first point of each class comes before all second ones, and these before all others.
    Larger budgets contain smaller ones.
    """
    rest = sum(len(ball.support) for ball in balls) < budget
    queues = [_queue(F, ball, rest) for F, ball in zip(features, balls, strict=True)]
    points, kinds, excess = zip(*queues, strict=True)
    sizes = list(map(len, points))
    places = np.concatenate([np.arange(size) for size in sizes])
    least = np.minimum(places, 2)  # all first points, then all second ones, then the others
    order = np.lexsort((-np.concatenate(excess), np.concatenate(kinds), least))[:budget]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.bincount(owner[order], minlength=len(sizes))
    chosen = [own[:count] for own, count in zip(points, counts, strict=True)]
    if len(order) == budget:
        return chosen
    return _add_worst_represented(features, balls, chosen, budget)


def _queue(
    F: FloatArray, ball: EnclosingBall, rest: bool
) -> tuple[Positions, Positions, FloatArray]:
    """Return points, kinds (1: of the exact ball alone, made if ``rest``) and excess."""
    points, excess = _ordered_support(ball)
    kinds = np.zeros(len(points), dtype=np.intp)
    if rest:
        more, their_excess = _ordered_support(minimum_enclosing_ball(F, epsilon=0.0))
        new = ~np.isin(more, points)
        points = np.concatenate([points, more[new]])
        excess = np.concatenate([excess, their_excess[new]])
        kinds = np.concatenate([kinds, np.ones(np.count_nonzero(new), dtype=np.intp)])
    return points, kinds, excess


def _ordered_support(ball: EnclosingBall) -> tuple[Positions, FloatArray]:
    """Return the support in the order of joining, and an excess that falls along it."""
    member = np.isin(ball.core, ball.support)
    points, excess = ball.core[member], np.minimum.accumulate(ball.excess)[member]
    alone = ball.support[~np.isin(ball.support, points)]  # the second of points that coincide
    return np.concatenate([points, alone]), np.concatenate([excess, np.zeros(len(alone))])


def _add_worst_represented(
    features: Sequence[FloatArray],
    balls: Sequence[EnclosingBall],
    chosen: Sequence[Positions],
    budget: int,
) -> list[Positions]:
    lists: list[list[int]] = [[] for _ in balls]
    gaps = [np.full(len(F), np.inf) for F in features]

    def add(code: int, point: int) -> None:
        lists[code].append(point)
        differences = features[code] - features[code][point]
        squares = np.einsum("ij,ij->i", differences, differences)
        np.minimum(gaps[code], squares, out=gaps[code])
        gaps[code][point] = -np.inf

    for code, points in enumerate(chosen):
        for point in points.tolist():
            add(code, point)
    scales = [ball.radius**2 or 1.0 for ball in balls]
    for _ in range(budget - sum(map(len, lists))):
        worst = [float(gap.max()) / scale for gap, scale in zip(gaps, scales, strict=True)]
        neediest = int(np.argmax(worst))
        add(neediest, int(np.argmax(gaps[neediest])))
    return [np.array(points, dtype=np.intp) for points in lists]


class EnclosingBalls(Selector):
    """The support of the minimum enclosing ball of each class (schleif2018)."""

    method = "meb"
    needs: ClassVar[Needs] = "class_scores"
    settings_schema: ClassVar[SettingsSchema] = {
        "transform": TRANSFORM,
        "candidates": CANDIDATES,
        "epsilon": number(
            "all members lie within radius (1 + epsilon)", 0.01, exclusiveMinimum=0, maximum=1
        ),
        "budget": {
            **BUDGET,
            "description": f"{BUDGET['description']}; null is as many as the balls need",
            "type": [*BUDGET["type"], "null"],
            "default": None,
        },
        "grow": flag(
            "whether a budget larger than the balls need is filled; if not, it is a limit", True
        ),
    }
    references = ("schleif2018", "badoiu2008")

    def describe(self, unit: str) -> str:
        count = self.settings["candidates"]
        block = f"the {unit} with {count} candidates of" if count else f"all {unit} inside"
        text = (
            "the support of the minimum enclosing ball of each class with epsilon = "
            f"{self.settings['epsilon']}, from {block} each class"
        )
        budget = self.settings["budget"]
        if budget is None:
            return text
        how = "fitted to" if self.settings["grow"] else "shrunk, where they are more, to"
        return f"{text}, {how} {how_many(budget, unit)}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        features = class_features(problem.class_scores)
        balls = [minimum_enclosing_ball(F, self.settings["epsilon"]) for F in features]
        chosen = [ball.support for ball in balls]
        found = sum(map(len, chosen))
        if problem.budget is not None and (self.settings["grow"] or found > problem.budget):
            chosen = fit_budget(features, balls, problem.wanted(min(len(balls), ONE_EACH)))
        sizes = list(map(len, chosen))
        weights = [
            np.where(np.isin(points, ball.support), ball.weights[points], np.nan)
            for points, ball in zip(chosen, balls, strict=True)
        ]
        members = problem.classes.values()
        rows = [own[points] for own, points in zip(members, chosen, strict=True)]
        return problem.table(
            np.concatenate(rows),
            weight=np.concatenate(weights),
            radius=np.repeat([ball.radius for ball in balls], sizes),
            reached=np.repeat([ball.reached for ball in balls], sizes),
        )
