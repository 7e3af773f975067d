"""Whether a model is better than the best hit alone, as one takes it from a search by BLAST."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.evaluation.paired import paired_difference
from kreinflow.fitting.best_hits import HIT_COLUMNS

BEST_HIT_COLUMNS = (
    *("recipe", "records", "among", "of", "whole"),
    *("accuracy", "hit_accuracy", "difference", "low", "high", "p"),
)
"""Each prediction stands beside the best hit ``among`` so many training records on the mean, ``of``
so many in all; ``whole`` is true if these are equal for each prediction. Accuracies are shares of
all predictions, ``difference`` is that of the recipe less that of the hits; see
:func:`~kreinflow.evaluation.paired.paired_difference`."""

_RECORD = ["repeat", "id"]


def best_hit_table(predictions: pd.DataFrame, groups: "pd.Series[int]") -> pd.DataFrame:
    """Compare each recipe with the best hit of each record; ``groups`` are those of all, by id.

    The hits are those of :func:`with_hits`; without any there are no rows.
    """
    rows = []
    for recipe, part in with_hits(predictions).items():
        right, hit = rights(part)
        own = np.asarray(groups.loc[part["id"]], dtype=np.int64)
        found = paired_difference(right, hit, own, part["repeat"].nunique())
        among, of = (part[name].astype(float) for name in ("hit_among", "hit_of"))
        sizes = among.mean(), of.mean(), bool((among == of).all())
        rows.append((recipe, len(part), *sizes, right.mean(), hit.mean(), *found))
    return pd.DataFrame(rows, columns=list(BEST_HIT_COLUMNS))


def with_hits(predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the predictions of each recipe that predicted all records, all beside the same hits.

    The hits are those of one recipe: of those that have a hit of each record, the first one that
    compared them with the most training records. There is none if a record has no hit.
    """
    parts: dict[str, pd.DataFrame] = {}
    if set(HIT_COLUMNS) <= set(predictions.columns):
        wanted = len(predictions[_RECORD].drop_duplicates())
        every = predictions.groupby("recipe", sort=False)
        parts = {str(recipe): part for recipe, part in every if len(part) == wanted}
    compared = {recipe: _compared(part) for recipe, part in parts.items()}
    if not any(compared.values()):
        return {}
    teller = max(compared, key=lambda recipe: compared[recipe])
    known = parts[teller].set_index(_RECORD)[list(HIT_COLUMNS)]
    return {
        recipe: part.drop(columns=[*HIT_COLUMNS]).join(known, on=_RECORD)
        for recipe, part in parts.items()
    }


def rights(part: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which predictions are right, and which of the hits beside them."""
    true, *told = (part[name].astype(str).to_numpy() for name in ("true", "predicted", "hit"))
    return told[0] == true, told[1] == true


def _compared(part: pd.DataFrame) -> int:
    among = pd.to_numeric(part["hit_among"], errors="coerce").fillna(0)
    mixed = (part["recipe"] == INNER_CHOICE).any()  # its hits are of several recipes
    return 0 if mixed or not among.all() else int(among.sum())
