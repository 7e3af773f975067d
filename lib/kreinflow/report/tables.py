"""The tables of a run, read for the figures and the page."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kreinflow.artifacts import read_json, read_table
from kreinflow.classify.model_file import Model
from kreinflow.report.page import CAPTIONS, DatasetReport
from kreinflow.report.times import COLUMNS, MACHINE
from kreinflow.report.unknown import read_unknown
from kreinflow.report.unlabelled import read_unlabelled
from kreinflow.sequences.partition import ALL, fold_name, fold_numbers

_TEXT = (
    *("recipe", "selector", "transform", "rank_wanted", "correction", "learner"),
    *("class", "true", "predicted", "id", "stage", "job"),
    *MACHINE,
)
"""Columns that stay text whatever they hold: 01 and NA are labels."""

Paths = Iterable[str | os.PathLike[str]]


def read_evaluation(paths: Paths) -> dict[str, pd.DataFrame]:
    """Read tables of the evaluation, by the names of their files."""
    return {Path(path).stem: read_table(path, ["recipe"], _TEXT) for path in paths}


def read_folds(paths: Paths) -> pd.DataFrame:
    """Read tables of single folds, SELECTOR/FOLD.tsv, as one with selector, repeat and fold."""
    parts = []
    for path in map(Path, paths):
        repeat, fold = fold_numbers(path.name.split(".")[0])
        table = read_table(path, [], _TEXT)
        parts.append(table.assign(selector=path.parent.name, repeat=repeat, fold=fold))
    return pd.concat(parts, ignore_index=True)


def best_recipe(comparison: pd.DataFrame) -> str:
    """Return the recipe that the comparison marks as the best."""
    marked = comparison["best"].astype(str).str.lower() == "true"
    return str(comparison.loc[marked, "recipe"].iloc[0])


def read_dataset_report(folder: Path, name: str, settings: Mapping[str, Any]) -> DatasetReport:
    """Read what the page says of a data set from its folder of results.

    Parameters
    ----------
    folder : Path
    name : str
    settings : mapping
        The data set's part of the config.
    """
    evaluation = read_evaluation(
        folder / "evaluation" / f"{table}.tsv"
        for table in ("models", "summary", "comparison", "per_class")
    )
    model = Model.load(folder / "model.safetensors")
    trained = _trained(evaluation["models"])
    return DatasetReport(
        name=name,
        settings=settings,
        statistics=read_json(folder / "dataset" / "summary.json")["statistics"],
        alignments=read_json(folder / "columns" / "alignments.json"),
        landmarks=read_folds(folder / "landmarks" / name for name in trained),
        factors=read_folds(folder / "factors" / name for name in trained),
        models=evaluation["models"],
        summary=evaluation["summary"],
        comparison=evaluation["comparison"],
        per_class=evaluation["per_class"],
        times=read_table(folder / "times.tsv", COLUMNS, _TEXT),
        final_recipe=str(model.about["training"]["recipe"]),
        landmark_map=read_json(folder / "map.json"),
        figures={name: (folder / "figures" / f"{name}.svg").read_text() for name in CAPTIONS},
        unknown=read_unknown(folder) if settings["unknown"] else None,
        unlabelled=read_unlabelled(folder)
        if settings["source"].get("unmatched") == "classify"
        else None,
    )


def _trained(models: pd.DataFrame) -> list[str]:
    """Return SELECTOR/FOLD.tsv of all models.

    The folder is not asked: after a change of the config it may hold more folds than the run.
    """
    keys = models[["selector", "repeat", "fold"]].drop_duplicates()
    return [
        f"{selector}/{ALL if repeat < 0 else fold_name(int(repeat), int(fold))}.tsv"
        for selector, repeat, fold in keys.itertuples(index=False)
    ]
