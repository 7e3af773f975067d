"""Classifies new objects with the final model."""

from pathlib import Path

from kreinflow.alignment.backends import backend_named
from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.models.classification import classify_file
from kreinflow.models.model_file import Model

with logged(snakemake.log[0]) as console:
    table = classify_file(
        Model.load(snakemake.input.model),
        Path(snakemake.input.new),
        snakemake.threads,
        on_fault=lambda message: console.show(f"kreinflow: not classified: {message}"),
        backend=backend_named(snakemake.params.backend),
    )
    write_table(snakemake.output[0], table)
    faults = int((table["problem"] != "").sum())
    flagged = int((table["reject"] == "yes").sum())
    console.say(f"{len(table) - faults} classified, {flagged} flagged, {faults} not classified")
