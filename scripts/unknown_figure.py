"""Draws how many objects of unknown classes are rejected."""

from kreinflow.artifacts import read_table
from kreinflow.console import logged
from kreinflow.report.figures import save_figure, unknown_figure

with logged(snakemake.log[0]):
    tables = {
        name: read_table(snakemake.input[name], ["recipe"], ["recipe"])
        for name in ("comparison", "curve", "summary")
    }
    figure = unknown_figure(tables["curve"], tables["summary"], tables["comparison"])
    save_figure(figure, snakemake.output[0])
