"""The selectors that the config can name. A new one is its class and its line here."""

from collections.abc import Mapping
from typing import Any

from kreinflow.base.settings import by_name
from kreinflow.landmarks import balls, entropy, kmeans, pivoting, score_free
from kreinflow.landmarks.selector import Selector

SELECTORS: dict[str, type[Selector]] = by_name(
    balls.EnclosingBalls,
    kmeans.ClassKMeansPlusPlus,
    score_free.Uniform,
    kmeans.ColumnClusters,
    entropy.RenyiEntropy,
    pivoting.LeverageScores,
    kmeans.KernelKMeansPlusPlus,
    pivoting.AdaptivePivoting,
    pivoting.PivotedCholesky,
    score_free.Everything,
    score_free.NamedLandmarks,
)
"""By the method that the config names."""


def make_selector(settings: Mapping[str, Any]) -> Selector:
    """Return the selector of an entry of the config's ``selectors``."""
    return SELECTORS[settings["method"]](settings)
