"""Writes the page, and its first screen as plain text."""

from pathlib import Path

from kreinflow.console import logged
from kreinflow.report.writing import write_report

with logged(snakemake.log[0]):
    write_report(Path(snakemake.output.page).parent, snakemake.params.config)
