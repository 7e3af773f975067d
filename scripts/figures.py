"""Collects the benchmarks of a data set's jobs, and draws its figures, that of times among them."""

from pathlib import Path

from kreinflow.files.atomic import write_text
from kreinflow.files.console import logged
from kreinflow.files.json_files import read_json
from kreinflow.files.tables import write_table
from kreinflow.report.figures.dataset import dataset_figures
from kreinflow.report.reading import (
    LANDMARK_COLUMNS,
    read_curves,
    read_folds,
    read_points,
    read_spectra,
    read_tables,
    read_times,
)
from kreinflow.report.times import collect_times
from kreinflow.sequences.dataset import read_dataset

with logged(snakemake.log[0]):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    folder = Path(output.times).parent
    write_table(output.times, collect_times(folder / "times", folder / "logs", params.jobs))
    dataset = read_dataset(Path(files.records).parent)
    several = dataset.statistics.get("several", False)
    tables = read_tables(files.evaluation, dataset.classes, several) | {
        "statistics": dataset.statistics,
        "lengths": dataset.lengths.tolist(),
        "final": params.final,
        "recipes": params.recipes,
        "prefer": params.prefer,
        "alignments": read_json(files.alignments),
        "curves": read_curves(files.curves),
        "landmarks": read_folds(files.landmarks, LANDMARK_COLUMNS),
        "spectrum": read_spectra(files.spectra, read_json(files.map)),
        "points": read_points(files.points, dataset.classes),
        "landmark_map": read_json(files.map),
        "times": read_times(output.times),
    }
    svgs = dataset_figures(tables)
    for path in output.figures:
        write_text(path, svgs[Path(path).stem])
