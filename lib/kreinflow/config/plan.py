"""What a run makes of a data set: its recipes, selectors, folds, files and jobs, by their names."""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from kreinflow.base.hierarchy import Tree
from kreinflow.learners.learner import Learner
from kreinflow.learners.registry import factored, make_learner
from kreinflow.learners.siblings import learner_of
from kreinflow.sequences.dataset import VIEW_FILE
from kreinflow.sequences.folds import count_folds
from kreinflow.sequences.partition import ALL, fold_name
from kreinflow.sequences.sources.registry import make_source
from kreinflow.sequences.sources.source import Source

UNLABELLED = "unlabelled"
"""The name under which the sequences of a data set that have no label are classified."""

Settings = Mapping[str, Any]

SMALL_BYTES = 500_000
"""Of the user's files together: then a fit takes about a second."""

FOLDS_TOGETHER = 3
"""Folds of small files that a job trains one after the other: a fold takes about a start."""


class DatasetPlan:
    """One data set of a complete configuration: its ``settings``, and the ``folder`` of results."""

    def __init__(self, config: Settings, name: str) -> None:
        self.config, self.name = config, name
        self.settings: Settings = config["datasets"][name]
        self.folder = f"{config['results'].rstrip('/')}/{name}"

    def recipes(self, selector: str | None = None) -> list[Settings]:
        """Return the recipes of the data set in its order, or those of one selector."""
        by_name = {recipe["name"]: recipe for recipe in self.config["recipes"]}
        own = [by_name[name] for name in self.settings["recipes"]]
        return [recipe for recipe in own if selector in (None, recipe["selector"])]

    @property
    def trained_selectors(self) -> list[str]:
        """The selectors of the recipes."""
        return list(dict.fromkeys(recipe["selector"] for recipe in self.recipes()))

    def factored(self, selector: str) -> list[Settings]:
        """Return the recipes of a selector that learn from a Krein factor of the scores."""
        return factored(self.recipes(selector), self.config["learners"])

    @property
    def selectors(self) -> dict[str, Settings]:
        """The selectors of the recipes, then those that lend them their number of landmarks."""
        known, used = self.config["selectors"], self.trained_selectors
        lenders = [b for name in used if isinstance(b := known[name].get("budget"), str)]
        return {name: known[name] for name in (*used, *lenders)}

    def transforms_by_owner(self) -> dict[str, str]:
        """Return the score transform of each recipe and selector, by what messages call it."""
        found = {f"recipe {recipe['name']!r}": recipe["transform"] for recipe in self.recipes()}
        return found | {
            f"selector {name!r}": settings["transform"]
            for name, settings in self.selectors.items()
            if "transform" in settings
        }

    @property
    def transforms(self) -> list[str]:
        """The score transforms of the recipes and of the selectors, sorted."""
        others = {settings.get("transform", "raw") for settings in self.selectors.values()}
        return sorted({*self.transforms_by_owner().values()} | others)

    def most_wanted(self, key: str) -> int | None:
        """Return the most ``candidates`` or objects of a ``sketch`` of any selector; None: all."""
        asked = [settings[key] for settings in self.selectors.values() if key in settings]
        return 0 if not asked else None if None in asked else max(asked)

    def cascades(self, selector: str | None = None) -> list[Settings]:
        """Return the recipes with a cascade, of the data set or of one selector."""
        return [recipe for recipe in self.recipes(selector) if recipe["cascade"]]

    def learner(self, recipe: Settings) -> Learner:
        """Return the learner of a recipe."""
        learner = make_learner(self.config["learners"][recipe["learner"]])
        if (levels := self.levels) is None:
            return learner
        # What it costs hardly depends on the tree, which the labels tell.
        return learner_of(learner, Tree.of("ab", ".").forks, levels["learn"])

    @cached_property
    def source(self) -> Source:
        """Where the data come from."""
        return make_source(self.settings["source"], Path(self.config["data"]), self.separator)

    @cached_property
    def file_bytes(self) -> float:
        """The size of the user's files, packed ones four times; infinite if it tells nothing."""
        files = [*self.source.files(), *map(Path, self.vectors)]
        if not files or self.source.downloads() or self.source.asked is not None:
            return math.inf
        return sum(f.stat().st_size * (4 if f.suffix == ".gz" else 1) for f in files if f.is_file())

    @property
    def in_few_jobs(self) -> bool:
        """Whether all rows are a block, and a job trains the recipes of some folds.

        So it is for small files, of which jobs would take longer to start than to learn.
        """
        return self.file_bytes < SMALL_BYTES

    @property
    def landmarks_in_one_job(self) -> bool:
        """Whether one job chooses the landmarks of all folds, which is quicker than a fit."""
        return self.file_bytes < 10 * SMALL_BYTES

    @property
    def levels(self) -> Settings | None:
        """How classes that are paths are answered; of several labels a record, each is a node."""
        levels: Settings | None = self.settings["levels"]
        return None if self.source.several else levels

    @property
    def separator(self) -> str | None:
        """What separates the levels of labels that are paths; None if labels are none."""
        levels = self.settings["levels"]
        return None if levels is None else str(levels["separator"])

    @property
    def small(self) -> str:
        """What becomes of records of small classes: ``drop``, or they are the ``parent``'s."""
        return str((self.settings["levels"] or {"small": "drop"})["small"])

    @property
    def vectors(self) -> list[str]:
        """The user's table of vectors of the records, if there is one."""
        return [self.path(self.settings["vectors"])] if self.settings["vectors"] else []

    def dataset_files(self, folder: str = "dataset", prefix: str = "") -> dict[str, str]:
        """Return the files of the data set in a folder of its own, by the names that rules use."""
        files = {"records": "records.tsv", "distinct": "distinct.tsv", "summary": "summary.json"}
        array = self.source.array
        files |= {"array": array} if array else {}
        files |= {"view": VIEW_FILE} if self.vectors else {}
        return {f"{prefix}{name}": f"{folder}/{file}" for name, file in files.items()}

    def files_with_unknown(self) -> dict[str, str]:
        """Return those of the data set with the classes held out as unknown, if there are any."""
        return self.dataset_files("unknown/dataset", "unknown_") if self.settings["unknown"] else {}

    def files_read(self, learned_alone: bool) -> tuple[str, dict[str, str]]:
        """Return the name of the rule that reads the user's files, and all that it makes."""
        files, name = self.dataset_files(), f"read_{Path(self.source.array or 'dataset').stem}"
        name = f"{name}_and_view" if self.vectors else name
        if self.classifies_unlabelled and not learned_alone:
            files["unlabelled"], name = f"dataset/{UNLABELLED}.fasta", f"{name}_{UNLABELLED}"
        if self.settings["unknown"] and not learned_alone:
            files, name = files | self.files_with_unknown(), f"{name}_unknown"
        return name, files

    @property
    def classifies_unlabelled(self) -> bool:
        """Whether the final model classifies the sequences without a label."""
        return bool(self.settings["source"].get("unmatched") == "classify")

    @property
    def classified(self) -> list[str]:
        """The tables of all that the final model classifies."""
        names = [UNLABELLED] if self.classifies_unlabelled else []
        requests = self.config["classify"].items()
        names += [name for name, request in requests if request["dataset"] == self.name]
        return [f"{self.folder}/classified/{name}.tsv" for name in names]

    @property
    def stops(self) -> bool:
        """Whether recipes are not fitted that could not be chosen any more, however right.

        Of labels that are paths the jobs of larger files do not wait for it, as it would not pay:
        some record is wrong at a low level.
        """
        cheap = self.config["prefer"] == "cheap" and self.settings["final"] is None
        return "auto" in self.config and cheap and (self.levels is None or self.in_few_jobs)

    def race(self, fold: str, selector: str | None = None) -> list[str]:
        """Return the table that says which recipes of a fold are fitted, where some may not be.

        In the first fold it is that of a stop, for which all but the first selector wait.
        """
        if fold == self.folds[0]:
            waits = "first_columns" in self.column_stages and selector != self.trained_selectors[0]
            return [f"{self.folder}/stop.tsv"] if waits else []
        return [f"{self.folder}/race.tsv"] if "auto" in self.config else []

    @cached_property
    def column_stages(self) -> dict[str, list[str]]:
        """The folders of columns in the order they are made in, and the tables of their landmarks.

        With ``auto`` those of the first fold come first: a race or a stop leaves selectors out, and
        their landmarks in other folds need no columns. Small files have all at once.
        """
        if "auto" not in self.config or self.in_few_jobs:
            return {"columns": self.of_folds("landmarks", "tsv", lenders=True)}
        race = {"race_columns": self.of_folds("landmarks", "tsv", self.folds[0])}
        if self.stops:
            first = race["race_columns"][:1]
            race = {"first_columns": first, "race_columns": [f"{self.folder}/stop.landmarks.tsv"]}
        return race | {"columns": [f"{self.folder}/race.landmarks.tsv"]}

    def columns(self, fold: str, selector: str | None = None) -> str:
        """Return the folder of the columns that recipes learn from in a fold."""
        *before, last = self.column_stages
        if before and fold == self.folds[0]:
            last = before[0 if selector == self.trained_selectors[0] else -1]
        return f"{self.folder}/{last}"

    @cached_property
    def folds(self) -> list[str]:
        """The names of the outer folds, and of the part that the final model learns from."""
        counted = count_folds(self.settings["folds"], Path(self.config["data"]))
        return [*(fold_name(*numbers) for numbers in counted), ALL]

    def path(self, *names: str) -> str:
        """Return a path of the configuration, which starts at the data folder."""
        return str(Path(self.config["data"], *names))

    def tables_of(self, selectors: Iterable[str]) -> list[str]:
        """Return the user's tables of landmarks of some selectors."""
        settings = [self.config["selectors"][name] for name in selectors]
        return [self.path(selector["table"]) for selector in settings if "table" in selector]

    @property
    def fold_tables(self) -> list[str]:
        """The user's table of folds, or of labels with a column of groups, if there is one."""
        folds, table = self.settings["folds"], None
        if folds["method"] == "table":
            table = folds["table"]
        elif folds["method"] == "grouped" and folds["column"] is not None:
            table = self.settings["source"].get("labels", {}).get("table")
        return [self.path(table)] if table else []

    def blocks(self, stage: str) -> list[str]:
        """Return the files of the blocks scored for ``class_scores`` or columns, if any."""
        chosen = any(self.most_wanted(key) != 0 for key in ("candidates", "sketch"))
        if not self.source.stored or (stage == "class_scores" and not chosen):
            return []
        one = self.in_few_jobs or stage == "first_columns"
        blocks = range(1 if one else self.config["alignment"]["blocks"])
        return [f"{self.folder}/alignment/{stage}.{block}.json" for block in blocks]

    def request(self, name: str) -> Settings:
        """Return a request, with paths, or that of the sequences of the data set without label."""
        if name == UNLABELLED and self.classifies_unlabelled:
            own = {"input": f"{self.folder}/dataset/{UNLABELLED}.fasta", "vectors": self.vectors}
            return own | {"strand": "auto", "parts": 1}
        asked = self.config["classify"][name]
        vectors = [self.path(asked["vectors"])] if asked["vectors"] else []
        return {**asked, "input": self.path(asked["input"]), "vectors": vectors}

    def parts(self, name: str) -> list[str]:
        """Return the tables of the parts of a request in their order, none if it is one job's."""
        of = self.request(name)["parts"]
        home = f"{self.folder}/classified/{name}"
        return [f"{home}/{k}-of-{of}.tsv" for k in range(1, of + 1)] if of > 1 else []

    def of_folds(self, stage: str, ending: str, *folds: str, lenders: bool = False) -> list[str]:
        """Return the files of a stage for the selectors of the recipes, or with all lenders.

        Without ``folds`` they are those of all. Factors have the selectors whose recipes learn from
        one.
        """
        names = [*self.selectors] if lenders else self.trained_selectors
        if stage == "factors":
            names = [name for name in names if self.factored(name)]
        return [
            f"{self.folder}/{stage}/{name}/{fold}.{ending}"
            for name in names
            for fold in folds or self.folds
        ]

    def landmark_job(self, fold: str) -> str:
        """Return the name of the job that chooses the landmarks of a fold."""
        return "landmarks" if self.landmarks_in_one_job else f"landmarks.{fold}"

    def alone(self, fold: str) -> bool:
        """Whether the recipes of each selector are trained by a job of their own in a fold.

        So they are, but of small files, and behind a race, which leaves few recipes.
        """
        return not self.in_few_jobs and (fold == self.folds[0] or "auto" not in self.config)

    @cached_property
    def fold_sets(self) -> list[list[str]]:
        """The folds that a job trains: one, or of small files several, on one side of a race."""
        raced = int("auto" in self.config)
        step, folds = FOLDS_TOGETHER if self.in_few_jobs else 1, self.folds[raced:]
        sets = [folds[start : start + step] for start in range(0, len(folds), step)]
        return [*([self.folds[:1]] if raced else []), *sets]

    def model_job(self, selector: str, fold: str) -> str:
        """Return the name of the job that trains the recipes of a selector."""
        (own,) = (folds for folds in self.fold_sets if fold in folds)
        folds = "-".join(dict.fromkeys((own[0], own[-1])))
        return f"model.{selector}.{fold}" if self.alone(fold) else f"model.{folds}"

    def timed_jobs(self) -> list[str]:
        """Return the names of a run's benchmarks: the folder may hold those of an earlier one."""
        stages = self.column_stages
        aligned = [path for stage in ("class_scores", *stages) for path in self.blocks(stage)]
        requests = [Path(path).stem for path in self.classified]
        return [
            *("dataset", "folds", "candidates"),
            *(Path(path).stem for path in aligned),
            *stages,
            *dict.fromkeys(self.landmark_job(fold) for fold in self.folds),
            *dict.fromkeys(
                self.model_job(name, fold) for name in self.trained_selectors for fold in self.folds
            ),
            *(Path(path).stem for path in self.race(ALL)),
            *(["stop"] if "first_columns" in stages else ()),
            *("evaluation", "final_model", "map"),
            *(("unknown_scores", "unknown") if self.settings["unknown"] else ()),
            *(("levels",) if self.levels else ()),
            *(f"classify.{name}" for name in requests),
            *(
                f"classify.{name}/{Path(part).stem}"
                for name in requests
                for part in self.parts(name)
            ),
        ]

    def timed_products(self) -> list[str]:
        """Return what the last of these jobs make, but for what shows the times."""
        files = ["evaluation/summary.tsv", "model.safetensors", "map.json"]
        files += ["unknown/summary.tsv"] if self.settings["unknown"] else []
        files += ["evaluation/levels.tsv"] if self.levels else []
        return [*(f"{self.folder}/{file}" for file in files), *self.classified]
