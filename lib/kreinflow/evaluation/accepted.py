"""How many predictions a model accepts, and how many of these are wrong."""

import pandas as pd

from kreinflow.models.cascade import REASONS

AS = {reason: f"as_{reason.replace(' ', '_')}" for reason in REASONS[1:]}
"""What the share of records that are rejected for a reason is called."""

ACCEPTED_COLUMNS = (
    *("recipe", "folds"),
    *(f"{what}_{part}" for what in ("accepted", "wrong", *AS.values()) for part in ("mean", "sd")),
)
"""Of each fold, ``accepted`` is the share of the records that are not rejected, ``wrong`` the share
of wrong predictions among these, and the others are the shares of the records that are rejected
for a reason. Folds where none is accepted have no ``wrong``, and are left out of its mean."""


def accepted_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return what each recipe accepts.

    Parameters
    ----------
    predictions : DataFrame
        See :mod:`kreinflow.evaluation.metrics`. Without the column ``reason`` there are no rows.
        Of records with several labels a prediction is right if all of them are.

    Returns
    -------
    DataFrame
        Columns :data:`ACCEPTED_COLUMNS`: mean and standard deviation (n - 1) over folds.
    """
    rows = []
    if "reason" in predictions:
        for recipe, part in predictions.groupby("recipe", sort=False):
            reason = part["reason"].fillna("").astype(str)
            kept = reason == ""
            wrong = part["true"].astype(str) != part["predicted"].astype(str)
            flags = {"accepted": kept, "wrong": wrong.astype(float).where(kept)}
            flags |= {name: reason == told for told, name in AS.items()}
            folds = pd.DataFrame(flags).astype(float).groupby([part["repeat"], part["fold"]]).mean()
            figures = [f for name in flags for f in (folds[name].mean(), folds[name].std(ddof=1))]
            rows.append((recipe, len(folds), *figures))
    return pd.DataFrame(rows, columns=list(ACCEPTED_COLUMNS))
