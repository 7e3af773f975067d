"""Cross-validation in memory: what decides a prediction, and the seconds that it took.

Calibration and thresholds, which change no prediction, are left out. Landmarks, factors,
hyper-parameters and learners see the training part of a fold alone.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from kreinflow.alignment.transforms import make_transform
from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import IntArray
from kreinflow.fitting.inner_folds import ChooseAgain, InnerFits, choose, inner_partition
from kreinflow.fitting.run import Run
from kreinflow.fitting.training import as_json
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs, eigenpairs
from kreinflow.krein.factor import Embedding, KreinFactor, Rank
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, factor_of, landmark_kernel
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.learners.learner import Choice, Fitted, Problem
from kreinflow.learners.registry import make_learner
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition, fold_numbers
from kreinflow.sequences.payload import Matrix
from kreinflow.sequences.scores import columns_in_memory, open_scores

T = TypeVar("T")
Settings = Mapping[str, Any]
Centring = Literal["landmarks", "training", "factor"]
RAW = make_transform("raw")


def cross_validate(
    dataset: Dataset,
    partition: Partition,
    config: Settings,
    centring: Centring = "landmarks",
) -> pd.DataFrame:
    """Measure recipes over untransformed scores on folds.

    Parameters
    ----------
    config : mapping
        Recipes, selectors and learners as in a complete config, seed and inner_folds.
    centring : {"landmarks", "training", "factor"}
        How squared dissimilarities become similarities: around the mean of the landmarks, as in
        the workflow; around that of all training records, before landmarks are chosen (see
        :func:`around`); or the factor of the dissimilarities is centred (gisbrecht2015, eq. 6).
        Landmark MDS is around the landmarks by its nature.

    Returns
    -------
    DataFrame
        One line a fold and recipe, fold by fold: ``recipe``, ``repeat``, ``fold``; the
        ``accuracy``; ``landmarks``, ``rank``; ``positive``, ``negative`` and
        ``negative_fraction`` of the eigenvalues of the approximated kernel before its correction;
        ``basis_used``, ``converged`` and ``hyper_parameters`` of the fit; ``seconds_training``
        (landmarks, factor, choice and fit) and ``seconds_testing``; ``failure``, why there is no
        accuracy, else empty.
    """
    lines: list[dict[str, Any]] = []
    for name in partition.names:
        data = dataset
        if centring == "training":
            data = around(np.unique(dataset.rows[partition.training(name)]), dataset)
        lines += _of_fold(name, data, partition, config, centring == "factor")
    return pd.DataFrame(lines)


def around(rows: IntArray, dataset: Dataset) -> Dataset:
    r"""Return squared dissimilarities D as the similarities around the mean of some rows.

    With the means :math:`m_i` of row i over these, and M of all of these,

    .. math:: s_{ij} = -(D_{ij} - m_i - m_j + M) / 2 .

    It takes all N^2 dissimilarities, as the papers centre a full matrix before they approximate it
    by landmarks.
    """
    scores, everyone = open_scores(dataset), np.arange(len(dataset.digests))
    S = scores.rectangle(everyone, everyone)
    means = scores.rectangle(everyone, rows).mean(axis=1)
    S -= means[:, None]
    S -= means - means[rows].mean()
    S /= -2
    return replace(dataset, payload=Matrix(S, kind="similarity"))


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The landmarks of a fold by one selector, and how they are chosen without some records."""

    run: Run
    fold: str
    landmarks: Landmarks
    again: ChooseAgain | None

    def uncentred(self) -> "_Chosen":
        """Return the same of what is centred later: it goes into the factor as it is."""

        def given(landmarks: Landmarks) -> Landmarks:
            return replace(landmarks, kind="similarity")

        again = self.again
        own = None if again is None else lambda held_out: given(again(held_out))
        return replace(self, landmarks=given(self.landmarks), again=own)


def _of_fold(
    fold: str, dataset: Dataset, partition: Partition, config: Settings, centre_factor: bool
) -> Iterator[dict[str, Any]]:
    """Yield what is measured of each recipe, selector by selector."""
    scores, (repeat, number) = open_scores(dataset), fold_numbers(fold)
    part = partition.training(fold), fold, training_parts(partition)
    stage = LandmarkStage(dataset, scores, {"raw": RAW}, config["seed"], *part)

    @cache
    def selected(name: str) -> tuple[pd.DataFrame, float]:
        selector = make_selector(config["selectors"][name])
        budget, matched = selector.settings.get("budget"), None
        if isinstance(budget, str):  # as many as another selector takes
            matched = len(selected(budget)[0])
        return _timed(lambda: stage.select(selector, matched))

    own = scores.self_scores()
    for name in dict.fromkeys(recipe["selector"] for recipe in config["recipes"]):
        table, seconds = selected(name)
        rows = table["row"].to_numpy(np.int64)
        run = Run(dataset, partition, columns_in_memory(dataset, scores, rows), rows, own)
        again = run.choose_again(stage, make_selector(config["selectors"][name]), len(table))
        chosen = _Chosen(run, fold, run.landmarks(table), again)
        for recipe in (r for r in config["recipes"] if r["selector"] == name):
            centred = centre_factor and recipe["correction"] != "landmark_mds"
            found = _measured(chosen.uncentred() if centred else chosen, recipe, config, centred)
            found["seconds_training"] += seconds
            yield {"recipe": recipe["name"], "repeat": repeat, "fold": number, **found}


def _measured(chosen: _Chosen, recipe: Settings, config: Settings, centred: bool) -> dict[str, Any]:
    """Return what is measured of a recipe, without the seconds that the landmarks took."""
    landmarks, seed, run = chosen.landmarks, config["seed"], chosen.run
    training, testing = run.training_part(chosen.fold), run.testing_part(chosen.fold)
    learner = make_learner(config["learners"][recipe["learner"]])

    def learned() -> tuple[CorrectedFactor, Fitted, Choice]:
        embedding = embed(factor, pairs, recipe["correction"])
        problem = Problem.of(embedding, known, landmarks, training, seed)
        choice, *others = learner.choices()
        if others:
            inner = inner_partition(training, config["inner_folds"], seed, chosen.fold)
            fits = InnerFits(inner, chosen.again, partial(_factor, centred=centred))
            choice, *_ = choose(learner, problem, fits, recipe["rank"])
        (fitted,) = learner.fit(problem, [choice])
        return embedding, fitted, choice

    def predicted() -> IntArray:
        unseen = landmark_kernel(landmarks, testing, RAW)
        objects = Problem.of(embedding, unseen, landmarks, testing, seed)
        labels: IntArray = learner.decide(fitted, objects).argmax(axis=1)
        return labels

    known, seconds = _timed(lambda: landmark_kernel(landmarks, training, RAW))
    (factor, pairs), more = _timed(lambda: _factor(known, recipe["rank"], centred))
    positive, negative, _ = pairs.signature
    found: dict[str, Any] = {
        "landmarks": len(landmarks.rows),
        "positive": positive,
        "negative": negative,
        "negative_fraction": pairs.negative_fraction,
        "seconds_training": seconds + more,
    }
    try:
        (embedding, fitted, choice), seconds = _timed(learned)
        labels, testing_seconds = _timed(predicted)
    except KreinflowError as error:
        nothing = dict.fromkeys(("accuracy", "rank", "basis_used", "seconds_testing"), np.nan)
        return found | nothing | {"converged": False, "hyper_parameters": "", "failure": str(error)}
    found["seconds_training"] += seconds
    share = len(landmarks.rows) / len(training.rows)
    return found | {
        "accuracy": float(np.mean(labels == testing.labels)),
        "rank": embedding.rank,
        "basis_used": share if fitted.basis_used is None else fitted.basis_used,
        "converged": fitted.converged,
        "hyper_parameters": as_json(choice),
        "seconds_testing": testing_seconds,
        "failure": "",
    }


def _timed(make: Callable[[], T]) -> tuple[T, float]:
    """Return what is made, and the seconds that it took."""
    start = time.perf_counter()
    return make(), time.perf_counter() - start


def _factor(kernel: LandmarkKernel, rank: Rank, centred: bool) -> tuple[Embedding, Eigenpairs]:
    """Return the factor of a kernel, centred if it is of dissimilarities, and its eigenpairs.

    With D~ = Z diag(s) Z' and Z centred, -J D~ J/2 is Z diag(-s) Z' / 2 (gisbrecht2015, eq. 6).
    """
    if not centred:
        return factor_of(kernel, rank)
    W, own = np.asarray(kernel.W), kernel.self_similarities
    of_D = KreinFactor.fit(kernel.C, W, own, rank=rank, centre=True)
    factor = Embedding(of_D.matrix / np.sqrt(2), of_D.offset / np.sqrt(2), -of_D.signs)
    return factor, eigenpairs(factor.rows(kernel.C), factor.signs)
