"""What the page and the figures tell of a data set, read from its folder of results."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.errors import InputError
from kreinflow.classify.model_file import Model
from kreinflow.evaluation.levels import TABLE_COLUMNS as LEVEL_TABLES
from kreinflow.evaluation.tables import SEVERAL_COLUMNS, TABLE_COLUMNS
from kreinflow.evaluation.unknown import (
    FAMILIES_COLUMNS,
    REJECTION_SUMMARY_COLUMNS,
    UNKNOWN_CURVE_COLUMNS,
)
from kreinflow.files.atomic import read_text
from kreinflow.files.json_files import read_json
from kreinflow.files.tables import read_measures, read_table
from kreinflow.fitting.cascade_curve import CURVE_COLUMNS
from kreinflow.fitting.factor_file import FACTOR_COLUMNS, SPECTRUM_COLUMNS
from kreinflow.fitting.recipe_choice import FIGURES_COLUMNS, TEXT_COLUMNS
from kreinflow.report.cascades import EVERYTHING, FIRST
from kreinflow.report.rejecting import SURENESS
from kreinflow.report.tables import measured, measured_recipe, numbers
from kreinflow.report.times import COLUMNS, MACHINE
from kreinflow.sequences.partition import ALL, fold_name, fold_numbers

CAPTIONS: dict[str, str] = {
    "classes": "Sizes of the classes, and lengths of the sequences where there are any.",
    "landmarks": "Landmarks of each class: a dot is the number in the final model, a line goes "
    "from the fewest to the most in a fold.",
    "spectrum": "Eigenvalues of the approximated kernel as shares of the largest, of the final "
    "model's landmarks and transform. They are of the first fold, or of all data where no recipe "
    "learns from a factor of this kernel. Positive ones are blue, negative ones vermilion. The "
    "axis is logarithmic outside 0.0001.",
    "map": "Objects and landmarks (black edges) of the final model in two dimensions of the Krein "
    "space of its scores: axes are named with the sign and size of their eigenvalue.",
    "comparison": "Accuracy of each recipe on the outer folds: mean and standard deviation. The "
    "recipe of the final model is shaded.",
    "confusion": "Confusion matrix of the model on the outer folds, each row divided by its sum: "
    "right predictions blue, errors vermilion. Numbers are records (mean over repeats).",
    "alignments": "Accuracy against what a new object costs (recipes of equal cost are set side by "
    "side). The marker of the final model is larger and has a black edge. The dashed line is the "
    "cost without landmarks.",
    "reject": "Errors among the predictions that are kept when the least certain are set aside "
    "(line). The marker shows what the models of the outer folds accept, and how much of it is "
    "wrong. They reject what is below their threshold, and for other reasons too where there are "
    "such, so the marker need not be on the line. The threshold is that of the final model.",
    "calibration": "How often predictions of a given probability are right, above how many there "
    "are. The boxes hold 95 % of what perfect probabilities would show with so many predictions.",
    "sets": "Sets of labels. Left: how often they hold the true label, against the confidence that "
    "was asked for (dashes); a dot is a class, the large marker all records. Right: how many "
    "labels are in them; above the bars the mean.",
    "times": "Where the time went: seconds of each stage, summed over its jobs.",
    "unknown": "Left: objects of unknown classes that are rejected, against those of known "
    "classes, as the threshold of the p-value, or of the probability where there is none, grows "
    "from left to right: mean over outer folds at each share of the known. The marker has the "
    "means of what the models reject, for whatever reason; on the dashed line nothing is told "
    "apart. Right: why known objects are rejected, and those of each class held out.",
    "levels": "The model at each level of the classes. Left: how many records have another node "
    "there than the likeliest one, and than the one that is answered. Right: how many are answered "
    "at the level or below it.",
}
"""What each figure shows, on outer folds of :attr:`DatasetReport.measured`, but those that compare
recipes. All data sets have them but ``unknown`` and ``levels``."""

_TEXT = (
    *(*TEXT_COLUMNS, "rank_wanted"),
    *("class", "taken_for", "true", "predicted", "id", "digest", "stage", "job", "chosen"),
    *("node", "given"),
    *(*MACHINE, "ended"),
)
"""Columns that stay text whatever they hold: 01 and NA are labels."""

_EVALUATED = {**TABLE_COLUMNS, **LEVEL_TABLES}
_COLUMNS = {f"evaluation/{name}": columns for name, columns in _EVALUATED.items()} | {
    "evaluation/models": FIGURES_COLUMNS,
    "unknown/summary": REJECTION_SUMMARY_COLUMNS,
    "unknown/families": FAMILIES_COLUMNS,
    "unknown/curve": UNKNOWN_CURVE_COLUMNS,
}
_SEVERAL = {f"evaluation/{name}": columns for name, columns in SEVERAL_COLUMNS.items()}
LANDMARK_COLUMNS = ("class", "radius", "reached")
POINT_COLUMNS = ("id", "class", "landmark", "x", "y")
Paths = Iterable[str | os.PathLike[str]]


@dataclass(frozen=True, eq=False)
class DatasetReport:
    """What the page tells of one data set.

    Tables have the columns that their makers document; cells that are empty in a file may be
    empty text here.

    Parameters
    ----------
    name : str
    settings : mapping
        The data set's part of the config: source, scoring, folds, recipes, final.
    statistics : mapping
        Of :class:`kreinflow.sequences.dataset.Dataset`.
    alignments : mapping
        With aligned, self_scores, full_matrix, distinct, store, scheme (both None if nothing was
        aligned).
    agreed : int
        Pairs that parasail scored too, with the same result.
    landmarks : DataFrame
        Columns selector, repeat, fold, class, radius, reached; one row a landmark of a fold.
    factors : DataFrame
        Columns selector, transform, rank_wanted, repeat, fold, landmarks, rank, misfit, positive,
        negative, zero, negative_fraction.
    models : DataFrame
        Columns recipe, repeat, fold, selector, transform, correction, learner, landmarks, rank,
        basis_used, iterations, converged, unlearned_classes, singular_classes, unlearned_names,
        singular_names, hyper_parameters, views, temperature, reject_threshold, inner_accuracy,
        inner_log_loss, alignments_per_query. Rows of the final model have a negative repeat.
    summary, comparison, per_class, coverage, errors, accepted, rejected, best_hit : DataFrame
        Of :mod:`kreinflow.evaluation`.
    times : DataFrame
        With the columns of :mod:`kreinflow.report.times`.
    curves : DataFrame
        From :func:`read_curves`.
    final_recipe : str
        The recipe of the final model.
    cascade : mapping or None
        Of the final model: its steps, threshold and likeliest (None without machines of pairs).
    landmark_map : mapping
        With distinct, landmarks (numbers of all), shown_objects, shown_landmarks; and selector,
        transform, rank_wanted and factor, a row of the table of factors.
    figures : mapping of str to str
        The text of an SVG for each name of :data:`CAPTIONS`.
    unknown : mapping of str to DataFrame, optional
        ``summary`` and ``families`` of :mod:`kreinflow.evaluation.unknown`, if classes were held
        out as unknown.
    unlabelled : DataFrame, optional
        From :func:`read_unlabelled`, if it was asked for.
    strangers : mapping, optional
        What the final model tells of unknown objects; with its threshold of sureness
        (:mod:`kreinflow.report.rejecting`), if overwhelming hits count.
    levels : mapping of str to DataFrame, optional
        From :func:`kreinflow.evaluation.levels.level_tables`, of classes that are paths.
    thresholds : mapping of str to float, optional
        Of each label in the final model, if records may have several labels.
    """

    name: str
    settings: Mapping[str, Any]
    statistics: Mapping[str, Any]
    alignments: Mapping[str, Any]
    agreed: int
    landmarks: pd.DataFrame
    factors: pd.DataFrame
    models: pd.DataFrame
    summary: pd.DataFrame
    comparison: pd.DataFrame
    per_class: pd.DataFrame
    coverage: pd.DataFrame
    errors: pd.DataFrame
    accepted: pd.DataFrame
    rejected: pd.DataFrame
    best_hit: pd.DataFrame
    times: pd.DataFrame
    curves: pd.DataFrame
    final_recipe: str
    cascade: Mapping[str, Any] | None
    landmark_map: Mapping[str, Any]
    figures: Mapping[str, str]
    unknown: Mapping[str, pd.DataFrame] | None = None
    unlabelled: pd.DataFrame | None = None
    strangers: Mapping[str, Any] | None = None
    levels: Mapping[str, pd.DataFrame] | None = None
    thresholds: Mapping[str, float] | None = None

    @property
    def measured(self) -> str:
        """The recipe whose figures on the outer folds are those of the final model."""
        return measured_recipe(self.settings.get("final"), self.summary["recipe"])

    @property
    def several(self) -> bool:
        """Whether records may have several labels."""
        return bool(self.statistics.get("several"))


def read_tables(
    paths: Paths, classes: Sequence[str] | None = None, several: bool = False
) -> dict[str, pd.DataFrame]:
    """Read tables of ``evaluation`` and ``unknown``, by the names of their files.

    If ``classes`` are given, no others may be in them. Records may have ``several`` labels.
    """
    columns = _COLUMNS | (_SEVERAL if several else {})
    tables = {}
    for path in map(Path, paths):
        table = read_measures(path, columns[f"{path.parent.name}/{path.stem}"], _TEXT)
        if classes is not None:
            _refuse_other_classes(path, table, classes)
        tables[path.stem] = table
    return tables


def _refuse_other_classes(
    path: str | os.PathLike[str], table: pd.DataFrame, classes: Sequence[str]
) -> None:
    for column in ("class", "true", "predicted"):
        # An empty one stands for all of them.
        if column in table and (unknown := sorted({*table[column]} - {*classes, ""})):
            raise InputError(f"{path}: no class is called {unknown[0]!r}. Delete it and run again.")


def read_folds(paths: Paths, columns: Sequence[str]) -> pd.DataFrame:
    """Read tables of single folds, SELECTOR/FOLD.tsv, as one with selector, repeat and fold."""
    parts = [pd.DataFrame(columns=["selector", "repeat", "fold", *columns])]
    for path in map(Path, paths):
        repeat, fold = fold_numbers(path.name.split(".")[0])
        table = read_measures(path, columns, _TEXT)
        parts.append(table.assign(selector=path.parent.name, repeat=repeat, fold=fold))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def read_curves(paths: Paths) -> pd.DataFrame:
    """Read what cascades gave on the outer folds at each threshold, of all recipes that have one.

    Returns
    -------
    DataFrame
        Columns :data:`CURVE_COLUMNS` and selector; see :mod:`kreinflow.report.cascades`.

    Raises
    ------
    InputError
        Also if a curve lacks an end or the threshold of its model, or does not fit its fold.
    """
    files = [Path(path) for path in paths]
    for path in files:
        table = read_measures(path, CURVE_COLUMNS, _TEXT)
        repeat, fold = fold_numbers(path.name.split(".")[0])
        of_fold = (numbers(table["repeat"]) == repeat) & (numbers(table["fold"]) == fold)
        curves = table.groupby("recipe", sort=False)
        if not (of_fold.all() and all(_is_curve(curve) for _, curve in curves)):
            raise InputError(f"{path}: damaged, or of another run. Delete it and run again.")
    return read_folds(files, CURVE_COLUMNS)


def _is_curve(curve: pd.DataFrame) -> bool:
    threshold, alignments, records, right = (
        numbers(curve[name]) for name in ("threshold", "alignments", "records", "right")
    )
    return bool(
        {FIRST, EVERYTHING} <= {*threshold}
        and ((threshold >= FIRST) & (threshold <= EVERYTHING)).all()
        and (np.isfinite(alignments) & (alignments >= 0)).all()
        and (records == records[0]).all()
        and ((right >= 0) & (right <= records) & (right % 1 == 0)).all()
        and sorted({*curve["chosen"]} - {"yes"}) in ([], ["no"])
        and (curve["chosen"] == "yes").sum() == 1
    )


def read_spectra(paths: Paths, landmark_map: Mapping[str, Any]) -> pd.DataFrame:
    """Read the eigenvalues of the final model's kernel in the outer folds.

    If no recipe learns from a factor of that kernel, they are those of the map's factor.
    """
    kernel = {key: landmark_map[key] for key in ("selector", "transform", "rank_wanted")}
    rows = measured(read_folds(paths, SPECTRUM_COLUMNS))
    of_kernel = (rows[list(kernel)].astype(str) == pd.Series(kernel).astype(str)).all(axis=1)
    if of_kernel.any():
        return rows[of_kernel]
    values = landmark_map["spectrum"]
    return pd.DataFrame(
        {
            "index": range(1, len(values) + 1),
            "eigenvalue": values,
            **{**kernel, "correction": "none"},
            "repeat": 0,
            "fold": 0,
        }
    )


def read_times(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read what the jobs of a data set took."""
    return read_measures(path, COLUMNS, _TEXT)


def read_points(path: str | os.PathLike[str], classes: Sequence[str]) -> pd.DataFrame:
    """Read the points of the landmark map, of which each is of one of these classes."""
    points = read_measures(path, POINT_COLUMNS, _TEXT)
    _refuse_other_classes(path, points, classes)
    return points


def read_dataset_report(
    folder: Path, name: str, settings: Mapping[str, Any], blocks: Paths, factors: Paths
) -> DatasetReport:
    """Read what the page says of a data set from its folder of results.

    Parameters
    ----------
    folder : Path
    name : str
    settings : mapping
        The data set's part of the config.
    blocks : iterable of paths
        What the jobs that aligned wrote of their blocks. Those of versions up to 0.4.0 had no pair
        scored twice.
    factors : iterable of paths
        The tables of the factors, none if no recipe learns from one.
    """
    names = (
        *("models", "summary", "comparison", "per_class", "coverage", "errors"),
        *("accepted", "rejected", "best_hit"),
    )
    statistics = read_json(folder / "dataset" / "summary.json")["statistics"]
    evaluation = read_tables(
        (folder / "evaluation" / f"{table}.tsv" for table in names),
        several=bool(statistics.get("several")),
    )
    model = Model.load(folder / "model.safetensors")
    trained = _trained(evaluation["models"])
    unknown = None
    if settings["unknown"]:
        tables = ("summary", "families")
        unknown = read_tables(folder / "unknown" / f"{table}.tsv" for table in tables)
    levels = None
    if settings.get("levels"):
        levels = read_tables(folder / "evaluation" / f"{table}.tsv" for table in LEVEL_TABLES)
    absent = [name for name, part in (("unknown", unknown), ("levels", levels)) if not part]
    return DatasetReport(
        name=name,
        settings=settings,
        statistics=statistics,
        alignments=read_json(folder / "columns" / "alignments.json"),
        agreed=sum(read_json(path).get("agreed", 0) for path in blocks),
        landmarks=read_folds((folder / "landmarks" / name for name in trained), LANDMARK_COLUMNS),
        factors=read_folds(factors, FACTOR_COLUMNS),
        **evaluation,
        times=read_times(folder / "times.tsv"),
        curves=read_curves(folder / "cascade" / name for name in trained),
        cascade=_cascade(model),
        thresholds=_thresholds(model),
        final_recipe=str(model.about["training"]["recipe"]),
        landmark_map=read_json(folder / "map.json"),
        figures={
            name: read_text(folder / "figures" / f"{name}.svg")
            for name in CAPTIONS
            if name not in absent
        },
        unknown=unknown,
        strangers=_strangers(model),
        levels=levels,
        unlabelled=read_unlabelled(folder)
        if settings["source"].get("unmatched") == "classify"
        else None,
    )


def _cascade(model: Model) -> dict[str, Any] | None:
    cascade = model.classifier.cascade
    if cascade is None:
        return None
    return {
        "steps": list(cascade.steps),
        "likeliest": cascade.likeliest if cascade.machines is not None else None,
        "threshold": cascade.threshold,
    }


def _strangers(model: Model) -> dict[str, Any] | None:
    relatives, about = model.classifier.relatives, model.classifier.about.get("unknown")
    if about is None or relatives is None or relatives.sure_threshold is None:
        return about
    return {**about, SURENESS: relatives.sure_threshold}


def _thresholds(model: Model) -> dict[str, float] | None:
    several = model.classifier.several
    if several is None:
        return None
    return dict(zip(model.classifier.classes, map(float, several.thresholds), strict=True))


def _trained(models: pd.DataFrame) -> list[str]:
    """Return SELECTOR/FOLD.tsv of all models.

    The folder is not asked: after a change of the config it may hold more folds than the run.
    """
    keys = models[["selector", "repeat", "fold"]].drop_duplicates()
    return [
        f"{selector}/{ALL if repeat < 0 else fold_name(int(repeat), int(fold))}.tsv"
        for selector, repeat, fold in keys.itertuples(index=False)
    ]


def read_unlabelled(folder: Path) -> pd.DataFrame:
    """Count the predictions of a data set's own unlabelled sequences.

    Parameters
    ----------
    folder : Path
        The data set's results.

    Returns
    -------
    DataFrame
        Columns class, records (predicted to be of it), rejected (how many of them are),
        landmark_score (the median of their scores with the nearest landmark), the largest class
        first; records that could not be classified are in a class of their own, the empty text.
    """
    text = ("label", "reject", "problem")
    table = read_table(folder / "classified" / "unlabelled.tsv", text, text)
    scores = pd.to_numeric(table["landmark_score"], errors="coerce")
    counted = pd.DataFrame(
        {
            "records": table.groupby("label").size(),
            "rejected": (table["reject"] == "yes").groupby(table["label"]).sum(),
            "landmark_score": scores.groupby(table["label"]).median(),
        }
    )
    counted = counted.rename_axis("class").reset_index()
    return counted.sort_values(
        ["records", "class"], ascending=[False, True], kind="stable", ignore_index=True
    )
