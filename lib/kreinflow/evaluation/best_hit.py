"""Whether a model is better than the best hit alone, as one takes it from a search by BLAST."""

import numpy as np
import pandas as pd

from kreinflow.evaluation.paired import paired_difference
from kreinflow.models.hits import HIT_COLUMNS

BEST_HIT_COLUMNS = (
    *("recipe", "records", "among", "of"),
    *("accuracy", "hit_accuracy", "difference", "low", "high", "p"),
)
"""``records`` is the number of predictions, each beside the best hit ``among`` so many training
records on the mean, and ``of`` so many in all. ``difference`` is the ``accuracy`` of the recipe
less ``hit_accuracy``; interval and test are those of
:func:`~kreinflow.evaluation.paired.paired_difference`. The three are shares of all predictions,
while accuracies of the summary are means over folds: if folds differ in size, these differ too."""

_RECORD = ["repeat", "id"]


def best_hit_table(predictions: pd.DataFrame, groups: "pd.Series[int]") -> pd.DataFrame:
    """Compare each recipe with the best hit that is known of each record.

    Of the recipes, the one that compared a record with the most training records tells its hit, for
    all of them.

    Parameters
    ----------
    predictions : DataFrame
        See :mod:`kreinflow.evaluation.metrics`.
    groups : Series
        The group of each record of the data set, by its id.

    Returns
    -------
    DataFrame
        Columns :data:`BEST_HIT_COLUMNS`. There are no rows if a record has no hit, and none of
        recipes that did not predict all records.
    """
    rows = []
    if set(HIT_COLUMNS) <= set(predictions.columns):
        among = pd.to_numeric(predictions["hit_among"], errors="coerce")
        told = predictions.assign(hit_among=among)[among > 0]
        told = told.sort_values("hit_among", ascending=False, kind="stable")
        known = told.drop_duplicates(_RECORD).set_index(_RECORD)[list(HIT_COLUMNS)]
        wanted = len(predictions[_RECORD].drop_duplicates())
        for recipe, part in predictions.groupby("recipe", sort=False):
            if not len(known) == len(part) == wanted:
                continue
            hits = known.loc[pd.MultiIndex.from_frame(part[_RECORD])]
            true = part["true"].astype(str).to_numpy()
            right = part["predicted"].astype(str).to_numpy() == true
            hit = hits["hit"].astype(str).to_numpy() == true
            found = paired_difference(
                right,
                hit,
                np.asarray(groups.loc[part["id"]], dtype=np.int64),
                part["repeat"].nunique(),
            )
            sizes = (float(pd.to_numeric(hits[name]).mean()) for name in HIT_COLUMNS[1:])
            rows.append((recipe, len(part), *sizes, right.mean(), hit.mean(), *found))
    return pd.DataFrame(rows, columns=list(BEST_HIT_COLUMNS))
