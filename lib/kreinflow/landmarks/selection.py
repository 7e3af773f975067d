"""The one interface of the landmark selectors, and the table that they return."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.landmarks.features import ClassScores, class_features
from kreinflow.landmarks.kmeans import kmeans_plus_plus, share_budget
from kreinflow.landmarks.meb import minimum_enclosing_ball
from kreinflow.landmarks.uniform import uniform_landmarks
from kreinflow.numerics import FloatArray
from kreinflow.randomness import stream

Method = Literal["meb", "kmeans++", "uniform"]

METHODS: tuple[Method, ...] = get_args(Method)
"""The names that :func:`select_landmarks` knows."""


def select_landmarks(
    method: Method,
    classes: Sequence[ClassScores],
    *,
    seed: int,
    fold: str,
    epsilon: float = 0.01,
    budget: int | None = None,
    digests: Sequence[str] = (),
) -> pd.DataFrame:
    """Choose the landmarks of one fold.

    Parameters
    ----------
    method : {"meb", "kmeans++", "uniform"}
        Class-wise minimum enclosing balls, whose support are the landmarks; class-wise kernel
        k-means++ seeds, the budget shared by the root of the class sizes; or uniform.
    classes : sequence of ClassScores
        Training members alone. "uniform" looks at no scores:
        :meth:`~kreinflow.landmarks.features.ClassScores.without_scores` is enough.
    seed : int
        The seed of the config. "meb" draws nothing.
    fold : str
        For messages. No draw depends on it, so that the landmarks of folds overlap.
    epsilon : float
        By what fraction of the radius a member may lie outside its ball; for "meb" alone.
    budget : int
        Landmarks in all; for "kmeans++" and "uniform". A ball needs as many as it needs.
    digests : sequence of str
        One for each distinct row of the data set, for "kmeans++" and "uniform", whose random
        numbers belong to them.

    Returns
    -------
    DataFrame
        One line a landmark, sorted by row, with the columns

        * ``row``: the number of the distinct row;
        * ``class``: its label;
        * ``weight``: its weight in the dual of the ball (empty if the selector has no ball);
        * ``radius``: the radius of the ball of its class (empty likewise);
        * ``reached``: false if that ball did not come to cover all members, else true.

    Raises
    ------
    InputError
        If the budget does not fit the training rows.
    ValueError
        If the method is unknown, or its budget is missing.
    """
    if method == "meb":
        return _sorted(
            [
                _ball_support(scores, F, epsilon)
                for scores, F in zip(classes, class_features(classes), strict=True)
            ]
        )
    if method not in METHODS:
        raise ValueError(f"landmarks {method!r}: give one of {', '.join(METHODS)}.")
    if budget is None:
        raise ValueError(f"landmarks {method!r} need a budget.")
    sizes = [len(scores.members) for scores in classes]
    if budget > sum(sizes):
        raise InputError(
            f"fold {fold}: a budget of {budget} landmarks is larger than its {sum(sizes)} distinct "
            f"training rows: give at most {sum(sizes)}."
        )
    if method == "kmeans++":
        parts = []
        shares = share_budget(sizes, budget)
        for scores, F, share in zip(classes, class_features(classes), shares, strict=True):
            names = [digests[row] for row in scores.members]
            uniforms = [stream(seed, "kmeans++", name).random(int(share)) for name in names]
            chosen = kmeans_plus_plus(F, np.array(uniforms))
            parts.append(_part(scores.members[chosen], scores.label))
        return _sorted(parts)
    rows = np.concatenate([scores.members for scores in classes])
    chosen_rows = uniform_landmarks(rows, digests, seed, budget)
    return _sorted(
        [
            _part(scores.members[np.isin(scores.members, chosen_rows)], scores.label)
            for scores in classes
        ]
    )


def _ball_support(scores: ClassScores, F: FloatArray, epsilon: float) -> pd.DataFrame:
    ball = minimum_enclosing_ball(F, epsilon)
    part = _part(scores.members[ball.support], scores.label)
    return part.assign(weight=ball.weights[ball.support], radius=ball.radius, reached=ball.reached)


def _part(rows: NDArray[np.intp], label: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"row": rows, "class": label, "weight": np.nan, "radius": np.nan, "reached": True}
    )


def _sorted(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts).sort_values("row", ignore_index=True)
