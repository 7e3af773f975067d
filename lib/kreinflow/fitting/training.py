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

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import Calibration
from kreinflow.base.errors import named
from kreinflow.base.numerics import IntArray
from kreinflow.base.wording import abridged
from kreinflow.fitting import fit_cascade, fit_unknown
from kreinflow.fitting.calibration import PlattCalibrator, held_out_figures, several_of
from kreinflow.fitting.cascade_choice import described
from kreinflow.fitting.cascade_update import with_more_records
from kreinflow.fitting.first_stage import FirstStage, OutOfFold, RecipeLift, TrainingData
from kreinflow.fitting.fit_lift import positive_factor
from kreinflow.fitting.fit_unknown import LARGEST_INDEX, spread
from kreinflow.fitting.inner_folds import InnerFits, LiftedFits, choose, whole_groups
from kreinflow.fitting.recipe_choice import packed
from kreinflow.fitting.record_index import records_of
from kreinflow.fitting.reject_threshold import fitted_levels
from kreinflow.krein.correction import CorrectedFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, landmark_kernel
from kreinflow.learners.binary_relevance import BinaryRelevance
from kreinflow.learners.learner import NOTES, Fitted, Problem
from kreinflow.learners.registry import factored, make_learner
from kreinflow.learners.siblings import learner_of


def fit_label_sets(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with its calibration; of several labels it has none."""
    if classifier.several is not None:
        return classifier, held
    calibration = first.calibration
    if classifier.cascade is not None:
        calibration = Calibration.of(held.probabilities, first.data.part.labels[held.places])
    return classifier.with_parts(calibration=calibration), held


def fit_levels(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with the levels that are asked for, if any are."""
    data = first.data
    if data.levels is None:
        return classifier, held
    truth = data.part.labels[held.places]
    levels = fitted_levels(data.levels, held.probabilities, truth, data.reject.confidence)
    return classifier.with_parts(levels=levels), held


PART_FITS: tuple[
    Callable[[FirstStage, LandmarkClassifier, OutOfFold], tuple[LandmarkClassifier, OutOfFold]], ...
] = (fit_cascade.fit_part, fit_label_sets, fit_unknown.fit_part, fit_levels)
"""What learns the parts of a model above its first stage, in this order: each takes the model and
what it says of records that are held out, and returns both with its own part."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier and what its training said.

    Parameters
    ----------
    held_out : ndarray of shape (n,)
        What the first stage says of each training record when an inner fold holds it out: the code
        of a class. It is -1 for records that are always learned from.
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
    ) -> Trained:
        """Train one recipe: hyper-parameters, calibration, threshold on inner folds, then on all.

        Hyper-parameters are those of :func:`~kreinflow.fitting.inner_folds.choose`. Records with
        several labels have a machine, a calibration and a threshold for each. Their inner accuracy
        is the share of the records all of whose labels are right, and their log loss the mean over
        the labels.

        ``settings``: of the learner. ``embedding``: a lifted kernel has a factor of its own, and
        not all learners ask for one. ``kernel``: that of the recipe's transform. Raises InputError,
        naming the recipe, if the records cannot be learned from.
        """
        return self._trained(recipe, self.first_stage(recipe, settings, embedding, kernel))

    def train_again(
        self,
        recipe: Mapping[str, Any],
        settings: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
        before: LandmarkClassifier,
    ) -> Trained:
        """Train a recipe that was trained before, on fewer of these records: the first ones.

        It is :meth:`train`, but for what asks records. The levels of a cascade stay, as do the
        thresholds and the p-values of relatives, and what rests on the answers of a cascade: the
        records that sets are made with, and the thresholds of the levels. All records join those
        that are asked; see :func:`~kreinflow.fitting.cascade_update.with_more_records`. ``before``:
        what the recipe gave.
        """
        if before.records is None:
            return self.train(recipe, settings, embedding, kernel)
        first = self.first_stage(recipe, settings, embedding, kernel)
        trained = self._trained({**recipe, "cascade": None}, first)
        most = len(self.part.rows)
        if before.cascade is None:
            most = LARGEST_INDEX // len(self.landmarks.rows)
        kept, index = spread(len(self.part.rows), most), first.index
        records = records_of(
            index.lifting.lift_of(kernel, kept, index.widths(None), kept),
            *(self.part, self.landmarks, kept),
        )
        scale = before.temperature / first.classifier.temperature
        codes = np.array([self.part.classes.index(label) for label in before.classes])
        classifier = replace(
            trained.classifier, about={**trained.classifier.about, "recipe": dict(recipe)}
        )
        if before.relatives is not None:
            # A cascade keeps its thresholds. That of a first stage is found anew.
            sure = None if before.cascade is None else before.relatives.sure_threshold
            relatives = replace(before.relatives, records=records, sure_threshold=sure)
            classifier = classifier.with_parts(relatives=relatives)
        if before.cascade is not None:
            classes, calibration, levels = self.part.classes, before.calibration, before.levels
            classifier = classifier.with_parts(
                cascade=with_more_records(before.cascade, records, codes, scale),
                calibration=calibration and calibration.of_more_classes(codes, len(classes)),
                levels=levels and levels.of_more_classes(classes),
            )
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
            (fitted,) = machine.fit(problem, [choice])
        warn_noted(recipe["name"], fitted, part.classes)
        truth = part.truth[self.fits.measured]
        several, stated = None, self.reject.stated
        if isinstance(calibrator, PlattCalibrator):  # each label is accepted by its own threshold
            several, stated = several_of(calibrator, decisions, truth), {}
            temperature, threshold = 1.0, float(several.thresholds.min())
        else:
            temperature = float(calibrator.temperature_)
            threshold = self.reject.threshold(calibrator.probabilities(decisions), truth)
        lifted = None if lift is None else lift.lifted
        classifier = LandmarkClassifier(
            classes=part.classes,
            decision=fitted.decision,
            landmark_classes=landmarks.classes,
            transform=kernel.transform,
            landmark_self_scores=landmarks.self_scores[landmarks.rows],
            landmark_lengths=landmarks.lengths[landmarks.rows],
            centring=kernel.centring,
            lift=None if lifted is None else lifted.lift,
            inducing_rows=None if lifted is None else lifted.landmarks.rows,
            inducing_classes=None if lifted is None else lifted.landmarks.classes,
            forks=of_forks,
            temperature=temperature,
            reject_threshold=threshold,
            several=several,
            about={"learner": dict(settings), "reject": stated},
        )
        return FirstStage(
            data=self,
            recipe=recipe,
            classifier=classifier,
            kernel=kernel,
            machine=machine,
            problem=problem,
            choice=choice,
            fitted=fitted,
            calibrator=calibrator,
            decisions=decisions,
            lift=lift,
        )

    def _trained(self, recipe: Mapping[str, Any], first: FirstStage) -> Trained:
        """Return a recipe and its figures, with all parts above its first stage."""
        about = {"recipe": dict(recipe), **first.classifier.about}
        classifier, held = replace(first.classifier, about=about), first.out_of_fold
        with named(f"recipe {recipe['name']!r}"):
            for fit in PART_FITS:
                classifier, held = fit(first, classifier, held)
        measured, truth = self.fits.measured, self.part.labels[held.places]
        inside = np.isin(measured, held.places)
        if classifier.several is None:
            right = held.compared.argmax(axis=1) == truth
            likely = np.clip(held.compared[np.arange(len(truth)), truth], 1e-15, 1.0)
            losses = -np.log(likely)
        else:
            own = self.part.truth[measured]
            right, losses = held_out_figures(first.decisions, own, self.fits.inner[measured])
        lift, problem, cascade = first.lift, first.problem, classifier.cascade
        tried = None if lift is None else lift.tried
        widths = {} if tried is None else {f"width_{v}": w for v, w in tried.best().items()}
        figures = {
            "landmarks": len(self.landmarks.rows),
            "rank": _rank(first),
            **fit_figures(
                first.fitted, problem.n_landmarks / len(self.part.rows), self.part.classes
            ),
            "hyper_parameters": as_json({**first.choice, **widths}),
            "views": "" if tried is None else as_json(tried.worth()),
            "groups_held_out": whole_groups(self.part.groups, self.fits.inner),
            "temperature": (cascade or classifier).temperature,
            "reject_threshold": (cascade or classifier).reject_threshold,
            "inner_accuracy": float(np.mean(right)),
            "inner_log_loss": float(losses.mean()),
            "alignments_per_query": held.alignments,
            "inner_records": len(right),
            "inner_right": packed(right),
            "inner_known": "" if inside.all() else packed(inside),
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
        every = np.arange(len(self.part.rows))
        if not recipe.get("lift"):

            def factor() -> CorrectedFactor:
                assert embedding is not None, "a recipe without a factor"
                return embedding

            problem = Problem(factor, kernel, self.landmarks, self.part, every, self.seed)
            return problem, self.fits, None
        lifting = self.lifting(recipe)
        tried = lifting.tried(kernel, self.landmarks, self.fits.inner)
        lifted = lifting.on(kernel, every, tried.best())
        made = cache(lambda: positive_factor(lifted.kernel))
        problem = Problem(made, lifted.kernel, lifted.landmarks, self.part, every, self.seed)
        fits = LiftedFits(self.fits, self.landmarks, kernel, lifting, tried)
        return problem, fits, RecipeLift(lifting, tried, lifted)

    def train_recipes(
        self,
        recipes: Sequence[Mapping[str, Any]],
        learners: Mapping[str, Mapping[str, Any]],
        transforms: Mapping[str, ScoreTransform],
        embedding_of: Callable[[Mapping[str, Any]], CorrectedFactor | None],
    ) -> Iterator[tuple[Mapping[str, Any], Trained]]:
        """Train recipes, and yield each with what it gave.

        Recipes of one transform follow each other, so that one kernel at a time is held. Those that
        differ in their cascades alone share a first stage. ``embedding_of``: returns the corrected
        factor of a recipe; only those of :func:`~kreinflow.learners.registry.factored` are asked
        for.
        """
        needing = {recipe["name"] for recipe in factored(recipes, learners)}
        for name in dict.fromkeys(recipe["transform"] for recipe in recipes):
            kernel = landmark_kernel(self.landmarks, self.part, transforms[name])
            firsts: dict[str, FirstStage] = {}
            for recipe in (r for r in recipes if r["transform"] == name):
                own = {k: value for k, value in recipe.items() if k not in ("name", "cascade")}
                key = json.dumps(own, sort_keys=True)
                if key not in firsts:
                    embedding = embedding_of(recipe) if recipe["name"] in needing else None
                    settings = learners[recipe["learner"]]
                    firsts = {key: self.first_stage(recipe, settings, embedding, kernel)}
                yield recipe, self._trained(recipe, firsts[key])


def _rank(first: FirstStage) -> int | None:
    if first.lift is not None:
        return first.problem.n_landmarks
    learner = make_learner(first.classifier.about["learner"])
    return first.problem.embedding.rank if learner.needs_factor else None


def fit_figures(fitted: Fitted, share: float, classes: Sequence[str]) -> dict[str, Any]:
    """Return the figures of a fit; ``share`` is that of its landmarks among the records."""
    noted = _noted(fitted, classes)
    return {
        "basis_used": share if fitted.basis_used is None else fitted.basis_used,
        "iterations": fitted.iterations,
        "converged": fitted.converged,
        **{f"{note}_classes": len(labels) for note, labels in noted.items()},
        **{f"{note}_names": abridged(labels) for note, labels in noted.items()},
    }


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
