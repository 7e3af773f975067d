"""Measures the predictions of the outer folds."""

import pandas as pd

from kreinflow.evaluation.inner_choice import with_inner_choice
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS, PREDICTION_TEXT
from kreinflow.evaluation.tables import evaluation_tables
from kreinflow.files.console import logged
from kreinflow.files.json_files import read_json
from kreinflow.files.tables import read_table, write_listed
from kreinflow.fitting.recipe_choice import read_figures
from kreinflow.sequences.partition import read_groups

with logged(snakemake.log[0]) as console:
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    parts = [read_table(path, PREDICTION_COLUMNS, PREDICTION_TEXT) for path in files.predictions]
    models = read_figures(files.models, params.recipes)
    predictions = parts[0]
    if measured := [part for part in parts if len(part)]:
        predictions = pd.concat(measured, ignore_index=True)
        predictions = with_inner_choice(predictions, models, params.recipes, params.prefer)
    several = read_json(files.summary)["statistics"].get("several", False)
    tables = evaluation_tables(predictions, read_groups(files.folds), several)
    written = {"models": models, "predictions": predictions, **tables}
    write_listed(output.checksums, {output[name]: table for name, table in written.items()})
    said = "\n" + tables["summary"].to_string() if measured else "no fold tests anything"
    console.say(said)
