"""Makes the Krein factors of one fold and one set of landmarks, and their corrections."""

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.models.factor_file import factor_table, save_factors, spectrum_table
from kreinflow.models.factors import make_factors
from kreinflow.models.race import going_on
from kreinflow.models.run import open_run, read_landmark_table
from kreinflow.numerics import limited
from kreinflow.scores import read_scheme, transforms_of

memory_mb = snakemake.resources.learning_memory_mb
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files, params = snakemake.input, snakemake.params
    run, recipes = open_run(files), going_on(params.recipes, files.race)
    entries = make_factors(
        run.landmarks(read_landmark_table(files.landmarks, run.dataset)),
        run.training_part(snakemake.wildcards.fold),
        transforms_of(
            [recipe["transform"] for recipe in recipes],
            params.transforms,
            read_scheme(run.dataset, params.scoring, params.data),
        ),
        recipes,
    )
    save_factors(snakemake.output.factors, entries)
    table = factor_table(entries)
    write_table(snakemake.output.table, table)
    write_table(snakemake.output.spectrum, spectrum_table(entries))
    console.say("\n" + table.to_string())
