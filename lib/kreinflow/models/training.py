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
from kreinflow.models.cascading import CascadeFit, sample_size
from kreinflow.models.choice import packed
from kreinflow.models.classifier import LandmarkClassifier
from kreinflow.models.inner_folds import InnerFits, LiftedFits, choose, whole_groups
from kreinflow.models.lifting import Lifting, TriedWidths, positive_factor
from kreinflow.models.reject_threshold import RejectRule
from kreinflow.models.relating import Relating, Strangers, calibrated
from kreinflow.numerics import FloatArray, IntArray
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
    asked: AskedScores | None = None
    evidence: ScoreTransform | None = None
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
        return _First(classifier, kernel, decisions, lifted, fitted, choice, columns, rank)

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
                fit = self._facing(recipe, kernel, lifted, first.decisions)
                fitted_cascade = fit.fit(Wanted.of(recipe["cascade"]), self.reject)
            cascade, pairs = fitted_cascade.cascade, fitted_cascade.aligned
            classifier = replace(classifier, cascade=cascade)
            probabilities = fitted_cascade.probabilities
            alignments += fitted_cascade.alignments
            inside = np.isin(self.fits.measured, fitted_cascade.places)
            known, truth = "" if inside.all() else packed(inside), truth[inside]
        if self.false_alarms is not None and self.strangers is not None:
            places = self.fits.measured if cascade is None else fitted_cascade.places
            classifier = self._related(recipe, first, classifier, places, probabilities)
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

    def _related(
        self,
        recipe: Mapping[str, Any],
        first: "_First",
        classifier: LandmarkClassifier,
        places: IntArray,
        probabilities: FloatArray,
    ) -> LandmarkClassifier:
        """Return a classifier that tells strangers, and what has no relative."""
        assert self.asked is not None, "strangers, and nobody to ask"
        assert self.strangers is not None, "nothing that has no relative"
        assert self.false_alarms is not None, "strangers that nobody wants to know of"
        fit = self._facing(recipe, first.kernel, first.lifted, first.decisions)
        if classifier.cascade is None:
            drawn = fit.drawn(sample_size(len(self.part.rows), len(self.part.classes)))
            places, probabilities = places[drawn], probabilities[drawn]
        classifier = calibrated(
            fit, classifier, places, probabilities, self.reject, self.false_alarms
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
        assert self.liftings is not None, "records that are asked, and nobody to make their index"
        assert self.asked is not None, "records, and nobody to ask"
        if lifted is None:  # the nearest by their transformed scores
            settings = {"kernel": "gaussian", "width": 1.0, "inducing": 1}
            lifting = self.liftings({**recipe, "views": {}, "lift": settings})
        else:
            lifting = lifted.lifting
        return CascadeFit(
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
