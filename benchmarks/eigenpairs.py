"""Eigenpairs of an indefinite Nyström kernel: by QR of the factor, and by the squared matrix.

    python benchmarks/eigenpairs.py             N = 100,000, m = 1,000: 5 GB, some minutes
    python benchmarks/eigenpairs.py --quick     a look whether it runs

The kernel K = Q diag(a) Q' is made from known eigenpairs, of rank m or m/2, and both ways begin
with the same columns C = K[:, S] and W = K[S, S] of m rows S:

* ours (oglic2019 2.2): W gives the factor Z = C P, then Z = QR, R diag(s) R' = V diag(a) V' and the
  eigenvectors Z T;
* the squared matrix (gisbrecht2015 5.2, schleif2018 3.2): the eigenvectors of the positive
  semi-definite K^2 = C W^+ C'C W^+ C' are taken for those of K, and a = diag(C_e' K C_e).

Both run on one thread with the same BLAS, in turn, and both form all eigenvectors. Printed are the
best times and the errors: of the eigenvalues relative to the largest, of the orthogonality
(largest entry of C_e'C_e - I), and of the flipped kernel (Frobenius, relative). The exit code is 1
if ours is less accurate (above 1e-12) or slower anywhere.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kreinflow.base.numerics import RANK_TOLERANCE, TILE, tiled_product
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor

Array = NDArray[np.float64]


ROUNDING = 1e-12
"""Errors below it are not compared."""


class Kernel(NamedTuple):
    """Known eigenpairs, and what a method is given."""

    vectors: Array
    values: Array
    C: Array
    W: Array


def signs(rng: np.random.Generator, rank: int) -> Array:
    return rng.choice([-1.0, 1.0], rank)


SPECTRA: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "1/k, random signs": lambda rng, rank: signs(rng, rank) / np.arange(1, rank + 1),
    "flat from 1 to 2, random signs": lambda rng, rank: signs(rng, rank) * np.linspace(2, 1, rank),
    "pairs a, -a": lambda rng, rank: (
        np.repeat(np.linspace(3, 1, rank // 2), 2) * np.tile([1.0, -1.0], rank // 2)
    ),
    "down to 1e-8, random signs": lambda rng, rank: signs(rng, rank) * np.logspace(0, -8, rank),
}


def make(n: int, m: int, rank: int, spectrum: str) -> Kernel:
    rng = np.random.default_rng(1)
    vectors = np.linalg.qr(rng.normal(size=(n, rank)))[0]
    values = SPECTRA[spectrum](rng, rank)
    landmarks = vectors[:m]  # the rows are exchangeable
    C = (vectors * values) @ landmarks.T
    return Kernel(vectors, values, C, C[:m].copy())


def ours(kernel: Kernel) -> tuple[Array, Array]:
    # The factor's map depends on W alone; some rows are enough to make it.
    head = np.zeros(TILE)
    factor = KreinFactor.fit(kernel.C[:TILE], kernel.W, head[: len(kernel.C)], rank=1.0)
    Z = factor.transform(kernel.C)
    pairs = eigenpairs(Z, factor.signs)
    return tiled_product(Z, pairs.map), pairs.values


def squared_matrix(kernel: Kernel) -> tuple[Array, Array]:
    C, W = kernel.C, kernel.W
    inverse = np.linalg.pinv(W, rcond=RANK_TOLERANCE, hermitian=True)
    middle = inverse @ (C.T @ C) @ inverse
    values, U = scipy.linalg.eigh((middle + middle.T) / 2)
    # The squares of eigenvalues below 3e-7 of the largest are lost in rounding.
    kept = values > 1e-13 * values[-1]
    B = C @ (U[:, kept] * np.sqrt(values[kept]))
    squares, V = scipy.linalg.eigh(B.T @ B)
    kept = squares > 1e-13 * squares[-1]
    vectors = B @ (V[:, kept] / np.sqrt(squares[kept]))
    inner = C.T @ vectors
    return vectors, np.einsum("ij,ij->j", inner, inverse @ inner)


def errors(kernel: Kernel, vectors: Array, values: Array) -> tuple[float, float, float]:
    true = np.sort(kernel.values)
    found = np.sort(np.concatenate([values, np.zeros(max(0, len(true) - len(values)))]))
    # Surplus pairs count as errors too: they belong to eigenvalues that are zero.
    true = np.sort(np.concatenate([true, np.zeros(len(found) - len(true))]))
    of_values = float(np.abs(found - true).max() / np.abs(true).max())
    gram = vectors.T @ vectors
    of_angles = float(np.abs(gram - np.eye(len(gram))).max())
    cross = kernel.vectors.T @ vectors
    a, b = np.abs(kernel.values), np.abs(values)
    # Both kernels in an orthonormal basis of the true eigenvectors and what lies beside them.
    rest = vectors - kernel.vectors @ cross
    R = np.linalg.qr(rest, mode="r")
    left = np.vstack([np.eye(len(a)), np.zeros((len(R), len(a)))])
    right = np.vstack([cross, R])
    difference = (left * a) @ left.T - (right * b) @ right.T
    return of_values, of_angles, float(np.linalg.norm(difference) / np.linalg.norm(a))


def compare(n: int, m: int, repeats: int) -> bool:
    ways = {"ours": ours, "squared matrix": squared_matrix}
    print(f"\nN = {n:,}, m = {m:,}, {repeats} repeats in turn, one thread\n")
    print("| rank | spectrum | way | seconds | eigenvalues | orthogonality | flipped kernel |")
    print("|---|---|---|---|---|---|---|")
    met = True
    for rank in (m, m // 2):
        for spectrum in SPECTRA:
            kernel = make(n, m, rank, spectrum)
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            found: dict[str, tuple[float, float, float]] = {}
            for _ in range(repeats):
                for way, run in ways.items():
                    start = time.perf_counter()
                    vectors, values = run(kernel)
                    seconds[way].append(time.perf_counter() - start)
                    found.setdefault(way, errors(kernel, vectors, values))
            for way in ways:
                shown = " | ".join(f"{error:.0e}" for error in found[way])
                print(f"| {rank} | {spectrum} | {way} | {min(seconds[way]):.1f} | {shown} |")
            ratio = min(seconds["ours"]) / min(seconds["squared matrix"])
            better = all(
                a <= max(b, ROUNDING)
                for a, b in zip(found["ours"], found["squared matrix"], strict=True)
            )
            met &= better and ratio <= 1
            print(
                f"| {rank} | {spectrum} | ratio of times | {ratio:.2f} | "
                f"{'more accurate' if better else 'LESS ACCURATE'} | | |"
            )
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="N = 5,000, m = 100, one repeat")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with threadpool_limits(1):
        size = (5_000, 100, 1) if given.quick else (100_000, 1_000, given.repeats)
        return 0 if compare(*size) else 1


if __name__ == "__main__":
    sys.exit(main())
