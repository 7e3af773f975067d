"""Every training row a landmark: the methods without approximation."""

from typing import TYPE_CHECKING

from kreinflow.landmarks.selector import SelectionProblem, Selector

if TYPE_CHECKING:
    import pandas as pd


class Everything(Selector):
    """All distinct training rows, so that the factor is the full kernel's."""

    method = "all"

    def describe(self, unit: str) -> str:
        """Return what the methods paragraph says of it."""
        return f"all training objects, which takes all {unit}"

    def select(self, problem: SelectionProblem) -> "pd.DataFrame":
        """Return all rows; see :meth:`~kreinflow.landmarks.selector.Selector.select`."""
        return problem.table(problem.rows)
