"""Predictions that go down the tree of the classes as far as they are sure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.answering.parts import ModelPart, Subject, Told
from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED
from kreinflow.base.hierarchy import Tree, nodes_of
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Number, Value

NO_NODE, NOT_LEARNED = -1, -2
"""In place of a node: the label ends above this level; no class is there or below."""

_CELLS = 1 << 22  # probabilities of nodes that are held at once


class Nodes(NamedTuple):
    """The nodes that objects are answered with."""

    node: IntArray  #: numbers in the tree; 0 is the root, which says nothing
    level: IntArray  #: 0 of the root
    probability: FloatArray  #: of the nodes


@dataclass(frozen=True, eq=False)
class Levels(ModelPart):
    r"""The tree of the classes of a model, and how sure it has to be at each level.

    The probability of a node v is that of the classes c that end at it or below it,

    .. math:: P(v \mid x) = \sum_{c \preceq v} p_c(x)

    and the answer is the deepest node whose probability is at least the threshold t_d of its
    level d. Thresholds are above one half and do not shrink with the level. So at most one node of
    a level comes up to its threshold, all nodes above it do, and a walk down from the root
    to the likeliest child meets them in turn.
    """

    needs: ClassVar = "classes"

    tree: Tree
    separator: str  # of the levels of a label
    back_off: float  # the share of answers that is right at each level; above one half, below 1
    thresholds: FloatArray  # (n_levels,): of level 1, 2, ...; above one half, none below another

    @classmethod
    def of(cls, classes: Sequence[str], separator: str, back_off: float) -> "Levels":
        """Return the levels of classes, with one threshold for all; may raise as ``Tree.of``."""
        tree = Tree.of(classes, separator)
        return cls(tree, separator, back_off, np.full(int(tree.depth.max()), back_off))

    @classmethod
    def of_settings(
        cls, classes: Sequence[str], settings: Mapping[str, Any] | None
    ) -> "Levels | None":
        """Return the levels that a data set's part ``levels`` of the config asks for."""
        if settings is None:
            return None
        return cls.of(classes, settings["separator"], settings["back_off"])

    @cached_property
    def paths(self) -> IntArray:
        """The node of each class at each level, of shape (n_classes, n_levels)."""
        return lineages(self.tree)[self.tree.leaf, 1:]

    def node_probabilities(self, probabilities: FloatArray) -> FloatArray:
        """Return P, of shape (n, n_nodes), of the ``probabilities``, of shape (n, n_classes)."""
        sums = np.zeros((len(self.tree.nodes), len(probabilities)))
        sums[self.tree.leaf] = probabilities.T
        for node in range(len(sums) - 1, 0, -1):  # children before their parents
            sums[self.tree.parent[node]] += sums[node]
        sums[0] = 1.0
        return np.minimum(sums, 1.0).T

    def true_nodes(self, paths: Sequence[str]) -> IntArray:
        """Return the node of each level on the paths of labels, of shape (n, n_levels + 1).

        :data:`NO_NODE` below the end of a label, :data:`NOT_LEARNED` where the tree lacks its node.
        """
        number = {node: place for place, node in enumerate(self.tree.nodes)}
        codes, labels = pd.factorize(np.array(paths, dtype=object))
        found = np.full((len(labels), len(self.thresholds) + 1), NO_NODE)
        found[:, 0] = 0
        for row, label in enumerate(labels):
            for level, node in enumerate(nodes_of(label, self.separator), 1):
                if level < found.shape[1]:
                    found[row, level] = number.get(node, NOT_LEARNED)
        return np.asarray(found[codes])

    def nodes(self, probabilities: FloatArray, deepest: IntArray | None = None) -> Nodes:
        """Return the deepest node that is sure enough, of each row.

        ``deepest``, of shape (n,) (optional): the deepest level that each row may have.
        """
        n, depth = len(probabilities), self.tree.depth
        least = np.append(0.0, self.thresholds)[depth]
        node, probability = np.zeros(n, dtype=np.int64), np.ones(n)
        for part, own in self._parts(probabilities):
            sure = own >= least
            if deepest is not None:
                sure &= depth <= deepest[part, None]
            node[part] = np.where(sure, depth, 0).argmax(axis=1)
            probability[part] = own[np.arange(len(own)), node[part]]
        return Nodes(node, depth[node], probability)

    def likeliest(self, probabilities: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the likeliest node of each level, however sure, and its probability.

        The result has shape (n, n_levels + 1): the first column is that of the root.
        """
        shape = len(probabilities), len(self.thresholds) + 1
        nodes, top, depth = np.zeros(shape, dtype=np.int64), np.ones(shape), self.tree.depth
        for part, own in self._parts(probabilities):
            for level in range(1, shape[1]):
                of_level = np.flatnonzero(depth == level)
                nodes[part, level] = of_level[own[:, of_level].argmax(axis=1)]
                top[part, level] = own[np.arange(len(own)), nodes[part, level]]
        return nodes, top

    def explained(self, it: Subject) -> Told:
        """Return the deepest node that the answer is sure of."""
        found = self.nodes(it.answers.probabilities, it.answers.deepest)
        level, node = int(found.level[0]), self.tree.nodes[found.node[0]]
        named = f"node {node}, " if level else "no node is sure enough: "
        return Told([f"{named}level {level}, probability {found.probability[0]:.6g}"])

    def inspected(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is kept of it."""
        return {"levels": self.to_parts()[0]}

    def of_more_classes(self, classes: Sequence[str]) -> "Levels":
        """Return the levels of more classes with the same thresholds.

        At a level that is new nothing is answered: no record says how sure to be there.
        """
        found = self.of(classes, self.separator, self.back_off)
        more = len(found.thresholds) - len(self.thresholds)
        new = np.full(more, NOTHING_ACCEPTED)
        return replace(found, thresholds=np.concatenate([self.thresholds, new]))

    def unkept(self) -> str | None:
        """Return what to say if nothing is answered at some levels, as nothing can be promised."""
        none = np.flatnonzero(self.thresholds > 1.0) + 1
        if not len(none):
            return None
        which = f"level {none[0]}" + (" and those below it" if len(none) > 1 else "")
        return (
            f"no threshold can promise that {100 * self.back_off:g} % of the answers are right at "
            f"{which}, so nothing is answered there. Use more records, or a smaller back_off"
        )

    def _parts(self, probabilities: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        step = max(1, _CELLS // len(self.tree.nodes))
        for start in range(0, len(probabilities), step):
            part = slice(start, min(start + step, len(probabilities)))
            yield part, self.node_probabilities(probabilities[part])

    state: ClassVar = {
        "separator": Value(str),
        "back_off": Number("f"),
        "thresholds": Number("f", "levels"),
    }

    @classmethod
    def restored(cls, **values: Any) -> "Levels":
        """See :meth:`~kreinflow.files.state.State.restored`; it has the ``classes``."""
        levels = cls.of(values["classes"], values["separator"], values["back_off"])
        return replace(levels, thresholds=values["thresholds"])


def lineages(tree: Tree) -> IntArray:
    """Return the node of each level above each node, and itself; :data:`NO_NODE` below it.

    The result has shape (n_nodes, n_levels + 1).
    """
    depth = tree.depth
    found: NDArray[np.int64] = np.full((len(depth), int(depth.max()) + 1), NO_NODE)
    for node in range(len(depth)):
        if node:
            found[node] = found[tree.parent[node]]
        found[node, depth[node]] = node
    return found
