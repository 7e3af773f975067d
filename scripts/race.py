"""Says which recipes of `auto` are fitted on the training parts behind the first."""

from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.fitting.recipe_choice import race_table, read_figures

with logged(snakemake.log[0]) as console:
    params = snakemake.params
    figures = read_figures(snakemake.input.tables, params.order).to_dict("records")
    table = race_table(figures, params.order, params.prefer, params.final)
    write_table(snakemake.output[0], table)
    console.say("\n" + table.to_string())
