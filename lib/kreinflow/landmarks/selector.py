"""The interface of landmark selectors: what they are given, and what they return."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.transforms import NAMES
from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.base.numerics import IntArray
from kreinflow.base.random_streams import hash_keys
from kreinflow.base.settings import Configured, SettingsSchema, number
from kreinflow.landmarks.budgets import BUDGET, how_many
from kreinflow.landmarks.sampled_scores import Sketch

Needs = Literal["nothing", "class_scores", "sketch", "table"]

TRANSFORM: Mapping[str, Any] = {
    "description": "score transform of the kernel that landmarks are chosen by",
    "enum": list(NAMES),
    "default": "log",
}
CANDIDATES = number(
    "members x this many candidates of a class are aligned; null: the whole class block (exact)",
    100,
    type=["integer", "null"],
    minimum=2,
)


def count_landmarks(path: str | os.PathLike[str]) -> int:
    """Return the number of rows of a table of landmarks."""
    with open(path, "rb") as table:
        return sum(1 for line in table) - 1


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """What a selector may use: the training rows of one fold, and no other.

    ``classes`` are the members of each class, and ``class_scores`` the sketches of these;
    ``given`` are rows that the user names. Random numbers follow from the ``digests`` of the
    distinct rows and the seed, none from the fold, so that the landmarks of folds overlap.
    """

    classes: Mapping[str, IntArray]
    digests: Sequence[str]
    seed: int
    fold: str
    budget: int | None = None
    class_scores: Sequence[Sketch] = ()
    sketch: Sketch | None = None
    given: IntArray | None = None

    @cached_property
    def rows(self) -> IntArray:
        return np.sort(np.concatenate(list(self.classes.values())))

    def wanted(self, least: int = 1) -> int:
        """Return the budget; an InputError unless it is from ``least`` to all training rows."""
        budget, most = self.budget or 0, len(self.rows)
        if not least <= budget <= most:
            raise InputError(
                f"fold {self.fold}: a budget of {budget} landmarks does not fit its {most} "
                f"distinct rows of {len(self.classes)} classes: give from {least} to {most}."
            )
        return budget

    def keys(self, name: str, rows: IntArray) -> NDArray[np.uint64]:
        """Return the keys of the random numbers of rows, for the draws of that name."""
        return hash_keys(self.seed, name, (self.digests[row] for row in rows))

    def table(self, rows: IntArray, **columns: NDArray[Any]) -> "pd.DataFrame":
        """Return the table of :meth:`Selector.select` for rows, and columns of theirs if any."""
        labels = {row: label for label, own in self.classes.items() for row in own.tolist()}
        table = pd.DataFrame({"row": rows, "class": [labels[row] for row in rows.tolist()]})
        defaults = {"weight": np.nan, "radius": np.nan, "reached": True}
        table = table.assign(**defaults | columns)
        return table.sort_values("row", ignore_index=True)


class Selector(Configured, ABC):
    """A way to choose landmarks that the config can name.

    ``needs`` says what it takes: nothing; scores inside each class with ``candidates`` of it; those
    of all rows with the ``sketch`` first ones of a random order; or the rows of a ``table``.
    """

    method: ClassVar[str]
    needs: ClassVar[Needs] = "nothing"
    references: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def describe(self, unit: str) -> str:
        """Return the selector in words, without reference and full stop, for the methods text.

        ``unit`` is what a score costs: "alignments", or "scores" if they were given.
        """

    @abstractmethod
    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        """Choose the landmarks of one fold.

        Returns a table sorted by ``row``, the distinct row: ``class``; ``weight`` in the dual of
        the ball (empty outside of its support); ``radius`` of the ball of its class; ``reached``,
        false if that ball did not come to cover all members.
        """


class SketchSelector(Selector):
    """A selector by scores of all rows with some drawn uniformly; ``phrase`` for the methods."""

    needs = "sketch"
    settings_schema: ClassVar[SettingsSchema] = {
        "transform": TRANSFORM,
        "sketch": number(
            "all objects x this many, drawn uniformly, are aligned to choose by; null: all pairs",
            300,
            type=["integer", "null"],
            minimum=2,
        ),
        "budget": BUDGET,
    }
    phrase: ClassVar[str]

    def describe(self, unit: str) -> str:
        count = self.settings["sketch"]
        drawn = f" with {count} training objects drawn uniformly" if count else ""
        budget = how_many(self.settings["budget"], unit)
        return f"{self.phrase}, {budget}, from {'the' if count else 'all'} {unit}{drawn}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        assert problem.sketch is not None
        rows = problem.sketch.rows
        chosen = self.choose(problem.sketch, problem.wanted(), problem.keys(self.method, rows))
        return problem.table(rows[chosen])

    @abstractmethod
    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> IntArray:
        """Return ``count`` distinct positions; ``keys`` are those of the rows' random numbers."""
