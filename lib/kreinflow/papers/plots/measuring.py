"""Data in memory, landmarks, and the kernels that they approximate, for the figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from numpy.typing import NDArray

from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import make_transform
from kreinflow.evaluation.cross_validation import Centring, cross_validate
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
from kreinflow.landmarks.stage import select_landmarks
from kreinflow.numerics import FloatArray, IntArray, single_threaded
from kreinflow.papers.figures import PROTEIN213
from kreinflow.randomness import stream
from kreinflow.scores import MatrixScores, open_scores
from kreinflow.sequences.dataset import Dataset, load_dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import Partition, partition_of

Settings = Mapping[str, Any]

RANK = 1.0
"""All eigenvalues of the landmark matrix are kept, as the papers do."""

RANKS: Mapping[str, Rank] = {"all eigenvalues": RANK, "rank by misfit": "misfit"}
"""The papers' way and ours."""

FISHER: Settings = {"method": "ny_ikfd"}
"""As published: balanced scatter, bias at the midpoint, no ridge."""

FOLDS = 10

RAW = make_transform("raw")


def generated(generator: Settings, kernel: Settings, seed: int) -> Dataset:
    """Return generated data with all scores; its objects are the vectors."""
    source = {"type": "generated", "generator": generator, "kernel": kernel, "min_class_size": 2}
    dataset = load_dataset(source, Path(), None, seed)
    rows = np.arange(len(dataset.digests))
    return replace(dataset, matrix=open_scores(dataset, None, Path()).rectangle(rows, rows))


def balls(seed: int, objects: int = 200) -> Dataset:
    """Return balls of two sizes with their squared distances."""
    return generated({"name": "ball", "objects": objects}, {"name": "ball"}, seed)


def families(number: int, sequences: int, seed: int) -> Dataset:
    """Return simulated protein families with the logarithms of all alignment scores."""
    source = {"type": "simulated", "families": number, "sequences": sequences, "min_class_size": 2}
    scheme = ScoringScheme(load_substitution_matrix("BLOSUM62", Path()))
    dataset = load_dataset(source, Path(), scheme.matrix.alphabet, seed)
    assert dataset.sequences is not None
    n = len(dataset.sequences)
    left, right = (place.astype(np.int32) for place in np.triu_indices(n))
    aligned = np.zeros((n, n))
    aligned[left, right] = align_pairs(pack(dataset.sequences), left, right, scheme, threads=1)
    scores = np.maximum(aligned, aligned.T)
    own, lengths = np.diagonal(scores), dataset.lengths
    matrix = make_transform("log").apply(scores, own, own, lengths, lengths)
    return replace(dataset, sequences=None, kind="similarity", matrix=matrix)


def vectors(dataset: Dataset) -> FloatArray:
    """Return the vectors of generated data."""
    assert dataset.objects is not None
    return dataset.objects


def selector_settings(
    method: str, budget: int | str | None = None, sketch: int | None = None
) -> Settings:
    """Return the settings of a selector that looks at raw scores: all of them, or a sketch."""
    asked = {"transform": "raw", "candidates": None, "sketch": sketch, "budget": budget}
    known = SELECTORS[method].settings_schema
    return {"method": method, **{key: asked[key] for key in known if key in asked}}


def choose_landmarks(
    dataset: Dataset,
    settings: Settings,
    seed: int,
    training: NDArray[np.bool_] | None = None,
    matched: int | None = None,
) -> IntArray:
    """Return the rows that a selector takes of all records, or of those of a training part.

    ``matched`` is the number of landmarks of the selector that its budget names.
    """
    if training is None:
        training = np.ones(len(dataset.ids), dtype=bool)
    table = select_landmarks(
        make_selector(settings),
        dataset,
        training,
        MatrixScores(dataset),
        RAW,
        seed,
        "figure",
        matched,
    )
    return table["row"].to_numpy(np.int64)


def as_many_as_balls(
    dataset: Dataset,
    methods: Iterable[str],
    seed: int,
    training: NDArray[np.bool_] | None = None,
) -> dict[str, IntArray]:
    """Return the landmarks of several selectors, of each as many as ``meb`` finds."""
    balls = choose_landmarks(dataset, selector_settings("meb"), seed, training)
    return {
        method: balls
        if method == "meb"
        else choose_landmarks(dataset, selector_settings(method, len(balls)), seed, training)
        for method in methods
    }


def stratified(dataset: Dataset, k: int, seed: int, repeats: int = 1) -> Partition:
    """Return k folds, stratified by class."""
    settings = {"method": "stratified", "k": k, "repeats": repeats}
    return partition_of(assign_folds(settings, dataset, seed, Path()), dataset)


def double_centred(D: FloatArray) -> FloatArray:
    """Return -J D J/2 of all squared dissimilarities."""
    means = D.mean(axis=0)
    K: FloatArray = -(D - means - means[:, None] + means.mean()) / 2
    return K


def accuracies(
    dataset: Dataset,
    selectors: Mapping[str, Settings],
    seed: int,
    *,
    folds: int = FOLDS,
    learner: Settings = FISHER,
    rank: Rank = RANK,
    correction: str = "none",
    centring: Centring = "landmarks",
) -> pd.DataFrame:
    """Return the accuracy with the landmarks of each selector, fold by fold.

    See :func:`~kreinflow.evaluation.cross_validation.cross_validate`; ``recipe`` is the name of the
    selector.
    """
    return cross_validate(
        dataset,
        MatrixScores(dataset),
        stratified(dataset, folds, seed),
        [
            {
                "name": name,
                "transform": "raw",
                "rank": rank,
                "correction": correction,
                "selector": name,
                "learner": "learner",
            }
            for name in selectors
        ],
        selectors,
        {"learner": learner},
        seed=seed,
        centring=centring,
    )


def redrawn(seed: int, name: str, repeats: int) -> list[int]:
    """Return seeds for repetitions of a draw."""
    return [int(stream(seed, name, repeat).integers(2**31)) for repeat in range(repeats)]


def full_kernel(dataset: Dataset) -> FloatArray:
    """Return the kernel without approximation: similarities, or centred dissimilarities."""
    assert dataset.matrix is not None
    K = np.asarray((dataset.matrix + dataset.matrix.T) / 2, dtype=np.float64)
    return K if dataset.kind == "similarity" else double_centred(K)


def centred(dataset: Dataset) -> Dataset:
    """Return dissimilarities as the similarities around the mean of all objects.

    Before landmarks are chosen, as schleif2018 and oglic2019 do: it takes all dissimilarities.
    """
    return replace(dataset, kind="similarity", matrix=full_kernel(dataset))


def product(Z: FloatArray, signs: FloatArray) -> FloatArray:
    """Return Z diag(s) Z'."""
    with single_threaded():
        return (Z * signs) @ Z.T


@dataclass(frozen=True, eq=False)
class Approximation:
    """What landmarks make of a kernel: K~ = Z diag(s) Z', with the rows Z of all records."""

    landmarks: IntArray
    factor: KreinFactor
    pairs: Eigenpairs
    Z: FloatArray

    @property
    def kernel(self) -> FloatArray:
        """K~."""
        return product(self.Z, self.factor.signs)


def approximate(
    dataset: Dataset,
    landmarks: IntArray,
    training: NDArray[np.bool_] | None = None,
    rank: Rank = RANK,
) -> Approximation:
    """Return what landmarks make of a kernel, with a factor of all records or of a part."""
    assert dataset.matrix is not None
    known = Landmarks(
        scores=dataset.matrix[:, landmarks],
        self_scores=np.diagonal(dataset.matrix).copy(),
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
    return Approximation(landmarks, factor, pairs, factor.transform(np.asarray(everything.C)))


def relative_error(K: FloatArray, approximated: FloatArray) -> float:
    """Return ||K - K~|| / ||K|| in the Frobenius norm."""
    with single_threaded():
        return float(np.linalg.norm(K - approximated) / np.linalg.norm(K))


def flipped(K: FloatArray) -> FloatArray:
    """Return K with the absolute values of its eigenvalues."""
    with single_threaded():
        values, V = scipy.linalg.eigh(K)
    return product(V, np.abs(values))


def protein213(data: Path, seed: int) -> Dataset | None:
    """Return the similarities of 213 proteins from the data folder, or None without the files."""
    source = {
        "type": "matrix",
        "matrix": PROTEIN213[0],
        "kind": "similarity",
        "labels": {"lines": PROTEIN213[1]},
        "symmetry_tolerance": 1e-3,
        "min_class_size": 2,
    }
    if not all((data / name).is_file() for name in PROTEIN213):
        return None
    return load_dataset(source, data, None, seed)
