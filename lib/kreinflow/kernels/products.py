"""Kernels that are functions of inner products."""

from typing import ClassVar

import numpy as np

from kreinflow.base.numerics import FloatArray, tiled_product, tiles
from kreinflow.base.settings import SettingsSchema, number, positive_number, whole_number
from kreinflow.kernels.kernel import Objects
from kreinflow.kernels.pairs import VectorKernel, inner_product, power


class LinearKernel(VectorKernel):
    r"""The inner product, :math:`k(x, y) = x'y`; positive semidefinite."""

    name = "linear"
    phrase = "the linear kernel"

    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return inner_product(x, y)


class PolynomialKernel(VectorKernel):
    r""":math:`k(x, y) = (x'y + c)^d`; positive semidefinite for c >= 0."""

    name = "polynomial"
    phrase = "the polynomial kernel of degree {degree} (constant {constant:g})"
    settings_schema: ClassVar[SettingsSchema] = {
        "degree": whole_number("d of (x'y + c)^d", 100, 2),
        "constant": number("c of (x'y + c)^d", 1.0, minimum=0),
    }

    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return power(inner_product(x, y) + self.settings["constant"], self.settings["degree"])


class SigmoidKernel(VectorKernel):
    r""":math:`k(x, y) = \tanh(a\, x'y + b)`; indefinite, strongly so for b < 0."""

    name = "sigmoid"
    phrase = "the sigmoid kernel (slope {slope:g}, offset {offset:g})"
    settings_schema: ClassVar[SettingsSchema] = {
        "slope": positive_number("a of tanh(a x'y + b)"),
        "offset": number("b of tanh(a x'y + b)", -1.0),
    }

    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        slope, offset = self.settings["slope"], self.settings["offset"]
        return np.asarray(np.tanh(slope * inner_product(x, y) + offset))


class ELMKernel(VectorKernel):
    r"""The extreme learning machine kernel: a network of infinitely many random erf units.

    .. math:: k(x, y) = \frac{2}{\pi} \arcsin \frac{1 + x'y}
              {\sqrt{\left(\frac{1}{2 \sigma^2} + 1 + x'x\right)
              \left(\frac{1}{2 \sigma^2} + 1 + y'y\right)}}

    Positive semidefinite. It hardly changes with a large :math:`\sigma`, the standard deviation
    of the random weights; the papers (schleif2018 4.3, schleif2015epcvm III-A, schleif2015pcvm 4,
    gisbrecht2015 6) take it as free of parameters, and so does the default. Frénay & Verleysen,
    Neurocomputing 74:2526-2531 (2011).
    """

    name = "elm"
    phrase = "the extreme learning machine kernel"
    references = ("frenay2011",)
    settings_schema: ClassVar[SettingsSchema] = {
        "deviation": positive_number(
            "standard deviation of the random weights; any large value does", 1e10
        )
    }

    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self.function(inner_product(x, y), inner_product(x, x), inner_product(y, y))

    def function(self, products: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the kernel from x'y, x'x and y'y, which broadcast."""
        deviation = self.settings["deviation"]
        constant = 1 + 0.5 / deviation / deviation
        cosines = (1 + products) / np.sqrt((constant + x) * (constant + y))
        return np.asarray((2 / np.pi) * np.arcsin(np.clip(cosines, -1, 1)))


def elm_kernel(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return :class:`ELMKernel` by matrix products, which are faster and round differently.

    Each row depends on its own row of X alone, bit for bit.
    """
    x, y = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)
    return ELMKernel({}).function(tiled_product(X, np.ascontiguousarray(Y.T)), x[:, None], y)


def elm_expansion(X: FloatArray, support: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the sum over j of k(x, u_j) a_jc for rows x, in the memory of a few tiles.

    ``coefficients`` a_jc are of shape (n_support, n_classes).
    """
    out = np.zeros((len(X), coefficients.shape[1]))
    for rows in tiles(len(X)):
        for part in tiles(len(support)):
            out[rows] += tiled_product(elm_kernel(X[rows], support[part]), coefficients[part])
    return out


class PseudoEuclideanKernel(VectorKernel):
    r"""The inner product of :math:`R^{(p,q)}`: the first p coordinates count +, the others -.

    .. math:: k(x, y) = \sum_{f \le p} x_f y_f - \sum_{f > p} x_f y_f

    schleif2018, section 2.1 and figure 7 (p = q = 1).
    """

    name = "pseudo_euclidean"
    phrase = "the pseudo-Euclidean inner product with p = {positive}"
    settings_schema: ClassVar[SettingsSchema] = {
        "positive": {
            "description": "p: coordinates that count positive, the first ones",
            "type": "integer",
            "minimum": 0,
        }
    }

    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        p = self.settings["positive"]
        return inner_product(np.concatenate([x[:p], -x[p:]]), y)

    def first_fault(self, X: Objects) -> str | None:
        if (p := self.settings["positive"]) <= X.shape[1]:
            return None
        return f"row 1: has {X.shape[1]} coordinates, fewer than positive = {p}. Lower it."
