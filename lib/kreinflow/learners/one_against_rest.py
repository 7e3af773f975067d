"""One class against the rest, with targets of +1 and -1."""

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
