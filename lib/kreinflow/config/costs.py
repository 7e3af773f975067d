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
from kreinflow.config.fit_costs import (
    BASE_MB,
    LEAST_ROWS_MB,
    SCORE,
    Cost,
    decisions,
    factor,
    fit,
    kernel_seconds,
    square_mb,
)
from kreinflow.config.plan import DatasetPlan, Settings
from kreinflow.config.query_costs import pair_seconds, queries
from kreinflow.files.json_files import read_json
from kreinflow.fitting.cascade_choice import Wanted
from kreinflow.fitting.fit_cascade import BLOCKS, MEMBERS, sample_size
from kreinflow.fitting.fit_lift import TRIED
from kreinflow.fitting.fit_unknown import LEFT_OUT
from kreinflow.fitting.strangers import STRANGERS
from kreinflow.landmarks.budgets import landmarks_wanted
from kreinflow.landmarks.selector import count_landmarks
from kreinflow.learners.learner import Learner
from kreinflow.sequences.partition import ALL
from kreinflow.sequences.payload import DISTINCT_FILE, VECTORS_FILE

PROCESS_MB = 250  # what a process mostly takes beside its data

# Bytes in memory: of a record, an aligned pair, a score that a selector looks at, an asked pair.
RECORD_BYTES, PAIR_BYTES, LOOKED_AT_BYTES, ASKED_BYTES = 1000, 100, 40, 50

STARTED, SHOWN = 0.9, 10.0  # a job beside its work; figures, tables and page of a data set
GATHERED, LOOKED_AT, CLUSTERED = 5e-8, 1e-7, 3e-6  # a score: in columns, by selectors, by k-means
TOLD = 1e-3  # a record held out as unknown, for each recipe and fold
TRY = 0.16  # a try of widths
LIFTED_ENTRY, LIFTED_SCORE, LIFTED_CELL = 4e-8, 3.5e-11, 4e-13  # n p; n p m; n p residues^2
LIFTED_PRODUCT, LIFTED_CUBE = 1.8e-11, 1e-11  # n p^2, p^3
ASKED = 1.5e-6  # a pair that is asked for, beside its alignment

# What only the run knows, as runs had it: landmarks of the enclosing ball of a class; those of a
# training part that no other part has; of an automatic comparison, what goes on behind its race.
OF_BALL, NEW_OF_PART, RACED = 5, 0.24, 0.5


class RunCosts:
    """What a run on one data set, and each of its jobs, is expected to take.

    The statistics are those of its ``summary.json``. ``given`` has the landmarks by selector where
    they are known, ``of_score`` the seconds of a score that a kernel computes.
    """

    def __init__(
        self,
        plan: DatasetPlan,
        statistics: Mapping[str, Any],
        given: Mapping[str, int] | None = None,
        of_score: float = 0.0,
    ) -> None:
        self.plan, self.given, self.of_score = plan, given or {}, of_score
        self.folds = len(plan.folds) - 1
        repeats = plan.settings["folds"].get("repeats", 1)
        self.tested = min(0.5, repeats / max(1, self.folds))
        # A record with several labels is in the size of each class.
        self.sizes = sorted(statistics["class_sizes"].values())
        counted = statistics.get("labels_per_record") or statistics["class_sizes"]
        self.n = float(sum(counted.values()))
        self.classes = len(self.sizes)
        self.several = bool(statistics.get("several"))
        self.distinct = float(statistics["distinct"])
        self.length = float(statistics["lengths"].get("mean", 0))
        self.held = float(sum(statistics.get("unknown", {}).values()))
        # How many times what one training part chooses all of them choose together.
        self._of_parts = 1 + NEW_OF_PART * self.folds
        self._inner, self._most = plan.config["inner_folds"], plan.config["learning"]["memory_mb"]
        self._records_mb = self.n * (RECORD_BYTES + 2 * self.length) / 1e6
        mode = plan.settings["scoring"]["mode"]
        self.by_parasail = by_parasail(plan.config["alignment"]["backend"], mode)
        self.has_evalues = bool(self.length) and mode == "local"

    @classmethod
    def of_results(cls, plan: DatasetPlan, folder: Path, fold: str = ALL) -> "RunCosts":
        """Return the costs by what a run has made: the data set, and the landmarks of a fold.

        A summary that is not there, or is damaged, is refused by an InputError.
        """
        summary = read_json(folder / "dataset" / "summary.json")
        statistics, of_score = summary["statistics"], 0.0
        if (kernel := summary["kernel"]) is not None:
            vectors, texts = (folder / "dataset" / name for name in (VECTORS_FILE, DISTINCT_FILE))
            numbers = vectors.stat().st_size / 8 if vectors.exists() else texts.stat().st_size
            of_score = kernel_seconds(kernel, numbers / statistics["distinct"])
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
        return min(self._of_parts * sum(map(self.landmarks, self.plan.selectors)), self.distinct)

    @cached_property
    def choosing_pairs(self) -> float:
        """Pairs that landmarks are chosen by: candidates of each class, and sketches."""
        pairs = 0.0
        for key, groups in (("candidates", self.sizes), ("sketch", [self.distinct])):
            most = self.plan.most_wanted(key)
            for size in groups:
                pairs += _pairs_with(size if most is None else self._of_parts * most, size)
        return pairs

    @cached_property
    def column_pairs(self) -> float:
        """Pairs of all objects with all landmarks."""
        return _pairs_with(self.union, self.distinct)

    @property
    def _queries(self) -> float:
        """Records of a training part, or tested, that may ask for alignments."""
        return float(sample_size(int(self.n), self.classes) + self.tested * self.n)

    def _asked_pairs(self, selector: str) -> float:
        """Return the pairs with the nearest records that the recipes of a selector ask for."""
        pairs = self._queries * self._nearest(selector)
        return min(pairs, self.n * (self.n + 1) / 2) + self._relatives_pairs(selector)

    def _nearest(self, selector: str | None = None) -> float:
        cascades = [Wanted.of(recipe["cascade"]) for recipe in self.plan.cascades(selector)]
        return float(min(max((one.most_nearest(0) for one in cascades), default=0), self.n))

    def _relatives_pairs(self, selector: str) -> float:
        if self.plan.config["unknown"] is None or not self.has_evalues:
            return 0.0
        m, sample = self.landmarks(selector), sample_size(int(self.n), self.classes)
        pairs = (sample + min(sample, LEFT_OUT)) * NEAREST + self.tested * self.n * MORE
        # Those with records that are landmarks are known.
        return float((1 - m / self.n) * pairs + _rule_pairs(m))

    @cached_property
    def pairs(self) -> float:
        """All pairs that are aligned, 0 where nothing is; jobs align anew what they ask for."""
        if not self.length:
            return 0.0
        every = _pairs_with(self.distinct, self.distinct)
        known = min(self.choosing_pairs + self.column_pairs, every)
        asked = sum(map(self._asked_pairs, self.plan.trained_selectors))
        raced = 1 + RACED * self.folds if "auto" in self.plan.config else 1 + self.folds
        return known + raced * asked + self.held * self.union

    def comparing(self) -> Cost:
        """Return the cost of another tool on a fold, or of clusters of relatives: all pairs."""
        pair = pair_seconds(self.length, self.length, True)
        return self._learning([], 1000) + Cost(shared=self.n**2 * pair, mb=BASE_MB)

    def classifying(self, megabytes: float) -> Cost:
        """Return the cost of classifying so many megabytes of new objects."""
        mb = self._records_mb + self._most + 40 * megabytes
        if not self.length:  # vectors and strings of 300 bytes
            seconds = self.of_score * 1e6 * megabytes / 300 * self.most_landmarks
            return Cost(0.5 * megabytes + seconds, mb=mb)
        hours = max(query.most_hours for query in queries(self))
        return Cost(0.5 * megabytes, 3600 * hours * megabytes / self.length, mb)

    def aligning(self, pairs: float) -> Cost:
        """Return the cost of aligning some pairs, and of storing their scores."""
        scores_mb = min(PAIR_BYTES * pairs / 1e6, self.plan.config["alignment"]["memory_mb"])
        seconds = pair_seconds(self.length, self.length, self.by_parasail) if self.length else 0.0
        return Cost(shared=pairs * seconds, mb=self._records_mb + scores_mb)

    def block(self, stage: str) -> Cost:
        """Return the cost of a block of ``class_scores`` or ``columns``."""
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
        plan, n, m = self.plan, self.n, self.landmarks(selector)
        recipes = plan.recipes(selector)
        # Recipes that differ in their cascades alone share their fits.
        firsts = {
            json.dumps({**recipe, "name": None, "cascade": None}, sort_keys=True): recipe
            for recipe in recipes
        }.values()
        factors = {(r["transform"], str(r["rank"])) for r in plan.factored(selector)}
        cost = self._learning([plan.learner(r) for r in firsts if not r["lift"]], m)
        cost += len(factors) * factor(n, m) + self.aligning(self._asked_pairs(selector))
        for recipe in firsts:
            cost += self._lifted(recipe, m) if recipe["lift"] else Cost()
        if plan.cascades(selector):
            cost += self._cascade(selector, m)
        pairs = self._relatives_pairs(selector)
        return cost + len(recipes) * self._search(m, pairs / NEAREST, pairs)

    def _learning(self, learners: list[Learner], m: float) -> Cost:
        """Return the cost of fits without a lift, and the memory of any learning."""
        n, classes, inner = self.n, self.classes, self._inner
        rows = 6 * 8 * n * m / 1e6
        rows = min(rows, self._most) if all(one.by_tiles for one in learners) else rows
        held = max((n * (len(one.choices()) + 4) for one in learners), default=0)
        by_class = 8 * classes * (held + 19 * self.tested * n * len(learners)) / 1e6
        squares = 16 if any(one.needs_factor for one in learners) or not learners else 5
        mb = self._records_mb + max(rows, LEAST_ROWS_MB) + square_mb(m, squares) + by_class
        cost = Cost(mb=mb)
        for one in learners:
            kernel = factor(n, m) if one.needs_factor else Cost(shared=SCORE * n * m)
            cost += inner * kernel + (inner + 1) * self._fit(one, m)
            cost += (len(one.choices()) + 1) * decisions(n, m, classes)
        return cost

    def finishing(self) -> Cost:
        """Return the cost of the landmark map, or of the final model and its rule of relatives."""
        m, pairs = self.most_landmarks, _rule_pairs(self.most_landmarks)
        cost = self._learning([], min(1000, m)) + factor(self.n, min(1000, m))
        if self.plan.config["unknown"] is not None or not self.has_evalues:
            return cost
        return cost + self.aligning(pairs) + self._search(m, 3 * STRANGERS, pairs)

    def unknown(self) -> Cost:
        """Return the cost of the records held out as unknown: their scores, or the answers."""
        scores = self.held * self.union
        told = TOLD * self.held * self.folds * len(self.plan.recipes()) + self.of_score * scores
        asked = self.held * self.folds * len(self.plan.cascades()) * self._nearest()
        return Cost(told) + self.aligning(scores + asked)

    def _fit(self, learner: Learner, m: float) -> Cost:
        """Return a fit of all classes; of records with several labels each label has one."""
        if self.several:
            return self.classes * fit(learner, self.n, m, 2)
        return fit(learner, self.n, m, self.classes)

    def _lifted(self, recipe: Settings, m: float) -> Cost:
        """Return the widths, kernels and fits of a recipe with a lift.

        An inner fold makes the kernel of its records again, and its Gram matrix from fewer rows
        and columns: that of all is counted 1 + F s and 1 + F s^3 times, s = 1 - 1/F.
        """
        learner, inner, views = self.plan.learner(recipe), self._inner, recipe["views"].values()
        n, p, viewed = self.n, min(recipe["lift"]["inducing"], self.n), sum(map(bool, views))
        kept, choices = 1 - 1 / inner, len(learner.choices(int(p)))
        kernels, fits = 1 + inner * kept, 1 + inner * kept**3
        tried = TRY * (5 * 4**viewed - 1) * (min(TRIED, n) / TRIED) ** 3
        serial = tried + LIFTED_CUBE * p**3 * (1 + (fits - 1) * choices)
        shared = n * p * (self._entry(m) * kernels + LIFTED_PRODUCT * p * fits)
        kernel = 8 * n * p / 1e6
        kernel = min(kernel, self._most / 4) if learner.by_tiles else kernel
        squares = (5.5 if learner.needs_factor else 2.5) * p**2 + 4096 * p
        held = n * self.classes * (len(learner.choices()) + 4)
        mb = self._records_mb + 200 + (2 + viewed) * kernel + 8 * (squares + held) / 1e6
        cost = Cost(serial, shared, mb) + (choices + 1) * decisions(n, p, self.classes)
        if learner.needs_factor:
            cost += fits * (factor(n, p) + self._fit(learner, p))
        return cost

    def _entry(self, m: float) -> float:
        """Return the seconds of comparing two records by m scores, and by their words."""
        return LIFTED_ENTRY + LIFTED_SCORE * m + LIFTED_CELL * self.length**2

    def _search(self, m: float, queries: float, pairs: float) -> Cost:
        """Return the search for the nearest records, and what is asked beside its alignment."""
        n, words = self.n, 3 * self.length
        kept = min(n * (4 * m + 9 * words), self._most / 4 * 1e6)
        held = 12 * n * m + kept + min(n, 8192) * (24 * m + 40 * words) + ASKED_BYTES * pairs
        return Cost(ASKED * pairs, queries * n * self._entry(m), self._records_mb + held / 1e6)

    def _cascade(self, selector: str, m: float) -> Cost:
        """Return the levels of a cascade: the search, and the machines of pairs of classes."""
        n, queries = self.n, self._queries
        pairs = queries * min(self._nearest(selector) + MEMBERS, n)
        searched, members = self._search(m, queries, pairs), min(MEMBERS, sum(self.sizes[-2:]))
        serial = LIFTED_CUBE * (self._inner + 1) * BLOCKS * n * members
        held = 400 * queries * self.classes + 12 * n * m * self._inner
        return searched + Cost(serial, mb=searched.mb + held / 1e6)

    def minutes(self, cores: int) -> float:
        """Return the minutes of the run: jobs of a stage run side by side, stages do not."""
        plan, aligned = self.plan, []
        if plan.source.aligned:
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
    return float(2 * STRANGERS * (m + MORE) + STRANGERS * MORE)
