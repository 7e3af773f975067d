"""The selectors that the config can name. A new one is its own file and its line here."""

from collections.abc import Mapping
from typing import Any

from kreinflow.landmarks.balls import EnclosingBalls
from kreinflow.landmarks.cholesky import PivotedCholesky
from kreinflow.landmarks.clustering import ColumnClusters
from kreinflow.landmarks.entropy import RenyiEntropy
from kreinflow.landmarks.everything import Everything
from kreinflow.landmarks.given import Given
from kreinflow.landmarks.kernel_kmeans import KernelKMeansPlusPlus
from kreinflow.landmarks.kmeans import ClassKMeansPlusPlus
from kreinflow.landmarks.leverage import LeverageScores
from kreinflow.landmarks.pivoting import AdaptivePivoting
from kreinflow.landmarks.selector import Selector
from kreinflow.landmarks.uniform import Uniform

SELECTORS: dict[str, type[Selector]] = {
    selector.method: selector
    for selector in (
        EnclosingBalls,
        ClassKMeansPlusPlus,
        Uniform,
        ColumnClusters,
        RenyiEntropy,
        LeverageScores,
        KernelKMeansPlusPlus,
        AdaptivePivoting,
        PivotedCholesky,
        Everything,
        Given,
    )
}
"""By the method that the config names."""


def make_selector(settings: Mapping[str, Any]) -> Selector:
    """Return the selector of an entry of the config's ``selectors``."""
    return SELECTORS[settings["method"]](settings)
