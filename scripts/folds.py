"""Puts each record into a fold."""

from pathlib import Path

from kreinflow.compare.kinds import HOMOLOGY
from kreinflow.files.console import logged
from kreinflow.files.json_files import write_json
from kreinflow.files.tables import write_table
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.folds import assign_folds, fold_summary
from kreinflow.sequences.partition import lost_classes, partition_of

with logged(snakemake.log[0]) as console:
    dataset = read_dataset(Path(snakemake.input.records).parent)
    params = snakemake.params
    settings = params.folds
    if settings["method"] == HOMOLOGY:
        from kreinflow.compare.homology import homology_folds  # with the compiler of its loops

        folds = homology_folds(dataset, settings["k"], settings["repeats"], params.seed)
    else:
        folds = assign_folds(settings, dataset, params.seed, Path(params.data), params.source)
    write_table(snakemake.output.table, folds)
    write_json(snakemake.output.summary, fold_summary(settings, folds))
    if advice := lost_classes(dataset, partition_of(folds, dataset)):
        console.show(f"kreinflow: {snakemake.wildcards.dataset}: {advice}")
