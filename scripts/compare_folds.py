"""Puts each record into a fold, sequences that are alike into the same one."""

from pathlib import Path

from kreinflow.compare.homology import homology_folds
from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.sequences.dataset import read_dataset

with logged(snakemake.log[0]):
    dataset = read_dataset(Path(snakemake.input.records).parent)
    folds, seed = snakemake.params.settings, snakemake.params.seed
    table = homology_folds(dataset, folds["k"], folds["repeats"], seed)
    write_table(snakemake.output.table, table)
