"""The selectors that the config can name. A new one is its class and its line here."""

from collections.abc import Mapping
from typing import Any

from kreinflow.base.settings import by_name
from kreinflow.landmarks.balls import EnclosingBalls
from kreinflow.landmarks.entropy import RenyiEntropy
from kreinflow.landmarks.kmeans import ClassKMeansPlusPlus, ColumnClusters, KernelKMeansPlusPlus
from kreinflow.landmarks.pivoting import AdaptivePivoting, LeverageScores, PivotedCholesky
from kreinflow.landmarks.score_free import Everything, NamedLandmarks, Uniform
from kreinflow.landmarks.selector import Selector

SELECTORS: dict[str, type[Selector]] = by_name(
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
    NamedLandmarks,
)
"""By the method that the config names."""


def make_selector(settings: Mapping[str, Any]) -> Selector:
    """Return the selector of an entry of the config's ``selectors``."""
    return SELECTORS[settings["method"]](settings)
