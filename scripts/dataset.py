"""Reads, checks and stores the input as canonical tables."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.sequences.dataset import without_unknown, write_dataset, write_unlabelled
from kreinflow.sequences.record_vectors import shared_vectors, with_vectors
from kreinflow.sequences.sources.registry import make_source

with logged(snakemake.log[0]) as console:
    params, output = snakemake.params, snakemake.output
    source = make_source(params.source, Path(params.data), params.separator)
    alphabet = source.alphabet(params.scoring)
    whole = source.load(alphabet, params.seed, params.unknown, params.small)
    for table in params.vectors:
        whole = with_vectors(whole, Path(table))
        console.say(shared_vectors(whole))
    dataset = without_unknown(whole, params.unknown)
    write_dataset(Path(output.records).parent, dataset)
    console.say(f"{len(dataset.ids)} records, {len(dataset.digests)} distinct rows")
    if output.get("unlabelled"):
        write_unlabelled(output.unlabelled, whole)
        console.say(f"{len(whole.unlabelled)} sequences without a label")
    if output.get("unknown_records"):
        write_dataset(Path(output.unknown_records).parent, whole)
        console.say(f"{len(whole.ids) - len(dataset.ids)} records held out as unknown")
