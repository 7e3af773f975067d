"""Draws the figures of a data set."""

from pathlib import Path

from kreinflow.artifacts import read_json, read_table, write_text
from kreinflow.console import logged
from kreinflow.report import figures as draw
from kreinflow.report.map import map_svg
from kreinflow.report.tables import best_recipe, read_evaluation, read_folds

with logged(snakemake.log[0]):
    files = snakemake.input
    statistics = read_json(files.summary)["statistics"]
    alignments = read_json(files.alignments)
    tables = read_evaluation(files.evaluation)
    best = best_recipe(tables["comparison"])
    landmark_map = read_json(files.map)
    points = read_table(files.points, ["id", "class", "landmark", "x", "y"], ["id", "class"])
    drawn = {
        "classes": draw.classes_figure(
            statistics["class_sizes"], read_table(files.distinct, ["length"])["length"].tolist()
        ),
        "landmarks": draw.landmarks_figure(read_folds(files.landmarks)),
        "spectrum": draw.spectrum_figure(read_folds(files.spectra)),
        "comparison": draw.comparison_figure(tables["comparison"]),
        "confusion": draw.confusion_figure(
            tables["confusion"], best, landmark_map["similar_classes"]
        ),
        "alignments": draw.alignments_figure(
            tables["summary"],
            tables["models"],
            best,
            alignments["distinct"],
            "alignments" if alignments["scheme"] else "measurements",
        ),
        "reject": draw.reject_figure(tables["reject_curve"], tables["comparison"]),
        "calibration": draw.calibration_figure(tables["calibration"], best),
        "times": draw.times_figure(read_table(files.times, ["stage", "seconds"], ["stage", "job"])),
    }
    for path in snakemake.output:
        if (name := Path(path).stem) == "map":
            write_text(path, map_svg(points, landmark_map))
        else:
            draw.save_figure(drawn[name], path)
