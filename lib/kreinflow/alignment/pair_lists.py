"""Local alignments of lists of pairs, each sequence with some of its own, by vector code.

A *part* is a sequence, the query, with some of the records that it is paired with, of about one
length. Each record lies in a lane; each part has a slot of the tables in which scores are looked up
(:mod:`kreinflow.alignment.lookup_code`). A vector is filled with parts, of queries of about one
length, until it has no lane or no slot left.
"""

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment import batches, vector_code
from kreinflow.alignment.batches import LaneScheme, lane_schemes
from kreinflow.alignment.engine import (
    COLUMN_STEPS,
    RESIDUE_STEPS,
    PackedSequences,
    Scores,
    align_pairs,
    compiled_loops,
    in_threads,
    piece_ends,
)
from kreinflow.alignment.lookup_code import Lookup, lookup_code, lookup_here
from kreinflow.base.numerics import IntArray

_OVERFLOWED = -2

_FULL = 0.8  # of the slots hold parts that fill the lanes: others have what vectors cut off


@dataclass(frozen=True, eq=False)
class TableScheme:
    """A scoring scheme in so many bits as tables.

    ``rows[slot, letter]`` are the 8-byte words of two vectors with the scores of a letter in a
    slot, and 0 elsewhere; the last letter fills up shorter queries. Slots begin at lanes that are
    multiples of ``unit``. ``numbers`` are those of the lane scheme, then what a slot adds to the
    place of a letter, and the place that fills up shorter records.
    """

    lanes: LaneScheme
    rows: NDArray[np.uint64]
    unit: int
    numbers: NDArray[np.int64]


def table_schemes(sequences: PackedSequences) -> list[TableScheme]:
    """Return the scheme in 8 bits and in 16; none if this processor, or a byte, cannot hold it.

    A table has no more than 31 letters, and the one that fills up shorter sequences.
    """
    lanes = vector_code.lanes_here()
    lookup = lookup_here(lanes)
    if lookup is None:
        return []
    schemes = lane_schemes(sequences, lanes, partial(lookup_code, lookup=lookup))
    return [made for scheme in schemes if (made := _as_tables(scheme, lookup)) is not None]


def _as_tables(scheme: LaneScheme, lookup: Lookup) -> TableScheme | None:
    code, letters = scheme.code, int(scheme.numbers[5])
    scores, size = scheme.matrix.view(f"int{code.bits}").reshape(letters + 1, -1), code.vector_bytes
    if letters == scores.shape[1] or scores.min() < -128 or scores.max() > 127:
        return None
    if lookup == "permute":  # the last byte is that of all columns that are filled up
        places, unit, shift, empty = np.arange(letters)[None], 1, letters, 2 * size - 1
        slots = empty // letters
    else:  # 16 bytes of either vector are of a slot, for each column of a vector of places
        scores = np.where(np.arange(scores.shape[1]) < letters, scores, scores.min())
        half, place = np.divmod(np.arange(scores.shape[1]), 16)
        copies = np.arange(0, size, code.lanes)[:, None]
        places, unit, shift, empty = half * size + place + copies, 16, 0, letters
        slots = code.lanes // 16
    rows = np.zeros((slots, letters + 1, 2 * size), dtype=np.int8)
    for slot in range(slots):
        for copy in places + slot * (shift or unit):
            rows[slot][:, copy] = scores[:, : copy.size]
    if lookup == "permute":
        rows[:, :, empty] = scores.min()
    numbers = np.append(scheme.numbers, [shift, empty])
    return TableScheme(scheme, rows.view(np.uint64), unit, numbers)


def align_lists(
    sequences: PackedSequences, left: IntArray, right: IntArray, schemes: list[TableScheme]
) -> Scores:
    """Return the scores of pairs, given by numbers of sequences.

    8 bits are tried first, then 16 for pairs that overflow, then parasail, which also has the
    parts that are too small to be worth their slots, and sequences of more than 5,000 residues.
    Short lists lack slots, not lanes: with as many slots they begin with 16 bits.
    """
    scores = np.full(left.size, _OVERFLOWED, dtype=np.int32)
    degrees = np.bincount(np.concatenate([left, right]), minlength=sequences.lengths.size)
    hubs = np.where(degrees[right] > degrees[left], right, left)
    if np.count_nonzero(np.bincount(hubs)) < np.count_nonzero(np.bincount(left)):
        left, right = hubs, left + right - hubs
    fits = np.maximum(sequences.lengths[left], sequences.lengths[right]) <= batches.LONGEST
    todo = np.flatnonzero(fits)
    numbered = sequences.letters.tobytes().translate(schemes[0].lanes.codes.tobytes())
    letters = np.frombuffer(numbered, dtype=np.uint8)
    narrow, wide = len(schemes[0].rows), len(schemes[-1].rows)  # slots
    few = np.bincount(left)[left] <= (narrow == wide) * schemes[-1].lanes.code.lanes // wide
    for scheme in schemes:
        own = todo if scheme is schemes[-1] else todo[~few[todo]]
        scores[own] = _align(scheme, sequences, letters, left[own], right[own])
        todo = todo[scores[todo] == _OVERFLOWED]
    rest = np.flatnonzero(scores < 0)
    numbers = left[rest].astype(np.int32), right[rest].astype(np.int32)
    scores[rest] = align_pairs(sequences, *numbers)
    return scores


def _align(
    scheme: TableScheme,
    sequences: PackedSequences,
    letters: NDArray[np.uint8],
    queries: IntArray,
    records: IntArray,
) -> Scores:
    """Return scores of pairs, -1 where these are left to parasail, -2 where they overflow."""
    scores, lengths, lanes = np.full(queries.size, -1, np.int32), sequences.lengths, scheme.lanes
    slots, loops = len(scheme.rows), compiled_loops()
    order = _in_parts(lengths, queries, records, scheme)
    if not order.size:
        return scores
    queries, records = (side[order].astype(np.int64) for side in (queries, records))
    lane, slot = np.empty((2, order.size), dtype=np.int64)
    shape = lanes.code.lanes, slots, scheme.unit
    starts = np.flatnonzero(loops.fill_vectors(queries, shape, lane, slot))
    costs = np.maximum.reduceat(lengths[queries], starts)
    costs *= np.maximum.reduceat(lengths[records], starts)
    ends = piece_ends(costs, sequences.threads, batches.LEAST_STEPS)
    ranges = np.stack([starts, np.append(starts[1:], order.size)], axis=1)
    found = np.empty(order.size, dtype=np.int32)

    def work(piece: tuple[int, int]) -> None:
        tables = scheme.numbers, scheme.rows
        packed, pairs = (letters, sequences.offsets), (queries, records, lane, slot)
        loops.align_vectors(tables, packed, pairs, ranges, piece, found)

    in_threads(work, list(itertools.pairwise([0, *ends])), sequences.threads)
    scores[order] = found
    return scores


def _in_parts(
    lengths: IntArray, queries: IntArray, records: IntArray, scheme: TableScheme
) -> IntArray:
    """Return the order of pairs, part by part, without those that parasail aligns faster.

    Parts are in bands of about one length of the query, and in a band by their longest record.
    """
    code = scheme.lanes.code
    slots = len(scheme.rows)
    order = np.argsort(queries.astype(np.int64) * (batches.LONGEST + 1) - lengths[records])
    first = np.flatnonzero(np.diff(queries[order], prepend=-1))
    sizes = np.diff(first, append=order.size)
    of_list = np.repeat(np.arange(first.size), sizes)
    place = np.arange(order.size) - first[of_list]
    if scheme.unit > 1:
        part = place // scheme.unit
    else:
        parts = np.maximum(np.rint(_FULL * sizes * slots / code.lanes).astype(np.int64), 1)
        part = place * parts[of_list] // sizes[of_list]
    starts = np.flatnonzero((part != np.roll(part, 1)) | (place == 0))
    counts = np.diff(starts, append=order.size)
    own, longest = lengths[queries[order[starts]]], lengths[records[order[starts]]]
    by_parasail = counts * (COLUMN_STEPS + RESIDUE_STEPS * own)
    if code.bits > 8:
        by_parasail *= batches.OF_WIDE
    kept = np.flatnonzero(by_parasail > own / slots)
    kept = kept[np.argsort(own[kept], kind="stable")]
    until = np.cumsum(counts[kept])
    if not kept.size:
        return kept
    bands = max(1, round((until[-1] / code.lanes) ** 0.5))
    band = (until - 1) * bands // until[-1]
    kept = kept[np.lexsort((-longest[kept], band))]
    before = np.cumsum(counts[kept]) - counts[kept]
    inside = np.arange(until[-1]) + np.repeat(starts[kept] - before, counts[kept])
    return np.asarray(order[inside])
