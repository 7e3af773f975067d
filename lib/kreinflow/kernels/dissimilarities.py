"""Dissimilarities of vectors and strings. Distances are squared, as the embedding wants them."""

from typing import ClassVar

import numpy as np

from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import SettingsSchema, whole_number
from kreinflow.kernels.kernel import Dissimilarity, Objects, first_negative
from kreinflow.kernels.pairs import VectorKernel, feature_sum, squared_distance

SMALLEST_SHARE = 1e-6
"""Smaller shares of a spectrum count as this one, for their logarithm has no bound."""


class BallKernel(Dissimilarity, VectorKernel):
    r"""The squared distance between the surfaces of two balls.

    .. math:: D(x, y) = \max(0, \lVert c_x - c_y \rVert - r_x - r_y)^2

    A vector is a centre c followed by the radius r. Balls that overlap are at distance 0. The
    distances are not Euclidean: the difference of radii is in the negative part of the embedding.

    Duin & Pekalska (2010), SSPR & SPR, LNCS 6218:324-333, doi 10.1007/978-3-642-14980-1_31;
    used by schleif2018 (4.3), gisbrecht2015 (5.4, 7) and oglic2019 (balls3D).
    """

    name = "ball"
    phrase = "squared distances between the surfaces of balls"
    references = ("duin2010",)

    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        gaps = np.sqrt(squared_distance(x[:-1], y[:-1])) - (x[-1] + y[-1])
        return np.asarray(np.square(np.maximum(gaps, 0.0)))

    def first_fault(self, X: Objects) -> str | None:
        if X.shape[1] < 2:
            return "row 1: has 1 column. A ball is its centre, then its radius."
        return first_negative(X, X.shape[1] - 1, "The last column of a ball is its radius.")


class SpectralInformationDivergence(Dissimilarity, VectorKernel):
    r"""The symmetrised Kullback-Leibler divergence of spectra that are divided by their sum.

    .. math:: D(x, y) = \sum_f (p_f - q_f)(\ln p_f - \ln q_f), \qquad
              p = x / {\textstyle\sum} x, \quad q = y / {\textstyle\sum} y

    It counts as a squared dissimilarity as it is: of near spectra it is quadratic in their
    difference. Shares below :data:`SMALLEST_SHARE` are raised to it. Chang (2000), IEEE Trans. Inf.
    Theory 46:1927-1932, doi 10.1109/18.857802; used by gisbrecht2015 (7) for Pavia and Salinas.
    """

    name = "spectral_information_divergence"
    phrase = "the spectral information divergence"
    references = ("chang2000",)

    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        p, q = _shares(x), _shares(y)
        return feature_sum(p, q, lambda a, b: (a - b) * (np.log(a) - np.log(b)))

    def first_fault(self, X: Objects) -> str | None:
        fault = first_negative(X, 0, "A spectrum has no negative entries.")
        for row in np.flatnonzero(~X.any(axis=1))[:1]:
            return fault or f"row {row + 1}: is 0 everywhere. Remove it, or use another kernel."
        return fault


def _shares(x: FloatArray) -> FloatArray:
    return np.maximum(x / feature_sum(x, x, lambda x_f, _: x_f), SMALLEST_SHARE)


class EditDistance(Dissimilarity):
    """The squared Levenshtein distance of strings: insertions, deletions, substitutions cost 1.

    Levenshtein (1966), Soviet Physics Doklady 10:707-710. Computed by rapidfuzz.
    """

    name = "edit_distance"
    phrase = "squared edit distances"
    strings = True

    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        import rapidfuzz

        distance = rapidfuzz.distance.Levenshtein.distance
        found = rapidfuzz.process.cdist(X.tolist(), Y.tolist(), scorer=distance, dtype=np.int32)
        distances: FloatArray = found.astype(np.float64)
        return distances * distances


class DynamicTimeWarping(Dissimilarity):
    r"""The squared dynamic time warping distance of time series, one a row.

    .. math:: D(x, y) = \min_\pi \sum_{(i, j) \in \pi} (x_i - y_j)^2

    over the warping paths :math:`\pi` from (1, 1) to the ends, which step on in x, in y or in
    both, and with a window w have :math:`|i - j| < w`. Sakoe & Chiba (1978), IEEE Trans. ASSP
    26:43-49, doi 10.1109/TASSP.1978.1163055. Computed by dtaidistance.
    """

    name = "dynamic_time_warping"
    settings_schema: ClassVar[SettingsSchema] = {
        "window": whole_number("warping paths have |i - j| below it; null: no limit", 10**9)
        | {"type": ["integer", "null"], "default": None}
    }

    def describe(self) -> str:
        window = self.settings["window"]
        within = "" if window is None else f" in a window of {window}"
        return f"squared dynamic time warping distances{within}"

    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        from dtaidistance.dtw import distance_fast

        # Pruning by the Euclidean distance loses pairs whose best path is the diagonal: infinity.
        settings = {"window": self.settings["window"], "use_pruning": False}
        # It takes no rows that are read-only, as those of a memory map are.
        X, Y = (np.require(objects, requirements=["C", "W"]) for objects in (X, Y))
        distances: FloatArray = np.array([[distance_fast(x, y, **settings) for y in Y] for x in X])
        return (distances * distances).reshape(len(X), len(Y))
