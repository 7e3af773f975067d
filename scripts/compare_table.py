"""Puts the folds of all methods into one table."""

from pathlib import Path

from kreinflow.artifacts import read_table, write_table
from kreinflow.competitors.run import FOLD_COLUMNS
from kreinflow.competitors.tables import compare_table, fold_table
from kreinflow.console import logged

with logged(snakemake.log[0]) as console:
    parts = {kind: [] for kind in snakemake.params.kinds.values()}
    for path in snakemake.input:
        # RESULTS/DATASET/compare/METHOD/FOLD.tsv
        kind = snakemake.params.kinds[Path(path).parents[2].name]
        parts[kind].append(read_table(path, FOLD_COLUMNS, ["method", "version", "reason"]))
    folds = fold_table(parts)
    summary = compare_table(folds)
    write_table(snakemake.output.folds, folds)
    write_table(snakemake.output.summary, summary)
    console.say("\n" + summary.to_string())
