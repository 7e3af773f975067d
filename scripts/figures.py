"""Draws the figures of a data set."""

from pathlib import Path

from kreinflow.artifacts import read_json, read_table, write_text
from kreinflow.console import logged
from kreinflow.report.figures.dataset import dataset_figures
from kreinflow.report.reading import read_folds, read_tables, read_times

with logged(snakemake.log[0]):
    files = snakemake.input
    tables = read_tables(files.evaluation) | {
        "statistics": read_json(files.summary)["statistics"],
        "lengths": read_table(files.distinct, ["length"])["length"].tolist(),
        "alignments": read_json(files.alignments),
        "landmarks": read_folds(files.landmarks),
        "spectrum": read_folds(files.spectra),
        "points": read_table(files.points, ["id", "class", "landmark", "x", "y"], ["id", "class"]),
        "landmark_map": read_json(files.map),
        "times": read_times(files.times),
    }
    svgs = dataset_figures(tables)
    for path in snakemake.output:
        write_text(path, svgs[Path(path).stem])
