"""Draws how many objects of unknown classes are rejected."""

from kreinflow.files.atomic import write_text
from kreinflow.files.console import logged
from kreinflow.report.figures import figure_svg
from kreinflow.report.figures.probabilities import unknown_figure
from kreinflow.report.reading import read_tables
from kreinflow.report.tables import measured_recipe

with logged(snakemake.log[0]):
    tables = read_tables(snakemake.input)
    recipe = measured_recipe(snakemake.params.final, tables["summary"]["recipe"])
    figure = unknown_figure(*(tables[name] for name in ("curve", "summary", "families")), recipe)
    write_text(snakemake.output[0], figure_svg(figure))
