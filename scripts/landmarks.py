"""Chooses the landmarks of one fold, or of all, selector by selector."""

from pathlib import Path
from time import perf_counter

from kreinflow.files.console import logged
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, given_landmarks, training_parts
from kreinflow.sequences.dataset import read_dataset, write_rows
from kreinflow.sequences.partition import read_partition
from kreinflow.sequences.scores import open_scores, read_scheme, transforms_of

with logged(snakemake.log[0]) as console:
    params, folder = snakemake.params, Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    partition = read_partition(snakemake.input.folds, dataset)
    paths: dict[str, dict[str, str]] = {}
    for path in snakemake.output:
        paths.setdefault(Path(path).stem, {})[Path(path).parent.name] = path
    scheme = read_scheme(dataset, params.scoring, params.data)
    budgets = {name: settings.get("budget") for name, settings in params.selectors.items()}
    names = [settings.get("transform", "raw") for settings in params.selectors.values()]
    transforms = transforms_of(names, params.transforms, scheme)
    for fold, files in paths.items():
        start = perf_counter()
        stage = LandmarkStage(
            dataset,
            open_scores(dataset, scheme, folder.parent / "scores"),
            transforms,
            params.seed,
            partition.training(fold),
            fold,
            training_parts(partition),
        )
        chosen = {}
        # Those that take their number of landmarks from another one come after it.
        for name in sorted(files, key=lambda name: isinstance(budgets[name], str)):
            selector = make_selector(params.selectors[name])
            chosen[name] = stage.select(
                selector,
                matched=len(chosen[budgets[name]]) if isinstance(budgets[name], str) else None,
                given=given_landmarks(dataset, selector.settings, params.data),
            )
            console.say(f"{fold}: {name}: {len(chosen[name])} landmarks")
        for name, table in chosen.items():
            write_rows(files[name], table, dataset)
        console.seconds[fold] = perf_counter() - start
