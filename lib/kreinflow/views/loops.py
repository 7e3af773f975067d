"""Sparse products and hits of seeds as compiled loops, in their own module: numba loads slowly."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kreinflow.base.numerics import compiled


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
    """Add X Y' to ``out``, of shape (n, p), from the CSR arrays of X and of Y' (not of Y)."""
    for row in range(len(out)):
        sums = out[row]
        for at in range(indptr[row], indptr[row + 1]):
            word, value = indices[at], values[at]
            for place in range(other_indptr[word], other_indptr[word + 1]):
                sums[other_indices[place]] += value * other_values[place]


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
def add_hits(
    numbers: NDArray[np.int32],
    ends: NDArray[np.int64],
    pointers: NDArray[np.int32],
    places: NDArray[np.int32],
    weights: NDArray[np.int32],
    cells: NDArray[np.uint16],
    scores: NDArray[np.int32],
) -> None:
    """Fill in the scores, of shape (n, n_records), of :mod:`kreinflow.views.seeds`.

    Its numbers are constants here: 4096 records at most, 512 diagonals, 32 bands. The places of a
    seed are far from those of the seed before: they are fetched two residues ahead.
    """
    n_shapes, n_seeds = len(numbers), len(weights) // len(numbers)
    base, start = places.ctypes.data, 0
    for query in range(len(ends)):
        cells[:] = 0
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
                at = (residue - start) << 12
                for place in places[pointers[seed] : pointers[seed + 1]]:
                    moved = place - at
                    cell = np.uint64((moved >> 4) & 0x1F000 | moved & 0xFFF)
                    cells[cell] = min(65535, cells[cell] + weight)
        best = scores[query]
        before = cells[31 << 12 :]
        for band in range(32):
            here = cells[band << 12 :]
            for record in range(len(best)):
                best[record] = max(best[record], np.int32(here[record]) + before[record])
            before = here
        start = ends[query]
