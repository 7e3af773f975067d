"""Measures the predictions of the outer folds at each level of classes that are paths."""

from kreinflow.evaluation.levels import level_tables
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS, PREDICTION_TEXT
from kreinflow.files.console import logged
from kreinflow.files.tables import read_table, write_listed

with logged(snakemake.log[0]) as console:
    files, output = snakemake.input, snakemake.output
    predictions = read_table(files.predictions, PREDICTION_COLUMNS, PREDICTION_TEXT)
    tables = level_tables(predictions, snakemake.params.levels)
    write_listed(output.checksums, {output[name]: table for name, table in tables.items()})
    console.say("\n" + tables["levels"].to_string())
