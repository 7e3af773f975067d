"""Data in memory, landmarks, and the kernels that they approximate, for the figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from numpy.typing import NDArray

from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.base.random_streams import stream
from kreinflow.estimators.alignment_kernel import AlignmentKernel
from kreinflow.kernels.kernel import Kernel
from kreinflow.kernels.registry import make_kernel
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import KreinFactor, Rank
from kreinflow.krein.landmark_kernel import (
    LandmarkKernel,
    Landmarks,
    TrainingPart,
    factor_of,
    landmark_kernel,
)
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import Partition, partition_of
from kreinflow.sequences.payload import Compared, Matrix
from kreinflow.sequences.scores import open_scores
from kreinflow.sequences.sources.registry import make_source
from papers.cross_validation import RAW, Centring, cross_validate
from papers.experiments import load_experiments

Settings = Mapping[str, Any]

RANK = 1.0
"""All eigenvalues of the landmark matrix are kept, as the papers do."""

RANKS: Mapping[str, Rank] = {"all eigenvalues": RANK, "rank by misfit": "misfit"}
"""The papers' way and ours."""

FISHER: Settings = {"method": "ny_ikfd"}
"""As published: balanced scatter, bias at the midpoint, no ridge."""

FOLDS = 10

ELM: Settings = {"name": "elm"}


@dataclass(frozen=True, eq=False)
class AllScores:
    """A data set with the matrix of all its scores."""

    dataset: Dataset

    @property
    def matrix(self) -> NDArray[np.floating]:
        """The scores."""
        return self.dataset.matrix

    @cached_property
    def kernel(self) -> FloatArray:
        """K without approximation: similarities, or doubly centred dissimilarities."""
        K = np.asarray((self.matrix + self.matrix.T) / 2, dtype=np.float64)
        return K if self.dataset.kind == "similarity" else double_centred(K)

    def centred(self) -> "AllScores":
        """Return dissimilarities as the similarities around the mean of all objects.

        Before landmarks are chosen, as schleif2018 and oglic2019 do: it takes all dissimilarities.
        """
        return AllScores(replace(self.dataset, payload=Matrix(self.kernel, kind="similarity")))

    def folds(self, seed: int) -> Partition:
        """Return :data:`FOLDS` folds, stratified by class."""
        settings = {"method": "stratified", "k": FOLDS, "repeats": 1}
        return partition_of(assign_folds(settings, self.dataset, seed, Path()), self.dataset)

    def choose(
        self,
        settings: Settings,
        seed: int,
        training: NDArray[np.bool_] | None = None,
        matched: int | None = None,
    ) -> IntArray:
        """Return the rows that a selector takes of all records, or of those of a training part.

        ``matched`` is the number of landmarks of the selector that its budget names.
        """
        scores = open_scores(self.dataset)
        stage = LandmarkStage(self.dataset, scores, {"raw": RAW}, seed, training, "figure")
        return stage.select(make_selector(settings), matched)["row"].to_numpy(np.int64)

    def as_many_as_balls(
        self, methods: Iterable[str], seed: int, training: NDArray[np.bool_] | None = None
    ) -> dict[str, IntArray]:
        """Return the landmarks of several selectors, of each as many as ``meb`` finds."""
        meb = self.choose(selector_settings("meb"), seed, training)
        return {
            method: meb
            if method == "meb"
            else self.choose(selector_settings(method, len(meb)), seed, training)
            for method in methods
        }

    def approximate(
        self,
        landmarks: IntArray,
        training: NDArray[np.bool_] | None = None,
        rank: Rank = RANK,
    ) -> "Approximation":
        """Return what landmarks make of the kernel, with a factor of all records or of a part."""
        dataset = self.dataset
        known = Landmarks(
            scores=self.matrix[:, landmarks],
            self_scores=np.diagonal(self.matrix).copy(),
            lengths=np.zeros(len(dataset.rows)),
            rows=landmarks,
            classes=dataset.labels[landmarks],
            kind=dataset.kind,
        )

        def kernel_of(rows: IntArray) -> LandmarkKernel:
            part = TrainingPart(rows, dataset.labels[rows], rows, dataset.classes)
            return landmark_kernel(known, part, RAW)

        everything = kernel_of(np.arange(len(dataset.rows)))
        learned = everything if training is None else kernel_of(np.flatnonzero(training))
        factor, pairs = factor_of(learned, rank)
        Z = factor.transform(np.asarray(everything.C))
        return Approximation(self, landmarks, factor, pairs, Z)

    def accuracies(
        self,
        selectors: Mapping[str, Settings],
        seed: int,
        *,
        learner: Settings = FISHER,
        rank: Rank = RANK,
        correction: str = "none",
        centring: Centring = "landmarks",
    ) -> pd.DataFrame:
        """Return the accuracy with the landmarks of each selector, fold by fold.

        See :func:`~papers.cross_validation.cross_validate`; ``recipe`` is the name
        of the selector.
        """
        alike = {"transform": "raw", "rank": rank, "correction": correction, "learner": "learner"}
        config = {
            "seed": seed,
            "inner_folds": 3,
            "recipes": [{"name": name, "selector": name, **alike} for name in selectors],
            "selectors": selectors,
            "learners": {"learner": learner},
        }
        return cross_validate(self.dataset, self.folds(seed), config, centring)


@dataclass(frozen=True, eq=False)
class ScoresOfVectors(AllScores):
    """All scores of vectors, and the kernel that compares them."""

    vectors: FloatArray
    by: Kernel


@dataclass(frozen=True, eq=False)
class Approximation:
    """What landmarks make of a kernel: K~ = Z diag(s) Z', with the rows Z of all records."""

    of: AllScores
    landmarks: IntArray
    factor: KreinFactor
    pairs: Eigenpairs
    Z: FloatArray

    @property
    def kernel(self) -> FloatArray:
        """K~."""
        return product(self.Z, self.factor.signs)

    @property
    def flipped(self) -> FloatArray:
        """K~ with the absolute values of its eigenvalues."""
        with single_threaded():
            vectors = self.Z @ self.pairs.map
        return product(vectors, np.abs(self.pairs.values))

    @property
    def error(self) -> float:
        """The relative error of K~."""
        return relative_error(self.of.kernel, self.kernel)


def product(Z: FloatArray, signs: FloatArray) -> FloatArray:
    """Return Z diag(s) Z'."""
    with single_threaded():
        return (Z * signs) @ Z.T


def relative_error(K: FloatArray, approximated: FloatArray) -> float:
    """Return ||K - K~|| / ||K|| in the Frobenius norm."""
    with single_threaded():
        return float(np.linalg.norm(K - approximated) / np.linalg.norm(K))


def double_centred(D: FloatArray) -> FloatArray:
    """Return -J D J/2 of all squared dissimilarities."""
    means = D.mean(axis=0)
    K: FloatArray = -(D - means - means[:, None] + means.mean()) / 2
    return K


def flipped(K: FloatArray) -> FloatArray:
    """Return K with the absolute values of its eigenvalues."""
    with single_threaded():
        values, V = scipy.linalg.eigh(K)
    return product(V, np.abs(values))


def generated(generator: Settings, seed: int, kernel: Settings = ELM) -> ScoresOfVectors:
    """Return generated data."""
    source = make_source({"type": "generated", "generator": generator, "kernel": kernel})
    dataset = source.load(None, seed)
    points, rows = dataset.payload_as(Compared).objects, np.arange(len(dataset.digests))
    matrix = Matrix(open_scores(dataset).rectangle(rows, rows), kind=dataset.kind)
    return ScoresOfVectors(replace(dataset, payload=matrix), points, make_kernel(kernel))


def balls(seed: int, objects: int = 200) -> ScoresOfVectors:
    """Return balls of two sizes with their squared distances."""
    return generated({"name": "ball", "objects": objects}, seed, {"name": "ball"})


def families(sequences: int, seed: int, number: int = 8) -> AllScores:
    """Return simulated protein families with the logarithms of all alignment scores."""
    source = make_source({"type": "simulated", "families": number, "sequences": sequences})
    dataset = source.load(load_substitution_matrix("BLOSUM62").alphabet, seed)
    kernel = AlignmentKernel({"matrix": "BLOSUM62", "transform": "log"})
    objects = kernel.read(dataset.sequences)
    found = kernel.query(objects, objects)
    own, lengths = found.self_scores, found.lengths
    K = kernel.transform.apply(found.scores, own, own, lengths, lengths)
    matrix = Matrix(K, kind="similarity")
    return AllScores(replace(dataset, payload=matrix))


def protein213(data: Path, seed: int) -> dict[str, AllScores]:
    """Return the similarities of 213 proteins by their name; nothing without their files."""
    experiment = load_experiments()["protein213"]
    if not experiment.can_run(data):
        return {}
    source = experiment.config["datasets"]["protein213"]["source"]
    return {"protein213": AllScores(make_source(source, data).load(None, seed))}


def selector_settings(
    method: str, budget: int | str | None = None, sketch: int | None = None
) -> Settings:
    """Return the settings of a selector that looks at raw scores: all of them, or a sketch."""
    settings = {"transform": "raw", "candidates": None, "sketch": sketch, "budget": budget}
    known = SELECTORS[method].settings_schema
    return {"method": method, **{key: settings[key] for key in known if key in settings}}


def redrawn(seed: int, name: str, repeats: int) -> list[int]:
    """Return seeds for repetitions of a draw."""
    return [int(stream(seed, name, repeat).integers(2**31)) for repeat in range(repeats)]
