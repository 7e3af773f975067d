"""Chooses the landmarks of one fold, selector by selector."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.selector import in_words
from kreinflow.landmarks.stage import LandmarkStage, given_landmarks
from kreinflow.sequences.dataset import read_dataset, write_rows
from kreinflow.sequences.partition import read_partition

with logged(snakemake.log[0]) as console:
    params, fold = snakemake.params, snakemake.wildcards.fold
    folder = Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    partition = read_partition(snakemake.input.folds, dataset)
    paths = {Path(path).parent.name: path for path in snakemake.output}
    budgets = {name: params.selectors[name].get("budget") for name in paths}
    chosen = {}
    # Those that take their number of landmarks from another one come after it.
    for name in sorted(paths, key=lambda name: isinstance(budgets[name], str)):
        selector = make_selector(params.selectors[name])
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
        chosen[name] = stage.select(
            selector,
            matched=len(chosen[budgets[name]]) if isinstance(budgets[name], str) else None,
            given=given_landmarks(dataset, selector.settings, params.data),
        )
        console.say(f"{name}: {in_words(chosen[name])}")
    for name, table in chosen.items():
        write_rows(paths[name], table, dataset)
