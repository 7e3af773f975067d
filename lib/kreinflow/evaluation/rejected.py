"""How many of the records of each class a model rejects."""

import pandas as pd

from kreinflow.sequences.labels import SEPARATOR

REJECTED_COLUMNS = ("recipe", "class", "records", "rejected")
"""``records`` are predictions over all folds and repeats, and ``rejected`` is the share of them
that is rejected. ``class`` is the true one."""


def rejected_by_class(predictions: pd.DataFrame, several: bool = False) -> pd.DataFrame:
    """Return what each recipe rejects of each class.

    Parameters
    ----------
    predictions : DataFrame
        See :mod:`kreinflow.evaluation.metrics`. Without the column ``reason`` there are no rows.
    several : bool
        Whether records may have several labels: each counts for all that it has.

    Returns
    -------
    DataFrame
        Columns :data:`REJECTED_COLUMNS`, the classes of a recipe by their names.
    """
    if "reason" not in predictions:
        return pd.DataFrame(columns=list(REJECTED_COLUMNS))
    told = predictions[["recipe"]].assign(
        **{"class": predictions["true"].astype(str)},
        rejected=predictions["reason"].fillna("").astype(str) != "",
    )
    if several:
        told = told.assign(**{"class": told["class"].str.split(SEPARATOR)}).explode("class")
    parts = [
        part.groupby("class")["rejected"].agg(["size", "mean"]).reset_index().assign(recipe=recipe)
        for recipe, part in told.groupby("recipe", sort=False)
    ]
    table = pd.concat(parts, ignore_index=True)
    table = table.rename(columns={"size": "records", "mean": "rejected"})
    return table[list(REJECTED_COLUMNS)]
