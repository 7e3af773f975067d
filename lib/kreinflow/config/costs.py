"""What runs and their jobs cost: pairs to align, seconds, megabytes.

One model serves ``kreinflow check``, which tells what is expected, and the rules, whose jobs ask a
cluster for more. Constants were measured on two kinds of processors, in seconds of one thread.
Behind them stands what they are counted by: n records, m landmarks, p inducing points.
"""

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from kreinflow.alignment.scoring import by_parasail
from kreinflow.answering.relatives import MORE, NEAREST
from kreinflow.config import part_costs as parts
from kreinflow.config.part_costs import Cost
from kreinflow.config.plan import DatasetPlan, Settings
from kreinflow.files.json_files import read_json
from kreinflow.fitting.cascade_choice import NEAREST_AT_MOST, Wanted
from kreinflow.fitting.first_stage import sample_size
from kreinflow.fitting.fit_lift import TRIED
from kreinflow.fitting.strangers import MEMBERS, STRANGERS
from kreinflow.landmarks.budgets import landmarks_wanted
from kreinflow.landmarks.selector import count_landmarks
from kreinflow.sequences.partition import ALL
from kreinflow.sequences.payload import DISTINCT_FILE, VECTORS_FILE

PROCESS_MB, LIFT_MB = 250, 200  # what a process mostly takes beside its data; a choice of widths

# Bytes in memory: of a record, an aligned pair, a score that a selector looks at, an asked pair.
RECORD_BYTES, PAIR_BYTES, LOOKED_AT_BYTES, ASKED_BYTES = 1000, 100, 40, 50

BATCHES_MB = 50  # of new sequences, the most that is held at a time

STARTED, SHOWN = 0.9, 10.0  # a job beside its work; figures, tables and page of a data set
GATHERED, LOOKED_AT, CLUSTERED = 5e-8, 1e-7, 3e-6  # a score: in columns, by selectors, by k-means
TOLD = 1e-3  # a record held out as unknown, for each recipe and fold
TRY = 0.16  # a try of widths
ASKED = 1.5e-6  # a pair that is asked for, beside its alignment

# What only the run knows, as runs had it: landmarks of the enclosing ball of a class; those of a
# training part that no other part has; of an automatic comparison, what goes on behind its race;
# what an inner fold takes of what all records take, as its matrices are smaller.
OF_BALL, NEW_OF_PART, RACED, OF_INNER = 5, 0.24, 0.5, 0.6


class RunCosts:
    """What a run on one data set, each of its jobs and a new sequence are expected to take.

    The statistics are those of its ``summary.json``. ``given`` has the landmarks by selector where
    they are known, ``of_score`` the seconds of a score that a kernel computes, or the user's code.
    """

    def __init__(
        self,
        plan: DatasetPlan,
        statistics: Mapping[str, Any],
        given: Mapping[str, int] | None = None,
        of_score: float = 0.0,
    ) -> None:
        self.plan, self.given = plan, given or {}
        # The user's own score is asked for a store, as sequences are aligned; kernels everywhere.
        self.asked, self.ways = plan.source.asked is not None, 1
        if self.asked and plan.source.kind == "asymmetric":
            self.ways = 2
        self.of_score, self.of_asked = (0.0, of_score) if self.asked else (of_score, 0.0)
        self.folds = len(plan.folds) - 1
        self.tested = min(0.5, plan.settings["folds"].get("repeats", 1) / max(1, self.folds))
        # A record with several labels is in the size of each class.
        self.sizes = sorted(statistics["class_sizes"].values())
        counted = statistics.get("labels_per_record") or statistics["class_sizes"]
        self.n, self.classes = float(sum(counted.values())), len(self.sizes)
        self.several = bool(statistics.get("several"))
        self.distinct = float(statistics["distinct"])
        self.length = float(statistics["lengths"].get("mean", 0))
        self.held = float(sum(statistics.get("unknown", {}).values()))
        self._inner: int = plan.config["inner_folds"]
        self._most: int = plan.config["learning"]["memory_mb"]
        self._records_mb = self.n * (RECORD_BYTES + 2 * self.length) / 1e6
        mode = plan.settings["scoring"]["mode"]
        self.by_parasail = by_parasail(plan.config["alignment"]["backend"], mode)
        self.has_evalues = bool(self.length) and mode == "local"
        self._queries = float(sample_size(int(self.n), self.classes) + self.tested * self.n)

    @classmethod
    def of_results(cls, plan: DatasetPlan, folder: Path, fold: str = ALL) -> "RunCosts":
        """Return the costs by what a run has made: the data set, and the landmarks of a fold."""
        summary = read_json(folder / "dataset" / "summary.json")
        statistics, of_score = summary["statistics"], 0.0
        if (kernel := summary["kernel"]) is not None:
            vectors, texts = (folder / "dataset" / name for name in (VECTORS_FILE, DISTINCT_FILE))
            numbers = vectors.stat().st_size / 8 if vectors.exists() else texts.stat().st_size
            of_score = parts.kernel_seconds(kernel, numbers / statistics["distinct"])
        tables = {name: folder / "landmarks" / name / f"{fold}.tsv" for name in plan.selectors}
        given = {name: count_landmarks(path) for name, path in tables.items() if path.exists()}
        return cls(plan, statistics, given, of_score)

    def landmarks(self, selector: str) -> int:
        """Return the landmarks of the whole data set: those of the budget, or that balls need."""
        settings, distinct = self.plan.config["selectors"][selector], int(self.distinct)
        budget = settings.get("budget")
        if selector in self.given:
            return self.given[selector]
        if isinstance(budget, str):
            return self.landmarks(budget)
        if settings["method"] == "all":
            return distinct
        parts = self.folds + 1
        wanted = landmarks_wanted(
            budget, distinct, classes=self.classes, objects=distinct, parts=parts
        )
        return min(OF_BALL * self.classes if wanted is None else wanted, distinct)

    @property
    def most_landmarks(self) -> int:
        """Landmarks of the largest model."""
        return max(map(self.landmarks, self.plan.trained_selectors))

    @cached_property
    def union(self) -> float:
        """Landmarks of all selectors and training parts together."""
        raced = RACED if "race_columns" in self.plan.column_stages else 1.0
        chosen = self._of_parts(sum(map(self.landmarks, self.plan.selectors)), raced)
        return min(chosen, self.distinct)

    def _of_parts(self, chosen: float, raced: float = 1.0) -> float:
        """Return what all training parts choose together where one chooses so many.

        ``raced``: the share that others than the first one need.
        """
        return (1 + NEW_OF_PART * self.folds * raced) * chosen

    @cached_property
    def choosing_pairs(self) -> float:
        """Pairs that landmarks are chosen by: candidates of each class, and sketches."""
        pairs = 0.0
        for key, groups in (("candidates", self.sizes), ("sketch", [self.distinct])):
            most = self.plan.most_wanted(key)
            for size in groups:
                pairs += _pairs_with(size if most is None else self._of_parts(most), size)
        return pairs

    @cached_property
    def column_pairs(self) -> float:
        """Pairs of all objects with all landmarks."""
        pairs = _pairs_with(self.union, self.distinct)
        return self.ways * pairs

    @cached_property
    def landmark_pairs(self) -> float:
        """Pairs that landmarks are chosen by, or that they are in, each once."""
        every = self.ways * _pairs_with(self.distinct, self.distinct)
        return min(self.choosing_pairs + self.column_pairs, every) + self.held * self.union

    @cached_property
    def pairs(self) -> float:
        """All pairs that are aligned, or asked for, each once; jobs align anew what they need."""
        if not (self.length or self.asked):
            return 0.0
        every = self.ways * _pairs_with(self.distinct, self.distinct)
        asked = sum(self._asked_pairs(name, self._free) for name in self.plan.trained_selectors)
        raced = 1 + RACED * self.folds if "auto" in self.plan.config else 1 + self.folds
        pairs, held = self.landmark_pairs + raced * asked, self.held * self.union
        return min(pairs, every + held) if self.asked else pairs

    @property
    def _free(self) -> float:
        """The share of the pairs of records of which the columns have no score."""
        return (1 - min(self.union / self.distinct, 1)) ** 2

    def _asked_pairs(self, selector: str, share: float = 1.0) -> float:
        """Return the pairs with records that cascades, and the search for relatives, ask for.

        ``share``: of the pairs of two records, those that count.
        """
        pairs = share * min(self._queries * self._nearest(selector), self.n * (self.n + 1) / 2)
        tells = self.has_evalues or self.plan.source.asked_of_records is not None
        if self.plan.config["unknown"] is None or not tells:
            return pairs
        m = self.landmarks(selector)
        others = 1 - m / self.n  # those with records that are landmarks are known
        rule = _rule_pairs(m) if self.has_evalues else 0.0
        return pairs + share * others * NEAREST * self._queries + rule

    def _nearest(self, selector: str | None = None) -> float:
        cascades = [Wanted.of(recipe["cascade"]) for recipe in self.plan.cascades(selector)]
        return float(min(max((one.most_nearest(0) for one in cascades), default=0), self.n))

    def queries(self) -> dict[str, tuple[float, float]]:
        """Return the alignments of a new object, by the final recipe if it is named, or all.

        They are with all landmarks and itself; of a cascade with a stated mean, that mean. So many
        more, at most, are added where a cascade with a stated loss is unsure, or it may be unknown.
        """
        found, final = {}, self.plan.settings["final"]
        for recipe in self.plan.recipes() if self.length or self.asked else ():
            first = self.ways * self.landmarks(recipe["selector"]) + float(self.length > 0)
            cascade = recipe["cascade"] or {}
            more = min(NEAREST_AT_MOST, self.n) if "loss" in cascade else 0.0
            if self.has_evalues:  # landmarks are known already
                more = max(more, min(float(MORE), self.n - first + 1))
            elif self.asked and self.ways == 1 and self.plan.config["unknown"] is not None:
                more = max(more, float(NEAREST))
            if final in (None, recipe["name"]):
                found[recipe["name"]] = max(first, cascade.get("alignments", first)), more
        return found

    def classifying(self, megabytes: float) -> Cost:
        """Return the cost of classifying so many megabytes of new objects; sequences in batches."""
        held = min(megabytes, BATCHES_MB) if self.length else megabytes
        mb = self._records_mb + self._most + 40 * held
        if not self.length:  # vectors and strings of 300 bytes
            of_score = self.of_score + self.of_asked
            seconds = of_score * 1e6 * megabytes / 300 * self.most_landmarks
            return Cost(0.5 * megabytes + seconds, mb=mb)
        recipes, sizes = self.queries(), (self.n, self.length, self.by_parasail)
        seconds = max(
            parts.recipe_seconds(recipe, sum(asked), asked[1], *sizes)
            for recipe in self.plan.recipes()
            if (asked := recipes.get(recipe["name"]))
        )
        return Cost(0.5 * megabytes, seconds * 1e6 * megabytes / self.length, mb)

    def aligning(self, pairs: float) -> Cost:
        """Return the cost of aligning some pairs, and of storing their scores."""
        scores_mb = min(PAIR_BYTES * pairs / 1e6, self.plan.config["alignment"]["memory_mb"])
        seconds = self.of_asked
        if self.length:
            seconds = parts.pair_seconds(self.length, self.length, self.by_parasail)
        return Cost(shared=pairs * seconds, mb=self._records_mb + scores_mb)

    def block(self, stage: str) -> Cost:
        """Return the cost of a block of ``class_scores``, or at most of columns."""
        pairs = self.choosing_pairs if stage == "class_scores" else self.column_pairs
        return self.aligning(pairs / self.plan.config["alignment"]["blocks"])

    def gathering(self) -> Cost:
        """Return the cost of gathering the columns of the landmarks."""
        pairs = self.distinct * self.union
        return Cost((GATHERED + self.of_score) * pairs, mb=self.aligning(pairs).mb)

    def selecting(self) -> Cost:
        """Return the cost of choosing the landmarks of a fold, for all selectors."""
        methods = [settings["method"] for settings in self.plan.selectors.values()]
        of_pair = sum(CLUSTERED if name == "kmeans" else LOOKED_AT for name in methods)
        seconds = (of_pair + len(methods) * self.of_score) * self.choosing_pairs
        return Cost(seconds, mb=self._records_mb + LOOKED_AT_BYTES * self.choosing_pairs / 1e6)

    def training(self, selector: str) -> Cost:
        """Return the cost of factors, fits and cascades of a selector, on all records."""
        m, pairs = self.landmarks(selector), self._asked_pairs(selector)
        # Recipes that differ in their cascades alone share their fits.
        firsts = {
            json.dumps({**recipe, "name": None, "cascade": None}, sort_keys=True): recipe
            for recipe in self.plan.recipes(selector)
        }
        cost = self.aligning(self._asked_pairs(selector, self._free))
        for recipe in firsts.values():
            cost += self._fitted(recipe, m)
        return cost + self._searched(m, self._queries, pairs) if pairs else cost

    def _fitted(self, recipe: Settings, m: float) -> Cost:
        """Return what a recipe takes: kernels and fits of all records and of the inner folds."""
        learner, n = self.plan.learner(recipe), self.n
        lift, views = recipe["lift"], sum(map(bool, recipe["views"].values()))
        q = min(lift["inducing"], n) if lift else m
        choices = len(learner.choices(int(q)))
        kernel = parts.factor(n, q) if learner.needs_factor else Cost(shared=parts.SCORE * n * q)
        # Of records with several labels each label has a fit of its own.
        fits, classes = (self.classes, 2) if self.several else (1, self.classes)
        kernel += fits * parts.fit(learner, n, q, classes)
        cost = self._rows(q, 16 if learner.needs_factor else 5, whole=not learner.by_tiles)
        held = 8 * n * self.classes * (choices + 4 + 19 * self.tested) / 1e6
        if lift:
            tried = TRY * (5 * 4**views - 1) * (min(TRIED, n) / TRIED) ** 3
            kernel += Cost(shared=n * q * self._entry(m))
            cost, held = cost + Cost(tried), held + LIFT_MB
        cost += (1 + OF_INNER * self._inner) * kernel
        cost += (choices + 1) * parts.decisions(n, q, self.classes)
        return cost + Cost(mb=cost.mb + held)

    def _rows(self, m: float, squares: int = 16, whole: bool = False) -> Cost:
        """Return the memory of m columns, whole or a part at a time, and of m x m matrices."""
        rows = 6 * 8 * self.n * m / 1e6
        rows = max(rows if whole else min(rows, self._most), parts.LEAST_ROWS_MB)
        return Cost(mb=self._records_mb + rows + parts.square_mb(m, squares))

    def _entry(self, m: float) -> float:
        """Return the seconds of comparing two records by m scores, and by their words."""
        return parts.INDUCED + parts.INDUCED_SCORE * m + parts.INDUCED_CELL * self.length**2

    def _searched(self, m: float, queries: float, pairs: float) -> Cost:
        """Return the search for the nearest records, and what is asked beside its alignment."""
        n, words = self.n, 3 * self.length
        kept = min(n * (4 * m + 9 * words), self._most / 4 * 1e6)
        held = 12 * n * m + kept + min(n, 8192) * (24 * m + 40 * words) + ASKED_BYTES * pairs
        seconds = queries * n * self._entry(m)
        return Cost(ASKED * pairs, seconds, self._records_mb + held / 1e6)

    def finishing(self) -> Cost:
        """Return the cost of the landmark map, or of the final model and its rule of relatives."""
        m, pairs = self.most_landmarks, _rule_pairs(self.most_landmarks)
        cost = self._rows(min(1000, m)) + parts.factor(self.n, min(1000, m))
        if self.plan.config["unknown"] is not None or not self.has_evalues:
            return cost
        return cost + self.aligning(pairs) + self._searched(m, 2 * STRANGERS + MEMBERS, pairs)

    def unknown(self) -> Cost:
        """Return the cost of the records held out as unknown: their scores, or the answers."""
        scores = self.held * self.union
        told = TOLD * self.held * self.folds * len(self.plan.recipes()) + self.of_score * scores
        asked = self.held * self.folds * len(self.plan.cascades()) * self._nearest()
        return Cost(told) + self.aligning(scores + asked)

    def comparing(self) -> Cost:
        """Return the cost of another tool on a fold, or of clusters of relatives: all pairs."""
        pair = parts.pair_seconds(self.length, self.length, True)
        return self._rows(1000) + Cost(shared=self.n**2 * pair, mb=parts.BASE_MB)

    def minutes(self, cores: int) -> float:
        """Return the minutes of the run: jobs of a stage run side by side, stages do not."""
        plan, aligned = self.plan, []
        if plan.source.stored:
            blocks = plan.config["alignment"]["blocks"]
            aligned = blocks * [self.block(one).on(1) for one in ("class_scores", "columns")]
        before = [self.gathering().on(1), 0, 0, *aligned]  # data set and folds take no time
        before += (1 + self.folds) * [self.selecting().on(1)]
        trained = [self.training(name).on(1) for name in plan.trained_selectors]
        share = (1 - self.tested) * (RACED if "auto" in plan.config else 1.0)
        others = self.folds * [share * one for one in trained]
        last = 2 * self.finishing().on(1) + self.unknown().on(1) + SHOWN
        seconds = 0.0
        for jobs in (before, trained, others, [last]):
            taken = [job + STARTED for job in jobs]
            seconds += max(sum(taken) / cores, max(taken, default=0.0))
        return seconds / 60

    @property
    def memory_mb(self) -> float:
        """Megabytes of the largest job."""
        jobs = [self.block("columns"), *map(self.training, self.plan.trained_selectors)]
        return PROCESS_MB + max(job.mb for job in jobs)


def _pairs_with(chosen: float, objects: float) -> float:
    """Return the pairs of some objects, at most all, with all of them, each once."""
    chosen = min(chosen, objects)
    return objects * chosen - chosen * (chosen + 1) / 2


def _rule_pairs(m: float) -> float:
    """Return the pairs at most that the rule of relatives takes."""
    return float(2 * STRANGERS * (m + MORE) + MEMBERS * MORE)
