"""Collects what the jobs of a data set took, if this is asked for, and draws figures."""

from pathlib import Path

from kreinflow.files.atomic import write_text
from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.report.figures.dataset import draw
from kreinflow.report.reading import DatasetResults
from kreinflow.report.times import collect_times

with logged(snakemake.log[0]):
    output, params = snakemake.output, snakemake.params
    folder = Path(output.figures[0]).parents[1]
    if path := output.get("times"):
        write_table(path, collect_times(folder / "times", folder / "logs", params.jobs))
    results = DatasetResults(folder.parent, folder.name, params.config)
    for path in output.figures:
        write_text(path, draw(results, Path(path).stem))
