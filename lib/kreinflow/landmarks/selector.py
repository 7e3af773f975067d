"""What a landmark selector is given, what it returns, and how the workflow asks for it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.transforms import NAMES
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import IntArray
from kreinflow.base.random_streams import hash_keys
from kreinflow.base.settings import Configured, SettingsSchema
from kreinflow.landmarks.budgets import BUDGET, how_many
from kreinflow.landmarks.features import ClassScores
from kreinflow.landmarks.sketch import Sketch

if TYPE_CHECKING:
    import pandas as pd

Needs = Literal["nothing", "class_scores", "sketch", "table"]

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


def count_landmarks(path: str | os.PathLike[str]) -> int:
    """Return the number of lines of a table of landmarks, less its header."""
    with open(path, "rb") as table:
        return sum(1 for line in table) - 1


def in_words(table: "pd.DataFrame") -> str:
    """Return what the log says of the landmarks of a fold; see :meth:`Selector.select`.

    Of enclosing balls it tells how many landmarks these needed, and how many a budget added. (Of a
    budget smaller than that the rest is not in the table.)
    """
    said = f"{len(table)} landmarks of {table['class'].nunique()} classes"
    if table["radius"].isna().all():
        return said
    need = int(table["weight"].notna().sum())
    return f"{said}: {need} that enclosing balls need, {len(table) - need} added to fill a budget"


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
        return np.sort(np.concatenate([scores.rows for scores in self.classes]))

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

    @property
    def wanted_of_classes(self) -> int:
        """The budget, of which each class has a landmark at least.

        Raises
        ------
        InputError
            As :attr:`wanted`, or if the classes are more.
        """
        if self.wanted < len(self.classes):
            raise InputError(
                f"fold {self.fold}: a budget of {self.budget} landmarks is smaller than the number "
                f"of classes, {len(self.classes)}: give at least {len(self.classes)}."
            )
        return self.wanted

    def keys(self, name: str, rows: IntArray) -> NDArray[np.uint64]:
        """Return the keys of the random numbers of some rows, for the draws of that name."""
        return hash_keys(self.seed, name, (self.digests[row] for row in rows))

    def table(self, rows: IntArray) -> "pd.DataFrame":
        """Return the table of landmarks without balls, see :meth:`Selector.select`."""
        import pandas as pd  # slow to import

        labels = {row: scores.label for scores in self.classes for row in scores.rows.tolist()}
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
        Keys of :data:`kreinflow.base.references.REFERENCES`.
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
    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
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
        budget = how_many(self.settings["budget"], unit)
        return f"{self.phrase}, {budget}, from {'the' if count else 'all'} {unit}{drawn}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
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
