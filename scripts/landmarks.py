"""Chooses the landmarks of one fold."""

from pathlib import Path

from kreinflow.artifacts import read_table, write_table
from kreinflow.console import logged
from kreinflow.landmarks.selection import select_landmarks
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import read_partition
from kreinflow.workspace import class_scores, open_scores, read_scheme, transforms_of

with logged(snakemake.log[0]) as console:
    params, fold = snakemake.params, snakemake.wildcards.fold
    folder = Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    scheme = read_scheme(dataset, params.scoring, params.data)
    selector = params.selector
    name = selector.get("transform", "raw")
    budget = selector.get("budget")
    if snakemake.input.match:
        budget = len(read_table(snakemake.input.match, ["row"]))
    classes = class_scores(
        dataset,
        read_partition(snakemake.input.folds, dataset).training(fold),
        open_scores(dataset, scheme, folder.parent / "scores"),
        transforms_of([name], params.transforms, scheme)[name],
        selector.get("candidates"),
        params.seed,
        with_scores=selector["method"] != "uniform",
    )
    table = select_landmarks(
        selector["method"],
        classes,
        seed=params.seed,
        fold=fold,
        epsilon=selector.get("epsilon", 0.01),
        budget=budget,
        digests=dataset.digests,
    )
    console.say(f"{len(table)} landmarks of {table['class'].nunique()} classes")
    write_table(snakemake.output[0], table)
