"""The backends that the config can name, their comparison with parasail, and lists for them.

A backend shares its work among the pairs of one row or column. Sequences that are each aligned with
a list of their own therefore stand together in rectangles, those with lists that are alike in one.
The fastest backend makes them only if most of their pairs are wanted; else it has a way of its own,
:mod:`kreinflow.alignment.pair_lists`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kreinflow.alignment.batches import align_in_batches
from kreinflow.alignment.engine import (
    COLUMN_STEPS,
    NOT_ALIGNED,
    RESIDUE_STEPS,
    Mask,
    PackedSequences,
    Scores,
    align_pairs,
    align_rectangle,
    pack,
    parasail_steps,
)
from kreinflow.alignment.pair_lists import TableScheme, align_lists, table_schemes
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.random_streams import stream
from kreinflow.base.wording import shortened

SAMPLE = 1_000  # pairs, or all

_FEWEST_STEPS = 1_000_000.0  # with fewer, parasail is done as soon as batches are laid out

_DENSE = 0.75  # rectangles of which this share is wanted are aligned faster than lists

_MOST_ROWS = 512  # of a rectangle: with more, batches are hardly fuller, and fewer pairs wanted
_MOST_CELLS = 2**21  # pairs of a rectangle, wanted or not: 8 MB of scores
_ROUNDS = 10  # of averages, by which the rows are ordered: 28 families stand apart after 5


class Backend(Protocol):
    """A function that scores sequences; all return those of ``parasail.sw_striped_32`` (nw, sg)."""

    def __call__(
        self,
        sequences: PackedSequences,
        rows: IntArray,
        columns: IntArray,
        mask: Mask | None = None,
    ) -> Scores:
        """Return the scores of rows with columns, numbers of sequences, as int32.

        ``mask`` has the pairs that are wanted, all if it is left out; others are
        :data:`~kreinflow.alignment.engine.NOT_ALIGNED`. An InputError names a letter that the
        matrix does not know, a KreinflowError tells of a score that exceeds even 32 bits.
        """


def align_fast(
    sequences: PackedSequences, rows: IntArray, columns: IntArray, mask: Mask | None = None
) -> Scores:
    """Return the scores of rows with columns: the backend ``auto``."""
    few = parasail_steps(sequences.lengths, rows, columns, mask) <= _FEWEST_STEPS
    align = align_rectangle if few else align_in_batches
    return align(sequences, rows, columns, mask)


BACKENDS: Mapping[str, Backend] = {"auto": align_fast, "parasail": align_rectangle}
"""By name: the fastest that is exact, which is the default, and the measure of all."""


def backend_named(name: str) -> Backend:
    """Return the backend that the config names."""
    return BACKENDS[name]


def drawn_pairs(mask: Mask, size: int, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Return rows and columns of pairs of a mask, ``size`` of them or all."""
    places = np.flatnonzero(mask)
    if size < places.size:
        random = stream(seed, "pairs that parasail scores too")
        places = places[np.sort(random.choice(places.size, size, replace=False))]
    rows, columns = np.unravel_index(places, mask.shape)
    return rows, columns


def compare_with_parasail(
    sequences: PackedSequences,
    pairs: tuple[IntArray, IntArray],
    scores: Scores,
    advice: str = "",
) -> None:
    """Raise a KreinflowError, which ends with ``advice``, if scores are not those of parasail."""
    rows, columns = (side.astype(np.int32) for side in pairs)
    expected = align_pairs(sequences, columns, rows)  # columns are fewer: profiles
    wrong = np.flatnonzero(scores != expected)
    if wrong.size:
        first = wrong[0]
        a, b = (shortened(sequences[side[first]].tobytes().decode()) for side in (rows, columns))
        raise KreinflowError(
            f"the sequences {a} and {b} score {scores[first]}, by parasail {expected[first]}. "
            "This is a fault of kreinflow on this processor. Please report it with both sequences "
            f"and the processor's name. {advice}".rstrip()
        )


@dataclass(eq=False)
class CheckedBackend:
    """A backend some of whose scores are compared with those of parasail.

    A ``share`` of the pairs of each call is compared, but one at least and 1,000 at most; or, if
    the ``total`` of the pairs of all calls is given, 1,000 of them or all. ``agreed`` counts them;
    all are compared until it is ``first``.
    """

    backend: Backend
    share: float = 1.0
    total: int | None = None
    seed: int = 0
    advice: str = ""
    first: int = 0
    agreed: int = 0
    _aligned: int = 0

    def __call__(
        self,
        sequences: PackedSequences,
        rows: IntArray,
        columns: IntArray,
        mask: Mask | None = None,
    ) -> Scores:
        """See :class:`Backend`."""
        scores = self.backend(sequences, rows, columns, mask)
        wanted = np.ones(scores.shape, dtype=bool) if mask is None else mask
        self.compare(sequences, rows, np.broadcast_to(columns, scores.shape), scores, wanted)
        return scores

    def compare(
        self,
        sequences: PackedSequences,
        rows: IntArray,
        partners: IntArray,
        scores: Scores,
        wanted: Mask,
    ) -> None:
        """Compare some of the wanted scores of rows with the partners of each."""
        count = int(np.count_nonzero(wanted))
        size = min(SAMPLE, max(math.ceil(self.share * count), self.first - self.agreed))
        seed = self.seed
        if self.total is not None:
            most, total = min(SAMPLE, self.total), max(self.total, 1)
            after = (self._aligned + count) * most // total
            size, seed = after - self._aligned * most // total, seed + self._aligned
            self._aligned += count
        r, c = drawn_pairs(wanted, size, seed)
        compare_with_parasail(sequences, (rows[r], partners[r, c]), scores[r, c], self.advice)
        self.agreed += r.size


def checked(backend: Backend, share: float = 1.0, advice: str = "", first: int = 0) -> Backend:
    """Return a :class:`CheckedBackend`, or parasail itself."""
    if backend is align_rectangle:
        return backend
    return CheckedBackend(backend, share, advice=advice, first=first)


def align_with_others(
    sequences: Sequence[bytes],
    others: Sequence[bytes],
    places: IntArray,
    partners: IntArray,
    scheme: ScoringScheme,
    threads: int,
    backend: Backend,
) -> Scores:
    """Return the scores of some sequences, by their places, with the partners of each of others.

    As :func:`align_pair_lists`, with the places of the partners among the others.
    """
    wanted = np.unique(partners[partners >= 0])
    packed = pack([others[i] for i in wanted] + [sequences[i] for i in places], scheme, threads)
    asked = np.where(partners >= 0, np.searchsorted(wanted, partners), -1)
    rows = len(wanted) + np.arange(len(places))
    return align_pair_lists(packed, rows, asked, backend)


def align_pair_lists(
    sequences: PackedSequences, rows: IntArray, partners: IntArray, backend: Backend
) -> Scores:
    """Return the scores of sequences with the partners of each, of shape (n, q), int32.

    Both are numbers of sequences; a partner -1 is none, and scores
    :data:`~kreinflow.alignment.engine.NOT_ALIGNED`. Every distinct pair is aligned once, whichever
    of its two sequences is the row. The backend is called for rectangles of 512 rows at most, the
    fastest one only if most of these would be wanted; what a checked one compares is drawn from all
    pairs.
    """
    check = backend if isinstance(backend, CheckedBackend) else None
    align = backend if check is None else check.backend
    scores = np.full(partners.shape, NOT_ALIGNED, dtype=np.int32)
    r, c = np.nonzero(partners >= 0)
    first, second, place = _distinct(rows[r], partners[r, c], sequences.lengths.size)
    if align is align_fast and (tables := _tables(sequences, first, second)):
        found = align_lists(sequences, first, second, tables)
    else:
        found = _in_rectangles(sequences, first, second, align)
    scores[r, c] = found[place]
    if check is not None:
        check.compare(sequences, rows, partners, scores, partners >= 0)
    return scores


def _tables(sequences: PackedSequences, left: IntArray, right: IntArray) -> list[TableScheme]:
    """Return the scheme as tables; none if pairs are few, or rectangles would be dense."""
    a, b = sequences.lengths[left], sequences.lengths[right]
    steps = COLUMN_STEPS * np.minimum(a, b).sum() + RESIDUE_STEPS * (a @ b)
    rows, columns = (int(np.count_nonzero(np.bincount(side))) for side in (left, right))
    dense = left.size >= _DENSE * min(rows, _MOST_ROWS) * columns
    return [] if dense or steps <= _FEWEST_STEPS else table_schemes(sequences)


def _distinct(left: IntArray, right: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return both sides of the distinct pairs, and which of them each given pair is."""
    keys = np.minimum(left, right).astype(np.int64) * count + np.maximum(left, right)
    distinct, place = np.unique(keys, return_inverse=True)
    low, high = np.divmod(distinct, count)
    is_row = np.zeros(count, dtype=bool)
    is_row[left] = True
    swapped = ~is_row[low]
    return np.where(swapped, high, low), np.where(swapped, low, high), place


def _in_rectangles(
    sequences: PackedSequences, first: IntArray, second: IntArray, align: Backend
) -> Scores:
    found = np.empty(first.size, dtype=np.int32)
    for pairs in _rectangles(first, second):
        left, i = np.unique(first[pairs], return_inverse=True)
        right, j = np.unique(second[pairs], return_inverse=True)
        mask = np.zeros((left.size, right.size), dtype=bool)
        mask[i, j] = True
        found[pairs] = align(sequences, left, right, mask)[i, j]
    return found


def _rectangles(left: IntArray, right: IntArray) -> Iterator[IntArray]:
    """Yield the numbers of the pairs of each rectangle. It has all the pairs of its rows."""
    rows, i = np.unique(left, return_inverse=True)
    rank = np.empty(rows.size, dtype=np.int64)
    rank[np.argsort(_positions(i, right), kind="stable")] = np.arange(rows.size)
    order = np.argsort(rank[i], kind="stable")
    ends = np.cumsum(np.bincount(rank[i], minlength=rows.size))
    starts = np.concatenate([[0], ends])
    waiting = [
        (start, min(start + _MOST_ROWS, rows.size)) for start in range(0, rows.size, _MOST_ROWS)
    ]
    while waiting:
        start, stop = waiting.pop()
        pairs = order[starts[start] : starts[stop]]
        width = np.unique(right[pairs]).size
        if stop - start > 1 and (stop - start) * width > _MOST_CELLS:
            middle = (start + stop) // 2
            waiting += [(start, middle), (middle, stop)]
        else:
            yield pairs


def _positions(i: IntArray, right: IntArray) -> FloatArray:
    """Return a number for each row, about the same for rows with the same partners.

    Each partner starts at a number of its own. Then each row moves to the mean of its partners,
    and each partner to the mean of its rows, over and over.
    """
    _, j = np.unique(right, return_inverse=True)
    of_rows, of_columns = np.bincount(i), np.bincount(j)
    golden = (np.sqrt(5) - 1) / 2
    columns = np.arange(of_columns.size) * golden % 1  # spread evenly
    rows = np.zeros(of_rows.size)
    for _ in range(_ROUNDS):
        rows = np.bincount(i, columns[j]) / of_rows
        columns = np.bincount(j, rows[i]) / of_columns
    return rows
