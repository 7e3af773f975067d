"""All figures of a data set, by the names of their files."""

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from kreinflow.report.figures import data, drawing_style, figure_svg, probabilities, recipes
from kreinflow.report.figures.landmark_map import map_svg
from kreinflow.report.reading import DatasetResults

DRAWN: Mapping[str, Callable[[DatasetResults], Figure]] = {
    "classes": data.classes_figure,
    "landmarks": data.landmarks_figure,
    "spectrum": data.spectrum_figure,
    "comparison": recipes.comparison_figure,
    "confusion": recipes.confusion_figure,
    "alignments": recipes.alignments_figure,
    "reject": probabilities.reject_figure,
    "identity": probabilities.identity_figure,
    "calibration": probabilities.calibration_figure,
    "sets": probabilities.sets_figure,
    "unknown": probabilities.unknown_figure,
    "levels": probabilities.levels_figure,
}


def draw(results: DatasetResults, name: str) -> str:
    """Return the text of the SVG of a figure of :data:`kreinflow.report.texts.CAPTIONS`.

    All but those that compare recipes are of the final model, and of its figures on outer folds.
    """
    with drawing_style():
        if name == "map":
            return map_svg(results.points, results.landmark_map)
        return figure_svg(DRAWN[name](results))
