"""Puts each record into a fold."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.files.json_files import write_json
from kreinflow.files.tables import write_table
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.folds import assign_folds, fold_summary
from kreinflow.sequences.partition import lost_classes, partition_of

with logged(snakemake.log[0]) as console:
    dataset = read_dataset(Path(snakemake.input.records).parent)
    settings, data = snakemake.params.settings, Path(snakemake.params.data)
    folds = assign_folds(settings, dataset, snakemake.params.seed, data, snakemake.params.source)
    write_table(snakemake.output.table, folds)
    write_json(snakemake.output.summary, fold_summary(settings, folds))
    if advice := lost_classes(dataset, partition_of(folds, dataset)):
        console.show(f"kreinflow: {snakemake.wildcards.dataset}: {advice}")
