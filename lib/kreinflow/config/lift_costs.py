"""What recipes with a lift cost; :mod:`kreinflow.config.costs` has all else.

Of n records, p inducing points, m landmarks. Constants are a quarter more than was measured.
"""

from dataclasses import dataclass

from kreinflow.config.costs import (
    Seconds,
    Statistics,
    decision_seconds,
    factor_seconds,
    fit_of_all,
    records,
)
from kreinflow.fitting.fit_lift import TRIED
from kreinflow.learners.learner import Learner

TRY, TRIES = 0.16, (4, 19, 79)
"""Seconds of a try of widths on as many records as there may be (they grow with their cube), and
tries of recipes with no view beside the scores, with one, and with two."""

WORDS_RESIDUE, WORDS_PAIR, WORDS_CELL = 3.5e-8, 2e-8, 4e-13
"""Of a residue for each length of words; of a pair of records by their words, and of a product of
their lengths."""

LIFTED_ENTRY, LIFTED_SCORE, LIFTED_PRODUCT, LIFTED_CUBE = 2e-8, 3.5e-11, 1.8e-11, 1e-11
"""Of an entry of the lifted kernel, and for each landmark; of its n p^2 products; of its p^3."""

LIFTED_MB = 200
"""Of a lifted recipe beside its matrices."""


@dataclass(frozen=True)
class Lifted:
    """What the costs of a lifted recipe depend on.

    Attributes
    ----------
    learner : Learner
    inducing : int
        Inducing points at most.
    lengths : int
        Lengths of the words that are looked at, 0 without words.
    views : int
        Views beside the scores.
    """

    learner: Learner
    inducing: int
    lengths: int
    views: int


def lifted_seconds(
    statistics: Statistics, landmarks: int, recipe: Lifted, inner_folds: int
) -> Seconds:
    """Return the seconds of one recipe on one training part: widths, kernels and fits.

    An inner fold makes the kernel of its records again, and its Gram matrix from fewer rows and
    columns: that of all is counted 1 + F s and 1 + F s^3 times, s = 1 - 1/F.
    """
    n, classes = records(statistics), len(statistics["class_sizes"])
    p = min(recipe.inducing, n)
    seen = 1 - 1 / inner_folds
    kernels, fits = 1 + inner_folds * seen, 1 + inner_folds * seen**3
    choices = len(recipe.learner.choices(p))
    tried = TRY * TRIES[min(recipe.views, 2)] * (min(TRIED, n) / TRIED) ** 3
    cubes = LIFTED_CUBE * p**3 * (1 + (fits - 1) * choices)
    words = words_seconds(statistics, recipe.lengths, n, n * p * kernels)
    shared = n * p * (LIFTED_ENTRY + LIFTED_SCORE * landmarks) * kernels
    shared += LIFTED_PRODUCT * n * p**2 * fits
    seconds = Seconds(tried + cubes, shared) + words
    seconds += (choices + 1) * decision_seconds(n, p, classes)
    if recipe.learner.needs_factor:
        seconds += fits * (factor_seconds(n, p) + fit_of_all(statistics, recipe.learner, n, p))
    return seconds


def words_seconds(statistics: Statistics, lengths: int, n: float, pairs: float) -> Seconds:
    """Return the seconds of the words of n records, and of some pairs that are compared by them.

    ``lengths`` is the number of the lengths of words, 0 for none.
    """
    length = float(statistics["lengths"].get("mean", 0))
    found = lengths * WORDS_RESIDUE * n * length
    compared = pairs * (WORDS_PAIR + WORDS_CELL * length**2)
    return Seconds(shared=found + compared if lengths else 0.0)


def lifted_mb(statistics: Statistics, recipe: Lifted, tiled_mb: float | None) -> float:
    """Return megabytes for the kernels of a recipe and their Gram matrices.

    Parameters
    ----------
    statistics : mapping
    recipe : Lifted
    tiled_mb : float or None
        ``learning.memory_mb``, of which a kernel has a quarter at most.
    """
    n = records(statistics)
    p = min(recipe.inducing, n)
    kernel = 8 * n * p / 1e6
    if tiled_mb is not None:
        kernel = min(kernel, tiled_mb / 4)
    squares = (5.5 if recipe.learner.needs_factor else 2.5) * p**2 + 4096 * p
    held = n * len(statistics["class_sizes"]) * (len(recipe.learner.choices()) + 4)
    return LIFTED_MB + (2 + recipe.views) * kernel + 8 * (squares + held) / 1e6
