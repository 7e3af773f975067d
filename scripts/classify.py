"""Classifies new objects with the final model."""

from pathlib import Path

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.models.classification import classify_file
from kreinflow.models.model_file import Model

with logged(snakemake.log[0]) as console:
    table = classify_file(
        Model.load(snakemake.input.model), Path(snakemake.input.new), snakemake.threads
    )
    write_table(snakemake.output[0], table)
    console.say(f"{len(table)} classified, {(table['reject'] == 'yes').sum()} flagged")
