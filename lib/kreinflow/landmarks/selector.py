"""What a landmark selector is given, what it returns, and how the workflow asks for it."""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.transforms import NAMES
from kreinflow.errors import InputError
from kreinflow.landmarks.features import ClassScores
from kreinflow.landmarks.sketch import Sketch
from kreinflow.numerics import IntArray
from kreinflow.randomness import hash_keys
from kreinflow.settings import Configured, SettingsSchema

Needs = Literal["nothing", "class_scores", "sketch", "table"]

BUDGET: Mapping[str, Any] = {
    "description": "landmarks in all; or the name of a selector, to take as many as it did; or the "
    "smallest of what the keys rank, share, most and alignments say",
    "type": ["integer", "string", "object"],
    "minimum": 2,
    "additionalProperties": False,
    "properties": {
        "rank": {
            "description": "K of the budget K ln n, for n distinct training objects",
            "type": "integer",
            "minimum": 1,
        },
        "share": {
            "description": "share of the n distinct training objects, but two of each class",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
        },
        "most": {
            "description": "landmarks at most; all training objects, if they are fewer",
            "type": "integer",
            "minimum": 2,
        },
        "alignments": {
            "description": "alignments of all objects with the landmarks of all folds and the "
            "final model, together at most; even if no two folds share a landmark. What pays for "
            "all pairs of objects sets no limit",
            "type": "integer",
            "minimum": 1,
        },
    },
    "minProperties": 1,
}
"""The schema of the key ``budget``; see :func:`landmarks_wanted`."""

TRANSFORM: Mapping[str, Any] = {
    "description": "score transform of the kernel that landmarks are chosen by",
    "enum": list(NAMES),
    "default": "log",
}
"""The schema of the key ``transform``."""

CANDIDATES: Mapping[str, Any] = {
    "description": "members x this many candidates of a class are aligned; null aligns the whole "
    "class block (exact)",
    "type": ["integer", "null"],
    "minimum": 2,
    "default": 100,
}
"""The schema of the key ``candidates``."""


Budget = int | str | Mapping[str, float] | None


def landmarks_wanted(
    budget: Budget,
    n: int,
    matched: int | None = None,
    classes: int = 1,
    objects: int = 1,
    parts: int = 1,
) -> int | None:
    """Return the number of landmarks that a budget of the config means in a fold.

    Parameters
    ----------
    budget : int, str, mapping or None
        A number; the name of another selector; a mapping, of which the smallest number counts:
        ``rank``, the K ln n landmarks from which the one-shot Nyström method makes an
        approximation of rank K; ``share`` of n, but two of each class; ``most``, or n;
        ``alignments``, see :func:`paid_landmarks`, or n. None leaves it to the selector.
    n : int
        Distinct rows that the fold trains on.
    matched : int, optional
        The number of landmarks of the selector that is named.
    classes : int
        The number of classes.
    objects, parts : int
        Distinct rows of the whole data set, and its training parts.

    References
    ----------
    .. [1] Oglic, D., Gärtner, T.: Scalable learning in reproducing kernel Krein spaces.
       ICML 2019, PMLR 97, section 3.

    Examples
    --------
    >>> landmarks_wanted({"rank": 25}, 200)
    133
    >>> budget = {"share": 0.5, "most": 1000, "alignments": 100_000}
    >>> landmarks_wanted(budget, 800, objects=1000, parts=6)
    17
    """
    if isinstance(budget, str):
        return matched
    if not isinstance(budget, Mapping):
        return budget
    limits = []
    if "rank" in budget:
        limits.append(math.ceil(budget["rank"] * math.log(n)))
    if "share" in budget:
        limits.append(min(max(math.floor(budget["share"] * n), 2 * classes), n))
    if "most" in budget:
        limits.append(min(int(budget["most"]), n))
    if "alignments" in budget:
        limits.append(min(paid_landmarks(int(budget["alignments"]), objects, parts), n))
    return min(limits)


def pairs_with(landmarks: int, objects: int) -> int:
    """Return the pairs of m landmarks with all n objects: n m - m (m + 1) / 2, each once."""
    return objects * landmarks - landmarks * (landmarks + 1) // 2


def paid_landmarks(alignments: int, objects: int, parts: int) -> int:
    """Return the landmarks that each training part may have.

    Parts that share no landmark have u = m ``parts`` together, whose :func:`pairs_with` all n
    objects are paid for: m is the largest such number. Where all n (n - 1) / 2 pairs are paid for,
    all objects may be landmarks of all parts.

    Parameters
    ----------
    alignments : int
    objects : int
        n, distinct rows of the data set.
    parts : int
        Training parts: the folds' and the final model's.

    Examples
    --------
    >>> paid_landmarks(100_000, 1000, 6), paid_landmarks(499_500, 1000, 6)
    (17, 1000)
    """
    if alignments >= pairs_with(objects, objects):
        return objects
    # The smaller root of u^2 - (2n - 1) u + 2 alignments = 0, rounded down.
    double = 2 * objects - 1
    root = math.isqrt(double**2 - 8 * alignments - 1) + 1
    return (double - root) // 2 // parts


def count_landmarks(path: str | os.PathLike[str]) -> int:
    """Return the number of lines of a table of landmarks, less its header."""
    with open(path, encoding="utf-8") as table:
        return sum(1 for line in table) - 1


def how_many(budget: Budget) -> str:
    """Return a budget in words."""
    if isinstance(budget, str):
        return f"as many as {budget} took"
    if not isinstance(budget, Mapping):
        return f"{budget} of them"
    words = {
        "rank": "{} ln n of n training objects",
        "share": "the share {} of the training objects",
        "most": "at most {:,}",
        "alignments": "at most what {:,} alignments pay for in all folds together",
    }
    return ", ".join(words[key].format(value) for key, value in budget.items())


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """What a selector may look at: the training rows of one fold, and no other.

    Parameters
    ----------
    classes : sequence of ClassScores
        The members of each class, with scores if the selector needs class scores.
    digests : sequence of str
        One for each distinct row of the data set. All random numbers follow from them and the
        seed, none from the fold, so that the landmarks of folds overlap.
    seed : int
    fold : str
        For messages.
    budget : int, optional
        Landmarks in all.
    sketch : Sketch, optional
        For selectors that need one.
    given : ndarray of int, optional
        Rows of the data set that the user names, for the selector that takes them.
    """

    classes: Sequence[ClassScores]
    digests: Sequence[str]
    seed: int
    fold: str
    budget: int | None = None
    sketch: Sketch | None = None
    given: IntArray | None = None

    @cached_property
    def rows(self) -> IntArray:
        """Numbers of all distinct rows, sorted."""
        return np.sort(np.concatenate([scores.members for scores in self.classes]))

    @property
    def wanted(self) -> int:
        """The budget.

        Raises
        ------
        InputError
            If the training rows are fewer.
        ValueError
            If there is none.
        """
        if self.budget is None:
            raise ValueError("this selector needs a budget.")
        if not 1 <= self.budget <= len(self.rows):
            raise InputError(
                f"fold {self.fold}: a budget of {self.budget} landmarks does not fit its "
                f"{len(self.rows)} distinct training rows: give from 1 to {len(self.rows)}."
            )
        return self.budget

    def keys(self, name: str, rows: IntArray) -> NDArray[np.uint64]:
        """Return the keys of the random numbers of some rows, for the draws of that name."""
        return hash_keys(self.seed, name, (self.digests[row] for row in rows))

    def table(self, rows: IntArray) -> pd.DataFrame:
        """Return the table of landmarks without balls, see :meth:`Selector.select`."""
        labels = {row: scores.label for scores in self.classes for row in scores.members.tolist()}
        rows = np.sort(rows)
        return pd.DataFrame(
            {
                "row": rows,
                "class": [labels[row] for row in rows.tolist()],
                "weight": np.nan,
                "radius": np.nan,
                "reached": True,
            }
        )


class Selector(Configured, ABC):
    """A way to choose landmarks that the config can name: one subclass, one line in the registry.

    Parameters
    ----------
    settings : mapping
        As in the config, checked and complete: a value for each key of :attr:`settings_schema`.

    Attributes
    ----------
    method : str
        Its name in the config.
    needs : {"nothing", "class_scores", "sketch", "table"}
        The scores it looks at: none; those inside each class, with the candidates that the
        setting ``candidates`` asks for; or those of all rows with the ``sketch`` first ones of a
        random order. With "table" it looks at none, but at the rows that the table of the setting
        ``table`` names.
    references : tuple of str
        Keys of :data:`kreinflow.references.REFERENCES`.
    """

    method: ClassVar[str]
    needs: ClassVar[Needs] = "nothing"
    references: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def describe(self, unit: str) -> str:
        """Return what the methods paragraph says of it, without reference and full stop.

        Parameters
        ----------
        unit : str
            What a score costs: "alignments", or "scores" if they were given.
        """

    @abstractmethod
    def select(self, problem: SelectionProblem) -> pd.DataFrame:
        """Choose the landmarks of one fold.

        Parameters
        ----------
        problem : SelectionProblem

        Returns
        -------
        DataFrame
            One line a landmark, sorted by row, with the columns

            * ``row``: the number of the distinct row;
            * ``class``: its label;
            * ``weight``: its weight in the dual of the ball (empty if it is not of its support);
            * ``radius``: the radius of the ball of its class (empty if the selector has no ball);
            * ``reached``: false if that ball did not come to cover all members, else true.

        Raises
        ------
        InputError
            If the budget does not fit the training rows.
        """


class SketchSelector(Selector):
    """A selector that looks at a sketch: scores of all rows with some drawn uniformly.

    Attributes
    ----------
    phrase : str
        What it does, for the methods paragraph.
    """

    needs = "sketch"
    settings_schema: ClassVar[SettingsSchema] = {
        "transform": TRANSFORM,
        "sketch": {
            "description": "all objects x this many, drawn uniformly, are aligned to choose by; "
            "null aligns all pairs (exact)",
            "type": ["integer", "null"],
            "minimum": 2,
            "default": 300,
        },
        "budget": BUDGET,
    }
    phrase: ClassVar[str]

    def describe(self, unit: str) -> str:
        """Return what the methods paragraph says of it."""
        count = self.settings["sketch"]
        drawn = f" with {count} training objects drawn uniformly" if count else ""
        budget = how_many(self.settings["budget"])
        return f"{self.phrase}, {budget}, from {'the' if count else 'all'} {unit}{drawn}"

    def select(self, problem: SelectionProblem) -> pd.DataFrame:
        """Choose the landmarks of one fold; see :meth:`Selector.select`."""
        if problem.sketch is None:
            raise ValueError(f"landmarks {self.method!r} need a sketch.")
        rows = problem.sketch.rows
        chosen = self.choose(problem.sketch, problem.wanted, problem.keys(self.method, rows))
        return problem.table(rows[chosen])

    @abstractmethod
    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> IntArray:
        """Return the landmarks as distinct positions among the rows of the sketch.

        Parameters
        ----------
        sketch : Sketch
        count : int
            From 1 to the number of rows.
        keys : ndarray of shape (n,), uint64
            The keys of the random numbers of the rows.

        Returns
        -------
        ndarray of shape (count,)
        """
