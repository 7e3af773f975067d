"""The figures of the papers by name: what measures the table of each, and what draws it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from papers import accuracies, approximations, costs, regions
from papers.experiments import FIGURES
from papers.style import paper_style

_MODULES = (accuracies, approximations, costs, regions)


class Plot(NamedTuple):
    """Both steps of a figure; the first is from a seed and the data folder."""

    measure: Callable[[int, Path], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Figure]


def _plot(name: str) -> Plot:
    (module,) = (m for m in _MODULES if hasattr(m, f"draw_{name}"))
    return Plot(getattr(module, f"measure_{name}"), paper_style()(getattr(module, f"draw_{name}")))


PLOTS: Mapping[str, Plot] = {name: _plot(name) for name in FIGURES}
