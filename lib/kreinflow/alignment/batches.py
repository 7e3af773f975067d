"""The backend "auto": local alignments of batches by vector code, the rest by parasail.

Sequences of about one length share a batch, so that its lanes end together, and a batch is aligned
with all landmarks before the next one is made. Either side of a rectangle may lie in the lanes.
What would leave most lanes empty, and what no lane can hold, is left to parasail.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment import engine
from kreinflow.alignment.engine import (
    COLUMN_STEPS,
    NOT_ALIGNED,
    RESIDUE_STEPS,
    Mask,
    PackedSequences,
    Scores,
    compiled_loops,
    in_threads,
    piece_ends,
)
from kreinflow.alignment.vector_code import (
    COLUMNS,
    FEWEST_LANES,
    LETTERS,
    VectorCode,
    lanes_here,
    vector_code,
)
from kreinflow.base.numerics import FloatArray, IntArray

# Residues of a sequence that lies in a lane, or is aligned with a batch. A profile takes 32 x 64
# bytes for each, 10 MB for a thread, and so long sequences seldom fill the lanes.
LONGEST = 5_000

_VECTOR_BYTES = 64

# Costs are in steps. The vector code takes one for a letter of a landmark and a column of the
# batch, 1.6 ns with 64 lanes; with half the lanes, two thirds.
_PROFILE_STEPS = 50.0  # for each column of the profile of a batch
_OF_HALF = 2 / 3
# Of parasail's, steps of half the bytes take two thirds of the time, and a score of 16 bits four
# times as long.
OF_WIDE = 4.0
LEAST_STEPS = 1_000_000  # of a piece of work, 1 or 2 ms: short against any run

# This share of the landmarks is aligned first, to see which members have relatives. The multiples
# of the golden ratio are spread evenly, and have no period as classes may have.
_SAMPLED = 1 / 8
_GOLDEN = (5**0.5 - 1) / 2

_PENDING, _OVERFLOWED = -1, -2  # no local alignment scores below 0


@dataclass(frozen=True, eq=False)
class LaneScheme:
    """A scoring scheme in so many bits; ``numbers`` are the ``kernel`` of the compiled loop."""

    code: VectorCode  # its addresses are good while it is kept
    numbers: NDArray[np.int64]
    matrix: NDArray[np.uint8]
    codes: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class _Rectangle:
    """The sequences that lie in lanes, by their numbers, the landmarks, and their scores.

    ``scores[place of the member, place of the landmark]`` is a view of ``flat``, in which the
    places count ``steps``. Of a ``whole`` rectangle all are wanted.
    """

    sequences: PackedSequences
    members: IntArray
    landmarks: IntArray
    scores: Scores
    flat: Scores
    steps: IntArray
    whole: bool

    @cached_property
    def order(self) -> IntArray:
        """The places of the members that a lane can hold, the longest first."""
        lengths = self.sequences.lengths[self.members]
        by_length = np.argsort(-lengths, kind="stable")
        return by_length[lengths[by_length] <= LONGEST]

    @cached_property
    def possible(self) -> Mask:
        """Which landmarks can be aligned with a batch."""
        return np.asarray(self.sequences.lengths[self.landmarks] <= LONGEST)


@dataclass(frozen=True, eq=False)
class _Batches:
    """Ranges of members, given by their places, and of the landmarks they are aligned with."""

    members: IntArray
    member_ranges: IntArray
    landmarks: IntArray
    landmark_ranges: IntArray

    def some(self, which: Mask) -> "_Batches":
        sizes = np.diff(self.member_ranges).ravel()
        members = self.members[np.repeat(which, sizes)]
        ranges = self.landmark_ranges[which]
        return _Batches(members, _ranges(sizes[which]), self.landmarks, ranges)


_LayOut = Callable[[_Rectangle, int, int, Mask], _Batches]


def working_bytes(lengths: IntArray) -> int:
    """Return the bytes at most of a thread that aligns sequences of these lengths."""
    # Each residue has a vector for each letter (profile), two (states), one (lanes), and 4 bytes.
    return min(int(lengths.max(initial=0)), LONGEST) * ((LETTERS + 3) * _VECTOR_BYTES + 4)


def lane_schemes(
    sequences: PackedSequences, lanes: int, make: Callable[[int, int], VectorCode] = vector_code
) -> list[LaneScheme]:
    """Return the scheme in 8 bits and in 16, as far as these are exact up to some score."""
    scheme, codes = sequences.scheme, sequences.codes
    letters = np.flatnonzero(sequences.present)
    if scheme.mode != "local" or letters.size > LETTERS:
        return []
    table = scheme.matrix.scores[np.ix_(codes[letters], codes[letters])].astype(np.int64)
    worst, best = max(0, -int(table.min())), max(0, int(table.max()))
    number_of = np.zeros(256, dtype=np.uint8)
    number_of[letters] = np.arange(letters.size)
    found = []
    for bits in (8, 16):
        lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        zero = lowest + max(worst, scheme.gap_extend)
        limit = highest - best
        if worst > -lowest or limit - zero < 2 ** (bits - 2):  # too few scores would fit
            continue
        matrix = np.full((letters.size + 1, LETTERS), -worst, dtype=f"int{bits}")
        matrix[: letters.size, : letters.size] = table
        gap_open = min(scheme.gap_open, highest - zero)  # where no gap pays, dearer ones do not
        code = make(lanes * 8 // bits, bits)
        of_code = code.lay, code.align, code.lanes, bits, COLUMNS, letters.size
        numbers = np.array([*of_code, zero, gap_open, scheme.gap_extend, limit])
        found.append(LaneScheme(code, numbers, matrix.view(np.uint8), number_of))
    return found


def align_in_batches(
    sequences: PackedSequences, rows: IntArray, columns: IntArray, mask: Mask | None = None
) -> Scores:
    """Return the scores of rows with columns: the backend ``auto`` of many.

    8 bits are tried first, then 16 for pairs that overflow, then parasail. Alignments that are not
    local are parasail's, and so are those of more than 32 different letters, or with entries that
    leave no room in 16 bits. See :class:`~kreinflow.alignment.backends.Backend`.

    A batch costs a step for each column of its longest member and each letter of its landmarks,
    whatever lanes are empty (Rognes, BMC Bioinformatics 12:221, 2011). So the cheaper side of the
    rectangle lies in the lanes, batches that fill half of them take half as many, and the longest
    members of a batch go to parasail where that saves more than it costs. With a mask some
    landmarks go first: members whose scores with most of them need 16 bits are relatives, and are
    not tried in 8 with the others.
    """
    lanes = lanes_here()
    if max(rows.size, columns.size) <= lanes // 2 and lanes > FEWEST_LANES:
        lanes //= 2
    schemes = lane_schemes(sequences, lanes)
    if not schemes:
        return engine.align_rectangle(sequences, rows, columns, mask)
    if mask is None or mask.all():
        mask = None
        scores = np.full((rows.size, columns.size), _PENDING, dtype=np.int32)
    else:
        marked = np.where(mask, np.int32(_PENDING), np.int32(NOT_ALIGNED))
        scores = np.ascontiguousarray(marked)  # the mask may be a transposed one
    first = schemes[0].code
    rectangle = _cheaper_side(sequences, rows, columns, scores, mask is None, first)
    left = {_PENDING: scores.size if mask is None else np.count_nonzero(mask), _OVERFLOWED: 0}
    everyone = rectangle.possible
    sample = everyone & (np.arange(everyone.size) * _GOLDEN % 1 < _SAMPLED)

    def align(state: int, number: int, lay_out: _LayOut, among: Mask) -> None:
        if not left[state]:  # to look for them takes time on one thread
            return
        width = schemes[number].code.lanes
        batches = lay_out(rectangle, state, width, among)
        sizes = np.diff(batches.member_ranges).ravel()
        few = (sizes <= width // 2) & (lanes > FEWEST_LANES)
        for half, part in ((False, ~few), (True, few)):
            if part.any():
                own = (lane_schemes(sequences, lanes // 2) if half else schemes)[number]
                scored, overflowed = _align(own, rectangle, batches.some(part))
                left[state] -= scored + overflowed
                left[_OVERFLOWED] += overflowed

    for among in (everyone,) if mask is None else (sample, everyone):
        for lay_out in (_shared_batches, _batches_anew):
            align(_PENDING, 0, lay_out, among)
        if among is sample and left[_OVERFLOWED] and len(schemes) > 1:
            foreseen = _foresee(rectangle, sample)
            left[_PENDING] -= foreseen
            left[_OVERFLOWED] += foreseen
    for number in range(1, len(schemes)):
        align(_OVERFLOWED, number, _batches_anew, everyone)
    if any(left.values()):
        rest = (scores == _PENDING) | (scores == _OVERFLOWED)
        found = engine.align_rectangle(sequences, rows, columns, rest)
        scores[rest] = found[rest]
    return scores


def _foresee(rectangle: _Rectangle, sample: Mask) -> int:
    """Mark pairs as overflowed whose member did so with most of a sample of landmarks; count them.

    Aligned in 8 bits for nothing, or in 16 in twice the time: they cost the same at a half.
    """
    scores = rectangle.scores[:, sample]
    beyond = np.count_nonzero(scores == _OVERFLOWED, axis=1)
    likely = beyond > np.count_nonzero(scores >= 0, axis=1)
    marked = (rectangle.scores == _PENDING) & likely[:, None]
    rectangle.scores[marked] = _OVERFLOWED
    return int(np.count_nonzero(marked))


def _cheaper_side(
    sequences: PackedSequences,
    rows: IntArray,
    columns: IntArray,
    scores: Scores,
    whole: bool,
    code: VectorCode,
) -> _Rectangle:
    """Return the rectangle with the side in the lanes that costs less."""
    flat, width = scores.reshape(-1), columns.size
    rows, columns = rows.astype(np.int64), columns.astype(np.int64)
    ways = [
        _Rectangle(sequences, rows, columns, scores, flat, np.array([width, 1]), whole),
        _Rectangle(sequences, columns, rows, scores.T, flat, np.array([1, width]), whole),
    ]

    def cost(way: _Rectangle) -> float:
        if not whole:
            return _cost_anew(way, code.lanes)
        batches = _shared_batches(way, _PENDING, code.lanes, way.possible)
        return float(_cut(way, batches, code)[1].sum())

    return min(ways, key=cost)


def _cost_anew(rectangle: _Rectangle, lanes: int) -> float:
    """Return the steps of batches for each landmark, for a member of mean length."""
    lengths, wanted = rectangle.sequences.lengths, rectangle.scores == _PENDING
    full, rest = np.divmod(np.count_nonzero(wanted, axis=0), lanes)
    passes = full + np.where(rest > lanes // 2, 1, _OF_HALF * (rest > 0))
    of_members = lengths[rectangle.members] @ np.count_nonzero(wanted, axis=1)
    return float(passes @ (lengths[rectangle.landmarks] + _PROFILE_STEPS) * of_members)


def _shared_batches(rectangle: _Rectangle, state: int, lanes: int, among: Mask) -> _Batches:
    """Return batches for many landmarks at once, of those whose scores with most are wanted.

    A landmark for which a share w of the members is wanted costs its length here. Batches of its
    own would cost w times its length and that of their profile.
    """
    order = rectangle.order
    starts = np.arange(0, order.size, lanes)
    ends = np.minimum(starts + lanes, order.size)
    letters = rectangle.sequences.lengths[rectangle.landmarks]
    share = letters / (letters + _PROFILE_STEPS)
    shared = np.tile(among, (starts.size, 1))
    if not rectangle.whole:
        wanted = rectangle.scores == state
        for batch, (start, end) in enumerate(zip(starts, ends, strict=True)):
            of_members = wanted[order[start:end]].view(np.uint8)
            counts = np.add.reduce(of_members, axis=0, dtype=np.uint8)
            shared[batch] &= counts >= share * (end - start)
    landmarks = np.ascontiguousarray(np.nonzero(shared)[1])  # the loop is compiled for such
    return _Batches(order, np.stack([starts, ends], axis=1), landmarks, _ranges(shared.sum(axis=1)))


def _batches_anew(rectangle: _Rectangle, state: int, lanes: int, among: Mask) -> _Batches:
    """Return batches for each landmark, of the members whose scores are in this state."""
    order = rectangle.order
    wanted = (rectangle.scores == state) & among
    landmarks, ranks = map(np.ascontiguousarray, np.nonzero(wanted[order].T))
    first = np.flatnonzero(np.diff(landmarks, prepend=-1))  # of each landmark
    sizes = np.diff(first, append=landmarks.size)
    place = np.arange(landmarks.size) - np.repeat(first, sizes)
    starts = np.flatnonzero(place % lanes == 0)
    ends = np.append(starts[1:], landmarks.size)[: starts.size]
    ranges = np.stack([starts, ends], axis=1)
    one_each = np.arange(starts.size)
    return _Batches(
        order[ranks], ranges, landmarks[starts], np.stack([one_each, one_each + 1], axis=1)
    )


def _ranges(sizes: IntArray) -> IntArray:
    ends = np.cumsum(sizes)
    return np.stack([ends - sizes, ends], axis=1)


def _cut(rectangle: _Rectangle, batches: _Batches, code: VectorCode) -> tuple[IntArray, FloatArray]:
    """Return the first member of each batch that lies in a lane, and what the batch costs.

    Members before it are left to parasail, which takes its steps for each column of each.
    """
    first, end = batches.member_ranges.T
    if not first.size:
        return first, np.empty(0)
    lengths = rectangle.sequences.lengths
    of_landmarks = lengths[rectangle.landmarks[batches.landmarks]].astype(np.float64)
    of_lanes = _sums(of_landmarks, batches.landmark_ranges) + _PROFILE_STEPS
    pair_steps = (COLUMN_STEPS + RESIDUE_STEPS * of_landmarks) * 1.5 ** np.log2(
        _VECTOR_BYTES / code.vector_bytes
    )
    if code.bits > 8:
        pair_steps *= OF_WIDE
    of_pair = _sums(pair_steps, batches.landmark_ranges)
    columns = lengths[rectangle.members[batches.members]].astype(np.float64)
    batch = np.repeat(np.arange(first.size), end - first)
    before = np.cumsum(columns) - columns
    before -= before[first][batch]
    costs = before * of_pair[batch] + columns * of_lanes[batch]
    least = np.minimum.reduceat(costs, first)
    cheapest = np.flatnonzero(costs == least[batch])
    starts = cheapest[np.searchsorted(batch[cheapest], np.arange(first.size))]
    by_parasail = np.add.reduceat(columns, first) * of_pair
    return np.where(by_parasail <= least, end, starts), np.minimum(by_parasail, least)


def _sums(values: FloatArray, ranges: IntArray) -> FloatArray:
    until = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(until[ranges[:, 1]] - until[ranges[:, 0]])


def _align(scheme: LaneScheme, rectangle: _Rectangle, batches: _Batches) -> tuple[int, int]:
    """Align batches, in pieces; return how many pairs got a score, and how many overflowed."""
    loops, sequences, threads = compiled_loops(), rectangle.sequences, rectangle.sequences.threads
    starts, costs = _cut(rectangle, batches, scheme.code)
    kept = starts < batches.member_ranges[:, 1]
    if not kept.any():
        return 0, 0
    costs = costs[kept].astype(np.int64)
    most = max(int(costs.sum()) // (8 * threads), LEAST_STEPS)
    low, high = batches.landmark_ranges[kept].T
    parts: IntArray = np.minimum(costs // most + 1, high - low)
    piece = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    low, size, count = (np.repeat(value, parts) for value in (low, high - low, parts))
    landmark_ranges = np.stack(
        [low + size * piece // count, low + size * (piece + 1) // count], axis=1
    )
    members = np.stack([starts[kept], batches.member_ranges[kept, 1]], axis=1)
    ends = piece_ends(np.repeat(costs // parts, parts), threads, LEAST_STEPS)

    own = rectangle.members[batches.members], batches.members, np.repeat(members, parts, axis=0)
    others = rectangle.landmarks[batches.landmarks], batches.landmarks, landmark_ranges

    def work(part: tuple[int, int]) -> tuple[int, int]:
        with_what = scheme.numbers, scheme.matrix, scheme.codes
        packed, out = (sequences.letters, sequences.offsets), (rectangle.flat, rectangle.steps)
        counts: tuple[int, int] = loops.align_batches(with_what, packed, own, others, part, out)
        return counts

    counts = in_threads(work, list(itertools.pairwise([0, *ends])), threads)
    scored, overflowed = np.sum(counts, axis=0).tolist()
    return scored, overflowed
