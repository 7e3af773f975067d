"""Chooses the landmarks of one fold, selector by selector."""

from pathlib import Path

from kreinflow.files.console import logged
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, given_landmarks, training_parts
from kreinflow.sequences.dataset import read_dataset, write_rows
from kreinflow.sequences.partition import read_partition
from kreinflow.sequences.scores import open_scores, read_scheme, transforms_of

with logged(snakemake.log[0]) as console:
    params, fold = snakemake.params, snakemake.wildcards.fold
    folder = Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    partition = read_partition(snakemake.input.folds, dataset)
    paths = {Path(path).parent.name: path for path in snakemake.output}
    budgets = {name: params.selectors[name].get("budget") for name in paths}
    scheme = read_scheme(dataset, params.scoring, params.data)
    names = [params.selectors[name].get("transform", "raw") for name in paths]
    stage = LandmarkStage(
        dataset,
        open_scores(dataset, scheme, folder.parent / "scores"),
        transforms_of(names, params.transforms, scheme),
        params.seed,
        partition.training(fold),
        fold,
        training_parts(partition),
    )
    chosen = {}
    # Those that take their number of landmarks from another one come after it.
    for name in sorted(paths, key=lambda name: isinstance(budgets[name], str)):
        selector = make_selector(params.selectors[name])
        chosen[name] = stage.select(
            selector,
            matched=len(chosen[budgets[name]]) if isinstance(budgets[name], str) else None,
            given=given_landmarks(dataset, selector.settings, params.data),
        )
        console.say(f"{name}: {len(chosen[name])} landmarks")
    for name, table in chosen.items():
        write_rows(paths[name], table, dataset)
