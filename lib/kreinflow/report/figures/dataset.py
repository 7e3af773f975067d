"""All figures of a data set, from the tables of its results."""

from collections.abc import Mapping
from typing import Any

from kreinflow.report.figures import data, figure_svg, probabilities, recipes, sets
from kreinflow.report.figures.landmark_map import map_svg
from kreinflow.report.tables import best_recipe, numbers


def dataset_figures(tables: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of the SVG of each figure of a data set, by name.

    Parameters
    ----------
    tables : mapping
        ``statistics`` and ``alignments``, see :class:`kreinflow.report.reading.DatasetReport`;
        ``lengths`` of the distinct sequences; the DataFrames ``landmarks``, ``spectrum``,
        ``models``, ``curves``, ``summary``, ``comparison``, ``per_class``, ``confusion``,
        ``reject_curve``, ``calibration``, ``coverage``, ``times``; and ``points`` and
        ``landmark_map``, see
        :func:`~kreinflow.report.figures.landmark_map.map_svg`.
    """
    comparison = tables["comparison"]
    best = best_recipe(comparison)
    several = bool(tables["statistics"].get("several"))
    labels = tables["per_class"][tables["per_class"]["recipe"].astype(str) == best]
    support = dict(zip(labels["class"], numbers(labels["support"]), strict=True))
    drawn = {
        "classes": data.classes_figure(tables["statistics"]["class_sizes"], tables["lengths"]),
        "landmarks": data.landmarks_figure(tables["landmarks"]),
        "spectrum": data.spectrum_figure(tables["spectrum"]),
        "comparison": recipes.comparison_figure(comparison),
        "confusion": recipes.confusion_figure(
            tables["confusion"],
            best,
            tables["landmark_map"]["similar_classes"],
            support if several else None,
        ),
        "alignments": recipes.alignments_figure(
            tables["summary"],
            tables["models"],
            tables["curves"],
            best,
            tables["alignments"]["distinct"],
            "alignments" if tables["alignments"]["scheme"] else "measurements",
        ),
        "reject": probabilities.reject_figure(tables["reject_curve"], comparison, several),
        "calibration": probabilities.calibration_figure(tables["calibration"], best, several),
        "sets": sets.sets_figure(tables["coverage"], best),
        "times": data.times_figure(tables["times"]),
    }
    svgs = {name: figure_svg(figure) for name, figure in drawn.items()}
    return svgs | {"map": map_svg(tables["points"], tables["landmark_map"])}
