"""The kernels that the config can name. A new one is its class and its line here."""

from collections.abc import Mapping
from typing import Any

from kreinflow.kernels.dissimilarities import (
    BallKernel,
    DynamicTimeWarping,
    EditDistance,
    SpectralInformationDivergence,
)
from kreinflow.kernels.kernel import Kernel
from kreinflow.kernels.products import (
    ELMKernel,
    LinearKernel,
    PolynomialKernel,
    PseudoEuclideanKernel,
    SigmoidKernel,
)
from kreinflow.kernels.radial import (
    DifferenceOfGaussiansKernel,
    EpanechnikovKernel,
    GaussianCombinationKernel,
    GaussianKernel,
    MultiquadricKernel,
    ThinPlateSplineKernel,
)

KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel
    for kernel in (
        LinearKernel,
        PolynomialKernel,
        GaussianKernel,
        ELMKernel,
        DifferenceOfGaussiansKernel,
        GaussianCombinationKernel,
        EpanechnikovKernel,
        MultiquadricKernel,
        ThinPlateSplineKernel,
        SigmoidKernel,
        PseudoEuclideanKernel,
        BallKernel,
        SpectralInformationDivergence,
        DynamicTimeWarping,
        EditDistance,
    )
}
"""By the name in the config."""


def make_kernel(settings: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a ``kernel`` of the config."""
    return KERNELS[settings["name"]](settings)
