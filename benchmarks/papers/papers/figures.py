"""The figures of the papers by name: what measures the table of each, and what draws it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from papers import accuracies, approximations, costs, regions
from papers.style import paper_style


class Plot(NamedTuple):
    """Both steps of a figure."""

    measure: Callable[[int, Path], pd.DataFrame]
    """From a seed and the data folder."""
    draw: Callable[[pd.DataFrame], Figure]


_STEPS = {
    "eigenmap": (approximations.measure_eigenmaps, approximations.draw_eigenmaps),
    "decision_regions": (regions.measure_board, regions.draw_board),
    "spectra": (approximations.measure_spectra, approximations.draw_spectra),
    "reconstructed_kernel": (
        approximations.measure_reconstructed_kernels,
        approximations.draw_reconstructed_kernels,
    ),
    "bananas": (accuracies.measure_bananas, accuracies.draw_bananas),
    "landmark_numbers": (accuracies.measure_landmark_numbers, accuracies.draw_landmark_numbers),
    "pseudo_euclidean_plane": (regions.measure_plane, regions.draw_plane),
    "rank_preservation": (costs.measure_rank_preservation, costs.draw_rank_preservation),
    "runtime": (costs.measure_runtime, costs.draw_runtime),
    "samplers": (costs.measure_samplers, costs.draw_samplers),
    "classification_ranks": (
        accuracies.measure_classification_ranks,
        accuracies.draw_classification_ranks,
    ),
}

PLOTS: Mapping[str, Plot] = {
    name: Plot(measure, paper_style()(draw)) for name, (measure, draw) in _STEPS.items()
}
