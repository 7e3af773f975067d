r"""How good predictions are at each level of classes that are paths.

The predictions table of :mod:`kreinflow.evaluation.metrics` has the column ``node`` of
``kreinflow.fitting.predictions.FoldRecords``. Folds of a repeat are pooled, repeats are averaged.

A record counts at the levels that its label has. What is predicted *at* a level is its most likely
node. What is *answered* is the node as deep as the model is sure
(:class:`~kreinflow.answering.levels.Levels`), and so are the levels above it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.answering.levels import Levels, lineages
from kreinflow.base.numerics import IntArray
from kreinflow.evaluation.measured_rows import class_names, probabilities_of

_ANSWERED = ("answered", "answered_accuracy")
LEVELS_COLUMNS = ("recipe", "level", "nodes", "records", "accuracy", *_ANSWERED)
"""Of the ``records`` whose labels have the level the shares that are predicted right there
(``accuracy``) and answered there or below; and how many of the answers are right there."""

HIERARCHY_COLUMNS = ("recipe", "given", "precision", "recall", "f1")
"""Hierarchical measures of what is ``given``: the ``label``, or the ``node`` that is answered."""

NODES_COLUMNS = ("recipe", "node", "level", "records", "precision", "recall", *_ANSWERED)
"""``records`` have the node in their labels. ``precision`` and ``recall`` are of what is predicted
at its level; the last two are those of :data:`LEVELS_COLUMNS`, of the records of the node."""

TABLE_COLUMNS = {"levels": LEVELS_COLUMNS, "hierarchy": HIERARCHY_COLUMNS, "nodes": NODES_COLUMNS}
"""Columns of each table, by the name of its file."""


class _Part(NamedTuple):
    """A repeat of a recipe: nodes by level, of shape (n, n_levels + 1), -1 where there is none."""

    true: IntArray
    likeliest: IntArray
    answered: IntArray
    predicted: IntArray  # those of the label


def level_tables(predictions: pd.DataFrame, settings: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return all tables; ``settings`` are the part ``levels`` of the data set."""
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLE_COLUMNS}
    if predictions.empty:
        return {name: pd.DataFrame(columns=list(own)) for name, own in TABLE_COLUMNS.items()}
    classes = class_names(predictions)
    levels = Levels.of(classes, settings["separator"], settings["back_off"])
    for recipe, part in _parts(predictions, classes, levels):
        for name, table in (_counted(part, levels) | {"hierarchy": _hierarchical(part)}).items():
            found[name].append(table.assign(recipe=recipe)[list(TABLE_COLUMNS[name])])
    tables = {}
    for name, columns in TABLE_COLUMNS.items():  # the mean over repeats
        keys = [key for key in ("recipe", "node", "level", "given") if key in columns]
        means = pd.concat(found[name]).groupby(keys, sort=False).mean().reset_index()
        tables[name] = means[list(columns)]
    return tables


def _parts(
    predictions: pd.DataFrame, classes: tuple[str, ...], levels: Levels
) -> Iterator[tuple[str, _Part]]:
    tree, paths = levels.tree, lineages(levels.tree)
    leaf, node = pd.Series(tree.leaf, index=classes), pd.Series(range(len(paths)), tree.nodes)
    for (recipe, _), rows in predictions.groupby(["recipe", "repeat"], sort=False):
        true, predicted = (paths[leaf[rows[name].astype(str)]] for name in ("true", "predicted"))
        likeliest, _ = levels.likeliest(probabilities_of(rows))
        answered = paths[node[rows["node"].fillna("").astype(str)]]
        yield str(recipe), _Part(true, likeliest, answered, predicted)


def _hierarchical(part: _Part) -> pd.DataFrame:
    r"""Return hierarchical precision, recall and F1.

    With :math:`T_i` the nodes on the path of a record's label, the root left out, and
    :math:`\hat P_i` those on the path of what is predicted, [1]_ has

    .. math:: hP = \frac{\sum_i |T_i \cap \hat P_i|}{\sum_i |\hat P_i|}, \qquad
              hR = \frac{\sum_i |T_i \cap \hat P_i|}{\sum_i |T_i|}, \qquad
              hF_1 = \frac{2\, hP\, hR}{hP + hR}

    References
    ----------
    .. [1] Kiritchenko, S., Matwin, S., Nock, R., Famili, A. F.: Learning and evaluation in the
       presence of class hierarchies. Canadian AI, LNCS 4013, 395-406 (2006).
    """
    rows = []
    true = part.true[:, 1:]
    for given, paths in (("label", part.predicted[:, 1:]), ("node", part.answered[:, 1:])):
        shared = int(((paths == true) & (true >= 0)).sum())
        said, there = int((paths >= 0).sum()), int((true >= 0).sum())
        precision = shared / said if said else np.nan
        # 2 hP hR / (hP + hR), also where nothing is said
        rows.append((given, precision, shared / there, 2 * shared / (said + there)))
    return pd.DataFrame(rows, columns=list(HIERARCHY_COLUMNS[1:]))


def _counted(part: _Part, levels: Levels) -> dict[str, pd.DataFrame]:
    """Return the figures of each node but the root, and of each level: sums over its nodes."""
    tree, true, has = levels.tree, part.true, part.true >= 0
    told = has & (part.answered >= 0)

    def count(paths: IntArray, where: NDArray[np.bool_]) -> IntArray:
        return np.bincount(paths[where], minlength=len(tree.nodes))

    # Among the records that have the level: below the ends of labels nothing is known.
    counts = pd.DataFrame(
        {
            "records": count(true, has),
            "right": count(true, has & (part.likeliest == true)),
            "predicted": count(part.likeliest, has),
            "told": count(true, told),
            "right_told": count(true, told & (part.answered == true)),
        }
    )
    of_level = counts.groupby(tree.depth).sum()
    found = {
        "levels": of_level.assign(level=of_level.index, nodes=np.bincount(tree.depth)),
        "nodes": counts.assign(node=tree.nodes, level=tree.depth),
    }
    for name, of in found.items():
        shares = {"accuracy": of["right"] / of["records"], "answered": of["told"] / of["records"]}
        shares |= {"recall": shares["accuracy"], "precision": of["right"] / of["predicted"]}
        shares["answered_accuracy"] = of["right_told"] / of["told"]
        found[name] = of.assign(**shares).iloc[1:]
    return found
