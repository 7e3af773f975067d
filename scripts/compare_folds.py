"""Puts each record into a fold, sequences that are alike into the same one."""

from pathlib import Path

from kreinflow.compare.homology import homology_folds
from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import lost_classes, partition_of

with logged(snakemake.log[0]) as console:
    dataset = read_dataset(Path(snakemake.input.records).parent)
    folds, seed = snakemake.params.settings, snakemake.params.seed
    table = homology_folds(dataset, folds["k"], folds["repeats"], seed)
    write_table(snakemake.output.table, table)
    if advice := lost_classes(dataset, partition_of(table, dataset)):
        console.show(f"kreinflow: {snakemake.wildcards.dataset}: {advice}")
