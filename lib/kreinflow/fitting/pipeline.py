"""The pipeline of learning, put together once: for folds of a run, updates and estimators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.alignment.transforms import own_evidence
from kreinflow.answering.levels import Levels
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.base.hierarchy import above
from kreinflow.base.numerics import current_limits
from kreinflow.base.random_streams import hash_keys
from kreinflow.fitting.asked_pairs import asked_pairs
from kreinflow.fitting.fit_lift import Lifting
from kreinflow.fitting.inner_folds import ChooseAgain, InnerFits, inner_partition
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.run import Run
from kreinflow.fitting.training import Training
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.sequences.scores import evidence_of, open_scores, read_scheme, transforms_of
from kreinflow.views.objects import Viewed


@dataclass(frozen=True, eq=False)
class LiftSource:
    """What lifts are made of, beside scores."""

    objects: Viewed  # all distinct rows as views see them
    digests: Sequence[str]  # their names, which inducing points are drawn by
    letters: str = ""  # that sequences are made of, for their words and seeds

    @classmethod
    def of(cls, run: Run, scheme: ScoringScheme | None) -> "LiftSource":
        """Return that of a run."""
        letters = "" if scheme is None else scheme.matrix.alphabet
        return cls(run.objects, run.dataset.digests, letters)


@dataclass(frozen=True)
class Settings:
    """How the recipes of a fold are trained."""

    fold: str
    seed: int
    inner_folds: int
    reject: RejectRule


def training(
    landmarks: Landmarks,
    part: TrainingPart,
    settings: Settings,
    source: LiftSource,
    choose_again: ChooseAgain | None = None,
    **more: Any,
) -> Training:
    """Return what trains recipes on a training part.

    ``more``: other fields of :class:`~kreinflow.fitting.first_stage.TrainingData`.
    """
    inner = inner_partition(part, settings.inner_folds, settings.seed, settings.fold)
    keys = hash_keys(settings.seed, "inducing points", source.digests)

    def lifting(recipe: Mapping[str, Any]) -> Lifting:
        objects, letters = source.objects, source.letters
        return Lifting(objects, part, recipe["views"], recipe["lift"], keys, letters)

    fits = InnerFits(inner, choose_again)
    return Training(landmarks, part, fits, settings.reject, settings.seed, lifting, **more)


def fold_training(
    run: Run,
    fold: str,
    landmarks: Landmarks,
    chosen_by: Mapping[str, Any],
    recipes: Sequence[Mapping[str, Any]],
    params: Any,
    folder: Path,
) -> Training:
    """Return what trains recipes of the landmarks that one selector, by its settings, has chosen.

    ``params``: of the rule ``train_models``. ``folder``: the results of the data set.
    """
    scheme, part = read_scheme(run.dataset, params.scoring, params.data), run.training_part(fold)
    selector, unknown = make_selector(chosen_by), params.unknown
    stage = LandmarkStage(
        run.dataset,
        open_scores(run.dataset, scheme, folder / "scores"),
        transforms_of([selector.settings.get("transform", "raw")], params.transforms, scheme),
        params.seed,
        run.partition.training(fold),
        fold,
        training_parts(run.partition),
    )
    cache: ScoreCache | None = None
    strangers, evidence = None, evidence_of(params.transforms, scheme)
    asks = any(recipe["cascade"] for recipe in recipes)
    if scheme is not None and recipes:
        if unknown is not None and evidence is not None:
            strangers = run.strangers(part, scheme, params.seed)
        if strangers is not None or asks:
            cache = run.pair_scores(scheme, params.backend, current_limits().threads, strangers)
    if params.asked is not None and (asks or (recipes and unknown is not None)):
        cache = asked_pairs(run.dataset, params.asked, params.data, folder / "scores")
        between = np.asarray(landmarks.scores[landmarks.rows], dtype=np.float64)
        evidence = own_evidence(between, run.dataset.kind)
    reject = RejectRule.of_config(params.reject)
    settings = Settings(fold, params.seed, params.inner_folds, reject)
    return training(
        landmarks,
        part,
        settings,
        LiftSource.of(run, scheme),
        run.choose_again(stage, selector, len(landmarks.rows)),
        cache=cache,
        evidence=evidence,
        **_of_levels(part, params.levels),
        **(unknown or {}),
        strangers=strangers,
    )


def _of_levels(part: TrainingPart, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of the training data that a data set's part ``levels`` asks for."""
    if settings is None:
        return {}
    if part.memberships is not None:
        return {"above": above(part.classes, settings["separator"])}
    return {"levels": Levels.of_settings(part.classes, settings), "learn": settings["learn"]}
