"""Writes the page of the comparison."""

from pathlib import Path

from kreinflow.compare.page import render_page
from kreinflow.compare.tables import BUDGET_COLUMNS, COMPARE_COLUMNS
from kreinflow.files.atomic import write_text
from kreinflow.files.console import logged
from kreinflow.files.tables import read_table

with logged(snakemake.log[0]):
    text = ["folds", "method", "selector", "recipes", "version", "reason"]
    tables, budgets = (
        {Path(path).parents[1].name: read_table(path, columns, text) for path in paths}
        for paths, columns in (
            (snakemake.input.summaries, COMPARE_COLUMNS),
            (snakemake.input.budgets, BUDGET_COLUMNS),
        )
    )
    page = render_page(tables, budgets, snakemake.params.threads)
    write_text(snakemake.output[0], page)
