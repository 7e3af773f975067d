"""Weighted draws of rows by an exponential race."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray
from kreinflow.base.random_streams import row_uniforms


def arrivals(rates: FloatArray, keys: NDArray[np.uint64], draw: int) -> FloatArray:
    r"""Return when each row arrives: exponential times, at infinity where the rate is zero.

    .. math:: t_i = -\log(1 - u_i) / rate_i

    The first to arrive is row i with probability :math:`rate_i / \sum_j rate_j`, and the first k
    are k draws without replacement. The numbers u belong to rows, by the keys of their digests, so
    folds that share rows draw mostly the same ones.
    """
    times = np.full(len(rates), np.inf)
    scaled = rates / (rates.max(initial=0.0) or 1.0)
    moving = scaled > 0
    with np.errstate(over="ignore"):  # a rate next to nothing arrives at infinity too
        times[moving] = -np.log1p(-row_uniforms(keys[moving], draw)) / scaled[moving]
    return times


def draw_row(
    rates: FloatArray, free: NDArray[np.bool_], keys: NDArray[np.uint64], draw: int
) -> int:
    """Draw one of the free rows by its rate; uniformly, where all of them have rate zero."""
    left = np.where(free, rates, 0.0)
    if not left.any():
        left = free.astype(np.float64)
    return int(np.argmin(arrivals(left, keys, draw)))
