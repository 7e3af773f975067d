"""Writes the page and the files beside it."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.report.page import write_report

with logged(snakemake.log[0]):
    write_report(Path(snakemake.output.page).parent, snakemake.params.config)
