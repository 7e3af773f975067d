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
from kreinflow.errors import named
from kreinflow.krein.correction import CorrectedFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart, landmark_kernel
from kreinflow.learners.learner import NOTES, Choice, Fitted, Learner, Problem
from kreinflow.learners.registry import factored, make_learner
from kreinflow.models.asked import AskedScores
from kreinflow.models.cascade_choice import Wanted, described
from kreinflow.models.cascading import CascadeFit, FittedCascade
from kreinflow.models.choice import packed
from kreinflow.models.classifier import LandmarkClassifier
from kreinflow.models.conformal import Calibration
from kreinflow.models.inner_folds import (
    InnerFits,
    LiftedFits,
    choose,
    decisions_with_all_landmarks,
    whole_groups,
)
from kreinflow.models.lifting import Lifting, TriedWidths, positive_factor
from kreinflow.models.reject_threshold import RejectRule
from kreinflow.numerics import FloatArray
from kreinflow.sequences.files import first_few
from kreinflow.views.lift import SCORES, Lift


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier and what its training said."""

    classifier: LandmarkClassifier
    figures: dict[str, Any]


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
    asked : AskedScores, optional
        Scores of the distinct rows of the data set with each other, for recipes with a cascade.
    evidence : ScoreTransform, optional
        What a cascade weighs the nearest records by; that of the recipe if it is left out.
    """

    landmarks: Landmarks
    part: TrainingPart
    fits: InnerFits
    reject: RejectRule
    seed: int
    liftings: Callable[[Mapping[str, Any]], Lifting] | None = None
    asked: AskedScores | None = None
    evidence: ScoreTransform | None = None

    def train(
        self,
        recipe: Mapping[str, Any],
        settings: Mapping[str, Any],
        embedding: CorrectedFactor | None,
        kernel: LandmarkKernel,
    ) -> Trained:
        """Train one recipe: hyper-parameters, calibration, threshold on inner folds, then on all.

        Hyper-parameters are those of :func:`~kreinflow.models.inner_folds.choose`.

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
            Naming the recipe, if the records cannot be learned from.
        """
        return self._trained(recipe, self._first(recipe, settings, embedding, kernel))

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
            problem, fits, lifted = self._problem(recipe, embedding, kernel)
            choice, decisions, calibrator = choose(learner, problem, fits, recipe["rank"])
            (fitted,) = learner.fit(problem, [choice])
        warn_noted(recipe["name"], fitted, self.part.classes)
        truth = self.part.labels[self.fits.measured]
        landmarks = self.landmarks
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
            temperature=float(calibrator.temperature_),
            reject_threshold=self.reject.threshold(calibrator.probabilities(decisions), truth),
            about={"learner": dict(settings), "reject": self.reject.stated},
        )
        columns, rank = problem.n_landmarks, _rank(problem, learner, lifted)

        @cache
        def calibration() -> Calibration:
            held_out, places = decisions, self.fits.measured
            # Else they would take as long again as the fits of the inner folds.
            if fitted.iterations == 1 or len(learner.choices(columns)) > 1:
                found = decisions_with_all_landmarks(
                    learner, problem, choice, self.fits, self.landmarks
                )
                places, held_out = found or (places, held_out)
            return Calibration.of(calibrator.probabilities(held_out), self.part.labels[places])

        return _First(
            classifier, kernel, decisions, lifted, fitted, choice, columns, rank, calibration
        )

    def _trained(self, recipe: Mapping[str, Any], first: "_First") -> Trained:
        """Return a recipe and its figures; a cascade is learned above its first stage."""
        kernel, lifted, fitted = first.kernel, first.lifted, first.fitted
        about = {"recipe": dict(recipe), **first.classifier.about}
        classifier = replace(first.classifier, about=about)
        truth, landmarks = self.part.labels[self.fits.measured], self.landmarks
        probabilities: FloatArray = softmax(first.decisions / classifier.temperature, axis=1)
        needs_self_score = landmarks.kind == "sequences" and kernel.transform.name != "raw"
        m, known = len(landmarks.rows), ""
        alignments: float = m + int(needs_self_score)
        cascade, pairs = None, 0
        if recipe.get("cascade") is not None:
            with named(f"recipe {recipe['name']!r}"):
                fitted_cascade = self._cascade(recipe, kernel, lifted, first.decisions)
            cascade, pairs = fitted_cascade.cascade, fitted_cascade.aligned
            classifier = replace(classifier, cascade=cascade)
            probabilities = fitted_cascade.probabilities
            alignments += fitted_cascade.alignments
            inside = np.isin(self.fits.measured, fitted_cascade.places)
            known, truth = "" if inside.all() else packed(inside), truth[inside]
        calibration = (
            first.calibration() if cascade is None else Calibration.of(probabilities, truth)
        )
        classifier = replace(classifier, calibration=calibration)
        right = probabilities.argmax(axis=1) == truth
        likely = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1.0)
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
            "inner_log_loss": float(-np.log(likely).mean()),
            "alignments_per_query": alignments,
            "inner_records": len(right),
            "inner_right": packed(right),
            "inner_known": known,
            "cascade": "" if cascade is None else described(cascade),
            "cascade_pairs": pairs,
        }
        return Trained(classifier, figures)

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

    def _cascade(
        self,
        recipe: Mapping[str, Any],
        kernel: LandmarkKernel,
        lifted: "_Lifted | None",
        decisions: FloatArray,
    ) -> FittedCascade:
        """Learn the cascade above a first stage."""
        assert self.liftings is not None, "a cascade, and nobody to make its index"
        assert self.asked is not None, "a cascade, and nobody to ask"
        if lifted is None:  # the nearest by their transformed scores
            settings = {"kernel": "gaussian", "width": 1.0, "inducing": 1}
            lifting = self.liftings({**recipe, "views": {}, "lift": settings})
        else:
            lifting = lifted.lifting
        fit = CascadeFit(
            part=self.part,
            landmarks=self.landmarks,
            kernel=kernel,
            fits=self.fits,
            lifting=lifting,
            widths=lambda fold: {SCORES: 1.0} if lifted is None else lifted.tried.best(fold),
            decisions=decisions,
            evidence=self.evidence or kernel.transform,
            asked=self.asked,
        )
        return fit.fit(Wanted.of(recipe["cascade"]), self.reject)

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
    quoted, none = list(map(repr, classes)), np.zeros(len(classes), dtype=bool)
    return {note: list(compress(quoted, fitted.notes.get(note, none))) for note in NOTES}


def shown(choice: Choice) -> str:
    """Return hyper-parameters as they stand in tables."""
    return " ".join(f"{key}={value:.3g}" for key, value in choice.items())
