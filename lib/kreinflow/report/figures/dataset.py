"""All figures of a data set, from the tables of its results."""

from collections.abc import Mapping
from typing import Any

from kreinflow.report.figures import data, figure_svg, probabilities, recipes, sets
from kreinflow.report.figures.landmark_map import map_svg
from kreinflow.report.own import models_of, own_landmarks
from kreinflow.report.tables import best_recipe, measured_recipe, numbers


def dataset_figures(tables: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of the SVG of each figure of a data set, by name.

    All but those that compare recipes are of the final model, and of its figures on outer folds.

    Parameters
    ----------
    tables : mapping
        ``statistics`` and ``alignments``, see :class:`kreinflow.report.reading.DatasetReport`;
        ``lengths`` of the distinct sequences; ``final``, the recipe that the config asks for, or
        None; ``recipes`` and ``prefer``, the names in the order of the config and what it prefers;
        the DataFrames ``landmarks``, ``spectrum``, ``models``, ``curves``, ``summary``,
        ``comparison``, ``per_class``, ``confusion``, ``reject_curve``, ``calibration``,
        ``coverage``, ``accepted``, ``times``; and ``points`` and ``landmark_map``, see
        :func:`~kreinflow.report.figures.landmark_map.map_svg`, with the recipe of the final model.
    """
    comparison, landmark_map = tables["comparison"], tables["landmark_map"]
    final = str(landmark_map["recipe"])
    recipe = measured_recipe(tables["final"], comparison["recipe"])
    several = bool(tables["statistics"].get("several"))
    labels = tables["per_class"][tables["per_class"]["recipe"].astype(str) == recipe]
    support = dict(zip(labels["class"], numbers(labels["support"]), strict=True))
    models = tables["models"]
    model = (numbers(models["repeat"]) < 0) & (models["recipe"].astype(str) == final)
    own = models_of(models, recipe, final, tables["recipes"], tables["prefer"])
    drawn = {
        "classes": data.classes_figure(tables["statistics"]["class_sizes"], tables["lengths"]),
        "landmarks": data.landmarks_figure(own_landmarks(tables["landmarks"], own)),
        "spectrum": data.spectrum_figure(tables["spectrum"]),
        "comparison": recipes.comparison_figure(comparison, final),
        "confusion": recipes.confusion_figure(
            tables["confusion"],
            recipe,
            landmark_map["similar_classes"],
            support if several else None,
        ),
        "alignments": recipes.alignments_figure(
            tables["summary"],
            models,
            tables["curves"],
            best_recipe(comparison),
            final,
            tables["alignments"]["distinct"],
            "alignments" if tables["alignments"]["scheme"] else "measurements",
        ),
        "reject": probabilities.reject_figure(
            tables["reject_curve"],
            recipe,
            tables["accepted"],
            float(numbers(models.loc[model, "reject_threshold"])[0]),
            several,
        ),
        "calibration": probabilities.calibration_figure(tables["calibration"], recipe, several),
        "sets": sets.sets_figure(tables["coverage"], recipe),
        "times": data.times_figure(tables["times"]),
    }
    svgs = {name: figure_svg(figure) for name, figure in drawn.items()}
    return svgs | {"map": map_svg(tables["points"], landmark_map)}
