"""Uniform landmarks: the first training rows in a random order that never changes."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kreinflow.base.settings import SettingsSchema
from kreinflow.landmarks.budgets import BUDGET, how_many
from kreinflow.landmarks.selector import SelectionProblem, Selector

if TYPE_CHECKING:
    import pandas as pd


class Uniform(Selector):
    """The first training rows in the order of hash(seed, digest).

    The folds' landmarks overlap as much as they can, and sequences that are added later displace
    few of them.
    """

    method = "uniform"
    settings_schema: ClassVar[SettingsSchema] = {"budget": BUDGET}

    def describe(self, unit: str) -> str:
        """Return what the methods paragraph says of it."""
        return f"drawn uniformly at random, {how_many(self.settings['budget'], unit)}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        """Take the first rows; see :meth:`~kreinflow.landmarks.selector.Selector.select`."""
        order = np.argsort(problem.keys(self.method, problem.rows), kind="stable")
        return problem.table(problem.rows[order[: problem.wanted]])
