"""Linear systems that are positive definite but for rounding."""

import numpy as np
import scipy

from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import FloatArray


def solve_positive(
    A: FloatArray, b: FloatArray, shift: FloatArray | float, otherwise: KreinflowError | str
) -> FloatArray:
    """Solve (A + diag(shift)) x = b for a positive semidefinite A, which may be overwritten.

    ``otherwise`` is raised if the sum is not positive definite in the precision of the machine, or
    the solution is not finite; of a text, a KreinflowError.
    """
    A.flat[:: len(A) + 1] += shift
    # The transpose is what LAPACK calls columns: it needs no copy.
    _, x, failed = scipy.linalg.lapack.dposv(A.T, b, lower=0, overwrite_a=1)
    if failed or not np.isfinite(x).all():  # of NaN, LAPACK does not say that it failed
        raise otherwise if isinstance(otherwise, KreinflowError) else KreinflowError(otherwise)
    return np.asarray(x)
