"""Data in memory, landmarks, and the kernels that they approximate, for the figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import make_transform
from kreinflow.evaluation.cross_validation import Centring, cross_validate
from kreinflow.krein.factor import Rank
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.models.factors import FactorEntry, make_factors
from kreinflow.numerics import FloatArray, IntArray, single_threaded
from kreinflow.papers.figures import PROTEIN213
from kreinflow.randomness import stream
from kreinflow.scores import open_scores
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import Partition, partition_of
from kreinflow.sequences.payload import Compared, Matrix
from kreinflow.sequences.sources.registry import make_source

Settings = Mapping[str, Any]

RANK = 1.0
"""All eigenvalues of the landmark matrix are kept, as the papers do."""

FISHER: Settings = {"method": "ny_ikfd"}
"""As published: balanced scatter, bias at the midpoint, no ridge."""

FOLDS = 10

RAW = make_transform("raw")


def matrix_dataset(matrix: FloatArray, labels: Sequence[str]) -> Dataset:
    """Return a data set of all similarities."""
    classes = tuple(sorted(set(labels)))
    names = tuple(str(i) for i in range(len(labels)))
    return Dataset(
        ids=names,
        labels=np.array([classes.index(label) for label in labels]),
        classes=classes,
        rows=np.arange(len(labels)),
        digests=names,
        payload=Matrix(matrix, kind="similarity"),
    )


@dataclass(frozen=True, eq=False)
class PlottedMatrix(Matrix):
    """All scores of vectors, beside the vectors."""

    vectors: FloatArray


def generated(generator: Settings, kernel: Settings, seed: int) -> Dataset:
    """Return generated data with all scores, and the vectors."""
    source = make_source({"type": "generated", "generator": generator, "kernel": kernel})
    dataset = source.load(None, seed)
    rows = np.arange(len(dataset.digests))
    matrix = open_scores(dataset).rectangle(rows, rows)
    points = dataset.payload_as(Compared).objects
    return replace(dataset, payload=PlottedMatrix(matrix, points, kind=dataset.kind))


def families(number: int, sequences: int, seed: int) -> Dataset:
    """Return simulated protein families with the logarithms of all alignment scores."""
    source = make_source({"type": "simulated", "families": number, "sequences": sequences})
    scheme = ScoringScheme(load_substitution_matrix("BLOSUM62", Path()))
    dataset = source.load(scheme.matrix.alphabet, seed)
    n = len(dataset.sequences)
    left, right = (place.astype(np.int32) for place in np.triu_indices(n))
    aligned = np.zeros((n, n))
    aligned[left, right] = align_pairs(pack(dataset.sequences), left, right, scheme, threads=1)
    scores = np.maximum(aligned, aligned.T)
    own, lengths = np.diagonal(scores), dataset.lengths
    matrix = make_transform("log").apply(scores, own, own, lengths, lengths)
    return replace(dataset, payload=Matrix(matrix, kind="similarity"))


def vectors(dataset: Dataset) -> FloatArray:
    """Return the vectors of generated data."""
    return dataset.payload_as(PlottedMatrix).vectors


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
    stage = LandmarkStage(dataset, open_scores(dataset), {"raw": RAW}, seed, training, "figure")
    return stage.select(make_selector(settings), matched)["row"].to_numpy(np.int64)


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
        open_scores(dataset),
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
    K = np.asarray((dataset.matrix + dataset.matrix.T) / 2, dtype=np.float64)
    return K if dataset.kind == "similarity" else double_centred(K)


def centred(dataset: Dataset) -> Dataset:
    """Return dissimilarities as the similarities around the mean of all objects.

    Before landmarks are chosen, as schleif2018 and oglic2019 do: it takes all dissimilarities.
    """
    return replace(dataset, payload=Matrix(full_kernel(dataset), kind="similarity"))


def approximate(
    dataset: Dataset,
    landmarks: IntArray,
    training: NDArray[np.bool_] | None = None,
    rank: Rank = RANK,
) -> tuple[FactorEntry, FloatArray]:
    """Return the factor that landmarks make, and its rows Z of all records."""
    n = len(dataset.rows)
    known = Landmarks(
        scores=dataset.matrix[:, landmarks],
        self_scores=np.diagonal(dataset.matrix).copy(),
        lengths=np.zeros(n),
        rows=landmarks,
        classes=dataset.labels[landmarks],
        kind=dataset.kind,
    )
    everything = TrainingPart(np.arange(n), dataset.labels, np.arange(n), dataset.classes)
    learned = everything
    if training is not None:
        rows = np.flatnonzero(training)
        learned = TrainingPart(rows, dataset.labels[rows], rows, dataset.classes)
    recipe = {"transform": "raw", "rank": rank, "correction": "none"}
    (entry,) = make_factors(known, learned, {"raw": RAW}, [recipe])
    return entry, entry.factor.transform(np.asarray(landmark_kernel(known, everything, RAW).C))


def relative_error(K: FloatArray, Z: FloatArray, signs: FloatArray) -> float:
    """Return ||K - Z diag(s) Z'|| / ||K|| in the Frobenius norm."""
    with single_threaded():
        return float(np.linalg.norm(K - (Z * signs) @ Z.T) / np.linalg.norm(K))


def protein213(data: Path, seed: int) -> Dataset | None:
    """Return the similarities of 213 proteins from the data folder, or None without the files."""
    source = {
        "type": "matrix",
        "matrix": PROTEIN213[0],
        "kind": "similarity",
        "labels": {"lines": PROTEIN213[1]},
        "symmetry_tolerance": 1e-3,
    }
    if not all((data / name).is_file() for name in PROTEIN213):
        return None
    return make_source(source, data).load(None, seed)
