"""Corrections of the spectrum of the approximated kernel, in and out of sample."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.linalg

from kreinflow.krein.double_centring import landmark_mds
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import DegenerateKernelError, Embedding
from kreinflow.numerics import RANK_TOLERANCE, FloatArray, single_threaded

Correction = Literal["none", "flip", "clip", "square", "shift"]

CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
"""The names that :func:`correct` knows."""

LandmarkCoordinates = Literal["landmark_basis", "flip_landmark_matrix", "landmark_mds"]

LANDMARK_COORDINATES: tuple[LandmarkCoordinates, ...] = get_args(LandmarkCoordinates)
"""Embeddings that keep the coordinates Z of the landmarks' own factor; see :func:`embed`."""


def correct(values: FloatArray, method: Correction) -> FloatArray:
    r"""Return the corrected eigenvalues a*.

    ======  ==================================================================
    none    a
    flip    ``|a|``
    clip    max(a, 0)
    square  a^2
    shift   a + max(0, -min a), a *shift on the span* of the factor (gisbrecht2015 eq. 8)
    ======  ==================================================================

    The shift leaves the N - rank eigenvalues zero that the factor does not see. To raise these
    too would add d I to the kernel, which has no factor of low rank and adds nothing for a new
    object.

    Parameters
    ----------
    values : ndarray of shape (k,)
        The eigenvalues a of the factor other than zero.
    method : {"none", "flip", "clip", "square", "shift"}

    Raises
    ------
    ValueError
        If the method is unknown.

    References
    ----------
    .. [1] Gisbrecht, A., Schleif, F.-M.: Metric and non-metric proximity transformations at
       linear costs. Neurocomputing 167, 643-657 (2015). doi:10.1016/j.neucom.2015.04.017

    Examples
    --------
    >>> correct(np.array([3.0, -1.0]), "shift").tolist()
    [4.0, 0.0]
    """
    if method == "none":
        return values.copy()
    if method == "flip":
        return np.abs(values)
    if method == "clip":
        return np.maximum(values, 0.0)
    if method == "square":
        return values**2
    if method == "shift":
        shifted: FloatArray = values + max(0.0, -float(values.min()))
        return shifted
    raise ValueError(f"correction {method!r}: give one of {', '.join(CORRECTIONS)}.")


@dataclass(frozen=True, eq=False)
class CorrectedFactor(Embedding):
    r"""The factor in its eigenbasis, with a corrected spectrum.

    .. math:: z^*(x) = z(x) \, T \, |a^*|^{1/2}, \qquad s^* = sign(a^*)

    so that Z* diag(s*) Z*' = C_e diag(a*) C_e'. Its signs are all +1 but for "none".
    This flips K~, not W: see :func:`flip_landmark_matrix` for the other.

    Parameters
    ----------
    matrix, offset, signs
        See :class:`~kreinflow.krein.factor.Embedding`; the map starts at the landmark scores.
    values : ndarray of shape (rank,)
        a*, those other than zero.
    method : str
        One of :data:`CORRECTIONS`, or of :data:`LANDMARK_COORDINATES`, whose axes are not
        eigenvectors.
    """

    values: FloatArray
    method: Correction | LandmarkCoordinates

    @property
    def same_kernel(self) -> bool:
        """Whether Z* diag(s*) Z*' approximates the kernel itself, whose diagonal is known."""
        return self.method in ("none", "landmark_basis")

    @classmethod
    def fit(
        cls, factor: Embedding, pairs: Eigenpairs, method: Correction = "none"
    ) -> "CorrectedFactor":
        """Compose the factor, the map to its eigenvectors, and the corrected spectrum.

        Parameters
        ----------
        factor : Embedding
            The map from landmark scores to Z.
        pairs : Eigenpairs
            Those of the same factor's Z over the training rows.
        method : {"none", "flip", "clip", "square", "shift"}

        Raises
        ------
        DegenerateKernelError
            If the correction removes all there is: clip where no eigenvalue is positive.
        """
        corrected = correct(pairs.values, method)
        magnitudes = np.abs(corrected)
        kept = magnitudes > RANK_TOLERANCE * magnitudes.max()
        if not kept.any():
            raise DegenerateKernelError(
                f"correction {method!r} leaves nothing, for no eigenvalue is positive: "
                "choose another correction, or check the sign of the scores."
            )
        with single_threaded():
            scaled = pairs.map[:, kept] * np.sqrt(magnitudes[kept])
            return cls(
                matrix=factor.matrix @ scaled,
                offset=factor.offset @ scaled,
                signs=np.sign(corrected[kept]),
                values=corrected[kept],
                method=method,
            )


def embed(
    factor: Embedding, pairs: Eigenpairs, method: Correction | LandmarkCoordinates
) -> CorrectedFactor:
    r"""Return the embedding that a recipe names: a corrected factor, or the landmarks' own.

    With the rows Z of the landmark factor and its signs s, :data:`LANDMARK_COORDINATES` are

    ====================  ============================  =========================================
    landmark_basis        Z, s                          the coordinates of oglic2019, section 2.4
    flip_landmark_matrix  Z, +1                         what scikit-learn's ``Nystroem`` does
    landmark_mds          columns of Z with s = +1, +1  Landmark MDS, if Z is of dissimilarities
    ====================  ============================  =========================================

    All other names are those of :func:`correct`.

    Parameters
    ----------
    factor : Embedding
        The map from landmark scores to Z.
    pairs : Eigenpairs
        Those of the same factor's Z over the training rows.
    method : str

    Returns
    -------
    CorrectedFactor
        Its ``values`` are the eigenvalues of Z* diag(s*) Z*'.

    Raises
    ------
    DegenerateKernelError
        If nothing is left: no eigenvalue, or no sign, is positive.
    ValueError
        If the method is unknown.
    """
    R = pairs.triangle
    if method == "landmark_basis":
        kept = factor
    elif method == "flip_landmark_matrix":
        kept = flip_landmark_matrix(factor)
    elif method == "landmark_mds":
        kept = landmark_mds(factor)
        R = R[:, factor.signs > 0]
        if kept.rank == 0:
            raise DegenerateKernelError(
                "correction 'landmark_mds' leaves nothing, for the landmark matrix has no positive "
                "eigenvalue: choose another correction, or check the sign of the scores."
            )
    else:
        return CorrectedFactor.fit(factor, pairs, method)
    with single_threaded():
        M = (R * kept.signs) @ R.T
        values = scipy.linalg.eigvalsh((M + M.T) / 2)[::-1]
    values = values[np.abs(values) > RANK_TOLERANCE * np.abs(values).max()]
    return CorrectedFactor(kept.matrix, kept.offset, kept.signs, values.copy(), method)


def flip_landmark_matrix(factor: Embedding) -> Embedding:
    r"""Return the baseline ``C |W|^(-1) C'``: the factor with all its signs taken as +1.

    It is what scikit-learn's ``Nystroem`` makes of an indefinite W, silently. It is *not* the
    flipped kernel, and depends on the landmarks even where K~ = K.
    """
    return Embedding(factor.matrix, factor.offset, np.ones_like(factor.signs))
