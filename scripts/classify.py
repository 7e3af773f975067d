"""Classifies new objects with the final model."""

from pathlib import Path

import pandas as pd

from kreinflow.alignment.backends import backend_named
from kreinflow.artifacts import replacing, table_text
from kreinflow.classify.classification import COLUMNS, classify_batches, first_faults
from kreinflow.classify.model_file import Model
from kreinflow.console import logged

with logged(snakemake.log[0]) as console, replacing(snakemake.output[0]) as part:
    new, params = Path(snakemake.input.new), snakemake.params
    batches = classify_batches(
        Model.load(snakemake.input.model),
        new,
        snakemake.threads,
        params.strand == "both",
        on_fault=first_faults(console.show),
        backend=backend_named(params.backend),
    )
    if new.stat().st_size == 0:  # all sequences of the data set have a label
        batches = iter([pd.DataFrame(columns=list(COLUMNS))])
    done, faults, flagged = 0, 0, 0
    with part.open("w", encoding="utf-8") as file:
        for number, table in enumerate(batches):
            file.write(table_text(table, header=number == 0))
            done += len(table)
            faults += int((table["problem"] != "").sum())
            flagged += int((table["reject"] == "yes").sum())
    console.say(f"{done - faults} classified, {flagged} flagged, {faults} not classified")
