"""One fold, one set of landmarks: a classifier for each recipe.

Nothing here looks at a record outside the training part of the fold.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress
from typing import Any

import numpy as np
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.calibration import PlattCalibrator
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import Calibration
from kreinflow.answering.levels import Levels
from kreinflow.answering.reject_threshold import RejectRule
from kreinflow.answering.score_cache import ScoreCache
from kreinflow.answering.several_labels import Several, held_out_figures
from kreinflow.base.errors import InputError, named
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.fitting.cascade_choice import Wanted, described
from kreinflow.fitting.cascade_update import with_more_records
from kreinflow.fitting.fit_cascade import CascadeFit, records_of, sample_size
from kreinflow.fitting.fit_lift import Lifting, TriedWidths, Widths, positive_factor
from kreinflow.fitting.fit_unknown import LARGEST_INDEX, Relating, Strangers, calibrated, spread
from kreinflow.fitting.inner_folds import (
    InnerFits,
    LiftedFits,
    choose,
    decisions_with_all_landmarks,
    whole_groups,
)
from kreinflow.fitting.recipe_choice import packed
from kreinflow.krein.correction import CorrectedFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart, landmark_kernel
from kreinflow.learners.binary_relevance import BinaryRelevance
from kreinflow.learners.learner import NOTES, Choice, Fitted, Learner, Problem
from kreinflow.learners.registry import factored, make_learner
from kreinflow.learners.siblings import Learned, learner_of
from kreinflow.sequences.files import first_few
from kreinflow.views.lift import SCORES, Lift


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier and what its training said.

    Parameters
    ----------
    classifier : LandmarkClassifier
    figures : dict
    held_out : ndarray of shape (n,)
        What the first stage says of each training record when an inner fold holds it out: the code
        of a class. It is -1 for records that are always learned from.
    """

    classifier: LandmarkClassifier
    figures: dict[str, Any]
    held_out: IntArray


@dataclass(frozen=True, eq=False)
class Training:
    """What all recipes of one fold and one set of landmarks have in common.

    Parameters
    ----------
    landmarks : Landmarks
    part : TrainingPart
    fits : InnerFits
        Those of the inner folds, which recipes share.
    reject : RejectRule
    seed : int
        For the learners that draw.
    liftings : callable, optional
        Returns the lifting of a recipe that has one.
    asked : ScoreCache, optional
        Scores of the distinct rows of the data set with each other, for recipes with a cascade.
    evidence : ScoreTransform, optional
        What a cascade weighs the nearest records by; that of the recipe if it is left out.
    levels : Levels, optional
        Of classes that are paths. Their thresholds are found anew.
    learn : {"leaves", "siblings", "inner"}
        What of their tree is learned; see :func:`~kreinflow.learners.siblings.learner_of`.
    false_alarms : float, optional
        Share of true members that are rejected as unknown; nothing is tested if it is left out.
    strangers : Strangers, optional
        What has no relative; :attr:`asked` knows them.
    """

    landmarks: Landmarks
    part: TrainingPart
    fits: InnerFits
    reject: RejectRule
    seed: int
    liftings: Callable[[Mapping[str, Any]], Lifting] | None = None
    asked: ScoreCache | None = None
    evidence: ScoreTransform | None = None
    levels: Levels | None = None
    learn: Learned = "leaves"
    false_alarms: float | None = None
    strangers: Strangers | None = None

    def train(
        self,
        recipe: Mapping[str, Any],
        settings: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
    ) -> Trained:
        """Train one recipe: hyper-parameters, calibration, threshold on inner folds, then on all.

        Hyper-parameters are those of :func:`~kreinflow.fitting.inner_folds.choose`. Records with
        several labels have a machine, a calibration and a threshold for each; see
        :class:`~kreinflow.learners.binary_relevance.BinaryRelevance` and
        :mod:`kreinflow.answering.several_labels`. Their inner accuracy is the share of the records
        all of whose labels are right, and their log loss the mean over the labels.

        Parameters
        ----------
        recipe, settings : mapping
            Of the config; the settings are those of the learner.
        embedding : CorrectedFactor or None
            That of the recipe; a lifted kernel has a factor of its own, and not all learners
            ask for one.
        kernel : LandmarkKernel
            That of its transform.

        Raises
        ------
        InputError
            Naming the recipe, if the records cannot be learned from; also if it cannot learn
            several labels a record.
        """
        return self._trained(recipe, self._first(recipe, settings, embedding, kernel))

    def train_again(
        self,
        recipe: Mapping[str, Any],
        settings: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
        before: LandmarkClassifier,
    ) -> Trained:
        """Train a recipe that was trained before, on fewer of these records.

        It is :meth:`train`, but for what asks records. The levels of a cascade stay, as do the
        thresholds and the p-values of relatives. All records join those that are asked; see
        :func:`~kreinflow.fitting.cascade_update.with_more_records`. What rests on the answers of a
        cascade
        stays too: the records that sets are made with, and the thresholds of the levels of classes.

        Parameters
        ----------
        recipe, settings, embedding, kernel
            As for :meth:`train`.
        before : LandmarkClassifier
            What the recipe gave. Its records are the first ones of the training part.

        Raises
        ------
        InputError
            As :meth:`train`.
        """
        if before.records is None:
            return self.train(recipe, settings, embedding, kernel)
        first = self._first(recipe, settings, embedding, kernel)
        trained = self._trained({**recipe, "cascade": None}, first)
        lifting, widths = self._index(recipe, first.lifted)
        most = len(self.part.rows)
        if before.cascade is None:
            most = LARGEST_INDEX // len(self.landmarks.rows)
        kept = spread(len(self.part.rows), most)
        records = records_of(lifting, self.part, self.landmarks, kernel, kept, widths(None))
        scale = before.temperature / first.classifier.temperature
        codes = np.array([self.part.classes.index(label) for label in before.classes])
        classifier = replace(
            trained.classifier, about={**trained.classifier.about, "recipe": dict(recipe)}
        )
        if before.relatives is not None:
            # A cascade keeps its thresholds. That of a first stage is found anew.
            sure = None if before.cascade is None else before.relatives.sure_threshold
            relatives = replace(before.relatives, records=records, sure_threshold=sure)
            classifier = replace(classifier, relatives=relatives)
        if before.cascade is not None:
            classes, calibration, levels = self.part.classes, before.calibration, before.levels
            classifier = replace(
                classifier,
                cascade=with_more_records(before.cascade, records, codes, scale),
                calibration=calibration and calibration.of_more_classes(codes, len(classes)),
                levels=levels and levels.of_more_classes(classes),
            )
        return replace(trained, classifier=classifier)

    def _first(
        self,
        recipe: Mapping[str, Any],
        settings: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
    ) -> "_First":
        """Train the first stage of a recipe, which is all of it without a cascade."""
        learner = make_learner(settings)
        with named(f"recipe {recipe['name']!r}"):
            forks = None if self.levels is None else self.levels.tree.forks
            machine = learner_of(learner, forks, self.learn)
            if self.part.memberships is not None:
                machine = BinaryRelevance(learner)
            problem, fits, lifted = self._problem(recipe, embedding, kernel)
            choice, decisions, calibrator, of_forks = choose(
                machine, problem, fits, recipe["rank"], forks
            )
            (fitted,) = machine.fit(problem, [choice])
        warn_noted(recipe["name"], fitted, self.part.classes)
        truth, landmarks = self.part.truth[self.fits.measured], self.landmarks
        several, reject = None, self.reject.stated
        if isinstance(calibrator, PlattCalibrator):  # each label is accepted by its own threshold
            several, reject = Several.of(calibrator, decisions, truth), {}
            temperature, threshold = 1.0, float(several.thresholds.min())
        else:
            temperature = float(calibrator.temperature_)
            threshold = self.reject.threshold(calibrator.probabilities(decisions), truth)
        classifier = LandmarkClassifier(
            classes=self.part.classes,
            decision=fitted.decision,
            landmark_classes=landmarks.classes,
            transform=kernel.transform,
            landmark_self_scores=landmarks.self_scores[landmarks.rows],
            landmark_lengths=landmarks.lengths[landmarks.rows],
            centring=kernel.centring,
            lift=None if lifted is None else lifted.lift,
            inducing_rows=None if lifted is None else problem.landmarks.rows,
            inducing_classes=None if lifted is None else problem.landmarks.classes,
            forks=of_forks,
            temperature=temperature,
            reject_threshold=threshold,
            several=several,
            about={"learner": dict(settings), "reject": reject},
        )
        columns, rank = problem.n_landmarks, _rank(problem, learner, lifted)

        @cache
        def calibration() -> Calibration:
            held_out, places = decisions, self.fits.measured
            # Else they would take as long again as the fits of the inner folds.
            if fitted.iterations == 1 or len(machine.choices(columns)) > 1:
                found = decisions_with_all_landmarks(
                    machine, problem, choice, self.fits, self.landmarks
                )
                if found is not None:
                    places, held_out = found
                    if of_forks is not None:
                        held_out = of_forks.log_probabilities(held_out)
            return Calibration.of(calibrator.probabilities(held_out), self.part.labels[places])

        @cache
        def facing() -> CascadeFit:
            return self._facing(recipe, kernel, lifted, decisions)

        return _First(
            classifier,
            kernel,
            decisions,
            lifted,
            fitted,
            choice,
            columns,
            rank,
            calibration,
            facing,
        )

    def _trained(self, recipe: Mapping[str, Any], first: "_First") -> Trained:
        """Return a recipe and its figures; a cascade is learned above its first stage."""
        kernel, lifted, fitted = first.kernel, first.lifted, first.fitted
        about = {"recipe": dict(recipe), **first.classifier.about}
        classifier = replace(first.classifier, about=about)
        truth, landmarks = self.part.labels[self.fits.measured], self.landmarks
        probabilities: FloatArray = softmax(first.decisions / classifier.temperature, axis=1)
        compared = probabilities
        needs_self_score = landmarks.kind == "sequences" and kernel.transform.name != "raw"
        m, known = len(landmarks.rows), ""
        alignments: float = m + int(needs_self_score)
        cascade, pairs = None, 0
        if recipe.get("cascade") is not None:
            with named(f"recipe {recipe['name']!r}"):
                if classifier.several is not None:
                    raise InputError(
                        "a cascade decides between classes, so it cannot serve records with "
                        "several labels. Leave out cascade."
                    )
                fitted_cascade = first.facing().fit(Wanted.of(recipe["cascade"]), self.reject)
            cascade, pairs = fitted_cascade.cascade, fitted_cascade.aligned
            classifier = replace(classifier, cascade=cascade)
            probabilities, compared = fitted_cascade.probabilities, fitted_cascade.compared
            alignments += fitted_cascade.alignments
            inside = np.isin(self.fits.measured, fitted_cascade.places)
            known, truth = "" if inside.all() else packed(inside), truth[inside]
        if classifier.several is None:
            calibration = (
                first.calibration() if cascade is None else Calibration.of(probabilities, truth)
            )
            classifier = replace(classifier, calibration=calibration)
            if self.false_alarms is not None and self.strangers is not None:
                places = self.fits.measured if cascade is None else fitted_cascade.places
                classifier = self._related(first, classifier, places, probabilities)
            right = compared.argmax(axis=1) == truth
            likely = np.clip(compared[np.arange(len(truth)), truth], 1e-15, 1.0)
            losses = -np.log(likely)
        else:
            measured = self.fits.measured
            own = self.part.truth[measured]
            right, losses = held_out_figures(first.decisions, own, self.fits.inner[measured])
        if self.levels is not None:
            levels = self.levels.fitted(probabilities, truth, self.reject.confidence)
            classifier = replace(classifier, levels=levels)
        figures = {
            "landmarks": m,
            "rank": first.rank,
            **said(fitted, first.n_columns / len(self.part.rows), self.part.classes),
            "hyper_parameters": shown(
                {**first.choice, **({} if lifted is None else lifted.widths)}
            ),
            "views": "" if lifted is None else shown(lifted.worth),
            "groups_held_out": whole_groups(self.part.groups, self.fits.inner),
            "temperature": (cascade or classifier).temperature,
            "reject_threshold": (cascade or classifier).reject_threshold,
            "inner_accuracy": float(np.mean(right)),
            "inner_log_loss": float(losses.mean()),
            "alignments_per_query": alignments,
            "inner_records": len(right),
            "inner_right": packed(right),
            "inner_known": known,
            "cascade": "" if cascade is None else described(cascade),
            "cascade_pairs": pairs,
        }
        held_out = np.full(len(self.part.rows), -1, dtype=np.int64)
        held_out[self.fits.measured] = first.decisions.argmax(axis=1)
        return Trained(classifier, figures, held_out)

    def _problem(
        self,
        recipe: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
    ) -> tuple[Problem, InnerFits, "_Lifted | None"]:
        """Return what the learner of a recipe learns from, in all and on inner folds."""
        if not recipe.get("lift"):

            def factor() -> CorrectedFactor:
                assert embedding is not None, "a recipe without a factor"
                return embedding

            return self._whole(factor, kernel, self.landmarks), self.fits, None
        assert self.liftings is not None, "a recipe with a lift, and nobody to make it"
        lifting = self.liftings(recipe)
        tried = lifting.tried(kernel, self.landmarks, self.fits.inner)
        widths = tried.best()
        lifted = lifting.on(kernel, np.arange(len(self.part.rows)), widths)
        made = cache(lambda: positive_factor(lifted.kernel))
        problem = self._whole(made, lifted.kernel, lifted.landmarks)
        fits = LiftedFits(self.fits, self.landmarks, kernel, lifting, tried)
        named_widths = {f"width_{view}": width for view, width in widths.items()}
        return problem, fits, _Lifted(lifted.lift, named_widths, tried.worth(), lifting, tried)

    def _related(
        self,
        first: "_First",
        classifier: LandmarkClassifier,
        places: IntArray,
        probabilities: FloatArray,
    ) -> LandmarkClassifier:
        """Return a classifier that tells strangers, and what has no relative."""
        assert self.asked is not None, "strangers, and nobody to ask"
        assert self.strangers is not None, "nothing that has no relative"
        assert self.false_alarms is not None, "strangers that nobody wants to know of"
        fit = first.facing()
        if classifier.cascade is None:
            drawn = fit.drawn(sample_size(len(self.part.rows), len(self.part.classes)))
            places, probabilities = places[drawn], probabilities[drawn]
        with single_threaded():
            classifier = calibrated(
                fit, classifier, places, probabilities, self.reject, self.false_alarms, self.levels
            )
        objects = fit.lifting.objects
        relating = Relating(
            self.landmarks, self.part, objects, fit.evidence, self.strangers, self.asked
        )
        return relating.related(classifier)

    def _facing(
        self,
        recipe: Mapping[str, Any],
        kernel: LandmarkKernel,
        lifted: "_Lifted | None",
        decisions: FloatArray,
    ) -> CascadeFit:
        """Return the records of a first stage that are held out, in front of the others."""
        assert self.asked is not None, "records, and nobody to ask"
        lifting, widths = self._index(recipe, lifted)
        return CascadeFit(
            part=self.part,
            landmarks=self.landmarks,
            kernel=kernel,
            fits=self.fits,
            lifting=lifting,
            widths=widths,
            decisions=decisions,
            evidence=self.evidence or kernel.transform,
            asked=self.asked,
        )

    def _index(
        self, recipe: Mapping[str, Any], lifted: "_Lifted | None"
    ) -> tuple[Lifting, Callable[[int | None], Widths]]:
        """Return what makes the index of records, and the widths of its views."""
        if lifted is not None:
            return lifted.lifting, lifted.tried.best
        assert self.liftings is not None, "records that are asked, and nobody to make their index"
        # The nearest by their transformed scores.
        settings = {"kernel": "gaussian", "width": 1.0, "inducing": 1}
        return self.liftings({**recipe, "views": {}, "lift": settings}), lambda _: {SCORES: 1.0}

    def _whole(
        self, embed: Callable[[], CorrectedFactor], kernel: LandmarkKernel, landmarks: Landmarks
    ) -> Problem:
        every = np.arange(len(self.part.rows))
        return Problem(embed, kernel, landmarks, self.part, every, self.seed)

    def train_recipes(
        self,
        recipes: Sequence[Mapping[str, Any]],
        learners: Mapping[str, Mapping[str, Any]],
        transforms: Mapping[str, ScoreTransform],
        embedding_of: Callable[[Mapping[str, Any]], CorrectedFactor | None],
    ) -> Iterator[tuple[Mapping[str, Any], Trained]]:
        """Train recipes, and yield each with what it gave.

        Recipes of one transform follow each other, so that one kernel at a time is held. Those that
        differ in their cascades alone share a first stage.

        Parameters
        ----------
        recipes : sequence of mappings
        learners, transforms : mapping
            Of the config, by the names that the recipes have for them.
        embedding_of : callable
            Returns the corrected factor of a recipe; only those of
            :func:`~kreinflow.learners.registry.factored` are asked for.

        Raises
        ------
        InputError
            As :meth:`train`.
        """
        needing = {recipe["name"] for recipe in factored(recipes, learners)}
        for name in dict.fromkeys(recipe["transform"] for recipe in recipes):
            kernel = landmark_kernel(self.landmarks, self.part, transforms[name])
            firsts: dict[str, _First] = {}
            for recipe in (r for r in recipes if r["transform"] == name):
                settings = learners[recipe["learner"]]
                own = {
                    key: value for key, value in recipe.items() if key not in ("name", "cascade")
                }
                key = json.dumps(own, sort_keys=True)
                if key not in firsts:
                    embedding = embedding_of(recipe) if recipe["name"] in needing else None
                    firsts = {key: self._first(recipe, settings, embedding, kernel)}
                yield recipe, self._trained(recipe, firsts[key])


def _rank(problem: Problem, learner: Learner, lifted: "_Lifted | None") -> int | None:
    if lifted is not None:
        return problem.n_landmarks
    return problem.embedding.rank if learner.needs_factor else None


@dataclass(frozen=True, eq=False)
class _First:
    """A first stage, and what a cascade above it is learned from."""

    classifier: LandmarkClassifier
    kernel: LandmarkKernel
    decisions: FloatArray
    lifted: "_Lifted | None"
    fitted: Fitted
    choice: Choice
    n_columns: int
    rank: int | None
    calibration: Callable[[], Calibration]
    facing: Callable[[], CascadeFit]


@dataclass(frozen=True, eq=False)
class _Lifted:
    """A lift, its widths, and what the inner accuracy loses without each view."""

    lift: Lift
    widths: Mapping[str, float]
    worth: Mapping[str, float]
    lifting: Lifting
    tried: TriedWidths


def said(fitted: Fitted, share: float, classes: Sequence[str]) -> dict[str, Any]:
    """Return what a fit says of itself; ``share`` is that of its landmarks among the records."""
    noted = _noted(fitted, classes)
    return {
        "basis_used": share if fitted.basis_used is None else fitted.basis_used,
        "iterations": fitted.iterations,
        "converged": fitted.converged,
        **{f"{note}_classes": len(labels) for note, labels in noted.items()},
        **{f"{note}_names": first_few(labels) for note, labels in noted.items()},
    }


def warn_noted(recipe: str, fitted: Fitted, classes: Sequence[str]) -> None:
    """Warn of the classes that a fit has something to say of.

    Warns
    -----
    UserWarning
        One for each note, with the names of the classes.
    """
    for note, labels in _noted(fitted, classes).items():
        if labels:
            warnings.warn(
                f"recipe {recipe!r}: {len(labels)} of {len(classes)} classes "
                f"({first_few(labels)}): {NOTES[note]}.",
                UserWarning,
                stacklevel=3,
            )


def _noted(fitted: Fitted, classes: Sequence[str]) -> dict[str, list[str]]:
    """Return the labels of each note, in quotes: no reader of a table takes 01 for a number."""
    quoted, none = [repr(str(label)) for label in classes], np.zeros(len(classes), dtype=bool)
    return {note: list(compress(quoted, fitted.notes.get(note, none))) for note in NOTES}


def shown(choice: Choice) -> str:
    """Return hyper-parameters as they stand in tables."""
    return " ".join(f"{key}={value:.3g}" for key, value in choice.items())
