"""Linear systems that are positive definite but for rounding."""

import numpy as np

from kreinflow.base.errors import KreinflowError
from kreinflow.base.lapack import solve_by_cholesky
from kreinflow.base.numerics import FloatArray


def solve_positive(
    A: FloatArray, b: FloatArray, shift: FloatArray | float, otherwise: KreinflowError | str
) -> FloatArray:
    """Solve (A + diag(shift)) x = b for a positive semidefinite A, which may be overwritten.

    ``otherwise`` is raised if the sum is not positive definite in the precision of the machine, or
    the solution is not finite; of a text, a KreinflowError.
    """
    A.flat[:: len(A) + 1] += shift
    x, solved = solve_by_cholesky(A, b)
    if not solved or not np.isfinite(x).all():  # of NaN, LAPACK does not say that it failed
        raise otherwise if isinstance(otherwise, KreinflowError) else KreinflowError(otherwise)
    return x
