"""Measures the predictions of the outer folds."""

import pandas as pd

from kreinflow.artifacts import read_table, write_table
from kreinflow.console import logged
from kreinflow.evaluation.inner_choice import with_inner_choice
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS
from kreinflow.evaluation.tables import evaluation_tables

with logged(snakemake.log[0]) as console:
    files, output = snakemake.input, snakemake.output
    text = ["recipe", "id", "true", "predicted"]
    parts = [read_table(path, PREDICTION_COLUMNS, text) for path in files.predictions]
    keys = ["recipe", "repeat", "fold"]
    models = pd.concat([read_table(p, keys, ["recipe"]) for p in files.models], ignore_index=True)
    predictions = parts[0]
    if measured := [part for part in parts if len(part)]:
        predictions = pd.concat(measured, ignore_index=True)
        predictions = with_inner_choice(predictions, models, snakemake.params.recipes)
    tables = evaluation_tables(predictions, len(read_table(files.records, ["id"])))
    for name, table in {"models": models, "predictions": predictions, **tables}.items():
        write_table(output[name], table)
    said = "\n" + tables["summary"].to_string() if measured else "no fold tests anything"
    console.say(said)
