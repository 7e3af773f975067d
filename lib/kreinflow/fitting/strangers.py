"""Sequences that have no relative, made of training records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.random_streams import hash_keys, stream

STRANGERS = 200
"""Sequences without a relative that thresholds rest on, and as many that are tried."""

MEMBERS = 1000
"""Training records that are tried, at most."""


@dataclass(frozen=True, eq=False)
class Strangers:
    """Sequences that have no relative; see :func:`made_strange`."""

    sources: IntArray  # (n,): the distinct rows that they are made of
    sequences: tuple[bytes, ...]  # those that thresholds rest on, and as many that are tried
    self_scores: FloatArray  # (n,)


def made_strange(
    sequences: Sequence[bytes], digests: Sequence[str], rows: IntArray, seed: int
) -> tuple[IntArray, tuple[bytes, ...]]:
    """Return sequences that have no relative, and the distinct row that each is made of.

    :data:`STRANGERS` are reversed, as many shuffled. Where there are fewer training records they
    come again, shuffled each time. ``rows``: the distinct rows that may be used.
    """
    own = np.unique(rows)
    keys = hash_keys(seed, "strangers", (digests[row] for row in own))
    order = own[np.argsort(keys, kind="stable")][:STRANGERS]
    drawn = np.resize(order, 2 * STRANGERS)
    drawn[STRANGERS:] = drawn[:STRANGERS]
    made = [sequences[row][::-1] for row in order.tolist()]
    for number, row in enumerate(drawn[len(order) :].tolist(), start=len(order)):
        draw = stream(seed, "strangers", digests[row], number)
        letters = np.frombuffer(sequences[row], dtype=np.uint8)
        made.append(draw.permutation(letters).tobytes())
    return drawn, tuple(made)
