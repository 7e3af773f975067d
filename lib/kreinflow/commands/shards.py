"""Parts of the objects of some files, one process each."""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import n_objects
from kreinflow.commands.arguments import columns_of


class Shard(NamedTuple):
    """The k-th of n parts of objects in a row, counted from 1; the first is the largest."""

    number: int = 1
    of: int = 1

    def bounds(self, total: int) -> tuple[int, int]:
        """Return the first object of the part, and the first behind it, of so many.

        Examples
        --------
        >>> [Shard(k, 3).bounds(4) for k in (1, 2, 3)]
        [(0, 2), (2, 3), (3, 4)]
        """
        first, last = (-(-k * total // self.of) for k in (self.number - 1, self.number))
        return first, last


def shard(text: str) -> Shard:
    """Return the part that a text as ``3/16`` names, the type of an argument."""
    found = re.fullmatch(r"(\d+)/(\d+)", text, re.ASCII)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(
            f"{text!r}: give a part and the number of parts, as 3/16 or 16/16"
        )
    return Shard(int(found[1]), int(found[2]))


def parts(
    model: Model, paths: Sequence[Path], part: Shard, done: int
) -> Iterator[tuple[Path, int, int | None]]:
    """Yield each file of which objects are left, with the first of these and the first behind them.

    ``done`` objects of the part are done. Files are read to count their objects, if need be.
    """
    if part.of == 1 and not done:
        yield from ((path, 0, None) for path in paths)
        return
    sizes = [n_objects(model, path, columns_of(model, path)) for path in paths]
    first, last = part.bounds(sum(sizes))
    first += done
    for path, size in zip(paths, sizes, strict=True):
        if max(first, 0) < min(last, size):
            yield path, max(first, 0), min(last, size)
        first, last = first - size, last - size
