"""Chooses the landmarks of one fold."""

from pathlib import Path

from kreinflow.console import logged
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.selector import count_landmarks, in_words
from kreinflow.landmarks.stage import LandmarkStage, given_landmarks
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import read_partition
from kreinflow.sequences.row_tables import write_rows

with logged(snakemake.log[0]) as console:
    params, fold = snakemake.params, snakemake.wildcards.fold
    folder = Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    partition = read_partition(snakemake.input.folds, dataset)
    selector = make_selector(params.selector)
    match = snakemake.input.match
    stage = LandmarkStage.of_fold(
        folder.parent,
        dataset,
        partition,
        fold,
        selector,
        constants=params.transforms,
        scoring=params.scoring,
        data=params.data,
        seed=params.seed,
    )
    table = stage.select(
        selector,
        matched=count_landmarks(match[0]) if match else None,
        given=given_landmarks(dataset, selector.settings, params.data),
    )
    console.say(in_words(table))
    write_rows(snakemake.output[0], table, dataset)
