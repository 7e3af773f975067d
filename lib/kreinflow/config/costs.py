"""What runs and their jobs cost: pairs to align, seconds, megabytes.

One model serves ``kreinflow check``, which tells what is expected, and the rules, whose jobs ask a
cluster for more. Constants were measured on two kinds of processors, in seconds of one thread:
``python benchmarks/asked.py`` holds them against ``benchmarks/scale.tsv``. Behind them stands what
they are counted by: n records, m landmarks, p inducing points.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
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

PROCESS_MB = 120  # what a process mostly takes beside its data

# Bytes in memory: of a record, an aligned pair, a score that a selector looks at, a sequence whose
# words are looked up, a pair that is asked for.
RECORD_BYTES, PAIR_BYTES, LOOKED_AT_BYTES, GROUPED_BYTES, ASKED_BYTES = 1000, 100, 40, 25_000, 50

STARTED, SHOWN = 0.9, 10.0  # a job beside its work; figures, tables and page of a data set
GROUPED = 5e-4  # a sequence in clusters of near-identical ones
GATHERED, LOOKED_AT, CLUSTERED = 5e-8, 1e-7, 3e-6  # a score: in columns, by selectors, by k-means
EVALUATED = 2e-5  # a probability of a tested record
UNKNOWN = 1e-3  # a record held out as unknown, for each recipe and fold
TRY = 0.16  # a try of widths
LIFTED_ENTRY, LIFTED_SCORE, LIFTED_CELL = 4e-8, 3.5e-11, 4e-13  # n p; n p m; n p residues^2
LIFTED_PRODUCT, LIFTED_CUBE = 1.8e-11, 1e-11  # n p^2, p^3
ASKED = 1.5e-6  # a pair that is asked for, beside its alignment

# What only the run knows, as runs had it: landmarks of the enclosing ball of a class; those of a
# training part that no other part has; of an automatic comparison, what goes on behind its race.
OF_BALL, NEW_OF_PART, RACED = 5, 0.24, 0.5

Statistics = Mapping[str, Any]


class RunCosts:
    """What a run on one data set, and each of its jobs, is expected to take.

    The statistics are those of its ``summary.json``. ``tested`` has the outer folds with the share
    of the records that each tests, ``given`` the landmarks by selector and fold where they are
    known, ``of_score`` the seconds of a score that a kernel computes.
    """

    def __init__(
        self,
        plan: DatasetPlan,
        statistics: Statistics,
        tested: Mapping[str, float] | None = None,
        given: Mapping[tuple[str, str], int] | None = None,
        of_score: float = 0.0,
    ) -> None:
        self.plan, self.statistics, self.given = plan, statistics, given or {}
        self.of_score = of_score
        if tested is None:
            outer, repeats = plan.folds[:-1], plan.settings["folds"].get("repeats", 1)
            tested = dict.fromkeys(outer, min(0.5, repeats / max(1, len(outer))))
        self.tested: dict[str, float] = {**tested, ALL: 0.0}
        # A record with several labels is in the size of each class.
        counted = statistics.get("labels_per_record") or statistics["class_sizes"]
        self.n, self.classes = float(sum(counted.values())), len(statistics["class_sizes"])
        self.distinct = float(statistics["distinct"])
        self.length = float(statistics["lengths"].get("mean", 0))
        self.held = float(sum(statistics.get("unknown", {}).values()))
        # How many times what one training part chooses all of them choose together.
        self._of_parts = 1 + NEW_OF_PART * (len(self.tested) - 1)
        self._inner, self._most = plan.config["inner_folds"], plan.config["learning"]["memory_mb"]
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
        given = {(s, fold): count_landmarks(t) for s, t in tables.items() if t.exists()}
        return cls(plan, statistics, None, given, of_score)

    # --- records, landmarks, pairs ---------------------------------------------------------------

    def landmarks(self, selector: str, fold: str = ALL) -> int:
        """Return the landmarks of a training part: those of the budget, or that balls may need."""
        settings, kept = self.plan.config["selectors"][selector], 1 - self.tested[fold]
        if (selector, fold) in self.given:
            return self.given[selector, fold]
        if (selector, ALL) in self.given:
            return int(kept * self.given[selector, ALL])
        distinct, budget = int(kept * self.distinct), settings.get("budget")
        if isinstance(budget, str):
            return self.landmarks(budget, fold)
        if settings["method"] == "all":
            return distinct
        sizes = {"classes": self.classes, "objects": int(self.distinct), "parts": len(self.tested)}
        wanted = landmarks_wanted(budget, distinct, **sizes)
        return min(OF_BALL * self.classes if wanted is None else wanted, distinct)

    @property
    def most_landmarks(self) -> int:
        """Landmarks of the largest model."""
        return max([*map(self.landmarks, self.plan.trained_selectors), *self.given.values()])

    @cached_property
    def union(self) -> float:
        """Landmarks of all selectors and training parts together."""
        every = sum(self._of_parts * self.landmarks(selector) for selector in self.plan.selectors)
        return min(every, self.distinct)

    @cached_property
    def choosing_pairs(self) -> float:
        """Pairs that landmarks are chosen by: candidates of each class, and sketches."""
        sizes, pairs = self.statistics["class_sizes"], 0.0
        for key, groups in (("candidates", sizes.values()), ("sketch", [self.distinct])):
            most = self.plan.most_wanted(key)
            for size in groups:
                chosen = size if most is None else min(self._of_parts * most, size)
                pairs += _pairs_with(chosen, size)
        return pairs

    @cached_property
    def column_pairs(self) -> float:
        """Pairs of all objects with all landmarks."""
        return _pairs_with(self.union, self.distinct)

    def asked_pairs(self, selector: str, fold: str) -> float:
        """Return the pairs with the nearest records that the recipes of a selector ask for."""
        n, tested = self._part(fold)
        wanted = [Wanted.of(recipe["cascade"]) for recipe in self.plan.cascades(selector)]
        nearest = max((each.most_nearest(0) for each in wanted), default=0)
        pairs = (sample_size(int(n), self.classes) + tested) * min(nearest, n)
        return min(pairs, n * (n + 1) / 2) + self._relatives_pairs(selector, fold)

    def _relatives_pairs(self, selector: str, fold: str) -> float:
        if self.plan.config["unknown"] is None or not self.has_evalues:
            return 0.0
        (n, tested), m = self._part(fold), self.landmarks(selector, fold)
        sample = sample_size(int(n), self.classes)
        pairs = (sample + min(sample, LEFT_OUT)) * NEAREST + tested * MORE
        # Those with records that are landmarks are known.
        return (1 - m / n) * pairs + _rule_pairs(m)

    def _part(self, fold: str) -> tuple[float, float]:
        return (1 - self.tested[fold]) * self.n, self.tested[fold] * self.n

    @cached_property
    def pairs(self) -> float:
        """All pairs that are aligned, 0 where nothing is; jobs align anew what they ask for."""
        if not self.length:
            return 0.0
        every = _pairs_with(self.distinct, self.distinct)
        known = min(self.choosing_pairs + self.column_pairs, every)
        asked = sum(share * self.asked_pairs(*key) for key, share in self._trained.items())
        return known + asked + self.held * self.union

    @cached_property
    def _trained(self) -> dict[tuple[str, str], float]:
        """The selectors and training parts, and the share of the recipes that are fitted."""
        raced, folds = "auto" in self.plan.config, list(self.tested)
        return {
            (selector, fold): RACED if raced and fold != folds[0] else 1.0
            for fold in folds
            for selector in self.plan.trained_selectors
        }

    # --- jobs ------------------------------------------------------------------------------------

    def reading(self) -> Cost:
        """Return the cost of a job that reads the data set."""
        return Cost(mb=self.n * (RECORD_BYTES + 2 * self.length) / 1e6)

    def grouping(self) -> Cost:
        """Return the cost of clusters of near-identical sequences."""
        words_mb = GROUPED_BYTES * self.distinct / 1e6
        return self.reading() + Cost(GROUPED * self.distinct, mb=words_mb)

    def clustering(self) -> Cost:
        """Return the cost of clusters of relatives: all pairs of a class, some aligned thrice."""
        pairs = sum(size**2 for size in self.statistics["class_sizes"].values()) / 2
        return self.grouping() + Cost(
            shared=3 * pairs * pair_seconds(self.length, self.length, True)
        )

    def competing(self, fold: str) -> Cost:
        """Return the cost of another tool on a fold: thrice tested with others, as BLAST."""
        (n, tested), pair = self._part(fold), pair_seconds(self.length, self.length, True)
        return self.learning([], 1000) + Cost(shared=3 * n * tested * pair, mb=BASE_MB)

    def classifying(self, megabytes: float) -> Cost:
        """Return the cost of classifying so many megabytes of new objects."""
        cost = self.reading() + Cost(0.5 * megabytes, mb=self._most + 40 * megabytes)
        if not self.length:  # vectors and strings of 300 bytes
            return cost + Cost(self.of_score * 1e6 * megabytes / 300 * self.most_landmarks)
        hours = max(query.most_hours for query in queries(self))
        return cost + Cost(shared=3600 * hours * megabytes / self.length)

    def aligning(self, pairs: float) -> Cost:
        """Return the cost of aligning some pairs, and of storing their scores."""
        scores_mb = min(PAIR_BYTES * pairs / 1e6, self.plan.config["alignment"]["memory_mb"])
        return self.reading() + self._aligned(pairs) + Cost(mb=scores_mb)

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
        pairs, cost = self.choosing_pairs, self.reading()
        for settings in self.plan.selectors.values():
            looked = CLUSTERED if settings["method"] == "kmeans" else LOOKED_AT
            cost += Cost((looked + self.of_score) * pairs)
        return cost + Cost(mb=LOOKED_AT_BYTES * pairs / 1e6)

    def training(self, selector: str, fold: str) -> Cost:
        """Return the cost of the factors, the fits and the cascades of a selector on a fold."""
        plan, (n, _), m = self.plan, self._part(fold), self.landmarks(selector, fold)
        recipes, cascades = plan.recipes(selector), plan.cascades(selector)
        # Recipes that differ in their cascades alone share their fits.
        firsts = {_without_cascade(recipe): recipe for recipe in recipes}.values()
        factors = {(r["transform"], str(r["rank"])) for r in plan.factored(selector)}
        cost = self.learning([r for r in firsts if not r["lift"]], m, fold)
        cost += len(factors) * factor(n, m) + self._aligned(self.asked_pairs(selector, fold))
        lifted = [self._lifted(recipe, n, m) for recipe in firsts if recipe["lift"]]
        cost += Cost(mb=max((one.mb for one in lifted), default=0.0))  # one after the other
        for one in lifted:
            cost += replace(one, mb=0.0)
        for recipe in cascades:  # they share what they ask
            own = self._cascade(recipe, fold, m)
            cost += replace((1 / len(cascades)) * own, mb=own.mb)
        pairs = self._relatives_pairs(selector, fold)
        for _ in recipes if pairs else ():
            cost += self._search(n, m, pairs / NEAREST, pairs)
        return cost

    def learning(self, recipes: list[Settings], m: float, fold: str = ALL) -> Cost:
        """Return the cost of the fits of recipes without a lift, and the memory of any learning."""
        learners = [self.plan.learner(recipe) for recipe in recipes]
        (n, tested), classes = self._part(fold), self.classes
        rows, tiled = 6 * 8 * n * m / 1e6, all(learner.by_tiles for learner in learners)
        rows = max(min(rows, self._most) if tiled else rows, LEAST_ROWS_MB)
        held = max((n * (len(learner.choices()) + 4) for learner in learners), default=0)
        by_class = 8 * classes * (held + 19 * tested * len(learners)) / 1e6
        squares = 16 if any(learner.needs_factor for learner in learners) or not recipes else 5
        cost = self.reading() + Cost(mb=rows + square_mb(m, squares) + by_class)
        for learner in learners:
            kernel = factor(n, m) if learner.needs_factor else Cost(shared=SCORE * n * m)
            cost += self._inner * kernel + (self._inner + 1) * self._fit(learner, n, m)
            cost += (len(learner.choices()) + 1) * decisions(n, m, classes)
        return cost

    def finishing(self) -> Cost:
        """Return the cost of the landmark map, or of the final model and its rule of relatives."""
        m, pairs = self.most_landmarks, _rule_pairs(self.most_landmarks)
        cost = self.learning([], min(1000, m)) + factor(self.n, min(1000, m))
        if self.plan.config["unknown"] is not None or not self.has_evalues:
            return cost
        return cost + self._aligned(pairs) + self._search(self.n, m, 3 * STRANGERS, pairs)

    def unknown(self) -> Cost:
        """Return the cost of the records held out as unknown: their scores, or the answers."""
        wanted = [Wanted.of(recipe["cascade"]) for recipe in self.plan.cascades()]
        folds, pairs = len(self.tested) - 1, self.held * self.union
        nearest = sum(each.most_nearest(0) for each in wanted) * folds
        told = UNKNOWN * self.held * folds * len(self.plan.recipes()) + self.of_score * pairs
        return Cost(told) + self.aligning(pairs + self.held * min(nearest, self.n))

    # --- parts of jobs ---------------------------------------------------------------------------

    def _aligned(self, pairs: float) -> Cost:
        seconds = pair_seconds(self.length, self.length, self.by_parasail) if self.length else 0.0
        return Cost(shared=pairs * seconds)

    def _fit(self, learner: Learner, n: float, m: float) -> Cost:
        """Return a fit of all classes; of records with several labels each label has one."""
        if self.statistics.get("several"):
            return self.classes * fit(learner, n, m, 2)
        return fit(learner, n, m, self.classes)

    def _lifted(self, recipe: Settings, n: float, m: float) -> Cost:
        """Return the widths, kernels and fits of a recipe with a lift.

        An inner fold makes the kernel of its records again, and its Gram matrix from fewer rows
        and columns: that of all is counted 1 + F s and 1 + F s^3 times, s = 1 - 1/F.
        """
        learner, inner, views = self.plan.learner(recipe), self._inner, recipe["views"].values()
        p, viewed, kept = min(recipe["lift"]["inducing"], n), sum(map(bool, views)), 1 - 1 / inner
        kernels, fits, choices = 1 + inner * kept, 1 + inner * kept**3, len(learner.choices(int(p)))
        tried = TRY * (5 * 4**viewed - 1) * (min(TRIED, n) / TRIED) ** 3
        serial = tried + LIFTED_CUBE * p**3 * (1 + (fits - 1) * choices)
        shared = n * p * (self._entry(m) * kernels + LIFTED_PRODUCT * p * fits)
        kernel = 8 * n * p / 1e6
        kernel = min(kernel, self._most / 4) if learner.by_tiles else kernel
        squares = (5.5 if learner.needs_factor else 2.5) * p**2 + 4096 * p
        held = n * self.classes * (len(learner.choices()) + 4)
        mb = 200 + (2 + viewed) * kernel + 8 * (squares + held) / 1e6
        cost = Cost(serial, shared, mb) + (choices + 1) * decisions(n, p, self.classes)
        if learner.needs_factor:
            cost += fits * (factor(n, p) + self._fit(learner, n, p))
        return cost

    def _entry(self, m: float) -> float:
        """Return the seconds of comparing two records by m scores, and by their words."""
        return LIFTED_ENTRY + LIFTED_SCORE * m + LIFTED_CELL * self.length**2

    def _search(self, n: float, m: float, queries: float, pairs: float) -> Cost:
        """Return the search for the nearest records, and what is asked beside its alignment."""
        words = 3 * self.length
        kept = min(n * (4 * m + 9 * words), self._most / 4 * 1e6)
        made = min(n, 8192) * (24 * m + 40 * words)
        held = 12 * n * m + kept + made + ASKED_BYTES * pairs
        return Cost(ASKED * pairs, queries * n * self._entry(m), held / 1e6)

    def _cascade(self, recipe: Settings, fold: str, m: float) -> Cost:
        """Return the levels of a cascade: the search, and the machines of pairs of classes."""
        (n, tested), sizes = self._part(fold), sorted(self.statistics["class_sizes"].values())
        queries = sample_size(int(n), self.classes) + tested
        pairs = queries * min(Wanted.of(recipe["cascade"]).most_nearest(0) + MEMBERS, n)
        serial = LIFTED_CUBE * (self._inner + 1) * BLOCKS * n * min(MEMBERS, sum(sizes[-2:]))
        held = 400 * queries * self.classes + 12 * n * m * self._inner
        return self._search(n, m, queries, pairs) + Cost(serial, mb=held / 1e6)

    # --- the run ---------------------------------------------------------------------------------

    def minutes(self, cores: int) -> float:
        """Return the minutes of the run: jobs of a stage run side by side, stages do not."""
        plan, behind = self.plan, self.finishing() + self.finishing() + self.unknown()
        grouped = plan.settings["folds"]["method"] == "grouped"
        read = (self.grouping() if grouped else self.reading()) + self.gathering()
        blocks = 2 * plan.config["alignment"]["blocks"] if plan.source.aligned else 0
        aligned = self._aligned((self.choosing_pairs + self.column_pairs) / max(1, blocks))
        before = [read.on(1) + 3 * STARTED, *(blocks * [aligned.on(1)])]
        before += len(self.tested) * [self.selecting().on(1)]
        trained = [share * self.training(*key).on(1) for key, share in self._trained.items()]
        first = len(plan.trained_selectors) if "auto" in plan.config else 0  # its race
        told = self.n * sum(self.tested.values()) * self.classes * len(plan.recipes())
        last = behind.on(1) + EVALUATED * told + SHOWN + 4 * STARTED
        seconds = 0.0
        for jobs in (before, trained[:first], trained[first:], [last]):
            taken = [job + STARTED for job in jobs]
            seconds += max(sum(taken) / cores, max(taken, default=0.0))
        return seconds / 60

    @property
    def memory_mb(self) -> float:
        """Megabytes of the largest job."""
        jobs = [self.training(*key) for key in self._trained]
        if self.plan.source.aligned:
            jobs += [self.block("class_scores"), self.block("columns")]
        return PROCESS_MB + max(job.mb for job in jobs)


def _pairs_with(chosen: float, objects: float) -> float:
    """Return the pairs of some objects with all, each once."""
    return objects * chosen - chosen * (chosen + 1) / 2


def _rule_pairs(m: float) -> float:
    """Return the pairs at most that the rule of relatives takes."""
    return float(2 * STRANGERS * (m + MORE) + STRANGERS * MORE)


def _without_cascade(recipe: Settings) -> str:
    """Return what recipes that share their fits have in common."""
    return json.dumps({**recipe, "name": None, "cascade": None}, sort_keys=True)
