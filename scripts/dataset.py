"""Reads, checks and stores the input as canonical tables."""

from pathlib import Path

from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.console import logged
from kreinflow.sequences.dataset import ALIGNED, load_dataset, write_dataset
from kreinflow.sequences.unknown import without_unknown

with logged(snakemake.log[0]) as console:
    source, data = snakemake.params.settings, Path(snakemake.params.data)
    alphabet = None
    if source["type"] in ALIGNED:
        alphabet = load_substitution_matrix(snakemake.params.scoring["matrix"], data).alphabet
    unknown = snakemake.params.unknown
    dataset = load_dataset(source, data, alphabet, snakemake.params.seed, unknown)
    dataset = without_unknown(dataset, unknown)
    write_dataset(Path(snakemake.output.records).parent, dataset)
    console.say(f"{len(dataset.ids)} records, {len(dataset.digests)} distinct rows")
