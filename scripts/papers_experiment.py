"""Runs one experiment of the papers."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.papers.run import run_experiment

with logged(snakemake.log[0]) as console:
    params = snakemake.params
    lines = run_experiment(**params.measured, data_folder=Path(params.data), seed=params.seed)
    console.say("\n" + lines.groupby("recipe", sort=False)["accuracy"].mean().to_string())
    write_table(snakemake.output[0], lines)
