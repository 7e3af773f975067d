"""Says which recipes of `auto` are fitted on the first training part, or on those behind it.

And which landmarks all records are aligned with for them.
"""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.fitting.recipe_choice import (
    going_on,
    race_table,
    read_figures,
    read_models,
    stop_table,
    unite,
)

with logged(snakemake.log[0]) as console:
    files, params = snakemake.input, snakemake.params
    selectors = {recipe["name"]: recipe["selector"] for recipe in params.recipes}
    of_selector = {Path(path).parent.name: path for path in files.landmarks}
    if params.stops:
        figures = read_models(files.tables[0], [*selectors]).to_dict("records")
        counts = {name: len(unite([of_selector[own]])) for name, own in selectors.items()}
        table = stop_table(figures, counts)
    else:
        figures = read_figures(files.tables, [*selectors]).to_dict("records")
        table = race_table(figures, [*selectors], params.prefer, params.final)
    write_table(snakemake.output.table, table)
    console.say("\n" + table.to_string())
    going = {recipe["selector"] for recipe in going_on(params.recipes, [snakemake.output.table])}
    chosen = [path for path in files.landmarks if Path(path).parent.name in going]
    write_table(snakemake.output.landmarks, unite([*chosen, *files.aligned]))
