"""Uniform landmarks: the first training rows in a random order that never changes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.randomness import hash_keys


def uniform_landmarks(
    training_rows: NDArray[np.intp], digests: Sequence[str], seed: int, budget: int
) -> NDArray[np.intp]:
    """Return the first ``budget`` training rows in the order of hash(seed, digest).

    The folds' landmarks overlap as much as they can, and sequences that are added later displace
    few of them.

    Parameters
    ----------
    training_rows : ndarray of int
        The rows that the fold trains on; no other row is looked at.
    digests : sequence of str
        One digest for each distinct row of the data set.
    seed : int
    budget : int

    Returns
    -------
    ndarray of shape (budget,)
        Row numbers, in that order.

    Raises
    ------
    InputError
        If the budget is less than 1 or larger than the number of training rows.
    """
    if not 1 <= budget <= len(training_rows):
        raise InputError(
            f"a budget of {budget} landmarks does not fit {len(training_rows)} distinct training "
            f"rows: give from 1 to {len(training_rows)}."
        )
    keys = hash_keys(seed, "uniform", (digests[row] for row in training_rows))
    return np.asarray(training_rows)[np.argsort(keys, kind="stable")[:budget]]
