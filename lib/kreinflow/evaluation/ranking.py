"""How well the probability of a class puts its records first, where there are two classes.

A model of hard data accepts little, and may still say what to look at first.
"""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.measured_rows import average_precision, class_names, probabilities_of
from kreinflow.evaluation.metrics import spread, spread_columns
from kreinflow.evaluation.unknown import auroc

FIRST = 0.1
"""The share of the records that are looked at first, for ``enrichment``."""

_MEASURES = ("auc", "average_precision", "enrichment")

RANKING_COLUMNS = ("recipe", "class", "records", "share", "folds", *spread_columns(_MEASURES))
"""Of the rarer class (the second of equals), which is the ``share`` of the ``records`` of all folds
and repeats. Of each fold, ``auc`` is the area below the curve of receiver operating
characteristics, ``average_precision`` that below precision against recall, and ``enrichment`` the
:func:`enrichment`. Folds with one class alone are left out."""


def ranking_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return how each recipe ranks; no rows if there are not two classes."""
    rows, classes = [], class_names(predictions)
    if len(classes) == 2:
        counts = [int((predictions["true"].astype(str) == label).sum()) for label in classes]
        code = int(counts[1] <= counts[0])
        for recipe, part in predictions.groupby("recipe", sort=False):
            p, own = probabilities_of(part)[:, code], part["true"].astype(str) == classes[code]
            folds = []
            for places in part.groupby(["repeat", "fold"]).indices.values():
                true, ranked = own.to_numpy()[places], p[places]
                if 0 < true.sum() < len(true):
                    area = auroc(ranked[true], ranked[~true])
                    measures = area, average_precision(ranked, true), enrichment(ranked, true)
                    folds.append(measures)
            told = spread(pd.DataFrame(folds, columns=list(_MEASURES)))
            rows.append((recipe, classes[code], len(part), own.mean(), len(folds), *told.values()))
    return pd.DataFrame(rows, columns=list(RANKING_COLUMNS))


def enrichment(probabilities: FloatArray, true: NDArray[np.bool_]) -> float:
    """Return the share of true ones among the first tenth, divided by their share of all.

    1 is chance. The first tenth is the smallest whole number that is not below :data:`FIRST` of the
    records. Of those with the probability of the last one in it, it has as many true ones as one
    expects if they come in any order.

    Examples
    --------
    >>> enrichment(np.arange(20.0), np.arange(20) >= 16)
    5.0
    """
    n = math.ceil(FIRST * len(true) - 1e-9)
    last = np.sort(probabilities)[-n]
    above, equal = probabilities > last, probabilities == last
    hits = true[above].sum() + true[equal].mean() * (n - above.sum())
    return float(hits / n / true.mean())
