"""Results of a data set, as the page and the figures read them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from kreinflow.alignment.segments import asked_for
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import IntArray
from kreinflow.classify.model_file import Model
from kreinflow.config.plan import DatasetPlan
from kreinflow.evaluation.inner_choice import chosen_recipes
from kreinflow.evaluation.levels import TABLE_COLUMNS as LEVEL_COLUMNS
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.evaluation.tables import SEVERAL_COLUMNS, TABLE_COLUMNS
from kreinflow.evaluation.unknown import TABLE_COLUMNS as UNKNOWN_COLUMNS
from kreinflow.files.atomic import AGAIN, read_text
from kreinflow.files.json_files import read_json
from kreinflow.files.tables import check_listed, read_measures, read_table
from kreinflow.fitting.cascade_choice import CURVE_COLUMNS
from kreinflow.fitting.factors import FACTOR_COLUMNS, SPECTRUM_COLUMNS
from kreinflow.fitting.recipe_choice import FIGURES_COLUMNS, TEXT_COLUMNS
from kreinflow.learners.registry import factored
from kreinflow.report.cascades import EVERYTHING, FIRST, costs_of
from kreinflow.report.tables import measured, numbers, of_recipe
from kreinflow.report.texts import CAPTIONS, FIGURES
from kreinflow.report.threshold import Threshold
from kreinflow.report.times import COLUMNS, MACHINE
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import ALL, fold_name, fold_numbers, lost_classes, read_partition
from kreinflow.sequences.sources.registry import make_source
from kreinflow.sequences.sources.source import Source

_TEXT = (
    *(*TEXT_COLUMNS, "rank_wanted"),
    *("class", "taken_for", "true", "predicted", "id", "digest", "stage", "job", "chosen"),
    *("node", "given"),
    *(*MACHINE, "ended"),
)
"""Columns that stay text whatever they hold: 01 and NA are labels."""

LANDMARK_COLUMNS = ("class", "radius", "reached")
POINT_COLUMNS = ("id", "class", "landmark", "x", "y")
_KERNEL = ("selector", "transform", "rank_wanted")

Paths = Iterable[str | os.PathLike[str]]
Settings = Mapping[str, Any]


class DatasetResults:
    """Results of a data set; each part is read from its folder when it is first needed.

    ``results["summary"]`` is the table ``evaluation/summary.tsv``, and so are the others of
    :mod:`kreinflow.evaluation`. Cells that are empty in a file may be empty text. ``folder`` is
    that of all results, ``config`` the complete one. Each property raises an
    :class:`~kreinflow.base.errors.InputError` if a file of it is missing or damaged.
    """

    def __init__(self, folder: Path, name: str, config: Settings) -> None:
        self.name, self.config = name, config
        self.results, self.folder = folder, folder / name
        self.settings: Settings = config["datasets"][name]
        self.tables: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table of the folder ``evaluation``."""
        if name not in self.tables:
            known = {
                "models": FIGURES_COLUMNS,
                **(SEVERAL_COLUMNS if self.several else TABLE_COLUMNS),
                **LEVEL_COLUMNS,
            }
            listing = "levels.json" if name in LEVEL_COLUMNS else "checksums.json"
            self.tables[name] = self._listed(f"evaluation/{name}.tsv", known[name], listing)
        return self.tables[name]

    def _listed(self, name: str, columns: Sequence[str], listing: str) -> pd.DataFrame:
        """Return a table whose checksum is in the file ``listing`` beside it."""
        path = self.folder / name
        check_listed(path, read_json(path.parent / listing), listing)
        return read_measures(path, columns, _TEXT)

    @cached_property
    def plan(self) -> DatasetPlan:
        """What the run made, and of what."""
        return DatasetPlan({**self.config, "results": str(self.results)}, self.name)

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """What was read, see :class:`kreinflow.sequences.dataset.Dataset`."""
        return dict(read_json(self.folder / "dataset" / "summary.json")["statistics"])

    @property
    def several(self) -> bool:
        """Whether records may have several labels."""
        return bool(self.statistics.get("several"))

    @cached_property
    def lengths(self) -> IntArray:
        """Residues of each distinct sequence."""
        return read_dataset(self.folder / "dataset").lengths

    @cached_property
    def lost(self) -> str:
        """What is said of folds that leave a class few records to learn from."""
        dataset = read_dataset(self.folder / "dataset")
        return lost_classes(dataset, read_partition(self.folder / "folds.tsv", dataset))

    @cached_property
    def source(self) -> Source:
        """Where the data come from."""
        return make_source(self.settings["source"])

    @cached_property
    def aligned(self) -> bool:
        """Whether scores are those of alignments."""
        return self.source.aligned

    @property
    def unit(self) -> str:
        """What a query costs."""
        return "alignments" if self.aligned else "scores"

    @cached_property
    def alignments(self) -> dict[str, Any]:
        """Pairs that were aligned, or asked for; store and scheme are None if none was."""
        return dict(read_json(self.folder / "columns" / "alignments.json"))

    @cached_property
    def agreed(self) -> int:
        """Pairs that parasail scored too, with the same result."""
        agreed, folder = 0, self.folder / "alignment"
        for stage in ("class_scores", *self.plan.column_stages):
            if planned := self.plan.blocks(stage):
                blocks = read_json(folder / f"{stage}.0.json").get("blocks", len(planned))
                told = (read_json(folder / f"{stage}.{block}.json") for block in range(blocks))
                agreed += sum(of_block.get("agreed", 0) for of_block in told)
        return agreed

    @cached_property
    def asked_for(self) -> dict[str, int]:
        """How often the user's own score was asked for pairs, objects alone, and pairs again."""
        store, alone = self.alignments["store"], self.alignments["self_scores"]
        told = asked_for(self.folder / "scores" / str(store)[:16], str(store))
        return told if alone else told | {"alone": 0}

    @cached_property
    def landmarks(self) -> pd.DataFrame:
        """Landmarks of each fit, one row each."""
        return read_folds(self._trained("landmarks", self["models"]), LANDMARK_COLUMNS)

    @cached_property
    def factors(self) -> pd.DataFrame:
        """Figures of each factor that a recipe learns from."""
        return read_folds(self._trained("factors", self._factored), FACTOR_COLUMNS)

    @property
    def _factored(self) -> pd.DataFrame:
        names = [r["name"] for r in factored(self.config["recipes"], self.config["learners"])]
        return self["models"][self["models"]["recipe"].astype(str).isin(names)]

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Curves of all recipes with a cascade, see :func:`read_curves`."""
        return read_curves(self._trained("cascade", self["models"]))

    def _trained(self, stage: str, models: pd.DataFrame, ending: str = "tsv") -> list[Path]:
        """Return the files of models: the folder may hold more folds than the run."""
        keys = models[["selector", "repeat", "fold"]].drop_duplicates()
        return [
            self.folder / stage / selector / f"{place}.{ending}"
            for selector, repeat, fold in keys.itertuples(index=False)
            for place in [fold_name(repeat, fold) if repeat >= 0 else ALL]
        ]

    @cached_property
    def spectrum(self) -> pd.DataFrame:
        """Eigenvalues of the final model's kernel in the outer folds.

        If no recipe learns from a factor of that kernel, they are those of the map's factor.
        """
        paths = self._trained("factors", measured(self._factored), "spectrum.tsv")
        rows = self.of_kernel(read_folds(paths, SPECTRUM_COLUMNS))
        if len(rows):
            return rows
        values = self.landmark_map["spectrum"]
        table = pd.DataFrame({"index": range(1, len(values) + 1), "eigenvalue": values})
        return table.assign(**self._kernel, correction="none", repeat=0, fold=0)

    @property
    def _kernel(self) -> dict[str, Any]:
        return {key: self.landmark_map[key] for key in _KERNEL}

    def of_kernel(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the kernel of the final model."""
        own = table[list(_KERNEL)].astype(str) == pd.Series(self._kernel).astype(str)
        return table[own.all(axis=1)]

    @cached_property
    def landmark_map(self) -> dict[str, Any]:
        """Axes of the landmark map, and the factor that they are of."""
        return dict(read_json(self.folder / "map.json"))

    @cached_property
    def points(self) -> pd.DataFrame:
        """Points of the landmark map."""
        return self._listed("map.tsv", POINT_COLUMNS, "map.json")

    @cached_property
    def times(self) -> pd.DataFrame:
        """What the jobs took, see :mod:`kreinflow.report.times`."""
        return read_measures(self.folder / "times.tsv", COLUMNS, _TEXT)

    @cached_property
    def figures(self) -> dict[str, str]:
        """The text of the SVG of each figure that the data set has."""
        asked = [name for name in ("unknown", "levels") if self.settings.get(name)]
        asked = [] if self.several else asked
        paths = {name: self.folder / "figures" / f"{name}.svg" for name in CAPTIONS}
        return {name: _drawn(paths[name]) for name in (*FIGURES, *asked)}

    @cached_property
    def unknown(self) -> dict[str, pd.DataFrame] | None:
        """Tables of :mod:`kreinflow.evaluation.unknown`, if classes were held out."""
        if not self.settings.get("unknown"):
            return None
        return {
            name: self._listed(f"unknown/{name}.tsv", columns, "checksums.json")
            for name, columns in UNKNOWN_COLUMNS.items()
        }

    @cached_property
    def unlabelled(self) -> pd.DataFrame | None:
        """Predictions of the sequences without a label, if they are asked for.

        Columns class, records (predicted to be of it), rejected (how many of them are),
        landmark_score (the median), the largest class first. Records that could not be classified
        are in the class of the empty text.
        """
        if self.settings["source"].get("unmatched") != "classify":
            return None
        text = ("label", "reject", "problem")
        table = read_table(self.folder / "classified" / "unlabelled.tsv", text, text)
        table["rejected"] = table["reject"] == "yes"
        table["landmark_score"] = pd.to_numeric(table["landmark_score"], errors="coerce")
        sums = {"records": ("reject", "size"), "rejected": ("rejected", "sum")}
        sums["landmark_score"] = ("landmark_score", "median")
        counted = table.groupby("label").agg(**sums).rename_axis("class").reset_index()
        return counted.sort_values(["records", "class"], ascending=[False, True], kind="stable")

    @cached_property
    def _classifier(self) -> Any:
        return Model.load(self.folder / "model.safetensors").classifier

    @cached_property
    def cascade(self) -> dict[str, Any] | None:
        """The cascade of the final model: its steps, threshold and likeliest."""
        cascade = self._classifier.cascade
        return cascade and {
            "steps": list(cascade.steps),
            "likeliest": cascade.likeliest if cascade.machines is not None else None,
            "threshold": cascade.threshold,
        }

    @cached_property
    def strangers(self) -> dict[str, Any]:
        """What the final model tells of unknown objects; ``sureness`` is its threshold, if any."""
        about = self._classifier.about.get("unknown") or {}
        relatives = self._classifier.relatives
        if not about or relatives is None or relatives.sure_threshold is None:
            return about
        return {**about, "sureness": relatives.sure_threshold}

    @cached_property
    def promises(self) -> pd.DataFrame:
        """What the final model could promise with other thresholds, a row for each share.

        See :func:`~kreinflow.fitting.reject_threshold.promised_curve`; there may be no rows.
        """
        return pd.DataFrame((self._classifier.about.get("promise") or {}).get("curve") or [])

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """The threshold of each label in the final model, if records may have several labels."""
        several = self._classifier.several
        found = [] if several is None else map(float, several.thresholds)
        return dict(zip(self._classifier.classes, found, strict=False))

    @cached_property
    def final_recipe(self) -> str:
        """The recipe of the final model."""
        return str(self.landmark_map["recipe"])

    @cached_property
    def recipes(self) -> list[Settings]:
        """The recipes of the data set, in the order of the config."""
        wanted = self.settings.get("recipes")
        return [r for r in self.config["recipes"] if not wanted or r["name"] in wanted]

    @cached_property
    def recipe(self) -> Any:
        """The recipe of the final model."""
        return next(r for r in self.config["recipes"] if r["name"] == self.final_recipe)

    @cached_property
    def measured(self) -> str:
        """The recipe whose figures on the outer folds are those of the final model.

        Without one that the config names it is the inner choice, by which that of the model was
        chosen; where there is a single recipe, this.
        """
        names = self["summary"]["recipe"].astype(str).tolist()
        chosen = INNER_CHOICE if INNER_CHOICE in names else next(iter(names), "")
        return self.settings.get("final") or chosen

    def own(self, name: str) -> pd.DataFrame:
        """Return the rows of a table of ``evaluation`` that are :attr:`measured`."""
        return of_recipe(self[name], self.measured)

    @cached_property
    def final(self) -> dict[str, Any]:
        """The row of the final model in the table of models."""
        (row,) = self.own_models[numbers(self.own_models["repeat"]) < 0].to_dict("records")
        return {str(name): value for name, value in row.items()}

    @cached_property
    def costs(self) -> dict[str, float]:
        """The mean cost of a query, by recipe."""
        return costs_of(self["models"], self["accepted"])

    @cached_property
    def chosen(self) -> dict[tuple[int, int], str]:
        """The recipe that the inner folds of each outer fold chose."""
        order = self.settings.get("recipes") or [r["name"] for r in self.config["recipes"]]
        return chosen_recipes(self["models"], order, self.config["prefer"])

    @cached_property
    def own_models(self) -> pd.DataFrame:
        """Rows of the final model, and of the fits whose figures are told as its own.

        Where the inner folds chose the recipe, these are fits of the recipes chosen there.
        """
        models = self["models"]
        chosen = self.chosen if self.measured == INNER_CHOICE else {}
        own = [
            recipe == chosen.get((int(repeat), int(fold)), self.final_recipe)
            for recipe, repeat, fold in zip(
                models["recipe"].astype(str), models["repeat"], models["fold"], strict=True
            )
        ]
        return models[own]

    @cached_property
    def own_landmarks(self) -> pd.DataFrame:
        """Landmarks of :attr:`own_models`, with their recipe."""
        return _with_recipe(self.landmarks, self.own_models, ["selector", "repeat", "fold"])

    @cached_property
    def own_factors(self) -> pd.DataFrame:
        """Factors that :attr:`own_models` learn from, with their recipe."""
        ranks = {
            str(recipe["name"]): str(recipe.get("rank", "misfit"))
            for recipe in factored(self.config["recipes"], self.config["learners"])
        }
        own = self.own_models[self.own_models["recipe"].astype(str).isin(ranks.keys())]
        own = own.assign(rank_wanted=own["recipe"].astype(str).map(ranks).astype(object))
        return _with_recipe(self.factors, own, [*_KERNEL, "repeat", "fold"])

    @cached_property
    def threshold(self) -> Threshold:
        """The threshold of the final model."""
        hits = self.strangers.get("sureness")
        own = float(self.final["reject_threshold"]) if hits is None else hits
        promised = float(numbers(pd.Series([self.final["promised_error"]]))[0])
        return Threshold(own, hits is not None, None if promised != promised else promised)

    @cached_property
    def own_rule(self) -> Settings | None:
        """What the final model alone tells of “no relative”.

        The models of outer folds have such a rule, too, if p-values were asked for: then None.
        """
        rule: Settings | None = self.strangers.get("no_relative")
        return None if rule is None or rule["off"] or "calibrating" in self.strangers else rule

    @property
    def asks_relatives(self) -> bool:
        """Whether the final model compares objects with their nearest records."""
        return "calibrating" in self.strangers or self.own_rule is not None


def _with_recipe(table: pd.DataFrame, own: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the rows of a table that share these columns with a model, and its recipe."""
    ours, all_of_it = (t[keys].astype(str).itertuples(index=False, name=None) for t in (own, table))
    recipes = dict(zip(ours, own["recipe"].astype(str), strict=True))
    found = pd.Series(map(recipes.get, all_of_it), table.index, dtype=object)
    return table.assign(recipe=found)[found.notna()]


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

    Columns :data:`CURVE_COLUMNS` and selector; see :mod:`kreinflow.report.cascades`. A curve that
    lacks an end or the threshold of its model raises an InputError.
    """
    files = [Path(path) for path in paths]
    for path in files:
        for _, curve in read_measures(path, CURVE_COLUMNS, _TEXT).groupby("recipe", sort=False):
            whole = {FIRST, EVERYTHING} <= {*numbers(curve["threshold"])}
            if not whole or (curve["chosen"] == "yes").sum() != 1:
                raise InputError(f"{path}: damaged, or of another run. Delete it and run again.")
    return read_folds(files, CURVE_COLUMNS)


def _drawn(path: Path) -> str:
    """Return the text of an SVG; an InputError if it is none."""
    text = read_text(path)
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"{path}: damaged ({error}). {AGAIN}") from error
    return text
