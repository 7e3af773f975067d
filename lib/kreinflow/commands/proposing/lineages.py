"""Lineages: texts that are paths down a tree, of ranks with letters or of names alone."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from kreinflow.base.hierarchy import RANKED, RANKS, names_nothing

Path = tuple[str, ...]

_RANKED = 0.9
_ONE_PARENT = 0.9
_DEEP = 3
_NOBODY = re.compile(r"uncultured|unclassified|unidentified|unknown|incertae|metagenom|sp\.|na$")
"""Names that stand below many parents."""


def separator_of_lineages(texts: Iterable[str]) -> str | None:
    """Return what stands between the ranks of texts that are lineages, None if they are none.

    They are if nine of ten begin with the letter of a rank (``k__``, ``d:``) and some have several;
    or if most have three names or more, some first name is shared, and nine of ten names stand
    below one path alone.

    Examples
    --------
    >>> separator_of_lineages(["k__Bacteria; p__Bacillota; c__", "k__Archaea; p__", "k__Bacteria"])
    ';'
    >>> separator_of_lineages(["A;B;C;", "A;B;D;", "E;F;G;H", "E;F;"])
    ';'
    >>> separator_of_lineages(["kinase;membrane;zinc", "lipase;membrane;zinc"]) is None
    True
    """
    kinds = sorted(set(texts))
    for separator in (";", "|", ",", ">"):
        paths = [names_of(text, separator) for text in kinds]
        firsts = [found and found[1] in RANKS for text in kinds if (found := RANKED.match(text))]
        ranked = sum(map(bool, firsts)) >= _RANKED * len(kinds)
        if max(map(len, paths), default=0) > 1 and (ranked or _is_tree(paths)):
            return separator
    return None


def names_of(text: str, separator: str) -> Path:
    """Return the names of a lineage from its root on, without what names nothing at its end."""
    parts = [part.strip() for part in text.split(separator)]
    while parts and names_nothing(parts[-1], separator):
        parts.pop()
    return tuple(parts)


def taxa(paths: Iterable[Path]) -> list[Counter[Path]]:
    """Return of each level, from the root on, how many paths lead through each of its nodes."""
    counts: list[Counter[Path]] = []
    for path in paths:
        for depth, node in enumerate(accumulate((name,) for name in path)):
            if depth == len(counts):
                counts.append(Counter())
            counts[depth][node] += 1
    return counts


def _is_tree(paths: list[Path]) -> bool:
    if sum(len(path) >= _DEEP for path in paths) < len(paths) / 2:
        return False
    first, *below = taxa(paths)
    shared = sum(size for size in first.values() if size > 1) >= len(paths) / 2
    above: dict[str, int] = Counter(
        node[-1] for level in below for node in level if not _NOBODY.search(node[-1].casefold())
    )
    return shared and bool(above) and len(above) >= _ONE_PARENT * sum(above.values())
