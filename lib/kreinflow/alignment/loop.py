"""The compiled part of the engine, in a module of its own: numba is slow to import."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kreinflow.base.compiled import compiled


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
def align_piece(
    functions: Any,
    matrix: Any,
    gap_open: Any,
    gap_extend: Any,
    letters: Any,
    offsets: Any,
    left: Any,
    right: Any,
    start: Any,
    stop: Any,
    scores: Any,
) -> int:
    """Score the pairs ``start`` to ``stop``; return how many saturated."""
    create, align, free_profile = functions[0], functions[1], functions[2]
    get_score, is_saturated, free_result = functions[3], functions[4], functions[5]
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
def longer_first(lengths: Any, left: Any, right: Any, cost: Any) -> tuple[Any, Any, Any]:
    """Give the profile to the longer sequence of a pair, where that pays for the profile.

    The striped functions take some time for each column, whatever its height: with the longer
    sequence along it there are fewer columns. A sequence of ``right`` gets a profile if the
    columns that it saves, over all pairs in which it is the longer one, exceed ``cost`` times its
    length. Returns the pairs by the number of the sequence with the profile, and their places
    among the pairs given.
    """
    saved = np.zeros(lengths.size, dtype=np.int64)
    for pair in range(left.size):
        difference = lengths[right[pair]] - lengths[left[pair]]
        if difference > 0:
            saved[right[pair]] += difference
    with_profile = np.empty_like(left)
    other = np.empty_like(left)
    starts = np.zeros(lengths.size + 1, dtype=np.int64)
    for pair in range(left.size):
        a, b = left[pair], right[pair]
        if lengths[b] > lengths[a] and saved[b] > cost * lengths[b]:
            a, b = b, a
        with_profile[pair], other[pair] = a, b
        starts[a + 1] += 1
    starts = np.cumsum(starts)
    places = np.empty(left.size, dtype=np.int64)
    for pair in range(left.size):
        a = with_profile[pair]
        places[starts[a]] = pair
        starts[a] += 1
    return with_profile[places], other[places], places


@compiled
def piece_ends(costs: Any, threads: Any, least: Any) -> NDArray[np.int64]:
    """Cut a list by costs: large pieces first, small ones last for an even end."""
    remaining = costs.sum()
    ends = []
    done = 0
    size = max(remaining // (8 * threads), least)
    for item in range(costs.size):
        done += costs[item]
        if done >= size or item == costs.size - 1:
            ends.append(item + 1)
            remaining -= done
            done = 0
            size = max(remaining // (8 * threads), least)
    return np.array(ends)


@compiled
def letter_sums(letters: Any, offsets: Any, numbers: Any, worth: Any, sure: Any) -> Any:
    """Sum what the letters of each sequence are worth; -1 for one with a letter that is unsure."""
    sums = np.zeros(numbers.size, dtype=np.int64)
    for place in range(numbers.size):
        number = numbers[place]
        for residue in range(offsets[number], offsets[number + 1]):
            if not sure[letters[residue]]:
                sums[place] = -1
                break
            sums[place] += worth[letters[residue]]
    return sums
