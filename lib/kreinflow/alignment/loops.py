"""The compiled loops over pairs and over batches, in a module of their own: numba loads slowly."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from kreinflow.base.numerics import compiled

_ALIGNMENT = 64  # bytes, of all vectors


@intrinsic  # type: ignore[untyped-decorator]
def call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the function at ``address``; pointers travel as 64-bit integers."""
    signature = types.int64(types.int64, arguments)

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        unpacked = [builder.extract_value(values[1], i) for i in range(len(arguments))]
        function = ir.FunctionType(ir.IntType(64), [value.type for value in unpacked])
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), unpacked)

    return signature, codegen


@compiled
def align_piece(with_what: Any, sequences: Any, pairs: Any, piece: Any, scores: Any) -> int:
    """Score the pairs from one place to another; return how many saturated.

    ``with_what`` are the addresses of parasail's functions and of the matrix, and the gap costs.
    """
    functions, matrix, gap_open, gap_extend = with_what
    create, align, free_profile = functions[0], functions[1], functions[2]
    get_score, is_saturated, free_result = functions[3], functions[4], functions[5]
    (letters, offsets), (left, right), (start, stop) = sequences, pairs, piece
    base = letters.ctypes.data
    profile = np.int64(0)
    saturated = 0
    for pair in range(start, stop):
        a, b = left[pair], right[pair]
        if pair == start or a != left[pair - 1]:
            if profile != 0:
                call(free_profile, (profile,))
            length = np.int32(offsets[a + 1] - offsets[a])
            profile = call(create, (base + offsets[a], length, matrix))
        length = np.int32(offsets[b + 1] - offsets[b])
        result = call(align, (profile, base + offsets[b], length, gap_open, gap_extend))
        scores[pair] = np.int32(call(get_score, (result,)))
        if np.int32(call(is_saturated, (result,))) != 0:
            saturated += 1
        call(free_result, (result,))
    if profile != 0:
        call(free_profile, (profile,))
    return saturated


@compiled
def align_batches(
    scheme: Any, sequences: Any, members: Any, landmarks: Any, batches: Any, scores: Any
) -> Any:
    """Score the batches from one place to another, each with its range of the landmarks.

    A batch is a range of the members, one for each lane at most, the longest first. Members and
    landmarks are numbers of sequences, places, and a range for each batch. The score of a member
    and a landmark goes to ``scores`` at the sum of their places, each times its step, if -1 or -2
    is there; -2 if it exceeds the limit. Returns how many were scored, and how many exceed it.
    """
    (kernel, matrix, codes), (residues, offsets) = scheme, sequences
    members, member_places, member_ranges = members
    landmarks, landmark_places, landmark_ranges = landmarks
    (start, stop), (scores, steps) = batches, scores
    make_profile, align, lanes, bits, at_once, n_letters = kernel[:6]
    zero, gap_open, gap_extend, limit = kernel[6:10]
    size = lanes * bits // 8
    per_chunk = 128 // bits
    chunks = (n_letters + per_chunk - 1) // per_chunk
    letter_bytes = at_once * size
    group_bytes = chunks * per_chunk * letter_bytes
    most_groups, longest, scored, overflowed = 0, 0, 0, 0
    for batch in range(start, stop):
        for k in range(member_ranges[batch, 0], member_ranges[batch, 1]):
            length = offsets[members[k] + 1] - offsets[members[k]]
            most_groups = max(most_groups, (length + at_once - 1) // at_once)
        for k in range(landmark_ranges[batch, 0], landmark_ranges[batch, 1]):
            longest = max(longest, offsets[landmarks[k] + 1] - offsets[landmarks[k]])
    letters = np.empty(most_groups * at_once * lanes, dtype=np.uint8)
    profile = np.empty(most_groups * group_bytes + _ALIGNMENT, dtype=np.uint8)
    states = np.empty(2 * longest * size + _ALIGNMENT, dtype=np.uint8)
    best = np.empty(lanes, dtype=np.int32)
    shifts = np.empty(longest, dtype=np.int32)
    of_profile = profile.ctypes.data + -profile.ctypes.data % _ALIGNMENT
    of_states = states.ctypes.data + -states.ctypes.data % _ALIGNMENT
    for batch in range(start, stop):
        begin, end = member_ranges[batch]
        columns = 0
        for k in range(begin, end):
            columns = max(columns, offsets[members[k] + 1] - offsets[members[k]])
        groups = (columns + at_once - 1) // at_once
        columns = groups * at_once
        for lane in range(lanes):
            length = 0
            if begin + lane < end:
                source = offsets[members[begin + lane]]
                length = offsets[members[begin + lane] + 1] - source
                for j in range(length):
                    letters[j * lanes + lane] = codes[residues[source + j]]
            for j in range(length, columns):
                letters[j * lanes + lane] = n_letters  # which scores 0 or less with all
        call(make_profile, (letters.ctypes.data, columns, matrix.ctypes.data, of_profile, chunks))
        for k in range(landmark_ranges[batch, 0], landmark_ranges[batch, 1]):
            source = offsets[landmarks[k]]
            m = offsets[landmarks[k] + 1] - source
            for i in range(m):
                shifts[i] = codes[residues[source + i]] * letter_bytes
            call(
                align,
                (
                    *(of_profile, groups, group_bytes, shifts.ctypes.data, m, of_states),
                    *(zero, zero + gap_open, gap_open, gap_extend, best.ctypes.data),
                ),
            )
            at = landmark_places[k] * steps[1]
            for lane in range(end - begin):
                score = best[lane]
                place = at + member_places[begin + lane] * steps[0]
                if scores[place] == -1 or scores[place] == -2:
                    fits = score <= limit
                    scores[place] = score - zero if fits else -2
                    scored += fits
                    overflowed += not fits
    # So long are the arrays needed whose addresses are all that the functions got.
    letters[:1], profile[:1], states[:1], shifts[:1] = 0, 0, 0, 0
    return scored, overflowed


@compiled
def fill_vectors(queries: Any, shape: Any, lane_of: Any, slot_of: Any) -> Any:
    """Give each pair a lane and a slot, one after the other; return which begin a vector.

    ``shape``: lanes and slots of a vector, and of which numbers of lanes slots begin at multiples.
    """
    lanes, slots, unit = shape
    begins = np.zeros(queries.size, dtype=np.bool_)
    lane, slot = lanes, slots
    for k in range(queries.size):
        lane += 1
        fresh = k == 0 or queries[k] != queries[k - 1]
        if fresh:
            lane = (lane + unit - 1) // unit * unit
        if fresh or (unit > 1 and lane % unit == 0):
            slot += 1
        if lane >= lanes or slot >= slots:
            begins[k] = True
            lane, slot = 0, 0
        lane_of[k], slot_of[k] = lane, slot
    return begins


@compiled
def align_vectors(
    scheme: Any, sequences: Any, pairs: Any, ranges: Any, vectors: Any, scores: Any
) -> Any:
    """Score the pairs of the vectors from one to another; each has a range of the pairs.

    The pairs are numbers of queries and of records, lanes and slots. A score that exceeds the limit
    is -2.
    """
    (kernel, words), (letters, offsets) = scheme, sequences
    (queries, records, lane_of, slot_of), (start, stop) = pairs, vectors
    lay, align, lanes, bits, at_once, pad = kernel[:6]
    zero, gap_open, gap_extend, limit, shift, empty = kernel[6:12]
    size = lanes * bits // 8
    of_row = size // 4  # words of two vectors
    longest, widest = 0, 0
    for k in range(ranges[start, 0], ranges[stop - 1, 1]):
        longest = max(longest, offsets[queries[k] + 1] - offsets[queries[k]])
        widest = max(widest, offsets[records[k] + 1] - offsets[records[k]])
    widest = (widest + 15) // 16 * 16
    own = np.empty(widest * lanes, dtype=np.uint8)
    columns = np.empty(widest * lanes + _ALIGNMENT, dtype=np.uint8)
    tables = np.empty(longest * of_row + _ALIGNMENT // 8, dtype=np.uint64)
    states = np.empty(2 * longest * size + _ALIGNMENT, dtype=np.uint8)
    best = np.empty(lanes, dtype=np.int32)
    of_columns = columns.ctypes.data + -columns.ctypes.data % _ALIGNMENT
    of_states = states.ctypes.data + -states.ctypes.data % _ALIGNMENT
    before = -tables.ctypes.data % _ALIGNMENT // 8
    rows = tables[before : before + longest * of_row].reshape(longest, of_row)
    for vector in range(start, stop):
        begin, end = ranges[vector]
        m, n = 0, 0
        for k in range(begin, end):
            m = max(m, offsets[queries[k] + 1] - offsets[queries[k]])
            n = max(n, offsets[records[k] + 1] - offsets[records[k]])
        stride = (n + 15) // 16 * 16
        own[: stride * lanes] = empty
        rows[:m] = 0
        for k in range(begin, end):
            record = letters[offsets[records[k]] : offsets[records[k] + 1]]
            lane = own[lane_of[k] * stride : (lane_of[k] + 1) * stride]
            slot = slot_of[k]
            for j in range(record.size):
                lane[j] = record[j] + slot * shift
            if k > begin and slot == slot_of[k - 1]:
                continue
            query = letters[offsets[queries[k]] : offsets[queries[k] + 1]]
            for i in range(m):
                letter = query[i] if i < query.size else pad
                for word in range(of_row):
                    rows[i, word] |= words[slot, letter, word]
        call(lay, (own.ctypes.data, stride, stride // 16, of_columns))
        call(
            align,
            (
                *(of_columns, (n + at_once - 1) // at_once, at_once * lanes),
                *(rows.ctypes.data, m, of_states),
                *(zero, zero + gap_open, gap_open, gap_extend, best.ctypes.data),
            ),
        )
        for k in range(begin, end):
            score = best[lane_of[k]]
            scores[k] = score - zero if score <= limit else -2
    own[:1], columns[:1], tables[:1], states[:1] = 0, 0, 0, 0
    return 0
