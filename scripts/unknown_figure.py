"""Draws how many objects of unknown classes are rejected."""

from kreinflow.artifacts import read_table, write_text
from kreinflow.console import logged
from kreinflow.report.figures import figure_svg
from kreinflow.report.figures.probabilities import unknown_figure

with logged(snakemake.log[0]):
    tables = {
        name: read_table(snakemake.input[name], ["recipe"], ["recipe"])
        for name in ("comparison", "curve", "summary")
    }
    figure = unknown_figure(tables["curve"], tables["summary"], tables["comparison"])
    write_text(snakemake.output[0], figure_svg(figure))
