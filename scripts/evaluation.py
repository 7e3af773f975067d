"""Measures the predictions of the outer folds."""

import pandas as pd

from kreinflow.artifacts import read_table, write_table
from kreinflow.console import logged
from kreinflow.evaluation.choice import with_inner_choice
from kreinflow.evaluation.comparison import compare_recipes
from kreinflow.evaluation.metrics import (
    PREDICTION_COLUMNS,
    calibration_bins,
    confusion,
    fold_metrics,
    per_class,
    reject_curve,
    summary,
)

with logged(snakemake.log[0]) as console:
    output, order = snakemake.output, snakemake.params.recipes
    text = ["recipe", "id", "true", "predicted"]
    tables = [read_table(p, PREDICTION_COLUMNS, text) for p in snakemake.input.predictions]
    models = pd.concat(
        [read_table(p, ["recipe", "repeat", "fold"], ["recipe"]) for p in snakemake.input.models],
        ignore_index=True,
    )
    predictions = pd.concat([table for table in tables if len(table)], ignore_index=True)
    predictions = with_inner_choice(predictions, models, order)
    metrics = fold_metrics(predictions)
    records = len(read_table(snakemake.input.records, ["id"]))
    for path, table in {
        output.predictions: predictions,
        output.models: models,
        output.metrics: metrics,
        output.summary: summary(metrics),
        output.comparison: compare_recipes(metrics, records),
        output.per_class: per_class(predictions),
        output.confusion: confusion(predictions),
        output.reject_curve: reject_curve(predictions),
        output.calibration: calibration_bins(predictions),
    }.items():
        write_table(path, table)
    console.say("\n" + summary(metrics).to_string())
