"""Cross-validation in memory: recipes compared on any scores, without files.

The pieces and their order are those of the workflow: landmarks, factors, hyper-parameters and
learners see the training part of a fold alone.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.base.numerics import FloatArray, IntArray, tiles
from kreinflow.fitting.factors import factor_key
from kreinflow.fitting.inner_folds import ChooseAgain, InnerFits, choose, inner_partition
from kreinflow.fitting.run import Run
from kreinflow.fitting.training import as_json, fit_figures
from kreinflow.krein.correction import embed
from kreinflow.krein.double_centring import double_centre_factor
from kreinflow.krein.eigen import Eigenpairs, eigenpairs
from kreinflow.krein.factor import Embedding, KreinFactor, Rank
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, factor_of, landmark_kernel
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.learners.learner import NOTES, Fitted, Learner, Problem
from kreinflow.learners.registry import make_learner
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition, fold_numbers
from kreinflow.sequences.scores import Scores, transforms_of

Settings = Mapping[str, Any]
Centring = Literal["landmarks", "training", "factor"]


def cross_validate(
    dataset: Dataset,
    scores: Scores,
    partition: Partition,
    config: Settings,
    *,
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
        Labels, and the distinct row of each record.
    scores : Scores
        Source of the scores of its distinct rows.
    partition : Partition
    config : mapping
        With recipes, selectors and learners as in a complete config, see
        :func:`kreinflow.config.configuration.complete_configuration`; and seed (else 1) and
        inner_folds (else 3).
    transforms : mapping of str to ScoreTransform, optional
        Those that recipes and selectors name; ``raw`` needs not be given.
    centring : {"landmarks", "training", "factor"}
        How squared dissimilarities become similarities: around the mean of the landmarks, as in
        the workflow; around that of all training rows before landmarks are chosen, see
        :class:`CentredScores`; or the factor of the dissimilarities is centred (gisbrecht2015,
        eq. 6). Landmark MDS is around the landmarks by its nature.

    Returns
    -------
    DataFrame
        One line a fold and recipe, fold by fold, with the columns

        * ``recipe``, ``repeat``, ``fold``;
        * ``tested``, ``accuracy``: records of the test part, and the share predicted right;
        * ``landmarks``, ``rank``; ``positive``, ``negative``, ``negative_fraction``: eigenvalues
          of the approximated kernel before its correction;
        * ``basis_used``, ``iterations``, ``converged``, ``hyper_parameters``: of the learner;
        * ``unlearned_classes``, ``singular_classes`` and their labels, ``unlearned_names`` and
          ``singular_names``: see :data:`~kreinflow.learners.learner.NOTES`;
        * ``seconds_training`` (landmarks, factor, choice and fit) and ``seconds_testing``;
        * ``failure``: why there is no accuracy, else empty.

    Raises
    ------
    InputError
        If records may have several labels, or an asymmetric matrix is to be centred.
    """
    if dataset.memberships is not None:
        raise InputError(
            "cross_validate: records with several labels are not measured here. Run the workflow, "
            "or set 'multiple: first' or 'refuse'."
        )
    if dataset.kind == "asymmetric" and centring != "landmarks":
        raise InputError(
            "centring: an asymmetric matrix holds similarities, which are not centred."
        )
    config = {"seed": 1, "inner_folds": 3, **config}
    known = transforms_of(["raw"], {}, None) | dict(transforms or {})
    lines: list[dict[str, Any]] = []
    for name in partition.names:
        data, opened = dataset, scores
        if centring == "training":
            data = replace(dataset, payload=replace(dataset.payload, kind="similarity"))
            opened = CentredScores(scores, np.unique(dataset.rows[partition.training(name)]))
        fold = _Fold(name, data, opened, partition, config, known, centring == "factor")
        lines += fold.lines()
    return pd.DataFrame(lines)


@dataclass(frozen=True, eq=False)
class CentredScores(Scores):
    r"""The similarities that squared dissimilarities D become around the mean of a fold.

    With the means :math:`m_i` of row i over the training rows and M of all of these,

    .. math:: s_{ij} = -(D_{ij} - m_i - m_j + M) / 2 .

    It takes all N^2 dissimilarities, as the papers centre a full matrix before they approximate it
    by landmarks. The workflow's way at linear cost is
    :class:`~kreinflow.krein.double_centring.LandmarkCentring`.

    Parameters
    ----------
    scores : Scores
        The squared dissimilarities.
    training : ndarray of int
        The distinct rows that the fold trains on.
    """

    scores: Scores
    training: IntArray
    dtype = np.dtype(np.float64)

    @cached_property
    def means(self) -> FloatArray:
        """m, of all distinct rows."""
        n = len(self.scores.self_scores())
        everyone = np.arange(n)
        return np.concatenate(
            [self.scores.rectangle(everyone[part], self.training).mean(axis=1) for part in tiles(n)]
        )

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        """Write the similarities of rows x columns into ``out``."""
        self.scores.into(out, rows, columns)
        out -= self.means[rows, None]
        out -= self.means[columns] - self.means[self.training].mean()
        out /= -2

    def self_scores(self) -> FloatArray:
        """Return the similarity of each distinct row with itself."""
        own = self.scores.self_scores()
        similarities: FloatArray = self.means - (own + self.means[self.training].mean()) / 2
        return similarities


@dataclass(frozen=True, eq=False)
class _Fold:
    """One fold of :func:`cross_validate`."""

    name: str
    dataset: Dataset
    scores: Scores
    partition: Partition
    config: Settings
    transforms: Mapping[str, ScoreTransform]
    centre_factor: bool

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield what is measured of each recipe, selector by selector and factor by factor."""
        everyone, own = np.arange(len(self.dataset.digests)), self.scores.self_scores()
        stage = LandmarkStage(
            self.dataset,
            self.scores,
            self.transforms,
            self.config["seed"],
            self.partition.training(self.name),
            self.name,
            parts=len(self.partition.names),
        )
        for name, (table, seconds) in self._landmark_tables(stage).items():
            rows = table["row"].to_numpy(np.int64)
            columns = self.scores.rectangle(everyone, rows)
            run = Run(self.dataset, self.partition, columns, rows, own)
            selector = make_selector(self.config["selectors"][name])
            again = run.choose_again(stage, selector, len(table))
            alike: dict[tuple[str, str, bool], list[Settings]] = {}
            for recipe in self.config["recipes"]:
                if recipe["selector"] == name:
                    key = factor_key(recipe["transform"], recipe["rank"])
                    alike.setdefault((*key, self._centres(recipe)), []).append(recipe)
            for recipes in alike.values():
                landmarks = run.landmarks(table)
                yield from self._with_one_factor(run, recipes, landmarks, again, seconds)

    def _landmark_tables(self, stage: LandmarkStage) -> dict[str, tuple[pd.DataFrame, float]]:
        """Return the landmarks of each selector of a recipe, and the seconds they took."""
        found: dict[str, tuple[pd.DataFrame, float]] = {}

        def find(name: str) -> tuple[pd.DataFrame, float]:
            if name not in found:
                selector = make_selector(self.config["selectors"][name])
                budget = selector.settings.get("budget")
                matched = len(find(budget)[0]) if isinstance(budget, str) else None
                with _Watch() as watch:
                    table = stage.select(selector, matched)
                found[name] = table, watch.seconds
            return found[name]

        wanted = dict.fromkeys(recipe["selector"] for recipe in self.config["recipes"])
        return {name: find(name) for name in wanted}

    def _centres(self, recipe: Settings) -> bool:
        """Return whether the factor of the dissimilarities is centred, not the landmarks."""
        return self.centre_factor and recipe["correction"] != "landmark_mds"

    def _with_one_factor(
        self,
        run: Run,
        recipes: Sequence[Settings],
        landmarks: Landmarks,
        choose_again: ChooseAgain | None,
        seconds: float,
    ) -> Iterator[dict[str, Any]]:
        """Yield what is measured of recipes that share their landmarks and their factor."""
        training, testing = run.training_part(self.name), run.testing_part(self.name)
        repeat, number = fold_numbers(self.name)
        transform, centred = self.transforms[recipes[0]["transform"]], self._centres(recipes[0])

        # What is centred later goes into the factor as it is, as similarities do.
        def given(chosen: Landmarks) -> Landmarks:
            return replace(chosen, kind="similarity") if centred else chosen

        again = choose_again and (lambda held_out: given(choose_again(held_out)))
        landmarks = given(landmarks)

        def fits() -> InnerFits:  # not shared: the first recipe would pay for all
            folds, seed = (self.config[key] for key in ("inner_folds", "seed"))
            inner = inner_partition(training, folds, seed, self.name)
            return InnerFits(inner, again, partial(_factor, centred=centred))

        with _Watch() as built:
            known = landmark_kernel(landmarks, training, transform)
            factor, pairs = _factor(known, recipes[0]["rank"], centred)
        with _Watch() as scored:
            unseen = landmark_kernel(landmarks, testing, transform)
        positive, negative, _ = pairs.signature
        for recipe in recipes:
            trained, tested = _Watch(), _Watch()
            accuracy, figures, failure = np.nan, _NOTHING, ""
            try:
                with trained:
                    embedding = embed(factor, pairs, recipe["correction"])
                    problem = Problem.of(embedding, known, landmarks, training, self.config["seed"])
                    learner, fitted, figures = self._fit(recipe, problem, fits)
                with tested:
                    others = Problem.of(embedding, unseen, landmarks, testing, self.config["seed"])
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
                "seconds_training": seconds + built.seconds + trained.seconds,
                "seconds_testing": scored.seconds + tested.seconds,
                "failure": failure,
            }

    def _fit(
        self, recipe: Settings, problem: Problem, fits: Callable[[], InnerFits]
    ) -> tuple[Learner, Fitted, dict[str, Any]]:
        """Return a recipe's learner, fitted to the training part, and what its training said."""
        learner = make_learner(self.config["learners"][recipe["learner"]])
        choice = learner.choices()[0]
        if len(learner.choices()) > 1:
            choice, *_ = choose(learner, problem, fits(), recipe["rank"])
        (fitted,) = learner.fit(problem, [choice])
        share = problem.n_landmarks / len(problem.part.rows)
        figures = {
            "rank": problem.embedding.rank,
            **fit_figures(fitted, share, problem.part.classes),
            "hyper_parameters": as_json(choice),
        }
        return learner, fitted, figures


def _factor(kernel: LandmarkKernel, rank: Rank, centred: bool) -> tuple[Embedding, Eigenpairs]:
    """Return the factor of a kernel, centred if it is of dissimilarities, and its eigenpairs."""
    if not centred:
        return factor_of(kernel, rank)
    factor = double_centre_factor(
        KreinFactor.fit(
            kernel.C, np.asarray(kernel.W), kernel.self_similarities, rank=rank, centre=True
        )
    )
    return factor, eigenpairs(factor.rows(kernel.C), factor.signs)


_NOTHING: dict[str, Any] = {
    "rank": np.nan,
    "basis_used": np.nan,
    "iterations": np.nan,
    "converged": False,
    **{f"{note}_classes": np.nan for note in NOTES},
    **{f"{note}_names": "" for note in NOTES},
    "hyper_parameters": "",
}


class _Watch:
    """The seconds that the statements inside took."""

    seconds = 0.0

    def __enter__(self) -> "_Watch":
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
