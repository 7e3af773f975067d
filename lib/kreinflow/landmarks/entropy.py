"""Landmarks of large quadratic Rényi entropy, as in the fixed-size LS-SVM."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.base.random_streams import row_uniforms
from kreinflow.landmarks.sampled_scores import Sketch
from kreinflow.landmarks.selector import SketchSelector

PASSES = 20
"""How often each row is tried at most."""


def entropy(mean: float) -> float:
    """Return -log of a mean of kernel values, infinity if it is not positive."""
    return float(-np.log(mean)) if mean > 0 else float("inf")


def swap_for_entropy(
    K: FloatArray, count: int, keys: NDArray[np.uint64]
) -> tuple[IntArray, list[float]]:
    r"""Raise the quadratic Rényi entropy of a subset of rows by random swaps.

    .. math:: H(S) = -\log \frac{1}{m^2} \sum_{i, j \in S} k_{ij}

    The search starts at the first rows. One after the other the rows outside are tried in the
    place of a random member, and a swap that raises the entropy is kept, until a pass keeps none.
    K is positive semi-definite, or no sum would bound the entropy. Returns the rows, and the
    entropies of the start and after each swap. De Brabanter et al., Computational Statistics & Data
    Analysis 54, 1484-1504 (2010), doi:10.1016/j.csda.2010.01.024.
    """
    members = np.arange(count)
    outside = np.ones(len(K), dtype=bool)
    outside[members] = False
    sums = K[:, members].sum(axis=1)
    entropies = [entropy(sums[members].mean() / count)]
    for number in range(PASSES):
        slots = (row_uniforms(keys, number) * count).astype(np.intp)
        kept = len(entropies)
        for row in np.flatnonzero(outside):
            leaving = members[slots[row]]
            # Of the sums over S x S, the row and column that leave and those that come.
            change = 2 * (sums[row] - sums[leaving] - K[row, leaving])
            change += K[row, row] + K[leaving, leaving]
            trial = entropy((sums[members].sum() + change) / count**2)
            if trial > entropies[-1]:
                members[slots[row]] = row
                outside[[row, leaving]] = False, True
                sums = sums + K[:, row] - K[:, leaving]
                entropies.append(trial)
        if len(entropies) == kept:
            break
    return members, entropies


class RenyiEntropy(SketchSelector):
    r"""Rows of the sketch of large entropy in the flipped kernel.

    The sum of the kernel must be positive, as in the flipped kernel. Only rows of the sketch are
    swapped: those that it describes badly have small :math:`z^*`, and would be taken for
    informative. If more landmarks are wanted, the next ones of the random order are taken.
    """

    method = "entropy"
    references = ("debrabanter2010",)
    phrase = "a set of large quadratic Rényi entropy in the flipped kernel, found by random swaps"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> IntArray:
        drawn = sketch.drawn
        if count >= len(drawn):
            return sketch.order[:count]
        Z = sketch.flipped[drawn]
        with single_threaded():
            kernel = Z @ Z.T
        chosen, _ = swap_for_entropy(kernel, count, keys[drawn])
        return drawn[chosen]
