"""Recipes on synthetic scores, their decisions and their factors."""

from dataclasses import replace

import numpy as np

from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.query_and_answers import Query
from kreinflow.fitting.factors import make_factors
from kreinflow.fitting.inner_folds import InnerFits, inner_partition
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.training import Training
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from small_inputs import matrix_of, points

LEARNERS = {
    "ikfd": {"method": "ny_ikfd", "scatter": "balanced", "bias": "midpoint", "ridge": 0},
    "pooled": {
        "method": "ny_ikfd",
        "scatter": "pooled",
        "bias": "least_squares",
        "ridge": "inner",
    },
    "pcvm": {"method": "ny_pcvm", "basis": "landmarks", "max_iter": 60},
    "pcvm-all": {"method": "ny_pcvm", "basis": "all", "max_iter": 30},
    "epcvm": {"method": "ny_epcvm"},
    "epcvm-all": {"method": "ny_epcvm", "basis": "all", "max_iter": 200},
    "ikqd": {"method": "ikqd", "ridge": "inner"},
    "lsm": {"method": "krein_lsm", "lambda_plus": "inner", "lambda_minus": "inner"},
    "vc-lsm": {
        "method": "krein_vc_lsm",
        "lambda_plus": "inner",
        "lambda_minus": 0.01,
        "variance": "inner",
    },
    "sh-svm": {"method": "krein_sh_svm", "lambda_plus": 0.01, "lambda_minus": "inner"},
    "sf-lsm": {"method": "sf_lsm", "ridge": "inner"},
    "cvm": {"method": "cvm", "penalty": "inner"},
    "krein-svc": {"method": "svc", "penalty": 10.0},
    "dissimilarities": {"method": "dissimilarity_space", "kernel": "linear", "penalty": 1.0},
    "dissimilarities-elm": {"method": "dissimilarity_space", "kernel": "elm", "penalty": "inner"},
    "nearest": {"method": "nearest_landmark"},
    "svc": {"method": "linear_svc"},
}
PSD_ONLY = {"cvm", "krein-svc"}
KINDS = ("sequences", "similarity", "squared_dissimilarity")
CLASSES = ("a", "b", "c")
N, M = 90, 12


def problem(kind, seed=3, each=30):
    """Scores of points on a plane: for ``sequences`` positive integers, as alignments give."""
    X, labels = points(seed, each=each)
    rows = np.arange(0, len(X), len(X) // M)[:M]
    codes = np.array([CLASSES.index(label) for label in labels])
    if kind == "sequences":
        full = np.rint(400 * np.exp(-np.sqrt(matrix_of("squared_dissimilarity", X, X)) / 3))
        full = full.astype(np.int32)
    else:
        full = matrix_of(kind, X, X)
    landmarks = Landmarks(
        scores=full[:, rows],
        self_scores=np.diagonal(full).astype(float),
        lengths=np.full(len(X), 100.0),
        rows=rows,
        classes=codes[rows],
        kind=kind,
    )
    training = np.arange(len(X)) % 5 != 4
    training[rows] = True
    everything = np.flatnonzero(training)
    return landmarks, TrainingPart(everything, codes[everything], everything, CLASSES), full


def recipe_for(kind, correction, learner):
    return {
        "name": "it",
        "transform": "log" if kind == "sequences" else "raw",
        "rank": "misfit",
        "correction": correction,
        "learner": learner,
    }


def embedded(landmarks, part, correction):
    """The corrected factor of a training part, and its kernel."""
    recipe = recipe_for(landmarks.kind, correction, None)
    transform = make_transform(recipe["transform"])
    (entry,) = make_factors(landmarks, part, {recipe["transform"]: transform}, [recipe])
    return entry.corrected[correction], landmark_kernel(landmarks, part, transform)


def training_of(landmarks, part, inner=None, rule=None, **more):
    """What trains recipes on a training part."""
    inner = inner_partition(part, 3, 1, "r0f0") if inner is None else inner
    rule = rule or RejectRule(0.2)
    return Training(landmarks, part, InnerFits(inner), rule, seed=1, liftings=None, **more)


def fitted(kind, learner, correction=None, seed=3, **changes):
    correction = correction or ("flip" if learner in PSD_ONLY else "none")
    landmarks, part, full = problem(kind, seed)
    landmarks = replace(landmarks, **changes)
    recipe = recipe_for(kind, correction, learner)
    embedding, kernel = embedded(landmarks, part, correction)
    training = training_of(landmarks, part)
    trained = training.train(recipe, LEARNERS[learner], embedding, kernel)
    return trained, landmarks, part, kernel, embedding, training.fits.inner, full


def without(landmarks, part, held_out):
    """Landmarks and training part as they are where some records, by a mask, never were."""
    kept = ~np.isin(landmarks.rows, part.rows[held_out])
    others = replace(
        landmarks,
        scores=np.asarray(landmarks.scores)[:, kept],
        rows=landmarks.rows[kept],
        classes=landmarks.classes[kept],
    )
    seen = ~held_out
    return others, TrainingPart(part.rows[seen], part.labels[seen], part.groups[seen], CLASSES)


def decisions(classifier, landmarks, rows):
    return classifier.decision_function(query_of(landmarks, rows))


def query_of(landmarks, rows):
    """The query of some of the rows that have scores with the landmarks."""
    return Query(landmarks.scores[rows], landmarks.self_scores[rows], landmarks.lengths[rows])


def assert_same(one, other):
    """Two trainings have the same figures, and bit for bit the same decisions."""
    assert one.figures == other.figures
    arrays, same = (trained.classifier.decision.to_parts()[1] for trained in (one, other))
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, same[name])


def noisy_decisions(n=400, k=5, seed=0):
    """Decisions that are right more often than not, and the true classes."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    decisions = rng.normal(size=(n, k))
    decisions[np.arange(n), y] += 1.5
    return decisions, y


def kernel_problem(X, signs, rows):
    """An indefinite kernel of two classes, its landmarks, and all of it as a training part."""
    n, K = len(X), (X * signs) @ X.T
    landmarks = Landmarks(
        K[:, rows], np.diag(K).copy(), np.zeros(n), rows, np.asarray(rows) % 2, "similarity"
    )
    return K, landmarks, TrainingPart(np.arange(n), np.arange(n) % 2, np.arange(n), ("a", "b"))
