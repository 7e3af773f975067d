"""Eigenpairs, or singular triplets, of the approximated kernel, from its factor alone."""

from dataclasses import dataclass

import numpy as np
import scipy

from kreinflow.base.numerics import RANK_TOLERANCE, FloatArray, single_threaded, tile_map, tiles
from kreinflow.base.tiled_matrix import MatrixLike, gram_matrix
from kreinflow.krein.factor import DegenerateKernelError

_CONDITION_LIMIT = 1e7  # above it CholeskyQR2 loses orthogonality, and no triangle is solved with


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenpairs of K~ = Z diag(s) Z', as a map from Z; or the singular triplets of K~ = Z Y'.

    ``values``, of shape (k,), are the eigenvalues a other than zero, the largest first, or the
    singular values. ``map`` is T, of shape (rank, k): the columns of C_e = Z T are orthonormal
    eigenvectors (left singular vectors), and z(x) T is their extension to a new object; those of Y
    ``dual_map`` are right singular vectors. ``triangle`` is R of Z = Q R, ``n_rows`` is N.
    """

    values: FloatArray
    map: FloatArray
    triangle: FloatArray
    n_rows: int
    dual_map: FloatArray | None = None

    @property
    def signature(self) -> tuple[int, int, int]:
        """The numbers (p, q, N - p - q) of positive, negative and zero eigenvalues."""
        p, q = int(np.count_nonzero(self.values > 0)), int(np.count_nonzero(self.values < 0))
        return p, q, self.n_rows - p - q

    @property
    def negative_fraction(self) -> float:
        """The negative eigen-fraction, sum of ``|a|`` over a < 0 divided by that of all."""
        magnitudes = np.abs(self.values)
        return float(magnitudes[self.values < 0].sum() / magnitudes.sum())


def eigenpairs(Z: MatrixLike, signs: FloatArray) -> Eigenpairs:
    r"""Return the eigenpairs of K~ = Z diag(s) Z', negative eigenvalues included.

    .. math:: Z = Q R, \quad M = R \, diag(s) \, R' = V diag(a) V', \quad C_e = Q V = Z T

    where R T = V if R is square and well conditioned, and else T = diag(s) R' V diag(1/a),
    which is the same matrix for a regular R, and needs no inverse of a singular one (centred
    factors, fewer rows than rank). Unlike the eigenvectors of the squared matrix (schleif2018 3.2,
    gisbrecht2015 5.2), those of a and -a do not mix (oglic2019, section 2.2). A
    DegenerateKernelError if Z is zero.
    """
    with single_threaded():
        R = triangular_factor(Z)
        M = (R * signs) @ R.T
        values, V = scipy.linalg.eigh((M + M.T) / 2, driver="evd")
        values, V = values[::-1], V[:, ::-1]
        largest = np.abs(values).max()
        if largest == 0:
            raise _zero(Z)
        kept = np.abs(values) > RANK_TOLERANCE * largest
        a, V = values[kept].copy(), V[:, kept]
        T = _vector_map(R, V, signs[:, None] * (R.T @ V) / a)
    return Eigenpairs(values=a, map=T, triangle=R, n_rows=Z.shape[0])


def singular_triplets(Z: MatrixLike, Y: MatrixLike) -> Eigenpairs:
    r"""Return the singular value decomposition of an asymmetric K~ = Z Y'.

    .. math:: Z = Q R, \quad Y = Q_2 R_2, \quad R R_2' = V diag(a) V_2', \quad
              \tilde K = (Q V) \, diag(a) \, (Q_2 V_2)'

    with Q V = Z T and Q_2 V_2 = Y T_2, T = R_2' V_2 diag(1/a) and T_2 = R' V diag(1/a), or as in
    :func:`eigenpairs`. Schleif, Chen & Tino (IJCNN 2015, section II-E) take the eigenvectors of
    K~ K~' and K~' K~, each approximated by the same landmarks, which costs digits.
    """
    with single_threaded():
        R, R2 = triangular_factor(Z), triangular_factor(Y)
        V, values, V2t = scipy.linalg.svd(R @ R2.T, lapack_driver="gesdd")
        if values[0] == 0:
            raise _zero(Z)
        kept = values > RANK_TOLERANCE * values[0]
        a, V, V2 = values[kept].copy(), V[:, kept], V2t[kept].T
        T, T2 = _vector_map(R, V, R2.T @ V2 / a), _vector_map(R2, V2, R.T @ V / a)
    return Eigenpairs(a, T, R, Z.shape[0], T2)


def _vector_map(R: FloatArray, V: FloatArray, without_inverse: FloatArray) -> FloatArray:
    regular = R.shape[0] == R.shape[1] and _condition(R) < _CONDITION_LIMIT
    return np.ascontiguousarray(scipy.linalg.solve_triangular(R, V) if regular else without_inverse)


def _zero(Z: MatrixLike) -> DegenerateKernelError:
    return DegenerateKernelError(
        f"all {Z.shape[0]} rows are the same to the landmarks, so the kernel is zero "
        "and has no eigenvectors: choose other landmarks, or check the scores."
    )


def triangular_factor(Z: MatrixLike) -> FloatArray:
    """Return R of Z = Q R, (min(n, rank), rank), in memory of one tile; Q is never formed.

    CholeskyQR2 (Yamamoto et al., Electron. Trans. Numer. Anal. 44, 306-326, 2015) if Z is well
    conditioned, else Householder QR over tiles of rows.
    """
    with single_threaded():
        R = _cholesky_qr2(Z) if Z.shape[0] >= Z.shape[1] else None
        if R is None:
            R = np.empty((0, Z.shape[1]))
            for rows in tiles(Z.shape[0]):
                R = np.asarray(np.linalg.qr(np.vstack([R, Z[rows]]), mode="r"))
        return R


def _cholesky_qr2(Z: MatrixLike) -> FloatArray | None:
    try:
        first = scipy.linalg.cholesky(gram_matrix(Z))
    except scipy.linalg.LinAlgError:
        return None
    if not _condition(first) < _CONDITION_LIMIT:
        return None

    def product_of_orthonormal(rows: slice) -> FloatArray:
        Q = scipy.linalg.blas.dtrsm(1.0, first, Z[rows].T, trans_a=1).T
        return np.asarray(Q.T @ Q)

    gram = np.zeros_like(first)
    for part in tile_map(product_of_orthonormal, Z.shape[0]):
        gram += part
    R: FloatArray = np.triu(scipy.linalg.cholesky(gram) @ first)
    return R


def _condition(R: FloatArray) -> float:
    """Estimate the condition number of an upper triangle in the 1-norm."""
    reciprocal, _ = scipy.linalg.lapack.dtrcon(R)
    return float(1 / reciprocal) if reciprocal > 0 else float("inf")
