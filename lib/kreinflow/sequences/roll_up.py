"""Records of labels that are paths: those of a class that is too small are learned at its parent.

There they are "the parent, else": of the class that ends at that node of the tree, above others
(see :class:`kreinflow.base.hierarchy.Tree`). Records whose own label ends there are of it too.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import takewhile

import numpy as np


def common_ancestor(labels: Iterable[str], separator: str) -> str:
    """Return the lowest node that is on the paths of all labels; the root is empty.

    Examples
    --------
    >>> common_ancestor(["3.6.5.3", "3.6.10"], "."), common_ancestor(["3.6", "3.6.5"], ".")
    ('3.6', '3.6')
    """
    levels = zip(*(label.split(separator) for label in labels), strict=False)
    return separator.join(names[0] for names in takewhile(lambda names: len({*names}) == 1, levels))


def rolled_up(
    labels: Iterable[str],
    objects: Sequence[Hashable],
    separator: str,
    least: int,
    kept: Collection[str] = (),
) -> list[str]:
    """Return the node at which each record is learned, the root ``""`` if at none.

    From the deepest level up, the records at a node that has fewer distinct ``objects`` than
    ``least`` go to its parent, unless the node is ``kept``. What comes up to a child of the root
    stays there, however few, if as many as ``least`` are there or below; else it is at the root.

    Examples
    --------
    >>> rolled_up(["a.b.c", "a.b.d", "a.b.d", "a.e", "f"], range(5), ".", 2)
    ['a', 'a.b.d', 'a.b.d', 'a', '']
    """
    found = [tuple(label.split(separator)) for label in labels]
    stay = {tuple(label.split(separator)) for label in kept}
    for depth in range(max(map(len, found), default=0), 0, -1):
        here = {
            (path[:depth], item)
            for path, item in zip(found, objects, strict=True)
            if len(path) == depth or (depth == 1 and path)
        }
        sizes = Counter(path for path, _ in here)
        small = {path for path, size in sizes.items() if size < least} - stay
        found = [path[:-1] if path in small else path for path in found]
    return [separator.join(path) for path in found]


def level_counts(labels: Iterable[str], separator: str) -> list[int]:
    """Return how many labels end at level 1, 2 and so on.

    Examples
    --------
    >>> level_counts(["a.b.c", "a.b.d", "e"], ".")
    [1, 0, 2]
    """
    return [int(n) for n in np.bincount([len(label.split(separator)) - 1 for label in labels])]
