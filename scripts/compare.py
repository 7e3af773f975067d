"""Puts the folds of all methods into a table, and our selectors into another; writes the page."""

from pathlib import Path

import pandas as pd

from kreinflow.compare.competitor import FOLD_COLUMNS, PREDICTION_COLUMNS
from kreinflow.compare.page import render_page
from kreinflow.compare.tables import budget_table, compare_table, fold_table
from kreinflow.files.atomic import write_text
from kreinflow.files.console import logged
from kreinflow.files.json_files import read_json
from kreinflow.files.tables import check_listed, read_measures, read_table, write_table
from kreinflow.fitting.recipe_choice import read_figures
from kreinflow.sequences.partition import fold_numbers, read_groups

with logged(snakemake.log[0]) as console:
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    for path in (*files.models, *files.metrics):
        check_listed(path, read_json(Path(path).parent / "checksums.json"), "checksums.json")
    summaries, budgets = {}, {}
    for number, (dataset, kinds) in enumerate(params.kinds.items()):
        order = params.orders[dataset]
        parts, predictions, groups, own_budgets = {}, {}, {}, []
        for path, predicted in zip(files.methods, files.predictions, strict=True):
            # RESULTS/DATASET/compare/METHOD/FOLD.tsv
            place = Path(path)
            if (kind := kinds.get(place.parents[2].name)) is None:
                continue
            part = read_measures(path, FOLD_COLUMNS, ["method", "version", "reason"])
            parts.setdefault(kind, []).append(part)
            table = read_table(predicted, PREDICTION_COLUMNS, PREDICTION_COLUMNS)
            repeat, _ = fold_numbers(place.stem)
            table = table.assign(method=place.parent.name, repeat=repeat)
            predictions.setdefault(kind, []).append(table)
        for path, models, metrics in zip(files.folds, files.models, files.metrics, strict=True):
            if (kind := kinds.get(Path(path).parent.name)) is None:
                continue
            groups[kind] = read_groups(path)
            measured = read_measures(metrics, ["recipe", "repeat", "fold"], ["recipe"])
            own_budgets.append(budget_table(kind, read_figures([models], order), measured, order))
        folds = fold_table(parts)
        joined = {
            kind: pd.concat(tables, ignore_index=True) for kind, tables in predictions.items()
        }
        summaries[dataset] = compare_table(folds, joined, groups)
        budgets[dataset] = pd.concat(own_budgets, ignore_index=True)
        write_table(output.folds[number], folds)
        write_table(output.summaries[number], summaries[dataset])
        write_table(output.budgets[number], budgets[dataset])
        console.say(f"{dataset}\n{summaries[dataset].to_string()}")
    write_text(output.page, render_page(summaries, budgets, params.threads))
