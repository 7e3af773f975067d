"""One class against the rest, with targets of +1 and -1, and what fits of many classes tell."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray


def fitted_classes(n_classes: int) -> NDArray[np.intp]:
    """Return the class codes to fit: of two classes the second alone, for the first mirrors it."""
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def with_mirror(
    coef: FloatArray, intercept: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return weights and intercepts of all classes: of two, the first is minus the second."""
    if n_classes == 2 and len(intercept) == 1:
        return np.hstack([-coef, coef]), np.hstack([-intercept, intercept])
    return coef, intercept


def warn_unconverged(message: str) -> None:
    """Warn, with scikit-learn's ConvergenceWarning, that some classes are not at their optimum."""
    from sklearn.exceptions import ConvergenceWarning  # a slow import, seldom needed

    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def warn_missed(converged: NDArray[np.bool_], n_classes: int, message: str) -> None:
    """Warn of the classes that have not converged, if any; ``message`` has {} for their number."""
    if not converged.all():
        missed = int((~np.resize(converged, n_classes)).sum())
        warn_unconverged(message.format(f"{missed} of {n_classes} classes"))


@contextmanager
def warned_once() -> Iterator[None]:
    """Pass on each warning once, and none of those that tell of a fit that has not converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for category, message in dict.fromkeys((w.category, str(w.message)) for w in caught):
        if category.__name__ != "ConvergenceWarning":
            warnings.warn(message, category, stacklevel=4)
