"""Puts each record into a fold."""

from pathlib import Path

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.folds import assign_folds

with logged(snakemake.log[0]):
    dataset = read_dataset(Path(snakemake.input.records).parent)
    settings, data = snakemake.params.settings, Path(snakemake.params.data)
    write_table(snakemake.output[0], assign_folds(settings, dataset, snakemake.params.seed, data))
