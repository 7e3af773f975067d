"""The kernels that the config can name. A new one is its class and its line here."""

from collections.abc import Mapping
from typing import Any

from kreinflow.base.settings import by_name, strict_validator
from kreinflow.kernels import dissimilarities, products, radial
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.command import CommandKernel
from kreinflow.kernels.function import FunctionKernel
from kreinflow.kernels.kernel import Kernel
from kreinflow.kernels.pair_table import PairsKernel

KERNELS: dict[str, type[Kernel]] = by_name(
    products.LinearKernel,
    products.PolynomialKernel,
    radial.GaussianKernel,
    products.ELMKernel,
    radial.DifferenceOfGaussiansKernel,
    radial.GaussianCombinationKernel,
    radial.EpanechnikovKernel,
    radial.MultiquadricKernel,
    radial.ThinPlateSplineKernel,
    products.SigmoidKernel,
    products.PseudoEuclideanKernel,
    dissimilarities.BallKernel,
    dissimilarities.SpectralInformationDivergence,
    dissimilarities.DynamicTimeWarping,
    dissimilarities.EditDistance,
)
"""By the name in the config."""

ASKED: dict[str, type[AskedKernel]] = by_name(FunctionKernel, CommandKernel)
"""Code of the user's that compares, by the key of ``score`` in the config."""

_ASKED: dict[str, type[AskedKernel]] = {**ASKED, **by_name(PairsKernel)}
_ALL: dict[str, type[Kernel]] = {**KERNELS, **_ASKED}


def known_kernel(settings: Mapping[str, Any]) -> Kernel:
    """Return the kernel of unchecked settings, such as those of a file; else a ValueError."""
    if settings["name"] not in _ALL:
        raise ValueError(f"its kernel {settings['name']!r} is unknown")
    kernel = make_kernel(settings)
    known = kernel.settings_schema
    schema = {"properties": known, "additionalProperties": False, "required": list(known)}
    if not strict_validator()(schema).is_valid(kernel.settings):
        raise ValueError(f"its settings of the kernel {kernel.name} are not allowed")
    return kernel


def make_kernel(settings: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a ``kernel`` of the config, or of a score of the user's."""
    return _ALL[settings["name"]](settings)


def asked_kernel(settings: Mapping[str, Any]) -> AskedKernel:
    """Return a score of the user's by its settings."""
    return _ASKED[settings["name"]](settings)
