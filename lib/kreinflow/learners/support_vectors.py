"""What the support vector machines share: a kernel of mean diagonal 1, and the penalty C."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import SettingsSchema
from kreinflow.learners.hyper_parameters import (
    LARGEST_PENALTY,
    PENALTIES,
    in_words,
    number_or_inner,
)
from kreinflow.learners.learner import Learner


class SupportVectorLearner(Learner):
    """A learner with the penalty C, for a kernel of mean diagonal 1."""

    settings_schema: ClassVar[SettingsSchema] = {
        "penalty": number_or_inner(
            "C, for a kernel of mean diagonal 1; inner: chosen on the inner folds",
            exclusiveMinimum=0,
            maximum=LARGEST_PENALTY,
        )
    }
    grids: Mapping[str, Sequence[float]] = {"penalty": PENALTIES}

    def describe_penalty(self) -> str:
        """Return what the methods paragraph says of the penalty."""
        return f"C {in_words(self.settings['penalty'], '= {:g}')}"


def mean_square(Z: FloatArray, signs: FloatArray) -> float:
    """Return the mean diagonal of the kernel Z Z' of a factor without negative signs.

    Parameters
    ----------
    Z : ndarray of shape (N, r)
    signs : ndarray of shape (r,)

    Raises
    ------
    InputError
        If a sign is negative, or all rows are zero. With a negative sign the dual is not concave:
        what a solver then returns is up to the solver.
    """
    negative = int(np.count_nonzero(np.asarray(signs) < 0))
    if negative:
        raise InputError(
            f"support vector machine: the kernel has {negative} negative eigenvalues, so its dual "
            "has no single optimum. Give the recipe a correction: flip, clip, square or shift."
        )
    scale = float(np.einsum("ij,ij->", Z, Z)) / len(Z)
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(
            "support vector machine: all training rows are zero (or not finite), so nothing can be "
            "learned: choose other landmarks, or check the scores."
        )
    return scale


def standardisation(C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of each column; 1 for a constant one."""
    mean, deviation = C.mean(axis=0), C.std(axis=0)
    deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0  # it tells nothing
    return mean, deviation
