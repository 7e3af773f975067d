"""Landmarks that the user names: those of an earlier run, kept while the data grow."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.settings import SettingsSchema
from kreinflow.landmarks.selector import SelectionProblem, Selector

if TYPE_CHECKING:
    import pandas as pd


class Given(Selector):
    """The rows of a given table that the fold trains on.

    Nothing is aligned to choose them, so n added distinct sequences cost n alignments for each
    landmark and no more. But whoever chose them may have looked at records that a fold tests:
    figures of recipes with these landmarks can be optimistic, and the report says so.
    """

    method = "given"
    needs = "table"
    settings_schema: ClassVar[SettingsSchema] = {
        "table": {
            "description": "TSV or CSV whose column id names the landmarks",
            "type": "string",
            "minLength": 1,
        }
    }

    def describe(self, unit: str) -> str:
        """Return what the methods paragraph says of it."""
        return "named in advance, of which each fold takes those that it trains on"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        """Take the given rows; see :meth:`~kreinflow.landmarks.selector.Selector.select`."""
        if problem.given is None:
            raise ValueError("landmarks 'given' need their rows.")
        rows = np.intersect1d(problem.given, problem.rows)
        if len(rows) < 2:
            raise InputError(
                f"fold {problem.fold}: trains on {len(rows)} of the given landmarks. Name more of "
                "them: at least 2 have to be left in each training part."
            )
        return problem.table(rows)
