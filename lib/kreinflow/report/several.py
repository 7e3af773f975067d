"""What the page says otherwise where records may have several labels."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from kreinflow.report.tables import (
    Table,
    beside_perfect,
    cells,
    number,
    rejected_cells,
    shares,
    table_of,
)

CAPTIONS = {
    "map": "Objects and landmarks (black edges) of the final model in two dimensions of the Krein "
    "space of its scores, each by the rarest of its labels: axes are named with the sign and size "
    "of their eigenvalue.",
    "comparison": "Share of the records all of whose labels are right, and that are given no "
    "other, by each recipe on the outer folds: mean and standard deviation. The recipe of the "
    "final model is shaded.",
    "confusion": "Of the records that have a label (row), the share that were given it (blue), and "
    "that were given another label (column) wrongly (vermilion), by the model on the outer folds. "
    "Numbers are records (mean over repeats).",
    "reject": "Wrong ones among the labels that are kept when the least certain are set aside.",
    "calibration": "How often a record has a label of a given probability, above how many such "
    "probabilities there are. The boxes hold 95 % of what perfect probabilities would show with so "
    "many, were labels independent.",
}
"""Of the figures of :data:`kreinflow.report.reading.CAPTIONS` that show something else."""

THRESHOLDS = "the largest F1 of each label"
"""What the thresholds of labels are chosen for."""

REJECTS = "records none of whose labels reaches its threshold"
"""What the final model rejects."""


def measures_of_several(figures: pd.DataFrame) -> dict[str, list[str]]:
    """Return the measures that a row of the comparison has beside accuracy, by their headings.

    Parameters
    ----------
    figures : DataFrame
        The summary; see :class:`~kreinflow.evaluation.several.SeveralLabels`.
    """
    return {
        "micro F1": shares(figures, "micro_f1"),
        "macro F1": shares(figures, "macro_f1"),
        "micro average precision": shares(figures, "micro_average_precision"),
        "macro average precision": shares(figures, "macro_average_precision"),
        "Hamming loss": cells(figures["hamming_loss_mean"], ".4f"),
        "log loss": cells(figures["log_loss_mean"], ".4f"),
    }


def per_label(
    table: pd.DataFrame,
    recipe: str,
    records: int,
    thresholds: Mapping[str, float] | None,
    rejected: pd.DataFrame,
) -> Table:
    """Return the figures of each label by one recipe, where records may have several.

    Parameters
    ----------
    table : DataFrame
        See :class:`~kreinflow.evaluation.several.SeveralLabels`.
    recipe : str
    records : int
        Of the data set: chance has the share of them with the label for average precision.
    thresholds : mapping of str to float or None
        Those of the final model.
    rejected : DataFrame
        From :func:`~kreinflow.evaluation.rejected.rejected_by_class`.
    """
    own = table[table["recipe"].astype(str) == recipe]
    given = {} if thresholds is None else thresholds
    return table_of(
        {
            "label": own["class"],
            "precision, %": cells(own["precision"], ".2f", 100),
            "recall, %": cells(own["recall"], ".2f", 100),
            "F1, %": cells(own["f1"], ".2f", 100),
            "average precision, %": cells(own["average_precision"], ".2f", 100),
            "by chance, %": cells(own["support"], ".2f", 100 / records),
            "calibration error (if perfect)": beside_perfect(own),
            **rejected_cells(own["class"], rejected, recipe),
            "support": cells(own["support"], ",.0f"),
            "threshold of the final model": [
                number(given.get(label, np.nan)) for label in own["class"].astype(str)
            ],
        }
    )
