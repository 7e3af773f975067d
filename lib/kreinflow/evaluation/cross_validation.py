"""Cross-validation in memory: recipes compared on any scores, without files.

The pieces are those of the workflow, in its order, and so are the rules: landmarks, factors,
hyper-parameters and learners see the training part of a fold alone.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.errors import KreinflowError
from kreinflow.evaluation.centred_scores import CentredScores
from kreinflow.krein.correction import embed
from kreinflow.krein.double_centring import double_centre_factor
from kreinflow.krein.eigen import Eigenpairs, eigenpairs
from kreinflow.krein.factor import Embedding, KreinFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart, landmark_kernel
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.learners.learner import Fitted, Learner, Problem
from kreinflow.learners.registry import make_learner
from kreinflow.models.inner_folds import choose, inner_partition
from kreinflow.models.run import Run
from kreinflow.models.training import shown
from kreinflow.scores import Scores, transforms_of
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition, fold_numbers

Settings = Mapping[str, Any]
Centring = Literal["landmarks", "training", "factor"]


def cross_validate(
    dataset: Dataset,
    scores: Scores,
    partition: Partition,
    recipes: Sequence[Settings],
    selectors: Mapping[str, Settings],
    learners: Mapping[str, Settings],
    *,
    seed: int = 1,
    inner_folds: int = 3,
    transforms: Mapping[str, ScoreTransform] | None = None,
    centring: Centring = "landmarks",
) -> pd.DataFrame:
    """Measure recipes on folds.

    Calibration and reject thresholds, which change no prediction, are left out: a fold costs its
    landmarks, its factor, the choice of hyper-parameters (of a learner that offers several) and
    one fit.

    Parameters
    ----------
    dataset : Dataset
        Labels, and the distinct row of each record. What its rows hold is not looked at.
    scores : Scores
        Where the scores of its distinct rows come from.
    partition : Partition
    recipes, selectors, learners
        As in the config, complete: see :func:`kreinflow.configuration.complete_configuration`.
    seed : int
    inner_folds : int
        For hyper-parameters.
    transforms : mapping of str to ScoreTransform, optional
        Those that recipes and selectors name; ``raw`` needs not be given.
    centring : {"landmarks", "training", "factor"}
        How squared dissimilarities become similarities: around the mean of the landmarks, as in
        the workflow; around that of all training rows before landmarks are chosen, see
        :class:`~kreinflow.evaluation.centred_scores.CentredScores`; or the factor of the
        dissimilarities is centred (gisbrecht2015, eq. 6). Landmark MDS is around the landmarks by
        its nature.

    Returns
    -------
    DataFrame
        One line a fold and recipe, fold by fold, with the columns

        * ``recipe``, ``repeat``, ``fold``;
        * ``tested``, ``accuracy``: records of the test part, and the share predicted right;
        * ``landmarks``, ``rank``; ``positive``, ``negative``, ``negative_fraction``: eigenvalues
          of the approximated kernel before its correction;
        * ``basis_used``, ``iterations``, ``converged``, ``hyper_parameters``: of the learner;
        * ``seconds_training`` (landmarks, factor, choice and fit) and ``seconds_testing``;
        * ``failure``: why there is no accuracy, else empty.
    """
    known = transforms_of(["raw"], {}, None) | dict(transforms or {})
    lines: list[dict[str, Any]] = []
    for name in partition.names:
        data, opened = dataset, scores
        if centring == "training":
            data = replace(dataset, payload=replace(dataset.payload, kind="similarity"))
            opened = CentredScores(scores, np.unique(dataset.rows[partition.training(name)]))
        fold = _Fold(
            name,
            data,
            opened,
            partition,
            recipes,
            selectors,
            learners,
            seed,
            inner_folds,
            known,
            centring == "factor",
        )
        lines += fold.lines()
    return pd.DataFrame(lines)


@dataclass(frozen=True, eq=False)
class _Fold:
    """One fold of :func:`cross_validate`."""

    name: str
    dataset: Dataset
    scores: Scores
    partition: Partition
    recipes: Sequence[Settings]
    selectors: Mapping[str, Settings]
    learners: Mapping[str, Settings]
    seed: int
    inner_folds: int
    transforms: Mapping[str, ScoreTransform]
    centre_factor: bool

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield what is measured of each recipe, selector by selector."""
        everyone, own = np.arange(len(self.dataset.digests)), self.scores.self_scores()
        for selector, (table, seconds) in self.landmark_tables().items():
            rows = table["row"].to_numpy(np.int64)
            columns = self.scores.rectangle(everyone, rows)
            run = Run(self.dataset, self.partition, columns, rows, own)
            yield from self._measured(run, selector, table, seconds)

    def landmark_tables(self) -> dict[str, tuple[pd.DataFrame, float]]:
        """Return the landmarks of each selector of a recipe, and the seconds they took."""
        found: dict[str, tuple[pd.DataFrame, float]] = {}

        def find(name: str) -> tuple[pd.DataFrame, float]:
            if name not in found:
                budget = self.selectors[name].get("budget")
                matched = len(find(budget)[0]) if isinstance(budget, str) else None
                watch = _Watch()
                with watch:
                    table = self._select(name, matched)
                found[name] = table, watch.seconds
            return found[name]

        return {name: find(name) for name in dict.fromkeys(r["selector"] for r in self.recipes)}

    def _select(self, name: str, matched: int | None) -> pd.DataFrame:
        stage = LandmarkStage(
            self.dataset,
            self.scores,
            self.transforms,
            self.seed,
            self.partition.training(self.name),
            self.name,
            parts=len(self.partition.names),
        )
        return stage.select(make_selector(self.selectors[name]), matched)

    def _measured(
        self, run: Run, selector: str, table: pd.DataFrame, seconds: float
    ) -> Iterator[dict[str, Any]]:
        """Yield what is measured of each recipe with these landmarks."""
        own = [recipe for recipe in self.recipes if recipe["selector"] == selector]
        for kind in dict.fromkeys(map(self._kind, own)):
            alike = [recipe for recipe in own if self._kind(recipe) == kind]
            for line in self._with_one_factor(run, alike, run.landmarks(table)):
                line["seconds_training"] += seconds
                yield line

    def _with_one_factor(
        self, run: Run, recipes: Sequence[Settings], landmarks: Landmarks
    ) -> Iterator[dict[str, Any]]:
        """Yield what is measured of recipes that share their landmarks and their factor."""
        training, testing = run.training_part(self.name), run.testing_part(self.name)
        repeat, number = fold_numbers(self.name)
        built, scored = _Watch(), _Watch()
        with built:
            known, factor, pairs = self._factor(landmarks, training, recipes[0])
        with scored:
            unseen = self._kernel(landmarks, testing, recipes[0])
        positive, negative, _ = pairs.signature
        for recipe in recipes:
            trained, tested = _Watch(), _Watch()
            accuracy, figures, failure = np.nan, _NOTHING, ""
            try:
                with trained:
                    embedding = embed(factor, pairs, recipe["correction"])
                    problem = Problem.of(embedding, known, landmarks, training, self.seed)
                    learner, fitted, figures = self._fit(recipe, problem)
                with tested:
                    others = Problem.of(embedding, unseen, landmarks, testing, self.seed)
                    predicted = learner.decide(fitted, others).argmax(axis=1)
                accuracy = float(np.mean(predicted == testing.labels))
            except KreinflowError as error:
                failure = str(error)
            yield {
                "recipe": recipe["name"],
                "repeat": repeat,
                "fold": number,
                "tested": len(testing.rows),
                "accuracy": accuracy,
                "landmarks": len(landmarks.rows),
                "positive": positive,
                "negative": negative,
                "negative_fraction": pairs.negative_fraction,
                **figures,
                "seconds_training": built.seconds + trained.seconds,
                "seconds_testing": scored.seconds + tested.seconds,
                "failure": failure,
            }

    def _kind(self, recipe: Settings) -> tuple[str, str, bool]:
        """Return what recipes must share to share a factor: 1 and 1.0 are different ranks."""
        centred = self.centre_factor and recipe["correction"] != "landmark_mds"
        return recipe["transform"], repr(recipe["rank"]), centred

    def _kernel(self, landmarks: Landmarks, part: TrainingPart, recipe: Settings) -> LandmarkKernel:
        transform, _, centred = self._kind(recipe)
        if centred:  # the dissimilarities as they are; their factor is centred
            landmarks = replace(landmarks, kind="similarity")
        return landmark_kernel(landmarks, part, self.transforms[transform])

    def _factor(
        self, landmarks: Landmarks, part: TrainingPart, recipe: Settings
    ) -> tuple[LandmarkKernel, Embedding, Eigenpairs]:
        """Return the kernel of the training part, its factor and the factor's eigenpairs."""
        kernel = self._kernel(landmarks, part, recipe)
        centred = self._kind(recipe)[2]
        factor = KreinFactor.fit(
            kernel.C,
            kernel.W,
            kernel.self_similarities,
            rank=recipe["rank"],
            centre=centred or kernel.centring is not None,
        )
        embedding = double_centre_factor(factor) if centred else factor
        return kernel, embedding, eigenpairs(embedding.rows(kernel.C), embedding.signs)

    def _fit(self, recipe: Settings, problem: Problem) -> tuple[Learner, Fitted, dict[str, Any]]:
        """Return a recipe's learner, fitted to the training part, and what its training said."""
        learner = make_learner(self.learners[recipe["learner"]])
        choice = learner.choices()[0]
        if len(learner.choices()) > 1:
            inner = inner_partition(
                problem.landmarks.rows, problem.part, self.inner_folds, self.seed, self.name
            )
            # Without the rank: one factor for all, so landmarks that an inner fold holds out stay
            # in its fits, unlike in the workflow. Only ridges and penalties are chosen here.
            choice, _, _ = choose(learner, problem, inner)
        (fitted,) = learner.fit(problem, [choice])
        share = problem.n_landmarks / len(problem.part.rows)
        figures = {
            "rank": problem.embedding.rank,
            "basis_used": share if fitted.basis_used is None else fitted.basis_used,
            "iterations": fitted.iterations,
            "converged": fitted.converged,
            "hyper_parameters": shown(choice),
        }
        return learner, fitted, figures


_NOTHING: dict[str, Any] = {
    "rank": np.nan,
    "basis_used": np.nan,
    "iterations": np.nan,
    "converged": False,
    "hyper_parameters": "",
}


class _Watch(AbstractContextManager["_Watch"]):
    """The seconds that the statements inside took."""

    seconds = 0.0

    def __enter__(self) -> "_Watch":
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
