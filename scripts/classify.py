"""Classifies new objects with the final model."""

from pathlib import Path

import pandas as pd

from kreinflow.alignment.backends import backend_named
from kreinflow.base.numerics import limited
from kreinflow.classify.classification import (
    COLUMNS,
    classify_batches,
    first_faults,
    promise_text,
    write_tables,
)
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options, Shard, n_objects
from kreinflow.files.atomic import replacing
from kreinflow.files.console import logged
from kreinflow.files.tables import table_text
from kreinflow.sequences.dataset import read_dataset

memory_mb = snakemake.resources.learning_memory_mb
with (
    logged(snakemake.log[0]) as console,
    limited(snakemake.threads, memory_mb),
    replacing(snakemake.output[0]) as part,
):
    new, params = Path(snakemake.input.new), snakemake.params
    model = Model.load(snakemake.input.model)
    if params.asked is not None:
        model = model.asking(params.asked[params.asked["name"]], [Path(params.data)])
    if model.lacks_records:
        dataset = read_dataset(Path(snakemake.input.records).parent)
        model = model.with_records(dataset.sequences, str(Path(snakemake.input.records).parent))
    (vectors,) = snakemake.input.vectors or [None]
    if vectors is not None and not model.classifier.looks_at_vectors:
        console.say("the model does without the vectors: they were worth nothing in training")
        vectors = None
    shard = Shard(*map(int, params.part.split("-of-")))
    first, last = (0, None) if shard.of == 1 else shard.bounds(n_objects(model, new))
    batches = classify_batches(
        model,
        new,
        Options(
            threads=snakemake.threads,
            strand=params.strand,
            on_fault=first_faults(console.show),
            backend=backend_named(params.backend),
            vectors=None if vectors is None else Path(vectors),
            first=first,
            last=last,
        ),
    )
    if new.stat().st_size == 0:  # all sequences of the data set have a label
        batches = iter([pd.DataFrame(columns=list(COLUMNS))])
    header = shard.number == 1
    with part.open("w", encoding="utf-8") as file:
        counts = write_tables(
            batches,
            file.write,
            text=lambda table, first: table_text(table, header=header and first),
        )
    console.say(
        f"{counts['classified']} classified, {counts['rejected']} rejected, "
        f"{counts['fault']} not classified"
    )
    if promised := promise_text(model):
        console.say(promised)
