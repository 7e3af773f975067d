"""How many predictions a model accepts, how many of these are wrong, and what they cost."""

import numpy as np
import pandas as pd

from kreinflow.answering.answers import REASONS

AS = {reason: f"as_{reason.replace(' ', '_')}" for reason in REASONS[1:]}
"""What the share of records that are rejected for a reason is called."""

ACCEPTED_COLUMNS = (
    *("recipe", "folds"),
    *(f"{what}_{part}" for what in ("accepted", "wrong", *AS.values()) for part in ("mean", "sd")),
    "wrong_of_accepted",
    *("alignments_mean", "alignments_sd"),
)
"""Of each fold, ``accepted`` is the share of the records that are not rejected, ``wrong`` the share
of wrong predictions among these, ``as_...`` are the shares of the records that are rejected for a
reason, and ``alignments`` is the mean of this column. Folds where none is accepted have no
``wrong``, and are left out of its mean. ``wrong_of_accepted`` is the share of wrong predictions
among the accepted ones of all folds and repeats together: a fold that accepts few counts little."""


def accepted_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return what each recipe accepts.

    Parameters
    ----------
    predictions : DataFrame
        See :mod:`kreinflow.evaluation.metrics`. Without the column ``reason`` there are no rows,
        without the column ``alignments`` no figures of it. Of records with several labels a
        prediction is right if all of them are.

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
            of_kept = wrong.astype(float).where(kept)
            told = {"accepted": kept, "wrong": of_kept}
            told |= {name: reason == why for why, name in AS.items()}
            told["alignments"] = part.get("alignments", np.nan)
            folds = pd.DataFrame(told).astype(float).groupby([part["repeat"], part["fold"]]).mean()
            figures = {
                f"{name}_{kind}": figure
                for name, values in folds.items()
                for kind, figure in (("mean", values.mean()), ("sd", values.std(ddof=1)))
            }
            pooled = {"wrong_of_accepted": of_kept.mean()}
            rows.append({"recipe": recipe, "folds": len(folds), **figures, **pooled})
    return pd.DataFrame(rows, columns=list(ACCEPTED_COLUMNS))
