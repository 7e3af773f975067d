"""Made-up predictions of outer folds."""

import numpy as np
import pandas as pd

from kreinflow.answering.label_sets import Calibration, outcomes
from kreinflow.answering.levels import Levels

PATHS = ("1.1.1", "1.1.2", "1.1", "1.2.1", "2.1.1", "2.1.2", "2", "3")


def made_up_predictions(classes, recipes, n, folds, repeats=1):
    """Return predictions of n records: the larger the number of a recipe, the more are right."""
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.full(len(classes), 2.0))
    others = rng.choice(len(classes), n - len(classes), p=share)
    true = np.concatenate([np.arange(len(classes)), others])
    parts = []
    for recipe, quality in recipes.items():
        for repeat in range(repeats):
            decisions = rng.normal(size=(n, len(classes)))
            decisions[np.arange(n), true] += quality
            p = np.exp(decisions * 1.4)
            p /= p.sum(axis=1, keepdims=True)
            part = pd.DataFrame({"recipe": recipe, "repeat": repeat}, index=range(n))
            part["fold"] = rng.permutation(n) % folds
            part["id"] = [f"s{i}" for i in range(n)]
            part["true"] = np.array(classes)[true]
            part["predicted"] = np.array(classes)[p.argmax(axis=1)]
            probabilities = pd.DataFrame(p, columns=[f"p_{name}" for name in classes])
            sets = outcomes(Calibration.of(p, true), p, true)
            parts.append(pd.concat([part, probabilities, sets], axis=1))
    return pd.concat(parts, ignore_index=True)


def made_up_paths(recipes, n, folds, repeats=1, back_off=0.6):
    """Return predictions of classes that are paths, with the nodes that are answered."""
    table = made_up_predictions(PATHS, recipes, n, folds, repeats)
    levels = Levels.of(PATHS, ".", back_off)
    nodes = levels.nodes(table[[f"p_{name}" for name in PATHS]].to_numpy())
    table.insert(6, "node", [levels.tree.nodes[node] for node in nodes.node])
    table.insert(7, "node_probability", nodes.probability)
    return table


def several_by_hand(true, predicted, probabilities, classes, **place):
    """Predictions of records that may have several labels, from indicators of shape (n, K)."""
    names = np.array(classes, dtype=object)
    columns = {"recipe": "r", "repeat": 0, "fold": 0, "id": [f"s{i}" for i in range(len(true))]}
    for column, rows in (("true", true), ("predicted", predicted)):
        columns[column] = [";".join(names[np.asarray(row, dtype=bool)]) for row in rows]
    p = pd.DataFrame(np.asarray(probabilities, dtype=float), columns=[f"p_{c}" for c in classes])
    return pd.concat([pd.DataFrame(columns | place), p], axis=1)


def made_up_several(classes, recipes, n, folds, repeats=1, seed=0):
    """Return predictions of n records, each with a label or more: see :func:`made_up_predictions`.

    A recipe of quality 0 knows nothing.
    """
    rng = np.random.default_rng(seed)
    true = rng.random((n, len(classes))) < 0.15
    own = np.append(np.arange(len(classes)), rng.integers(len(classes), size=n))
    true[np.arange(n), own[:n]] = True
    parts = []
    for recipe, quality in recipes.items():
        for repeat in range(repeats):
            decisions = rng.normal(size=true.shape) + quality * (2 * true - 1)
            p = 1 / (1 + np.exp(-decisions))
            place = {"recipe": recipe, "repeat": repeat, "fold": rng.permutation(n) % folds}
            parts.append(several_by_hand(true, p >= 0.5, p, classes, **place))
    return pd.concat(parts, ignore_index=True)
