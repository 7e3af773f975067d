"""One fold, one set of landmarks: a classifier for each recipe.

Nothing here looks at a record outside the training part of the fold.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress
from typing import Any, cast

import numpy as np
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import Calibration
from kreinflow.base.errors import named
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.base.wording import abridged
from kreinflow.fitting import fit_cascade, fit_unknown
from kreinflow.fitting.calibration import PlattCalibrator, held_out_figures, several_of
from kreinflow.fitting.cascade_choice import described
from kreinflow.fitting.cascade_update import asking_as_before
from kreinflow.fitting.factors import FactorEntry, embedding_of
from kreinflow.fitting.first_stage import FirstStage, OutOfFold, RecipeLift, TrainingData
from kreinflow.fitting.fit_lift import Lifted, positive_factor
from kreinflow.fitting.inner_folds import InnerFits, LiftedFits, choose, whole_groups
from kreinflow.fitting.recipe_choice import inner_bits
from kreinflow.fitting.reject_threshold import Promise, fitted_levels
from kreinflow.krein.correction import CorrectedFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, landmark_kernel
from kreinflow.learners.binary_relevance import BinaryRelevance
from kreinflow.learners.learner import NOTES, Fitted, Problem
from kreinflow.learners.registry import make_learner
from kreinflow.learners.siblings import learner_of


def fit_levels(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with thresholds of levels, if it has any."""
    data = first.data
    if data.levels is not None:
        confidence = data.reject.confidence
        some = data.independent(held.places)
        true = data.true_nodes(held.places[some])
        levels = fitted_levels(data.levels, held.probabilities[some], true, confidence)
        classifier = classifier.with_parts(levels=levels)
    return classifier, held


def fit_sets(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with sets of labels, by closeness if it has seeds; not of several."""
    if classifier.several is not None:
        return classifier, held
    places, p = held.places, held.probabilities
    if classifier.cascade is None:
        places, p = first.promised
    truth, weights = first.data.part.labels[places], first.data.weights
    calibration = Calibration.of(p, truth, weights(places))
    if (records := classifier.records) is not None and records.seeds is not None:
        some = np.isin(places, first.data.fits.measured[first.drawn()])
        drawn, key = places[some], ("closeness", len(records), int(some.sum()))
        if key not in first.shared:
            with single_threaded():
                first.shared[key] = first.closeness(records, drawn)
        told = first.shared[key], p[some], truth[some], weights(drawn)
        calibration = calibration.with_closeness(*told)
    return classifier.with_parts(calibration=calibration), held


PART_FITS: tuple[
    Callable[[FirstStage, LandmarkClassifier, OutOfFold], tuple[LandmarkClassifier, OutOfFold]], ...
] = (fit_cascade.fit_part, fit_levels, fit_unknown.fit_part, fit_sets)
"""What learns the parts of a model above its first stage, in this order: each takes the model and
what it says of records that are held out, and returns both with its own part."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier and what its training said.

    ``held_out``, of shape (n,): the code of the class that the first stage says of each training
    record when an inner fold holds it out, -1 for one that is always learned from.
    """

    classifier: LandmarkClassifier
    figures: dict[str, Any]
    held_out: IntArray


@dataclass(frozen=True, eq=False)
class Training(TrainingData):
    """Trains recipes on what they share; see :class:`TrainingData`."""

    def train(
        self,
        recipe: Mapping[str, Any],
        settings: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
        before: LandmarkClassifier | None = None,
    ) -> Trained:
        """Train one recipe: hyper-parameters, calibration, threshold on inner folds, then on all.

        Records with several labels have a machine, a calibration and a threshold for each. Their
        inner accuracy is the share of the records all of whose labels are right.

        ``settings``: of the learner. ``embedding``: None if the learner or the lift needs none.
        ``before``: what the recipe gave for the first ones of these records; what asks records
        stays as it was. Raises InputError, naming the recipe.
        """
        first = self.first_stage(recipe, settings, embedding, kernel)
        if before is None or before.records is None:
            return self._trained(recipe, first)
        trained = self._trained({**recipe, "cascade": None}, first)
        classifier = asking_as_before(first, recipe, trained.classifier, before)
        return replace(trained, classifier=classifier)

    def first_stage(
        self,
        recipe: Mapping[str, Any],
        settings: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
    ) -> FirstStage:
        """Train the first stage of a recipe; parameters as for :meth:`train`."""
        learner, part, landmarks = make_learner(settings), self.part, self.landmarks
        with named(f"recipe {recipe['name']!r}"):
            forks = None if self.levels is None else self.levels.tree.forks
            machine = learner_of(learner, forks, self.learn)
            if part.memberships is not None:
                machine = BinaryRelevance(learner)
            problem, fits, lift = self._problem(recipe, embedding, kernel)
            choice, decisions, calibrator, of_forks = choose(
                machine, problem, fits, recipe["rank"], forks
            )
            if lift is not None:  # not before: the inner folds need the room
                problem = self._lifted(lift.lifted.stored())
            (fitted,) = machine.fit(problem, [choice])
        warn_noted(recipe["name"], fitted, part.classes)
        truth = part.truth[self.fits.measured]
        several, stated = None, self.reject.stated
        if isinstance(calibrator, PlattCalibrator):  # each label is accepted by its own threshold
            several, stated = several_of(calibrator, decisions, truth, self.above), {}
            temperature, promise = 1.0, Promise(float(several.thresholds.min()))
        else:
            temperature = float(calibrator.temperature_)
            own = self.independent(self.fits.measured)
            promise = self.reject.promise(calibrator.probabilities(decisions[own]), truth[own])
        lifted = lift.lifted if lift else None
        classifier = LandmarkClassifier(
            classes=part.classes,
            decision=fitted.decision,
            landmark_classes=landmarks.classes,
            transform=kernel.transform,
            landmark_self_scores=landmarks.self_scores[landmarks.rows],
            landmark_lengths=landmarks.lengths[landmarks.rows],
            centring=kernel.centring,
            lift=lifted.lift if lifted else None,
            inducing_rows=lifted.landmarks.rows if lifted else None,
            inducing_classes=lifted.landmarks.classes if lifted else None,
            forks=of_forks,
            temperature=temperature,
            reject_threshold=promise.threshold,
            several=several,
            about={"learner": dict(settings), "reject": stated, "promise": promise.told},
        )
        of = machine, problem, choice, fitted, calibrator, decisions, lift
        return FirstStage(self, classifier, kernel, *of)

    def _trained(self, recipe: Mapping[str, Any], first: FirstStage) -> Trained:
        """Return a recipe and its figures, with all parts above its first stage."""
        about = {"recipe": dict(recipe), **first.classifier.about}
        classifier, measured = replace(first.classifier, about=about), self.fits.measured
        p: FloatArray = softmax(first.decisions / classifier.temperature, axis=1)
        held = OutOfFold(measured, p, p, first.alignments)
        with named(f"recipe {recipe['name']!r}"):
            for fit in PART_FITS:
                classifier, held = fit(first, classifier, held)
        inside, truth = np.isin(measured, held.places), self.part.labels[held.places]
        inner, groups = self.fits.inner, self.part.groups
        whole, grouped = whole_groups(groups, inner), len(np.unique(groups)) < len(groups)
        if classifier.several is None:
            right = held.compared.argmax(axis=1) == truth
            likely = np.clip(held.compared[np.arange(len(truth)), truth], 1e-15, 1.0)
            losses = -np.log(likely)
        else:
            own = self.part.truth[measured]
            folds = self.fits.inner[measured]
            right, losses = held_out_figures(first.decisions, own, folds, self.above)
        cascade, tried = classifier.cascade, first.lift.tried if first.lift else None
        fitted, noted = first.fitted, _noted(first.fitted, self.part.classes)
        share = first.problem.n_landmarks / len(self.part.rows)
        widths = {} if tried is None else {f"width_{v}": w for v, w in tried.best().items()}
        figures = {
            "landmarks": len(self.landmarks.rows),
            "rank": _rank(first),
            "basis_used": share if fitted.basis_used is None else fitted.basis_used,
            "iterations": fitted.iterations,
            "converged": fitted.converged,
            **{f"{note}_classes": len(labels) for note, labels in noted.items()},
            **{f"{note}_names": abridged(labels) for note, labels in noted.items()},
            "hyper_parameters": as_json({**first.choice, **widths}),
            "views": "" if tried is None else as_json(tried.worth()),
            "groups_held_out": whole,
            "temperature": (cascade or classifier).temperature,
            "reject_threshold": (cascade or classifier).reject_threshold,
            "promised_error": classifier.about["promise"]["error"],
            "inner_accuracy": float(np.mean(right)),
            "inner_log_loss": float(losses.mean()),
            "alignments_per_query": held.alignments,
            "inner_records": len(right),
            **inner_bits(inner[measured], inside, right, grouped and whole),
            "cascade": "" if cascade is None else described(cascade),
            "cascade_pairs": held.aligned,
        }
        held_out = np.full(len(self.part.rows), -1, dtype=np.int64)
        held_out[measured] = first.decisions.argmax(axis=1)
        return Trained(classifier, figures, held_out)

    def _problem(
        self,
        recipe: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
    ) -> tuple[Problem, InnerFits, RecipeLift | None]:
        """Return what the learner of a recipe learns from, in all and on inner folds."""
        if not recipe.get("lift"):
            given = cast(CorrectedFactor, embedding)  # not all learners look at it
            problem = Problem.of(given, kernel, self.landmarks, self.part, self.seed)
            return problem, self.fits, None
        lifting = self.liftings(recipe)
        tried = lifting.tried(kernel, self.landmarks, self.fits.inner)
        lifted = lifting.on(kernel, np.arange(len(self.part.rows)), tried.best())
        fits = LiftedFits(self.fits, self.landmarks, kernel, lifting, tried)
        return self._lifted(lifted), fits, RecipeLift(lifting, tried, lifted)

    def _lifted(self, lifted: Lifted) -> Problem:
        made, every = cache(lambda: positive_factor(lifted.kernel)), np.arange(len(self.part.rows))
        return Problem(made, lifted.kernel, lifted.landmarks, self.part, every, self.seed)

    def train_recipes(
        self,
        recipes: Sequence[Mapping[str, Any]],
        learners: Mapping[str, Mapping[str, Any]],
        transforms: Mapping[str, ScoreTransform],
        entries: Sequence[FactorEntry],
    ) -> Iterator[tuple[Mapping[str, Any], Trained]]:
        """Train recipes, and yield each with what it gave.

        Recipes of one transform follow each other, so that one kernel at a time is held. Those that
        differ in their cascades alone share a first stage.
        """
        for name in dict.fromkeys(recipe["transform"] for recipe in recipes):
            kernel = landmark_kernel(self.landmarks, self.part, transforms[name])
            firsts: dict[str, FirstStage] = {}
            for recipe in (r for r in recipes if r["transform"] == name):
                own = {k: value for k, value in recipe.items() if k not in ("name", "cascade")}
                key = json.dumps(own, sort_keys=True)
                if key not in firsts:
                    settings, embedding = learners[recipe["learner"]], embedding_of(entries, recipe)
                    firsts = {key: self.first_stage(recipe, settings, embedding, kernel)}
                yield recipe, self._trained(recipe, firsts[key])


def _rank(first: FirstStage) -> int | None:
    if first.lift is not None:
        return first.problem.n_landmarks
    learner = make_learner(first.classifier.about["learner"])
    return first.problem.embedding.rank if learner.needs_factor else None


def warn_noted(recipe: str, fitted: Fitted, classes: Sequence[str]) -> None:
    """Warn of a fit that has not converged, and of the classes that it has notes on."""
    told = [
        f"{len(labels)} of {len(classes)} classes ({abridged(labels)}): {NOTES[note]}"
        for note, labels in _noted(fitted, classes).items()
        if labels
    ]
    if not fitted.converged:
        advice = "Raise max_iter of the learner, or give larger penalties"
        told.insert(0, f"training stopped before it converged. {advice}")
    for text in told:
        warnings.warn(f"recipe {recipe!r}: {text}.", UserWarning, stacklevel=3)


def _noted(fitted: Fitted, classes: Sequence[str]) -> dict[str, list[str]]:
    """Return the labels of each note, in quotes: no reader of a table takes 01 for a number."""
    quoted, none = [repr(str(label)) for label in classes], np.zeros(len(classes), dtype=bool)
    return {note: list(compress(quoted, fitted.notes.get(note, none))) for note in NOTES}


def as_json(numbers: Mapping[str, float]) -> str:
    """Return numbers by name, of three digits, as they stand in tables; an empty text for none."""
    return json.dumps({name: float(f"{n:.3g}") for name, n in numbers.items()}) if numbers else ""
