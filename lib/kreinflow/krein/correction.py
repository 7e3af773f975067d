"""Corrections of the spectrum of the approximated kernel, in and out of sample."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import RANK_TOLERANCE, FloatArray, single_threaded
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import DegenerateKernelError, Embedding

Correction = Literal["none", "flip", "clip", "square", "shift"]

CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
"""The names that :func:`correct` knows."""

LandmarkCoordinates = Literal["landmark_basis", "flip_landmark_matrix", "landmark_mds"]

LANDMARK_COORDINATES: tuple[LandmarkCoordinates, ...] = get_args(LandmarkCoordinates)
"""Embeddings that keep the coordinates Z of the landmarks' own factor; see :func:`embed`."""

ASYMMETRIC_FORMS = ("none", "landmark_basis")
"""What :func:`embed` makes of an asymmetric kernel: its SVD form, and the generalised one."""


def correct(values: FloatArray, method: str) -> FloatArray:
    """Return the corrected eigenvalues a*.

    ======  ==================================================================
    none    a
    flip    ``|a|``
    clip    max(a, 0)
    square  a^2
    shift   a + max(0, -min a), a *shift on the span* of the factor (gisbrecht2015 eq. 8)
    ======  ==================================================================

    The shift leaves the N - rank eigenvalues zero that the factor does not see: to raise these too
    would add d I to the kernel, which has no factor of low rank and adds nothing for a new object.
    """
    spectra: dict[str, FloatArray] = {
        "none": values.copy(),
        "flip": np.abs(values),
        "clip": np.maximum(values, 0.0),
        "square": values**2,
        "shift": values + max(0.0, -float(values.min())),
    }
    return spectra[method]


@dataclass(frozen=True, eq=False)
class CorrectedFactor(Embedding):
    r"""The factor in its eigenbasis, with a corrected spectrum.

    .. math:: z^*(x) = z(x) \, T \, |a^*|^{1/2}, \qquad s^* = sign(a^*)

    so that Z* diag(s*) Z*' = C_e diag(a*) C_e'. Its signs are all +1 but for "none".

    ``values``, of shape (k,), are the eigenvalues of this kernel other than zero, the singular
    values of an asymmetric one. ``method`` may also be of :data:`LANDMARK_COORDINATES`, whose axes
    are not eigenvectors.
    """

    values: FloatArray
    method: Correction | LandmarkCoordinates

    @property
    def same_kernel(self) -> bool:
        """Whether Z* diag(s*) Z*' approximates the kernel itself, whose diagonal is known."""
        return self.method in ("none", "landmark_basis")


def embed(
    factor: Embedding, pairs: Eigenpairs, method: Correction | LandmarkCoordinates
) -> CorrectedFactor:
    """Return the embedding that a recipe names: a corrected factor, or the landmarks' own.

    With the rows Z of the landmark factor and its signs s, :data:`LANDMARK_COORDINATES` are

    ====================  ============================  =========================================
    landmark_basis        Z, s                          the coordinates of oglic2019, section 2.4
    flip_landmark_matrix  Z, +1                         what scikit-learn's ``Nystroem`` does
    landmark_mds          columns of Z with s = +1, +1  Landmark MDS, of dissimilarities [1]_
    ====================  ============================  =========================================

    The kernel of flip_landmark_matrix is ``C |W|^(-1) C'``. It is *not* the flipped kernel. All
    other names are those of :func:`correct`.

    An asymmetric kernel has no real eigenvalues to correct. Of it ``none`` is the singular value
    decomposition U diag(a) V' of K~ = Z Y', that is ``U a^(1/2)`` for the rows of objects and
    ``V a^(1/2)`` for those of basis functions; ``landmark_basis`` is Z and Y themselves.

    ``pairs`` are those of the factor's Z over the training rows. A DegenerateKernelError if nothing
    is left.

    References
    ----------
    .. [1] de Silva, V., Tenenbaum, J. B.: Sparse multidimensional scaling using landmark points.
       Technical report, Stanford University (2004).
    """
    if method not in LANDMARK_COORDINATES:
        return _in_eigenbasis(factor, pairs, method)
    if factor.dual is not None:
        matrix, dual = factor.matrix, factor.dual
        return CorrectedFactor(matrix, factor.offset, factor.signs, pairs.values, method, dual=dual)
    kept: NDArray[np.bool_] | slice = slice(None)
    if method == "landmark_mds":
        kept = factor.signs > 0
        _check_left(kept, method)
    own = factor.signs[kept]
    signs = own if method == "landmark_basis" else np.ones_like(own)
    R = pairs.triangle[:, kept]
    with single_threaded():
        M = (R * signs) @ R.T
        values = scipy.linalg.eigvalsh((M + M.T) / 2)[::-1]
    values = values[np.abs(values) > RANK_TOLERANCE * np.abs(values).max()]
    matrix = np.ascontiguousarray(factor.matrix[:, kept])
    return CorrectedFactor(matrix, factor.offset[kept], signs, values.copy(), method)


def _in_eigenbasis(
    factor: Embedding, pairs: Eigenpairs, method: Correction | LandmarkCoordinates
) -> CorrectedFactor:
    corrected = correct(pairs.values, method)
    magnitudes = np.abs(corrected)
    kept = magnitudes > RANK_TOLERANCE * magnitudes.max()
    _check_left(kept, method)
    with single_threaded():
        scaled = pairs.map[:, kept] * np.sqrt(magnitudes[kept])
        dual = None
        if factor.dual is not None and pairs.dual_map is not None:
            dual = factor.dual @ (pairs.dual_map * np.sqrt(magnitudes))
        matrix, offset, values = factor.matrix @ scaled, factor.offset @ scaled, corrected[kept]
    return CorrectedFactor(matrix, offset, np.sign(values), values, method, dual=dual)


def _check_left(kept: NDArray[np.bool_], method: str) -> None:
    if not kept.any():
        raise DegenerateKernelError(
            f"correction {method!r} leaves nothing, for no eigenvalue is positive: "
            "choose another correction, or check the sign of the scores."
        )
