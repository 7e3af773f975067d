"""Dense kernels, and the factors of some of their columns."""

import numpy as np

from kreinflow.krein.factor import KreinFactor


def kernel_of(spectrum, rng):
    """A dense symmetric matrix with the given eigenvalues."""
    Q = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))[0]
    return (Q * spectrum) @ Q.T


def fit(K, landmarks, **options):
    C = K[:, landmarks]
    factor = KreinFactor.fit(C, C[landmarks], np.diag(K).copy(), **options)
    return factor, factor.transform(C)


def approximation(factor, Z):
    return (Z * factor.signs) @ Z.T
