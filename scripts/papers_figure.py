"""Measures what a figure of a paper shows, and draws it."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.papers.plots.figures import PLOTS
from kreinflow.papers.plots.style import save_png

with logged(snakemake.log[0]) as console:
    plot = PLOTS[snakemake.wildcards.figure]
    table = plot.measure(snakemake.params.seed, Path(snakemake.params.data))
    write_table(snakemake.output.table, table)
    save_png(plot.draw(table), snakemake.output.image)
    console.say(f"{len(table)} rows")
