"""Puts the figures of the papers and ours side by side: a table and a page."""

from pathlib import Path

from kreinflow.files.atomic import write_text
from kreinflow.files.console import logged
from kreinflow.files.provenance import package_versions
from kreinflow.files.tables import read_table, write_table
from kreinflow.papers.experiments import load_experiments
from kreinflow.papers.page import render_page
from kreinflow.papers.tables import compare, read_published

with logged(snakemake.log[0]) as console:
    files = snakemake.input
    text = ["recipe", "hyper_parameters", "failure"]
    results = {Path(path).stem: read_table(path, text, text) for path in files.experiments}
    table = compare(read_published(), load_experiments(), results)
    write_table(snakemake.output.table, table)
    images = {Path(path).stem: Path(path).read_bytes() for path in files.figures}
    page = render_page(table, images, package_versions())
    write_text(snakemake.output.page, page)
    console.say(f"{table['our_accuracy'].notna().sum()} rows, {len(page.encode()) / 1e6:.2f} MB")
