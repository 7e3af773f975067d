"""Writes the page of the comparison."""

from pathlib import Path

from kreinflow.artifacts import read_table, write_text
from kreinflow.competitors.page import render_page
from kreinflow.competitors.tables import COMPARE_COLUMNS
from kreinflow.console import logged

with logged(snakemake.log[0]):
    text = ["folds", "method", "version", "reason"]
    tables = {
        Path(path).parents[1].name: read_table(path, COMPARE_COLUMNS, text)
        for path in snakemake.input
    }
    write_text(snakemake.output[0], render_page(tables, snakemake.params.threads))
