"""Whether a model is better than the best hit alone, as one takes it from a search by BLAST."""

import numpy as np
import pandas as pd

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

    The hits are those of one recipe: of those that have a hit of each record, the first one that
    compared them with the most training records. There are no rows if a record has no hit, and none
    of recipes that did not predict all records.
    """
    parts: dict[str, pd.DataFrame] = {}
    if set(HIT_COLUMNS) <= set(predictions.columns):
        wanted = len(predictions[_RECORD].drop_duplicates())
        every = predictions.groupby("recipe", sort=False)
        parts = {str(recipe): part for recipe, part in every if len(part) == wanted}
    compared = {recipe: _compared(part) for recipe, part in parts.items()}
    if not any(compared.values()):
        return pd.DataFrame(columns=list(BEST_HIT_COLUMNS))
    teller = max(compared, key=lambda recipe: compared[recipe])
    known = parts[teller].set_index(_RECORD)[list(HIT_COLUMNS)]
    rows = []
    for recipe, part in parts.items():
        hits = known.loc[pd.MultiIndex.from_frame(part[_RECORD])]
        true = part["true"].astype(str).to_numpy()
        right = part["predicted"].astype(str).to_numpy() == true
        hit = hits["hit"].astype(str).to_numpy() == true
        own = np.asarray(groups.loc[part["id"]], dtype=np.int64)
        found = paired_difference(right, hit, own, part["repeat"].nunique())
        among, of = (hits[name].astype(float) for name in HIT_COLUMNS[1:])
        sizes = among.mean(), of.mean(), bool((among == of).all())
        rows.append((recipe, len(part), *sizes, right.mean(), hit.mean(), *found))
    return pd.DataFrame(rows, columns=list(BEST_HIT_COLUMNS))


def _compared(part: pd.DataFrame) -> int:
    among = pd.to_numeric(part["hit_among"], errors="coerce").fillna(0)
    mixed = (part["recipe"] == INNER_CHOICE).any()  # its hits are of several recipes
    return 0 if mixed or not among.all() else int(among.sum())
