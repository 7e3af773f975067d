"""Measures the predictions of the outer folds at each level of classes that are paths."""

from kreinflow.evaluation.levels import level_tables
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS, PREDICTION_TEXT
from kreinflow.files.atomic import write_text
from kreinflow.files.console import logged
from kreinflow.files.tables import read_table, write_table
from kreinflow.report.figures import figure_svg
from kreinflow.report.figures.levels import levels_figure
from kreinflow.report.tables import measured_recipe

with logged(snakemake.log[0]) as console:
    files, output = snakemake.input, snakemake.output
    predictions = read_table(files.predictions, PREDICTION_COLUMNS, PREDICTION_TEXT)
    tables = level_tables(predictions, snakemake.params.levels)
    for name, table in tables.items():
        write_table(output[name], table)
    recipe = measured_recipe(snakemake.params.final, predictions["recipe"].unique())
    figure = levels_figure(tables["levels"], recipe)
    write_text(output.figure, figure_svg(figure))
    console.say("\n" + tables["levels"].to_string())
