"""The Nyström factor of an indefinite kernel."""

import warnings
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import (
    RANK_TOLERANCE,
    FloatArray,
    single_threaded,
    tile_map,
    tiled_product,
)
from kreinflow.base.tiled_matrix import MatrixLike, TiledMatrix

RANK_FRACTIONS = (1.0, 0.9, 2 / 3, 1 / 2, 1 / 3)
"""Shares of the numerical rank of W among which the misfit chooses."""

MISFIT_WARNING = 0.5
"""Relative misfit above which the factor says that it is a poor one."""

Rank = Literal["misfit"] | int | float


class DegenerateKernelError(InputError, ValueError):
    """The kernel is zero, or all of it was removed."""


@dataclass(frozen=True, eq=False)
class Embedding:
    r"""A linear map from landmark scores to a pseudo-Euclidean space: all that a learner sees.

    .. math:: z(x) = k_S(x) M - o, \qquad \tilde k(x, y) = z(x) \, diag(s) \, z(y)'

    Of an asymmetric kernel the second object has a row of its own, from the scores of the
    landmarks with it: :math:`\tilde k(x, y) = z(x) (k(S, y)' D)'`. New objects come first.

    ``matrix`` is M, (n_landmarks, rank); ``offset`` is o, the mean of the training rows if the
    embedding is centred, else zeros; ``signs`` are s, +1 or -1, all +1 of an asymmetric kernel;
    ``dual`` is D, None if the kernel is symmetric.
    """

    matrix: FloatArray
    offset: FloatArray
    signs: FloatArray
    dual: FloatArray | None = field(default=None, kw_only=True)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return int(self.matrix.shape[1])

    def transform(self, C: NDArray[np.floating]) -> FloatArray:
        """Return Z = C M - o; each row depends on its own row of C alone, bit for bit.

        C, of shape (n, n_landmarks), are scores with the landmarks.
        """
        Z = tiled_product(C, self.matrix)
        Z -= self.offset
        return Z

    def rows(self, C: MatrixLike) -> MatrixLike:
        """Return :meth:`transform` of C, never whole in memory if that is too large."""
        shape = (C.shape[0], self.rank)
        return TiledMatrix(shape, lambda places: self.transform(C[places])).stored()

    def functions(self, reverse: MatrixLike) -> TiledMatrix:
        """Return Y = R' D of an asymmetric kernel, so that K~ = Z Y'; made when it is read.

        R', of shape (n, n_landmarks), are the scores of the landmarks with objects.
        """
        D = self.dual
        assert D is not None, "the kernel is symmetric"
        shape = (reverse.shape[0], self.rank)
        return TiledMatrix(shape, lambda places: tiled_product(reverse[places], D))


@dataclass(frozen=True, eq=False)
class KreinFactor(Embedding):
    r"""The Nyström factor (Z, s) of a possibly indefinite, possibly asymmetric kernel.

    With the columns C = K[:, S] of the landmarks S and W = K[S, S] = U diag(l) U',

    .. math:: P = U |l|^{-1/2}, \quad Z = C P, \quad s = sign(l), \quad
              \tilde K = Z \, diag(s) \, Z' = C W^+ C',

    over the ``rank`` largest ``|l|``. An indefinite W has tiny ``|l|`` in the middle of its
    spectrum, where the untruncated form blows up [2]_; so the rank is chosen by the smallest misfit
    of the self-scores, which are known (:func:`misfits_of_ranks`). Make one by :meth:`fit`.

    An asymmetric kernel has the rows R = K[S, :] too, and the singular values of W,
    W = A diag(l) B'. It gets the generalised Nyström approximation [3]_,

    .. math:: P = B l^{-1/2}, \quad D = A l^{-1/2}, \quad Z = C P, \quad Y = R' D, \quad
              \tilde K = Z Y' = C W^+ R,

    which is K itself if W has the rank of K.

    ``landmark_eigenvalues`` are all l, by falling magnitude, or the singular values of W;
    ``misfit`` is the relative one of the rank taken, ``misfits`` have those that were tried.

    References
    ----------
    .. [1] Oglic, D., Gärtner, T.: Scalable learning in reproducing kernel Krein spaces.
       ICML 2019, PMLR 97, section 2.1.
    .. [2] Nakatsukasa, Y., Park, T.: Randomized low-rank approximation for symmetric indefinite
       matrices. SIAM J. Matrix Anal. Appl. 44, 1370-1392 (2023).
    .. [3] Schleif, F.-M., Chen, H., Tino, P.: Incremental probabilistic classification vector
       machine with linear costs. IJCNN 2015, section II-E.
    """

    landmark_eigenvalues: FloatArray
    misfit: float
    misfits: dict[int, float]

    @classmethod
    def fit(
        cls,
        C: MatrixLike,
        W: NDArray[np.floating],
        self_similarities: NDArray[np.floating],
        rank: Rank = "misfit",
        centre: bool = False,
        reverse: MatrixLike | None = None,
    ) -> "KreinFactor":
        """Factor the kernel from its landmark columns.

        C, of shape (n, n_landmarks), are those of the training rows, ``self_similarities`` their
        k_ii. Of W (W + W')/2 is used; an asymmetric kernel has ``reverse``, R', in the shape of C.
        ``rank`` is a whole number, or a fraction of the numerical rank of W; the default takes that
        of :data:`RANK_FRACTIONS` with the smallest misfit. ``centre`` subtracts the mean of the
        training rows from Z, as dissimilarities want. A DegenerateKernelError if W is zero.
        """
        with single_threaded():
            eigenvalues, U, A = _decomposed(np.asarray(W, np.float64), symmetric=reverse is None)
            magnitudes = np.abs(eigenvalues)
            numerical_rank = int(np.count_nonzero(magnitudes > RANK_TOLERANCE * magnitudes[0]))
            ranks = _candidate_ranks(rank, numerical_rank)
            kept = slice(0, ranks[0])
            P = U[:, kept] / np.sqrt(magnitudes[kept])
            signs = np.sign(eigenvalues[kept])
            D = None if A is None else A[:, kept] / np.sqrt(magnitudes[kept])
            other = None if reverse is None or D is None else (reverse, D)
            misfits, mean = misfits_of_ranks(C, P, signs, self_similarities, ranks, other)
        chosen = min(ranks, key=lambda r: misfits[r])  # the larger rank if two are equal
        if misfits[chosen] > MISFIT_WARNING:
            warnings.warn(
                f"the factor misses {misfits[chosen]:.0%} of the self-scores "
                f"({W.shape[0]} landmarks, rank {chosen}): take more landmarks (candidates, if it "
                "is the factor of a class; rows, if it is that of a sketch), or a score transform "
                "whose spectrum decays faster.",
                stacklevel=2,
            )
        return cls(
            matrix=np.ascontiguousarray(P[:, :chosen]),
            offset=mean[:chosen].copy() if centre else np.zeros(chosen),
            signs=signs[:chosen].copy(),
            dual=None if D is None else np.ascontiguousarray(D[:, :chosen]),
            landmark_eigenvalues=eigenvalues,
            misfit=misfits[chosen],
            misfits=misfits,
        )


def _decomposed(W: FloatArray, symmetric: bool) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return l, B, A of W = A diag(l) B', by falling magnitude; l, U, None if it is symmetric."""
    A: FloatArray | None = None
    # Divide and conquer: its backward error is the smallest, and 1/|l| makes much of it.
    if symmetric:
        eigenvalues, U = scipy.linalg.eigh((W + W.T) / 2, driver="evd")
        order = np.argsort(-np.abs(eigenvalues), kind="stable")
        eigenvalues, U = eigenvalues[order], U[:, order]
    else:
        A, eigenvalues, Bt = scipy.linalg.svd(W, lapack_driver="gesdd")
        U = Bt.T
    if eigenvalues[0] == 0:
        raise DegenerateKernelError(
            f"all scores among the {W.shape[0]} landmarks are zero, so no factor exists: "
            "choose other landmarks, or check the scores and their transform."
        )
    return eigenvalues, U, A


def _candidate_ranks(rank: Rank, numerical_rank: int) -> list[int]:
    if rank == "misfit":
        return sorted({max(1, round(f * numerical_rank)) for f in RANK_FRACTIONS}, reverse=True)
    if isinstance(rank, int):
        return [min(rank, numerical_rank)]
    return [max(1, round(rank * numerical_rank))]


def misfits_of_ranks(
    C: MatrixLike,
    P: FloatArray,
    signs: FloatArray,
    self_similarities: NDArray[np.floating],
    ranks: list[int],
    other: tuple[MatrixLike, FloatArray] | None = None,
) -> tuple[dict[int, float], FloatArray]:
    r"""Return the relative misfit of each rank r, and the mean of the rows of Z, in one pass.

    .. math:: Z = C P, \qquad
              \sum_i | \sum_{j \le r} s_j z_{ij}^2 - k_{ii} | \, / \sum_i |k_{ii}|

    Of an asymmetric kernel :math:`z_{ij} y_{ij}` with Y = R' D stands for :math:`s_j z_{ij}^2`;
    ``other`` is the pair of R' and D. The divisor is n mean ``|C|`` where all k_ii are zero, as in
    a matrix of dissimilarities.
    """
    n = C.shape[0]
    last = np.array(ranks) - 1

    def sums(rows: slice) -> tuple[FloatArray, float, FloatArray]:
        block, own = np.asarray(C[rows], dtype=np.float64), np.asarray(self_similarities[rows])
        Z = tiled_product(block, P)
        Y = Z * signs
        if other is not None:
            Y = tiled_product(np.asarray(other[0][rows], dtype=np.float64), other[1])
        # One cumulative sum over the columns gives the self-scores of every rank at once.
        scores = np.cumsum(Z * Y, axis=1)[:, last]
        missed: FloatArray = np.abs(scores - own[:, None]).sum(axis=0)
        return Z.sum(axis=0), float(np.abs(block).mean(axis=1).sum()), missed

    total, magnitude, misses = np.zeros(P.shape[1]), 0.0, np.zeros(len(ranks))
    for part, size, missed in tile_map(sums, n):
        total += part
        magnitude += size
        misses += missed
    scale = float(np.abs(self_similarities).sum()) or magnitude
    return dict(zip(ranks, (misses / scale).tolist(), strict=True)), total / n
