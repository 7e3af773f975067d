"""Kernels that are functions of the Euclidean distance."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.pairs import power, squared_distances
from kreinflow.numerics import FloatArray
from kreinflow.settings import SettingsSchema


def _width(description: str, default: float = 1.0) -> dict[str, Any]:
    return {
        "description": description,
        "type": "number",
        "exclusiveMinimum": 0,
        "default": default,
    }


def _power(description: str, maximum: int) -> dict[str, Any]:
    return {
        "description": description,
        "type": "integer",
        "minimum": 1,
        "maximum": maximum,
        "default": 1,
    }


class RadialKernel(Kernel):
    """A function of the squared distance r^2 = (x - y)'(x - y), elementwise."""

    @abstractmethod
    def function(self, squares: FloatArray) -> FloatArray:
        """Return the kernel from squared distances."""

    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        """See :meth:`Kernel.columns`."""
        return self.function(squared_distances(X, Y))

    def diagonal(self, X: Objects) -> FloatArray:
        """See :meth:`Kernel.diagonal`."""
        return self.function(np.zeros(len(X)))


def _gaussian(squares: FloatArray, width: float) -> FloatArray:
    return np.exp(squares / (-2 * width * width))


class GaussianKernel(RadialKernel):
    r""":math:`k(x, y) = \exp(-r^2 / (2 \sigma^2))`; positive definite."""

    name = "gaussian"
    settings_schema: ClassVar[SettingsSchema] = {
        "width": _width("sigma of exp(-r^2 / (2 sigma^2))")
    }

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        return f"the Gaussian kernel of width {self.settings['width']:g}"

    def function(self, squares: FloatArray) -> FloatArray:
        """See :meth:`RadialKernel.function`."""
        return _gaussian(squares, self.settings["width"])


class DifferenceOfGaussiansKernel(RadialKernel):
    r""":math:`k(x, y) = \exp(-r^2 / (2 \sigma^2)) - \exp(-r^2 / (2 \tau^2))`; indefinite.

    Its diagonal is 0, so its eigenvalues sum to 0 and the negative eigen-fraction is one half.
    That is the figure which oglic2019 (figure 1) gives for all its data sets, which implies the
    equal weights; the widths are not given there.
    """

    name = "difference_of_gaussians"
    settings_schema: ClassVar[SettingsSchema] = {
        "width": _width("sigma: width of the Gaussian that counts positive"),
        "subtracted_width": _width("tau: width of the Gaussian that is subtracted", 2.0),
    }

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        return (
            "the difference of two Gaussian kernels, of the widths "
            f"{self.settings['width']:g} and {self.settings['subtracted_width']:g}"
        )

    def function(self, squares: FloatArray) -> FloatArray:
        """See :meth:`RadialKernel.function`."""
        return _gaussian(squares, self.settings["width"]) - _gaussian(
            squares, self.settings["subtracted_width"]
        )


class GaussianCombinationKernel(RadialKernel):
    r"""Two Gaussians less a third, of widths :math:`\sigma_1, \sigma_2, \sigma_3`; indefinite.

    .. math:: k(x, y) = e^{-r^2 / (2 \sigma_1^2)} + e^{-r^2 / (2 \sigma_2^2)}
              - e^{-r^2 / (2 \sigma_3^2)}

    References
    ----------
    Ong, Mary, Canu & Smola (2004), ICML 21, doi 10.1145/1015330.1015443, list such kernels.
    """

    name = "gaussian_combination"
    references = ("ong2004",)
    settings_schema: ClassVar[SettingsSchema] = {
        "width": _width("width of the first Gaussian"),
        "second_width": _width("width of the second Gaussian", 0.5),
        "subtracted_width": _width("width of the Gaussian that is subtracted", 2.0),
    }

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        return (
            "the sum of two Gaussian kernels less a third, of the widths "
            f"{self.settings['width']:g}, {self.settings['second_width']:g} and "
            f"{self.settings['subtracted_width']:g}"
        )

    def function(self, squares: FloatArray) -> FloatArray:
        """See :meth:`RadialKernel.function`."""
        return (
            _gaussian(squares, self.settings["width"])
            + _gaussian(squares, self.settings["second_width"])
            - _gaussian(squares, self.settings["subtracted_width"])
        )


class EpanechnikovKernel(RadialKernel):
    r""":math:`k(x, y) = \max(0, 1 - r^2 / \sigma^2)^p`; indefinite in any dimension.

    (Its Fourier transform is a Bessel function over a power, which changes its sign.)

    References
    ----------
    Ong, Mary, Canu & Smola (2004), ICML 21, doi 10.1145/1015330.1015443, list it.
    """

    name = "epanechnikov"
    references = ("ong2004",)
    settings_schema: ClassVar[SettingsSchema] = {
        "width": _width("sigma of max(0, 1 - r^2 / sigma^2)^p"),
        "power": _power("p of max(0, 1 - r^2 / sigma^2)^p", 100),
    }

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        return (
            f"the Epanechnikov kernel of width {self.settings['width']:g} "
            f"and power {self.settings['power']}"
        )

    def function(self, squares: FloatArray) -> FloatArray:
        """See :meth:`RadialKernel.function`."""
        width = self.settings["width"]
        return power(np.maximum(0, 1 - squares / (width * width)), self.settings["power"])


class MultiquadricKernel(RadialKernel):
    r""":math:`k(x, y) = \sqrt{r^2 / \sigma^2 + c^2}`; one positive eigenvalue, else negative.

    References
    ----------
    Ong, Mary, Canu & Smola (2004), ICML 21, doi 10.1145/1015330.1015443, list it.
    """

    name = "multiquadric"
    references = ("ong2004",)
    settings_schema: ClassVar[SettingsSchema] = {
        "width": _width("sigma of sqrt(r^2 / sigma^2 + c^2)"),
        "constant": _width("c of sqrt(r^2 / sigma^2 + c^2)"),
    }

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        return (
            f"the multiquadric kernel of width {self.settings['width']:g} "
            f"and constant {self.settings['constant']:g}"
        )

    def function(self, squares: FloatArray) -> FloatArray:
        """See :meth:`RadialKernel.function`."""
        width, constant = self.settings["width"], self.settings["constant"]
        out: FloatArray = np.sqrt(squares / (width * width) + constant * constant)
        return out


class ThinPlateSplineKernel(RadialKernel):
    r""":math:`k(x, y) = (r / \sigma)^{2p} \ln (r^2 / \sigma^2)`, 0 at r = 0; indefinite.

    References
    ----------
    Ong, Mary, Canu & Smola (2004), ICML 21, doi 10.1145/1015330.1015443, list it.
    """

    name = "thin_plate_spline"
    references = ("ong2004",)
    settings_schema: ClassVar[SettingsSchema] = {
        "width": _width("sigma of (r/sigma)^(2p) ln(r^2/sigma^2)"),
        "power": _power("p of (r/sigma)^(2p) ln(r^2/sigma^2)", 10),
    }

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        return (
            f"the thin plate spline of width {self.settings['width']:g} "
            f"and power {self.settings['power']}"
        )

    def function(self, squares: FloatArray) -> FloatArray:
        """See :meth:`RadialKernel.function`."""
        width = self.settings["width"]
        ratio = squares / (width * width)
        out: FloatArray = np.log(np.where(ratio > 0, ratio, 1.0))
        return out * power(ratio, self.settings["power"])
