"""Puts the folds of all methods into one table, and our selectors into another."""

from pathlib import Path

import pandas as pd

from kreinflow.artifacts import read_measures, read_table, write_table
from kreinflow.competitors.run import FOLD_COLUMNS
from kreinflow.competitors.tables import budget_table, compare_table, fold_table
from kreinflow.console import logged
from kreinflow.models.choice import read_figures

with logged(snakemake.log[0]) as console:
    files, params = snakemake.input, snakemake.params
    parts = {kind: [] for kind in params.kinds.values()}
    for path in files.methods:
        # RESULTS/DATASET/compare/METHOD/FOLD.tsv
        kind = params.kinds[Path(path).parents[2].name]
        parts[kind].append(read_measures(path, FOLD_COLUMNS, ["method", "version", "reason"]))
    folds = fold_table(parts)
    records = {
        kind: len(read_table(path, ["id"])) for kind, path in zip(parts, files.records, strict=True)
    }
    summary = compare_table(folds, records)
    budgets = [
        budget_table(
            kind,
            read_figures([models], params.order),
            read_measures(metrics, ["recipe", "repeat", "fold"], ["recipe"]),
            params.order,
        )
        for kind, models, metrics in zip(parts, files.models, files.metrics, strict=True)
    ]
    write_table(snakemake.output.folds, folds)
    write_table(snakemake.output.summary, summary)
    write_table(snakemake.output.budgets, pd.concat(budgets, ignore_index=True))
    console.say("\n" + summary.to_string())
