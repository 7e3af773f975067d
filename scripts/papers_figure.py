"""Measures what a figure of a paper shows, and draws it."""

from importlib import import_module
from pathlib import Path

from kreinflow.files.artifacts import write_table
from kreinflow.files.console import logged
from kreinflow.papers.plots.look import save_png

with logged(snakemake.log[0]) as console:
    plot = import_module(f"kreinflow.papers.plots.{snakemake.wildcards.figure}")
    table = plot.measure(snakemake.params.seed, Path(snakemake.params.data))
    write_table(snakemake.output.table, table)
    save_png(plot.draw(table), snakemake.output.image)
    console.say(f"{len(table)} rows")
