"""Puts the folds of all methods into one table, and our selectors into another."""

from pathlib import Path

import pandas as pd

from kreinflow.compare.competitor import FOLD_COLUMNS, PREDICTION_COLUMNS
from kreinflow.compare.tables import budget_table, compare_table, fold_table
from kreinflow.files.console import logged
from kreinflow.files.json_files import read_json
from kreinflow.files.tables import check_listed, read_measures, read_table, write_table
from kreinflow.fitting.recipe_choice import read_figures
from kreinflow.sequences.partition import fold_numbers, read_groups

with logged(snakemake.log[0]) as console:
    files, params = snakemake.input, snakemake.params
    for path in (*files.models, *files.metrics):
        check_listed(path, read_json(Path(path).parent / "checksums.json"), "checksums.json")
    parts = {kind: [] for kind in params.kinds.values()}
    predictions = {kind: [] for kind in parts}
    for path, predicted in zip(files.methods, files.predictions, strict=True):
        # RESULTS/DATASET/compare/METHOD/FOLD.tsv
        place = Path(path)
        kind = params.kinds[place.parents[2].name]
        parts[kind].append(read_measures(path, FOLD_COLUMNS, ["method", "version", "reason"]))
        table = read_table(predicted, PREDICTION_COLUMNS, PREDICTION_COLUMNS)
        repeat, _ = fold_numbers(place.stem)
        predictions[kind].append(table.assign(method=place.parent.name, repeat=repeat))
    folds = fold_table(parts)
    summary = compare_table(
        folds,
        {kind: pd.concat(tables, ignore_index=True) for kind, tables in predictions.items()},
        {kind: read_groups(path) for kind, path in zip(parts, files.folds, strict=True)},
    )
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
