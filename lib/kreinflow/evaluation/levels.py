r"""How good predictions are at each level of classes that are paths.

The predictions table of :mod:`kreinflow.evaluation.metrics` has the column ``node`` of
``kreinflow.fitting.predictions.FoldRecords``. Folds of a repeat are pooled, repeats are averaged.

A record counts at the levels that its whole label has: the column ``path`` if there is one, else
``true``. Where no class of the model has its node, nothing can be right. What is predicted *at* a
level is its most likely node. What is *answered* is the node as deep as the model is sure
(:class:`~kreinflow.answering.levels.Levels`), and so are the levels above it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.answering.levels import NO_NODE, Levels, lineages
from kreinflow.base.numerics import IntArray
from kreinflow.evaluation.measured_rows import class_names, probabilities_of

_ANSWERED = ("answered", "answered_accuracy")
_ENDS = ("under", "over", "wrong")
LEVELS_COLUMNS = (
    *("recipe", "level", "nodes", "records", "known", "accuracy", *_ANSWERED),
    *("answered_recall", "answered_f1", "ending", *_ENDS),
)
"""Of the ``records`` whose labels have the level as many have a node there that is ``known``. Of
these ``accuracy`` is the share that is predicted right there. Of the records, ``answered`` is the
share with an answer there or below, ``answered_accuracy`` how many of these answers are right there
(the precision), ``answered_recall`` of how many records they are, and ``answered_f1`` the harmonic
mean of both. ``ending`` records have their deepest known node at this level: shares of them are
answered above it (``under``), below it (``over``), or by a node that is not on the path of their
label (``wrong``); the others are answered by that very node. See bokulich2018."""

HIERARCHY_COLUMNS = ("recipe", "given", "precision", "recall", "f1")
"""Hierarchical measures of what is ``given``: the ``label``, or the ``node`` that is answered."""

NODES_COLUMNS = ("recipe", "node", "level", "records", "precision", "recall", *_ANSWERED)
"""``records`` have the node in their labels. ``precision`` and ``recall`` are of what is predicted
at its level; the last two are those of :data:`LEVELS_COLUMNS`, of the records of the node."""

TABLE_COLUMNS = {"levels": LEVELS_COLUMNS, "hierarchy": HIERARCHY_COLUMNS, "nodes": NODES_COLUMNS}
"""Columns of each table, by the name of its file."""


class _Part(NamedTuple):
    """A repeat of a recipe: nodes by level, of shape (n, n_levels + 1), -1 where there is none."""

    true: IntArray  # see Levels.true_nodes
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
        predicted = paths[leaf[rows["predicted"].astype(str)]]
        true = levels.true_nodes(rows.get("path", rows["true"]).astype(str).tolist())
        likeliest, _ = levels.likeliest(probabilities_of(rows))
        answered = paths[node[rows["node"].fillna("").astype(str)]]
        yield str(recipe), _Part(true, likeliest, answered, predicted)


def _hierarchical(part: _Part) -> pd.DataFrame:
    r"""Return hierarchical precision, recall and F1.

    With :math:`T_i` the nodes on the path of a record's whole label, the root left out, and
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
        said, there = int((paths >= 0).sum()), int((true != NO_NODE).sum())
        precision = shared / said if said else np.nan
        # 2 hP hR / (hP + hR), also where nothing is said
        rows.append((given, precision, shared / there, 2 * shared / (said + there)))
    return pd.DataFrame(rows, columns=list(HIERARCHY_COLUMNS[1:]))


def _counted(part: _Part, levels: Levels) -> dict[str, pd.DataFrame]:
    """Return the figures of each node but the root, and of each level: sums over its nodes."""
    tree, true = levels.tree, part.true
    has, known, said = true != NO_NODE, true >= 0, part.answered >= 0

    def count(paths: IntArray, where: NDArray[np.bool_]) -> IntArray:
        return np.bincount(paths[where], minlength=len(tree.nodes))

    # Among the records that have the level: below the ends of labels nothing is known.
    counts = pd.DataFrame(
        {
            "known": count(true, known),
            "right": count(true, known & (part.likeliest == true)),
            "predicted": count(part.likeliest, has),
            "told": count(true, known & said),
            "right_told": count(true, known & (part.answered == true)),
        }
    )
    of_level = counts.groupby(tree.depth).sum().assign(**_ended(known, said, part))
    of_level["told"] = (has & said).sum(axis=0)
    found = {
        "levels": of_level.assign(level=of_level.index, nodes=np.bincount(tree.depth)),
        "nodes": counts.assign(node=tree.nodes, level=tree.depth, records=counts["known"]),
    }
    found["levels"]["records"] = has.sum(axis=0)
    for name, of in found.items():
        n, told, right = of["records"], of["told"], of["right_told"]
        shares = {"accuracy": of["right"] / of["known"], "precision": of["right"] / of["predicted"]}
        shares |= {"recall": shares["accuracy"], "answered": told / n}
        shares |= {"answered_accuracy": right / told, "answered_recall": right / n}
        shares["answered_f1"] = 2 * right / (told + n)
        found[name] = of.assign(**shares).iloc[1:]
    return found


def _ended(
    known: NDArray[np.bool_], said: NDArray[np.bool_], part: _Part
) -> dict[str, NDArray[Any]]:
    """Return by level how many records have their deepest known node there; shares of these."""
    end, answer = known.sum(axis=1) - 1, said.sum(axis=1) - 1
    wrong = (known & said & (part.answered != part.true)).any(axis=1)
    kinds = {"under": ~wrong & (answer < end), "over": ~wrong & (answer > end), "wrong": wrong}
    ending = np.bincount(end, minlength=known.shape[1])
    with np.errstate(invalid="ignore"):
        return {"ending": ending} | {
            name: np.bincount(end, kind, minlength=known.shape[1]) / ending
            for name, kind in kinds.items()
        }
