"""What a run is expected to take, told before it: pairs, minutes, memory, disk, a query's cost.

:mod:`kreinflow.config.costs` and its neighbours have the figures of jobs. Jobs ask for bounds of
these,
with time to spare; here stands what they mostly take. Numbers that only the run knows are assumed,
by what runs had. ``docs/scale.md`` holds estimates against runs.
"""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from kreinflow.alignment.scoring import by_parasail
from kreinflow.answering.relatives import MORE, NEAREST
from kreinflow.config import costs
from kreinflow.config.cascade_costs import cascade_mb, cascade_seconds
from kreinflow.config.costs import Seconds, Statistics
from kreinflow.config.lift_costs import lifted_mb, lifted_seconds
from kreinflow.config.plan import DatasetPlan, Settings
from kreinflow.config.query_costs import million_hours, recipe_seconds
from kreinflow.config.relating_costs import (
    calibration_pairs,
    relating_mb,
    relating_seconds,
    rule_pairs,
)
from kreinflow.fitting.cascade_choice import NEAREST_AT_MOST, Wanted
from kreinflow.fitting.fit_cascade import sample_size
from kreinflow.fitting.strangers import STRANGERS
from kreinflow.landmarks.budgets import landmarks_wanted
from kreinflow.sequences.partition import ALL

OF_BALL = 5
"""Landmarks that the ball of a class needs: 4 to 7 in the runs of docs/results.md."""

NEW_OF_PART = 0.24
"""Of the landmarks of a further training part, those that no other part has: .2 to .3."""

RACED = 0.5
"""Of the recipes of an automatic comparison, by their time, those that go on behind the race."""

STARTED = 0.9
"""Core seconds of a job beside its work: it starts, and Snakemake waits for it."""

SHOWN = 10.0
"""Seconds of the figures, the tables and the page of a data set."""

TOLD_UNKNOWN = 1e-3
"""Seconds of a record held out as unknown, for each recipe and fold."""

SOLVED = 1 / 8
"""Of the cubes of :func:`kreinflow.config.costs.fit_seconds`, what SF-LSM takes: it has no
eigenvalues to find."""

PROCESS_MB = 120
"""Memory of a job beside its data."""

SOLVED_SQUARES = 5 / 16
"""Of :func:`kreinflow.config.costs.square_mb`, where no learner needs a factor."""

SCORE_BYTES, STORED_BYTES, PROBABILITY_BYTES, PAGE_MB = 2, 4.5, 27, 2.5
"""On disk: of a score in the columns, and in the store; of a probability in the two packed tables;
of the figures and the page."""


class Query(NamedTuple):
    """What a recipe takes for a new sequence.

    Parameters
    ----------
    recipe : str
    alignments : float
        With all landmarks and itself; of a cascade with a stated mean, that mean.
    more : float
        So many more at most where it is unsure, of a cascade with a stated loss.
    relatives : float
        So many more at most where it may be unknown, of a model that looks for relatives. The
        records that a cascade has asked are among them.
    hours, most_hours : float
        Core hours of a million of them: without any of these, and if each takes the most.
    """

    recipe: str
    alignments: float
    more: float
    relatives: float
    hours: float
    most_hours: float


class RunCosts:
    """What a run on one data set is expected to take.

    Parameters
    ----------
    plan : DatasetPlan
    statistics : mapping
        Of the data set, as its ``summary.json`` has them.
    tested : mapping of str to float
        The outer folds, with the share of the records that each tests.
    given : mapping of str to int, optional
        Landmarks of the selectors that have a table of them.
    of_score : float
        Seconds of a score that a kernel computes, :func:`~kreinflow.config.costs.kernel_seconds`.
    """

    def __init__(
        self,
        plan: DatasetPlan,
        statistics: Statistics,
        tested: Mapping[str, float],
        given: Mapping[str, int] | None = None,
        of_score: float = 0.0,
    ) -> None:
        self.plan, self.statistics, self.given = plan, statistics, given or {}
        self.of_score = of_score
        self.tested = {**tested, ALL: 0.0}
        self.n = costs.records(statistics)
        self.length = float(statistics["lengths"].get("mean", 0))
        self._inner, self._most = plan.config["inner_folds"], plan.config["learning"]["memory_mb"]

    # --- what is assumed -------------------------------------------------------------------------

    def part(self, fold: str) -> Statistics:
        """Return the statistics of the records that a fold trains on."""
        kept, data = 1 - self.tested[fold], self.statistics
        counts = {
            key: {label: kept * count for label, count in data[key].items()}
            for key in ("class_sizes", "labels_per_record")
            if key in data
        }
        return {**data, "distinct": kept * data["distinct"], **counts}

    def landmarks(self, selector: str, fold: str = ALL) -> int:
        """Return the landmarks of a training part: those of the budget, or that balls may need."""
        settings, part = self.plan.config["selectors"][selector], self.part(fold)
        distinct, classes = int(part["distinct"]), len(part["class_sizes"])
        budget = settings.get("budget")
        if isinstance(budget, str):
            return self.landmarks(budget, fold)
        if selector in self.given:
            return int((1 - self.tested[fold]) * self.given[selector])
        if settings["method"] == "all":
            return distinct
        wanted = landmarks_wanted(
            budget,
            distinct,
            classes=classes,
            objects=int(self.statistics["distinct"]),
            parts=len(self.tested),
        )
        return min(OF_BALL * classes if wanted is None else wanted, distinct)

    @property
    def _of_parts(self) -> float:
        """How many times what one training part chooses all of them choose together."""
        return 1 + NEW_OF_PART * (len(self.tested) - 1)

    @cached_property
    def union(self) -> float:
        """Landmarks of all selectors and training parts together."""
        every = sum(self._of_parts * self.landmarks(selector) for selector in self.plan.selectors)
        return min(every, float(self.statistics["distinct"]))

    @cached_property
    def shares(self) -> dict[str, float]:
        """The training parts, and the share of the recipes that are fitted on each."""
        raced = "auto" in self.plan.config
        return {fold: RACED if raced and at else 1.0 for at, fold in enumerate(self.tested)}

    @cached_property
    def _has_evalues(self) -> bool:
        return bool(self.length) and self.plan.settings["scoring"]["mode"] == "local"

    @property
    def _by_parasail(self) -> bool:
        backend = self.plan.config["alignment"]["backend"]
        return by_parasail(backend, self.plan.settings["scoring"]["mode"])

    # --- pairs -----------------------------------------------------------------------------------

    @cached_property
    def choosing_pairs(self) -> float:
        """Pairs that landmarks are chosen by: candidates of each class, and sketches."""
        sizes, everything = self.statistics["class_sizes"], self.statistics["distinct"]
        pairs = 0.0
        for key, groups in (("candidates", sizes.values()), ("sketch", [everything])):
            most = self.plan.most_wanted(key)
            for size in groups:
                chosen = size if most is None else min(self._of_parts * most, size)
                pairs += _pairs_with(chosen, size)
        return pairs

    @cached_property
    def column_pairs(self) -> float:
        """Pairs of all objects with all landmarks."""
        return _pairs_with(self.union, float(self.statistics["distinct"]))

    def asked_pairs(self, selector: str, fold: str) -> float:
        """Return the pairs that the recipes of a selector ask for; they share them.

        Of a cascade that is the nearest records, of the sample it is learned on and of the tested
        ones; and those by which a model tells unknown objects.
        """
        part, tested = self.part(fold), self.tested[fold] * self.n
        n, classes = costs.records(part), len(part["class_sizes"])
        wanted = [Wanted.of(recipe["cascade"]) for recipe in self.plan.cascades(selector)]
        nearest = max((each.most_nearest(0) for each in wanted), default=0)
        pairs = (sample_size(n, classes) + tested) * min(nearest, n)
        return min(pairs, n * (n + 1) / 2) + self._relatives_pairs(selector, fold)

    def _relatives_pairs(self, selector: str, fold: str) -> float:
        if self.plan.config["unknown"] is None or not self._has_evalues:
            return 0.0
        part, landmarks = self.part(fold), self.landmarks(selector, fold)
        pairs = calibration_pairs(part, self.tested[fold], self.plan.settings["levels"])
        # Those with records that are landmarks are known.
        return (1 - landmarks / costs.records(part)) * pairs + rule_pairs(landmarks)

    @cached_property
    def pairs(self) -> float:
        """All pairs that are aligned, 0 where nothing is; jobs align anew what they ask for."""
        if not self.length:
            return 0.0
        n, held = float(self.statistics["distinct"]), self.statistics.get("unknown", {})
        known = min(self.choosing_pairs + self.column_pairs, n * (n - 1) / 2)
        asked: float = sum(
            share * self.asked_pairs(selector, fold)
            for selector in self.plan.trained_selectors
            for fold, share in self.shares.items()
        )
        return known + asked + float(sum(held.values())) * self.union

    # --- minutes ---------------------------------------------------------------------------------

    def minutes(self, cores: int) -> float:
        """Return the minutes of the run: jobs of a stage run side by side, stages do not."""
        by_stage, selectors = self.stages(), len(self.plan.trained_selectors)
        trained = by_stage["train"]
        race = "auto" in self.plan.config
        parts = [trained[:selectors], trained[selectors:]] if race else [trained]
        before = [*by_stage["read"], *by_stage["align"], *by_stage["choose"]]
        stages = [before, *parts, by_stage["behind"]]
        return sum(max(sum(jobs) / cores, max(jobs, default=0.0)) for jobs in stages) / 60

    def stages(self) -> dict[str, list[float]]:
        """Return the seconds of each job of the stages, in one thread.

        ``read`` and ``behind`` stand for several jobs each; the others are jobs.
        """
        data, plan = self.statistics, self.plan
        grouped = plan.settings["folds"]["method"] == "grouped"
        read = costs.grouping_seconds(data) if grouped else costs.dataset_seconds(data)
        one = (read + costs.gathering_seconds(data, int(self.union), self.of_score)).on(1)
        aligned = self._aligned(self.choosing_pairs + self.column_pairs).on(1)
        blocks = 2 * plan.config["alignment"]["blocks"] if plan.source.aligned else 0
        chosen = [
            costs.selection_seconds(data, self.choosing_pairs, own["method"], self.of_score).on(1)
            for own in plan.selectors.values()
        ]
        return {
            "read": [one + 4 * STARTED],
            "align": [aligned / max(1, blocks) + STARTED for _ in range(blocks)],
            "choose": [sum(chosen) + STARTED for _ in self.tested],
            "train": [
                share * self.training_seconds(selector, fold) + STARTED
                for fold, share in self.shares.items()
                for selector in self.plan.trained_selectors
            ],
            "behind": [self._seconds_behind()],
        }

    def training_seconds(self, selector: str, fold: str) -> float:
        """Return the seconds of the factors and the fits of a selector, in one thread."""
        plan, part, m = self.plan, self.part(fold), self.landmarks(selector, fold)
        n, tested = costs.records(part), self.tested[fold]
        seconds = self._aligned(self.asked_pairs(selector, fold))
        factors = {(r["transform"], str(r["rank"])) for r in plan.factored(selector)}
        seconds += len(factors) * costs.factor_seconds(n, m)
        for learner in plan.learners(selector):
            fits = costs.training_seconds(part, m, [learner], self._inner, tested)
            solved = SOLVED if learner.method == "sf_lsm" else 1.0
            seconds += Seconds(solved * fits.serial, fits.shared)
        # Recipes that differ in their cascades alone share their fits.
        lifts = [_without_cascade(r) for r in plan.recipes(selector) if r["lift"]]
        for lifted in dict(zip(lifts, plan.lifted(selector), strict=True)).values():
            seconds += lifted_seconds(part, m, lifted, self._inner)
        cascades = plan.cascades(selector)
        for recipe in cascades:
            given = Wanted.of(recipe["cascade"]), m, _words(recipe), self._inner, tested
            seconds += (1 / len(cascades)) * cascade_seconds(part, *given)
        pairs = self._relatives_pairs(selector, fold)
        if pairs:
            for recipe in plan.recipes(selector):
                seconds += relating_seconds(part, m, _words(recipe), pairs / NEAREST, pairs)
        return seconds.on(1)

    def _seconds_behind(self) -> float:
        """Return the seconds of the jobs behind the training, one after the other."""
        plan, data = self.plan, self.statistics
        m = max(map(self.landmarks, plan.trained_selectors))
        recipes, held = plan.recipes(), sum(data.get("unknown", {}).values())
        folds = len(self.tested) - 1
        measured = costs.EVALUATED_MB * self._tables_mb + TOLD_UNKNOWN * held * folds * len(recipes)
        seconds = Seconds(measured) + self._aligned(held * self.union)
        seconds += costs.map_seconds(data, m)
        if self._has_evalues and plan.config["unknown"] is None:
            words, pairs = max(map(_words, recipes)), rule_pairs(m)
            seconds += self._aligned(pairs)
            seconds += relating_seconds(data, m, words, 3 * STRANGERS, pairs)
        return seconds.on(1) + SHOWN + 5 * STARTED

    def _aligned(self, pairs: float) -> Seconds:
        return costs.alignment_seconds(self.statistics, pairs, self._by_parasail)

    # --- megabytes -------------------------------------------------------------------------------

    @property
    def memory_mb(self) -> float:
        """Megabytes of the largest job."""
        pairs = max(self.choosing_pairs, self.column_pairs) if self.plan.source.aligned else 0.0
        alignment = self.plan.config["alignment"]
        aligning = costs.scores_mb(pairs / alignment["blocks"], alignment["memory_mb"])
        trained = [
            self._training_mb(selector, fold)
            for selector in self.plan.trained_selectors
            for fold in self.tested
        ]
        return max(PROCESS_MB + costs.dataset_mb(self.statistics) + aligning, *trained)

    def _training_mb(self, selector: str, fold: str) -> float:
        plan, part, m = self.plan, self.part(fold), self.landmarks(selector, fold)
        learners, lifted = plan.learners(selector), plan.lifted(selector)
        tiled = self._most if all(learner.by_tiles for learner in learners) else None
        mb = costs.learning_mb(part, m, tiled, learners, self.tested[fold])
        mb += PROCESS_MB - costs.BASE_MB
        if not plan.factored(selector):
            mb -= (1 - SOLVED_SQUARES) * costs.square_mb(m)
        for recipe in plan.cascades(selector):
            given = Wanted.of(recipe["cascade"]), m, _words(recipe), self._inner
            mb += cascade_mb(part, *given, self.tested[fold], self._most)
        pairs = self._relatives_pairs(selector, fold)
        if pairs:
            mb += sum(
                relating_mb(part, m, _words(recipe), pairs, self._most)
                for recipe in plan.recipes(selector)
            )
        tiles = (self._most if own.learner.by_tiles else None for own in lifted)
        return mb + max(map(lifted_mb, [part] * len(lifted), lifted, tiles), default=0.0)

    @property
    def disk_mb(self) -> float:
        """Megabytes of the results."""
        distinct = float(self.statistics["distinct"])
        stored = STORED_BYTES * (self.choosing_pairs + self.column_pairs) if self.length else 0.0
        columns = SCORE_BYTES * distinct * self.union
        models = sum(
            share * self._models_bytes(selector, fold)
            for selector in self.plan.trained_selectors
            for fold, share in self.shares.items()
        )
        return (stored + columns + models) / 1e6 + self._tables_mb + PAGE_MB

    def _models_bytes(self, selector: str, fold: str) -> float:
        """Return the bytes of the factors and the models of a selector.

        A factor has an m x m map for each correction; a model the weights, the scores of inducing
        points and of records that may be asked, and the residues of both.
        """
        plan, part, m = self.plan, self.part(fold), self.landmarks(selector, fold)
        n, classes = costs.records(part), len(part["class_sizes"])
        maps = {(r["transform"], str(r["rank"]), r["correction"]) for r in plan.factored(selector)}
        found = 8.0 * m**2 * len(maps)
        for recipe in plan.recipes(selector):
            points = min(recipe["lift"]["inducing"], n) if recipe["lift"] else 0
            asks = recipe["cascade"] or self._relatives_pairs(selector, fold)
            found += 8 * (points or m) * classes
            found += (points + (n if asks else 0)) * (4 * m + self.length)
        return found

    @property
    def _tables_mb(self) -> float:
        """Return the megabytes of the packed predictions."""
        cells = self.n * sum(self.tested.values()) * len(self.statistics["class_sizes"])
        share = sum(self.shares.values()) / len(self.shares)
        return PROBABILITY_BYTES * cells * share * len(self.plan.recipes()) / 1e6

    # --- a query ---------------------------------------------------------------------------------

    def queries(self) -> list[Query]:
        """Return what new sequences take, of the named final recipe or of all; none without."""
        final = self.plan.settings["final"]
        recipes = [r for r in self.plan.recipes() if final in (None, r["name"])]
        return [self._query(recipe) for recipe in recipes] if self.length else []

    def _query(self, recipe: Settings) -> Query:
        first, cascade = self.landmarks(recipe["selector"]) + 1.0, recipe["cascade"]
        mean = first if not cascade else max(first, cascade.get("alignments") or first)
        more = min(NEAREST_AT_MOST, self.n) if cascade and "alignments" not in cascade else 0.0
        # Landmarks are known already.
        relatives = min(float(MORE), max(0.0, self.n - first + 1)) if self._has_evalues else 0.0
        least, most = (
            recipe_seconds(
                *(recipe, alignments, first - 1, self.n, self.length, self._by_parasail),
                asking=share,
            )
            for alignments, share in ((mean, 0.5), (mean + max(more, relatives), 1.0))
        )
        hours = million_hours(least), million_hours(most)
        return Query(recipe["name"], mean, more, relatives, *hours)


def _pairs_with(chosen: float, objects: float) -> float:
    """Return the pairs of some objects with all, each once."""
    return objects * chosen - chosen * (chosen + 1) / 2


def _words(recipe: Settings) -> int:
    """Return the lengths of the words that a recipe looks at."""
    return len(recipe["views"]["words"] or ())


def _without_cascade(recipe: Settings) -> str:
    """Return what recipes that share their fits have in common."""
    return json.dumps({**recipe, "name": None, "cascade": None}, sort_keys=True)
