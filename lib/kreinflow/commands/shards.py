"""Parts of the objects of some files, one process each."""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Shard, n_objects
from kreinflow.commands.arguments import columns_of


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
