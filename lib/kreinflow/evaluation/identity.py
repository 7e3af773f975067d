"""How good predictions are by the identity of a record to its best hit among the training records.

So one sees how remote a relative a prediction can rest on, and where the best hit alone is as good.
The identity is equal residues as a share of the columns of the alignment, as BLAST tells it.
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from kreinflow.evaluation.accepted import AS, numbers_of
from kreinflow.evaluation.best_hit import rights, with_hits

EDGES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Of the bins: each has its lower edge, and the last one its upper edge too."""

SHARES = ("accuracy", "hit_accuracy", "accepted", *AS.values())
IN_SETS = ("held_90", "held_95", "beyond")

IDENTITY_COLUMNS = ("recipe", "low", "high", "records", "identity", *SHARES, *IN_SETS)
"""Of each bin from ``low`` to ``high``: the number of predictions over all folds and repeats, their
mean identity, and shares of them. ``accuracy`` counts rejected predictions too; ``hit_accuracy`` is
that of the best hits, the same as in :mod:`kreinflow.evaluation.best_hit`. ``held`` are sets with
the true label, ``beyond`` what is farther than promises were measured; empty where not known."""


def identity_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of each recipe and bin with a record; none without hits of sequences."""
    rows = []
    for recipe, part in with_hits(predictions).items():
        identity = numbers_of(part, "hit_identity")
        reason = part["reason"].fillna("").astype(str).to_numpy()
        told = [identity, *rights(part), reason == "", *(reason == why for why in AS)]
        told += [numbers_of(part, name) for name in IN_SETS]
        place = np.searchsorted(EDGES[1:-1], identity, side="right")
        for number, (low, high) in enumerate(pairwise(EDGES)):
            own = (place == number) & ~np.isnan(identity)
            if count := int(own.sum()):
                means = (values[own].mean() for values in told)
                rows.append((recipe, low, high, count, *means))
    return pd.DataFrame(rows, columns=list(IDENTITY_COLUMNS))
