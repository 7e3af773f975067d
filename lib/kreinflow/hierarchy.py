"""The tree of class labels that are paths, such as EC numbers or lineages."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.numerics import IntArray


def path_of(label: str, separator: str) -> tuple[str, ...]:
    """Return the parts of a label, without the parts ``-`` at its end.

    Raises
    ------
    InputError
        If a part is empty, or if nothing but ``-`` is there.

    Examples
    --------
    >>> path_of("3.6.5.-", ".")
    ('3', '6', '5')
    """
    parts = label.split(separator)
    if not all(part.strip() for part in parts):
        raise InputError(
            f"The label {label!r} has an empty part between its separators {separator!r}. "
            "Write it without the gap, or with the part that is missing."
        )
    while parts and parts[-1] == "-":
        parts.pop()
    if not parts:
        raise InputError(
            f"The label {label!r} names no level. Give its first part, or leave the record out."
        )
    return tuple(parts)


@dataclass(frozen=True, eq=False)
class Tree:
    """The tree of the paths that classes have, and of all beginnings of these paths.

    A class may end at an inner node: with the classes ``3.6.5.-`` and ``3.6.5.3``, the first stands
    at the node ``3.6.5``, above the second.

    Parameters
    ----------
    nodes : tuple of str
        The path of each node, parents before their children. The root ``""`` is the first, and the
        nodes below a node follow it at once.
    parent : ndarray of shape (n_nodes,)
        The number of the node above; -1 of the root.
    leaf : ndarray of shape (n_classes,)
        The node at which each class ends.

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
        """Return the tree of classes, in whatever order they come.

        Raises
        ------
        InputError
            As :func:`path_of`, and if two classes have one path.
        """
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
    def below(self) -> NDArray[np.bool_]:
        """Whether a class ends at a node or below it, of shape (n_nodes, n_classes)."""
        below = np.zeros((len(self.nodes), len(self.leaf)), dtype=bool)
        below[self.leaf, np.arange(len(self.leaf))] = True
        for node in range(len(below) - 1, 0, -1):  # children before their parents
            below[self.parent[node]] |= below[node]
        return below
