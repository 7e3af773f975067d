"""Measures the predictions of the outer folds."""

import pandas as pd

from kreinflow.artifacts import read_table, write_table
from kreinflow.console import logged
from kreinflow.evaluation.choice import with_inner_choice
from kreinflow.evaluation.comparison import COMPARISON_COLUMNS, compare_recipes
from kreinflow.evaluation.metrics import (
    CALIBRATION_COLUMNS,
    CONFUSION_COLUMNS,
    FOLD_METRICS_COLUMNS,
    PER_CLASS_COLUMNS,
    PREDICTION_COLUMNS,
    REJECT_CURVE_COLUMNS,
    SUMMARY_COLUMNS,
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
    write_table(output.models, models)
    measured = [table for table in tables if len(table)]
    if measured:
        predictions = with_inner_choice(pd.concat(measured, ignore_index=True), models, order)
        metrics = fold_metrics(predictions)
        records = len(read_table(snakemake.input.records, ["id"]))
        for path, table in {
            output.predictions: predictions,
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
    else:  # so the homology-aware folds of the comparison may be
        for path, columns in {
            output.predictions: tables[0].columns,
            output.metrics: FOLD_METRICS_COLUMNS,
            output.summary: SUMMARY_COLUMNS,
            output.comparison: COMPARISON_COLUMNS,
            output.per_class: PER_CLASS_COLUMNS,
            output.confusion: CONFUSION_COLUMNS,
            output.reject_curve: REJECT_CURVE_COLUMNS,
            output.calibration: CALIBRATION_COLUMNS,
        }.items():
            write_table(path, pd.DataFrame(columns=list(columns)))
        console.say("no fold tests anything, so nothing is measured")
