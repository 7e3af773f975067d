"""Sparse products, seeds and segments as compiled loops, in their own module: numba is slow."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from kreinflow.base.numerics import compiled


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing_context: Any, address: Any) -> Any:
    """Fetch the bytes at an address into the near cache, without waiting for them."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place], kind)
        reading, near, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(function, [builder.inttoptr(values[0], place), reading, near, data])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@compiled
def _fetch(array: NDArray[Any], first: int, last: int) -> None:
    start = array.ctypes.data + array.itemsize * first
    for ahead in range(0, array.itemsize * (last - first), 64):
        prefetch(start + ahead)


@compiled
def add_products(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    values: NDArray[np.floating],
    other_indptr: NDArray[np.integer],
    other_indices: NDArray[np.unsignedinteger],
    other_values: NDArray[np.floating],
    out: NDArray[np.floating],
) -> None:
    """Add X Y' to ``out``, of shape (n, p), from the CSR arrays of X and of Y' (not of Y).

    What the next word needs is fetched before: its row is too short to be foreseen.
    """
    for row in range(len(out)):
        sums = out[row]
        for at in range(indptr[row], indptr[row + 1]):
            word, value = indices[at], values[at]
            if at + 1 < indptr[row + 1]:
                first, last = other_indptr[indices[at + 1]], other_indptr[indices[at + 1] + 1]
                _fetch(other_indices, first, last)
                _fetch(other_values, first, last)
            own = slice(np.uint64(other_indptr[word]), np.uint64(other_indptr[word + 1]))
            places, others = other_indices[own], other_values[own]
            for k in range(len(places)):
                sums[places[k]] += value * others[k]


@compiled
def add_hits(
    numbers: NDArray[np.int32],
    ends: NDArray[np.int64],
    index: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
    cells: NDArray[np.uint16],
    best: NDArray[np.int32],
    last: int,
    keys: NDArray[np.int64],
) -> None:
    """Fill in keys, of shape (n, n_records), by which :mod:`kreinflow.views.seeds` sorts.

    From the highest bits these are the score; in 32 bits ``last`` less the record; and in 5 bits 31
    less the second of the first two bands that have the score. ``cells``, ``best``: to work in.
    Numbers are constants here: 8192 records at most, 512 diagonals, 32 bands. The places of a seed
    are far from those of the seed before: they are fetched two residues ahead.
    """
    pointers, places, weights = index
    n_shapes, n_seeds = len(numbers), len(weights) // len(numbers)
    base, start = places.ctypes.data, 0
    for query in range(len(ends)):
        for band in range(32):
            cells[band << 13 : (band << 13) + len(best)] = 0
        for shape in range(n_shapes):
            for residue in range(start, ends[query]):
                ahead = min(residue + 2, ends[query] - 1)
                seed = numbers[shape, ahead] + n_seeds * shape
                if numbers[shape, ahead] >= 0 and weights[seed] > 0:
                    for k in range(pointers[seed], pointers[seed + 1], 16):
                        prefetch(base + 4 * k)
                number = numbers[shape, residue]
                if number < 0:
                    continue
                seed = number + n_seeds * shape
                weight = weights[seed]
                if weight == 0:
                    continue
                at = (residue - start) << 13
                for place in places[pointers[seed] : pointers[seed + 1]]:
                    moved = place - at
                    cell = np.uint64((moved >> 4) & 0x3E000 | moved & 0x1FFF)
                    cells[cell] = min(65535, cells[cell] + weight)
        best[:] = 0
        before = cells[31 << 13 :]
        for band in range(32):
            here = cells[band << 13 :]
            for record in range(len(best)):
                both = (np.int32(here[record]) + before[record] << 5) + (31 - band)
                best[record] = max(best[record], both)
            before = here
        for record in range(len(best)):
            both = np.int64(best[record])
            keys[query, record] = ((both >> 5) << 37) + ((last - record) << 5) + (both & 31)
        start = ends[query]


@intrinsic  # type: ignore[untyped-decorator]
def segments(typing: Any, profile: Any, stride: Any, letters: Any, n: Any, above: Any) -> Any:
    """Return what the best segments of 32 diagonals have above a number, together.

    ``profile``: the address of the scores of the first residue, 16 bits each, of letter 0; those of
    the next letter are ``stride`` bytes behind. ``letters``: the address of n residues.
    """

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        profile, stride, letters, n, above = values
        short, long = ir.IntType(16), ir.IntType(64)
        lanes, wide = ir.VectorType(short, 32), ir.VectorType(ir.IntType(32), 32)
        added = builder.module.declare_intrinsic(
            "llvm.sadd.sat.v32i16", [], ir.FunctionType(lanes, [lanes, lanes])
        )
        summed = builder.module.declare_intrinsic(
            "llvm.vector.reduce.add.v32i32", [], ir.FunctionType(ir.IntType(32), [wide])
        )

        def larger(a: Any, b: Any) -> Any:
            return builder.select(builder.icmp_signed(">", a, b), a, b)

        none = ir.Constant(lanes, [0] * 32)
        here, best = (cgutils.alloca_once_value(builder, none) for _ in range(2))
        with cgutils.for_range(builder, n) as loop:
            place = builder.inttoptr(builder.add(letters, loop.index), ir.IntType(8).as_pointer())
            row = builder.mul(builder.zext(builder.load(place), long), stride)
            column = builder.shl(loop.index, ir.Constant(long, 1))
            at = builder.add(profile, builder.add(row, column))
            scores = builder.load(builder.inttoptr(at, lanes.as_pointer()), align=2)
            found = larger(builder.call(added, [builder.load(here), scores]), none)
            builder.store(found, here)
            builder.store(larger(found, builder.load(best)), best)
        least = ir.Constant(lanes, ir.Undefined)
        for lane in range(32):
            at = ir.Constant(ir.IntType(32), lane)
            least = builder.insert_element(least, builder.trunc(above, short), at)
        more = builder.sub(larger(builder.load(best), least), least)
        return builder.zext(builder.call(summed, [builder.zext(more, wide)]), long)

    return types.int64(*[types.int64] * 5), codegen


@compiled
def add_segments(
    table: NDArray[np.int16],
    profile: NDArray[np.int16],
    objects: tuple[NDArray[np.uint8], NDArray[np.int64]],
    records: tuple[NDArray[np.uint8], NDArray[np.int64]],
    asked: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    scores: NDArray[np.int64],
) -> None:
    """Fill in the scores of :mod:`kreinflow.views.gapless`, whose numbers are constants here.

    Lane t has the diagonal d + 31 - t, so its column of the profile rises with the residue.
    """
    (own, ends), (letters, starts), (places, lowest, looked) = objects, records, asked
    stride = 2 * profile.shape[1]
    for row in range(len(scores)):
        n = ends[row + 1] - ends[row]
        for letter in range(len(table)):
            for place in range(n):
                profile[letter, 32 + place] = table[letter, own[ends[row] + place]]
            profile[letter, 32 + n : 64 + n] = profile[letter, 0]
        for k in range(looked[row]):
            start, end = starts[places[row, k]], starts[places[row, k] + 1]
            for d in range(lowest[row, k], end - start, 512):
                first, last = max(0, d), min(end - start, n + d + 31)
                column = profile.ctypes.data + 2 * (first - d + 1)
                if last > first:
                    address = letters.ctypes.data + start + first
                    found = segments(column, stride, address, last - first, 18)
                    scores[row, k] = max(scores[row, k], found)
