"""The tree of class labels that are paths, such as EC numbers or lineages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kreinflow.base.errors import InputError, named
from kreinflow.base.numerics import FloatArray, IntArray

RANKS = ("d", "k", "p", "c", "o", "f", "g", "s", "t")
"""Letters of the ranks of a lineage in their order, as in ``p__`` or ``p:``."""

RANKED = re.compile(r"\s*([a-z]{1,3})(?:__|:)(.*)", re.DOTALL)
"""A part of a lineage that names its rank: the rank, and the name, which may be empty."""


def path_of(label: str, separator: str) -> tuple[str, ...]:
    """Return the parts of a label, without those at its end that name nothing.

    These are ``-``, a rank without a name (``s__``, ``s:``), and, unless the separator is a point,
    empty ones. An InputError if another part is empty, if none is left, or if ranks of a lineage
    are out of order or one lacks its letter.

    Examples
    --------
    >>> path_of("3.6.5.-", "."), path_of("k__Bacteria; p__Bacillota; c__", "; ")
    (('3', '6', '5'), ('k__Bacteria', 'p__Bacillota'))
    """
    parts = label.split(separator)
    while parts and names_nothing(parts[-1], separator):
        parts.pop()
    if not parts or not all(part.strip() for part in parts):
        raise InputError(
            f"The label {label!r} has an empty part between its separators {separator!r}, or names "
            "no level. Give the part that is missing, or leave the record out."
        )
    ranks = [found[1] if (found := RANKED.fullmatch(part)) else "" for part in parts]
    if ranks[0] in RANKS and 2 * sum(map(bool, ranks)) >= len(ranks) > 1:
        order = [RANKS.index(rank) for rank in ranks if rank in RANKS]
        fault = "" if order == sorted({*order}) else "its ranks out of order, or one twice"
        if not all(ranks):
            fault = f"no rank for its part {parts[ranks.index('')].strip()!r}: is it cut short?"
        if fault:
            raise InputError(
                f"The label {label!r} has {fault} (ranks are {', '.join(RANKS)}, with __ or a "
                "colon). Correct it, or leave the record out."
            )
    return tuple(parts)


def names_nothing(part: str, separator: str) -> bool:
    """Return whether a part at the end of a path names no level."""
    name = ranked[2] if (ranked := RANKED.fullmatch(part)) else part
    return part.strip() == "-" or (not name.strip() and bool(separator != "." or ranked))


def paths_of(ids: Iterable[str], labels: Iterable[str], separator: str) -> list[str]:
    """Return labels as paths, without white space around their parts and ``-`` at their ends."""
    found: dict[str, str] = {}
    paths = []
    for id, label in zip(ids, labels, strict=True):
        if label not in found:
            with named(f"record {id}"):
                found[label] = separator.join(part.strip() for part in path_of(label, separator))
        paths.append(found[label])
    return paths


def nodes_of(path: str, separator: str) -> list[str]:
    """Return the nodes on the way to a path, itself the last.

    Examples
    --------
    >>> nodes_of("3.6.5", ".")
    ['3', '3.6', '3.6.5']
    """
    parts = path.split(separator)
    return [separator.join(parts[:size]) for size in range(1, len(parts) + 1)]


def above(nodes: Sequence[str], separator: str) -> IntArray:
    """Return the place of the nearest node above each of some sorted ones; -1 if there is none.

    Examples
    --------
    >>> above(["3", "3.6.5", "3.6.5.1", "4"], ".").tolist()
    [-1, 0, 1, -1]
    """
    place = {node: i for i, node in enumerate(nodes)}
    ways = ([place.get(n, -1) for n in nodes_of(node, separator)[:-1]] for node in nodes)
    return np.array([max(way, default=-1) for way in ways], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Tree:
    """The tree of the paths that classes have, and of all beginnings of these paths.

    A class may end at an inner node: with the classes ``3.6.5.-`` and ``3.6.5.3``, the first stands
    at the node ``3.6.5``, above the second.

    ``nodes`` has the path of each node, parents before their children: the root ``""`` is the
    first, and the nodes below a node follow it at once. ``parent`` is the number of the node above,
    of shape (n_nodes,), -1 of the root; ``leaf`` the node at which each class ends, (n_classes,).

    Examples
    --------
    >>> tree = Tree.of(["a.1", "a.2", "b"], ".")
    >>> tree.nodes
    ('', 'a', 'a.1', 'a.2', 'b')
    >>> tree.parent.tolist(), tree.leaf.tolist(), tree.depth.tolist()
    ([-1, 0, 1, 1, 0], [2, 3, 4], [0, 1, 2, 2, 1])
    """

    nodes: tuple[str, ...]
    parent: IntArray
    leaf: IntArray

    @classmethod
    def of(cls, classes: Sequence[str], separator: str) -> "Tree":
        """Return the tree of classes in any order; an InputError if two have one path."""
        paths = [path_of(label, separator) for label in classes]
        first: dict[tuple[str, ...], str] = {}
        for path, label in zip(paths, classes, strict=True):
            if first.setdefault(path, label) != label:
                raise InputError(
                    f"The labels {first[path]!r} and {label!r} are one place in the tree of "
                    "classes. Write both alike."
                )
        prefixes = {path[:size] for path in paths for size in range(len(path) + 1)}
        nodes = sorted(prefixes | {()})
        number = {node: place for place, node in enumerate(nodes)}
        parent = [-1, *(number[node[:-1]] for node in nodes[1:])]
        return cls(
            tuple(separator.join(node) for node in nodes),
            np.array(parent, dtype=np.int64),
            np.array([number[path] for path in paths], dtype=np.int64),
        )

    @property
    def depth(self) -> IntArray:
        """The number of parts of each node's path, of shape (n_nodes,); 0 of the root."""
        depth = np.zeros(len(self.nodes), dtype=np.int64)
        for node in range(1, len(depth)):
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @property
    def forks(self) -> "Forks":
        """The nodes at which classes part."""
        children: list[list[int]] = [[] for _ in self.nodes]
        for node in range(1, len(self.nodes)):
            children[self.parent[node]].append(node)
        classes = {node: code for code, node in enumerate(self.leaf.tolist())}
        above: list[int] = []
        leaf = np.full(len(self.leaf), -1, dtype=np.int64)
        waiting = [(0, -1)]  # nodes, and the branch that leads to each
        while waiting:
            node, branch = waiting.pop()
            while node not in classes and len(children[node]) == 1:
                node = children[node][0]
            if not children[node]:
                leaf[classes[node]] = branch
                continue
            first = len(above) + (node in classes)
            if node in classes:  # it ends here, beside those that go on
                leaf[classes[node]] = len(above)
            above += [branch] * (len(children[node]) + (node in classes))
            waiting += [(child, first + i) for i, child in enumerate(children[node])][::-1]
        return Forks(np.array(above, dtype=np.int64), leaf)


@dataclass(frozen=True, eq=False)
class Forks:
    r"""The forks of a tree: the nodes at which classes part, and the branches of each.

    A branch is a child of the node, or the class that ends there. A node with one branch is no
    fork. The branches of a fork follow each other, and come after those of the forks above it.

    ``above`` is the branch that leads to the fork of each branch, of shape (n_branches,), -1 of
    those of the first fork; ``leaf`` the last branch on the way to each class, (n_classes,).

    Examples
    --------
    >>> forks = Tree.of(["a.1", "a.2", "b"], ".").forks
    >>> forks.above.tolist(), forks.leaf.tolist()
    ([-1, -1, 0, 0], [2, 3, 1])
    """

    above: IntArray
    leaf: IntArray

    @cached_property
    def branches(self) -> list[slice]:
        """The branches of each fork."""
        starts = np.flatnonzero(np.diff(self.above, prepend=-2)).tolist()
        return [
            slice(start, stop)
            for start, stop in zip(starts, [*starts[1:], len(self.above)], strict=True)
        ]

    def fork_above(self, fork: int) -> int:
        """Return the number of the fork above a fork, which is not the first."""
        branch = self.above[self.branches[fork].start]
        return next(i for i, part in enumerate(self.branches) if part.start <= branch < part.stop)

    @cached_property
    def codes(self) -> IntArray:
        """The branch that each class takes at each fork, of shape (n_forks, n_classes).

        Branches of a fork are numbered from 0; -1 of a class that is not below it.
        """
        forks = self.branches
        fork = np.repeat(np.arange(len(forks)), [part.stop - part.start for part in forks])
        codes = np.full((len(forks), len(self.leaf)), -1, dtype=np.int64)
        for code, branch in enumerate(self.leaf.tolist()):
            while branch >= 0:
                own = fork[branch]
                codes[own, code] = branch - forks[own].start
                branch = self.above[branch]
        return codes

    def log_probabilities(self, values: FloatArray) -> FloatArray:
        r"""Return the log probabilities of the classes, summed along their ways.

        .. math:: \log p_c = \sum_{j \in way(c)} \log softmax(v_{fork(j)})_j

        ``values`` v, of shape (n, n_branches), become (n, n_classes). Each row of the result
        depends on its own row alone, bit for bit.
        """
        out = np.ascontiguousarray(values.T)  # a fork has few branches, and objects are many
        for part in self.branches:
            out[part] -= _log_of_sum(out[part])
            if (lead := self.above[part.start]) >= 0:
                out[part] += out[lead]
        return np.ascontiguousarray(out[self.leaf].T)

    def branch_log_probabilities(self, log_probabilities: FloatArray) -> FloatArray:
        """Return the log probability of each branch, (n, n_branches): the sum of its classes'."""
        out = np.empty((len(self.above), len(log_probabilities)))
        out[self.leaf] = log_probabilities.T
        for part in reversed(self.branches):  # those below come first
            if (lead := self.above[part.start]) >= 0:
                out[lead] = _log_of_sum(out[part])
        return np.ascontiguousarray(out.T)


def _log_of_sum(logs: FloatArray) -> FloatArray:
    """Return log sum exp of each column; numpy would sum a single column in another order."""
    most: FloatArray = logs.max(axis=0)
    total = np.zeros_like(most)
    for own in np.exp(logs - most):
        total += own
    return most + np.log(total)
