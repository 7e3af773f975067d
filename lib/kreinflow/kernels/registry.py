"""The kernels that the config can name. A new one is its class and its line here."""

from collections.abc import Mapping
from typing import Any

from kreinflow.base.settings import strict_validator
from kreinflow.kernels import dissimilarities, products, radial
from kreinflow.kernels.kernel import Kernel

KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel
    for kernel in (
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
}
"""By the name in the config."""


def known_kernel(settings: Mapping[str, Any]) -> Kernel:
    """Return the kernel of unchecked settings, such as those of a file; else a ValueError."""
    name = settings["name"]
    if name not in KERNELS:
        raise ValueError(f"its kernel {name!r} is unknown")
    known = KERNELS[name].settings_schema
    schema = {
        "properties": {"name": {}, **known},
        "additionalProperties": False,
        "required": [key for key, part in known.items() if "default" not in part],
    }
    if not strict_validator()(schema).is_valid(dict(settings)):
        raise ValueError(f"its settings of the kernel {name} are not allowed")
    return make_kernel(settings)


def make_kernel(settings: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a ``kernel`` of the config."""
    return KERNELS[settings["name"]](settings)
