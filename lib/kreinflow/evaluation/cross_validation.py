"""Cross-validation in memory: recipes compared on any scores, without files.

The pieces and their order are those of the workflow: landmarks, factors, hyper-parameters and
learners see the training part of a fold alone.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
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
from kreinflow.learners.learner import NOTES, Problem
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
        One line a fold and recipe, fold by fold: ``recipe``, ``repeat``, ``fold``; ``tested``
        records and the ``accuracy``; ``landmarks``, ``rank``; ``positive``, ``negative`` and
        ``negative_fraction`` of the eigenvalues of the approximated kernel before its correction;
        what the learner says of its fit (see :data:`~kreinflow.learners.learner.NOTES`);
        ``seconds_training`` (landmarks, factor, choice and fit) and ``seconds_testing``;
        ``failure``, why there is no accuracy, else empty.

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
        recipes, own = self.config["recipes"], self.scores.self_scores()
        stage = LandmarkStage(
            self.dataset,
            self.scores,
            self.transforms,
            self.config["seed"],
            self.partition.training(self.name),
            self.name,
            parts=len(self.partition.names),
        )
        found: dict[str, tuple[pd.DataFrame, float]] = {}
        for name in dict.fromkeys(recipe["selector"] for recipe in recipes):
            table, seconds = self._landmark_table(stage, name, found)
            rows = table["row"].to_numpy(np.int64)
            columns = self.scores.rectangle(np.arange(len(self.dataset.digests)), rows)
            run = Run(self.dataset, self.partition, columns, rows, own)
            selector = make_selector(self.config["selectors"][name])
            again = run.choose_again(stage, selector, len(table))
            alike: dict[tuple[Any, ...], list[Settings]] = {}
            for recipe in recipes:
                if recipe["selector"] == name:
                    centred = self.centre_factor and recipe["correction"] != "landmark_mds"
                    key = (*factor_key(recipe["transform"], recipe["rank"]), centred)
                    alike.setdefault(key, []).append(recipe)
            for (*_, centred), some in alike.items():
                yield from self._with_one_factor(
                    run, some, run.landmarks(table), again, seconds, centred
                )

    def _landmark_table(
        self, stage: LandmarkStage, name: str, found: dict[str, tuple[pd.DataFrame, float]]
    ) -> tuple[pd.DataFrame, float]:
        """Return the landmarks of a selector and the seconds they took; each is found once."""
        if name not in found:
            selector = make_selector(self.config["selectors"][name])
            budget, matched = selector.settings.get("budget"), None
            if isinstance(budget, str):  # as many as another selector takes
                matched = len(self._landmark_table(stage, budget, found)[0])
            with _Watch() as watch:
                table = stage.select(selector, matched)
            found[name] = table, watch.seconds
        return found[name]

    def _with_one_factor(
        self,
        run: Run,
        recipes: Sequence[Settings],
        landmarks: Landmarks,
        choose_again: ChooseAgain | None,
        seconds: float,
        centred: bool,
    ) -> Iterator[dict[str, Any]]:
        """Yield what is measured of recipes that share their landmarks and their factor."""
        training, testing = run.training_part(self.name), run.testing_part(self.name)
        repeat, number = fold_numbers(self.name)
        transform, seed = self.transforms[recipes[0]["transform"]], self.config["seed"]

        # What is centred later goes into the factor as it is, as similarities do.
        def given(chosen: Landmarks) -> Landmarks:
            return replace(chosen, kind="similarity") if centred else chosen

        again = choose_again and (lambda held_out: given(choose_again(held_out)))
        landmarks = given(landmarks)
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
                    learner = make_learner(self.config["learners"][recipe["learner"]])
                    choice, *others = learner.choices()
                    embedding = embed(factor, pairs, recipe["correction"])
                    problem = Problem.of(embedding, known, landmarks, training, seed)
                    if others:  # the folds are not shared: the first recipe would pay for all
                        inner_folds = self.config["inner_folds"]
                        inner = inner_partition(training, inner_folds, seed, self.name)
                        fits = InnerFits(inner, again, partial(_factor, centred=centred))
                        choice, *_ = choose(learner, problem, fits, recipe["rank"])
                    (fitted,) = learner.fit(problem, [choice])
                    share = problem.n_landmarks / len(training.rows)
                    figures = {
                        "rank": embedding.rank,
                        **fit_figures(fitted, share, training.classes),
                        "hyper_parameters": as_json(choice),
                    }
                with tested:
                    objects = Problem.of(embedding, unseen, landmarks, testing, seed)
                    predicted = learner.decide(fitted, objects).argmax(axis=1)
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
