"""Selectors that need no score: uniform, all training rows, and those that the user names."""

from typing import ClassVar

import numpy as np

from kreinflow.base.late import pandas as pd
from kreinflow.base.settings import SettingsSchema, text
from kreinflow.landmarks.budgets import BUDGET, how_many
from kreinflow.landmarks.selector import SelectionProblem, Selector


class Uniform(Selector):
    """The first training rows in the order of hash(seed, digest), so that folds share them."""

    method = "uniform"
    settings_schema: ClassVar[SettingsSchema] = {"budget": BUDGET}

    def describe(self, unit: str) -> str:
        return f"drawn uniformly at random, {how_many(self.settings['budget'], unit)}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        order = np.argsort(problem.keys(self.method, problem.rows), kind="stable")
        return problem.table(problem.rows[order[: problem.wanted()]])


class Everything(Selector):
    """All distinct training rows: the factor is the full kernel's, without approximation."""

    method = "all"

    def describe(self, unit: str) -> str:
        return f"all training objects, which takes all {unit}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        return problem.table(problem.rows)


class NamedLandmarks(Selector):
    """The rows of a given table that the fold trains on, such as those of an earlier run.

    They may have been chosen with records that a fold tests, so figures can be optimistic.
    """

    method = "given"
    needs = "table"
    settings_schema: ClassVar[SettingsSchema] = {
        "table": text("TSV or CSV whose column id names the landmarks")
    }

    def describe(self, unit: str) -> str:
        return "named in advance, of which each fold takes those that it trains on"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        assert problem.given is not None
        return problem.table(np.intersect1d(problem.given, problem.rows))
