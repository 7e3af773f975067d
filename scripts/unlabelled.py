"""Writes the sequences that have no label as FASTA, to be classified."""

from pathlib import Path

from kreinflow.artifacts import write_text
from kreinflow.console import logged
from kreinflow.scores import alphabet_of
from kreinflow.sequences.dataset import load_dataset

with logged(snakemake.log[0]) as console:
    params, data = snakemake.params, Path(snakemake.params.data)
    alphabet = alphabet_of(params.settings, params.scoring, data)
    dataset = load_dataset(params.settings, data, alphabet, params.seed)
    lines = [f">{id}\n{residues.decode('ascii')}\n" for id, residues in dataset.unlabelled]
    write_text(snakemake.output[0], "".join(lines))
    console.say(f"{len(lines)} sequences without a label")
