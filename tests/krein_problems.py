"""Labelled rows of Krein factors, and the problem of a learner, for the tests of the learners."""

from types import SimpleNamespace

import numpy as np

from kreinflow.alignment.transforms import make_transform
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart, landmark_kernel
from kreinflow.learners.learner import Problem
from kreinflow.learners.registry import make_learner


def labelled_rows(n=120, r=10, n_classes=3, negative=4, seed=0, separation=1.0, smallest=0.05):
    """Return (Z, signs, y): columns of different size, the origin far from the mean."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[: 2 * n_classes] = np.arange(n_classes).repeat(2)
    Z = 3.0 + rng.normal(size=(n, r)) + separation * rng.normal(size=(n_classes, r))[y]
    Z *= np.geomspace(1.0, smallest, r)
    signs = np.ones(r)
    signs[rng.permutation(r)[:negative]] = -1.0
    return Z, signs, y


def mixture_rows(n, noise, r=12, n_classes=2, share=None, negative=3, seed=0):
    """Return (Z, signs, y): a round Gaussian a class, the last columns negative."""
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, size=n, p=share)
    y[:n_classes] = np.arange(n_classes)
    Z = noise * rng.normal(size=(n, r)) + rng.normal(size=(n_classes, r))[y]
    signs = np.ones(r)
    signs[r - negative :] = -1.0
    return Z, signs, y


MIXTURES = {
    "two classes": {"n_classes": 2},
    "three classes": {"n_classes": 3},
    "unbalanced": {"n_classes": 3, "share": [0.06, 0.04, 0.9]},
    "half of the signs negative": {"n_classes": 3, "negative": 6, "seed": 2},
    "positive definite": {"n_classes": 2, "negative": 0, "seed": 1},
    "more columns than rows": {"n": 40, "r": 60, "n_classes": 2, "negative": 20},
    "few columns": {"r": 5, "n_classes": 2, "negative": 2, "seed": 6},
}


def indefinite_kernel(n, n_new=20, rank=12, n_classes=2, seed=0):
    """Return (K, K_new, y): K of training points, the columns of new ones, a Gaussian a class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n + n_new, rank))
    X[:n] += rng.normal(size=(n_classes, rank))[y]
    K = (X * np.where(np.arange(rank) % 3 == 2, -1.0, 1.0)) @ X.T
    return K[:n, :n], K[n:, :n], y


def embedding_of(K, correction, landmarks=None):
    """Return the embedding of a kernel by the columns of some of its points, or of all."""
    landmarks = np.arange(len(K)) if landmarks is None else landmarks
    C = K[:, landmarks]
    factor = KreinFactor.fit(C, C[landmarks], np.diagonal(K), rank=1.0)
    return embed(factor, eigenpairs(factor.transform(C), factor.signs), correction)


def scale_of(Z):
    """Return t, the mean variance of the columns."""
    return Z.var(axis=0).mean()


def weighted(Z, signs, plus, minus):
    """Return the penalties t Lambda of two signs as a matrix."""
    return scale_of(Z) * np.diag(np.where(signs > 0, plus, minus))


def learner_problem(n=90, m=12, n_classes=3, correction="none", seed=0):
    """Return the problem of an indefinite similarity of clusters; the first m are landmarks."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = 1.5 * rng.normal(size=(n_classes, 6))[y] + rng.normal(size=(n, 6))
    K = (X * [1, 1, 1, 1, -1, -1]) @ X.T + 2.0
    return problem_of_scores(K[:, :m], np.diagonal(K).copy(), y, np.arange(n), correction)


def problem_of_scores(C, own, y, rows, correction="none", kind="similarity", rank=1.0):
    """Return the problem of some rows of scores with the first records, as the workflow has it."""
    n, m = C.shape
    landmarks = Landmarks(C, own, np.full(n, 100.0), np.arange(m), y[:m], kind)
    part = TrainingPart(rows, y[rows], rows, tuple("abcdefgh"[: y.max() + 1]))
    kernel = landmark_kernel(landmarks, part, make_transform("raw"))
    factor = KreinFactor.fit(kernel.C, kernel.W, kernel.self_similarities, rank=rank)
    pairs = eigenpairs(factor.rows(kernel.C), factor.signs)
    return Problem.of(embed(factor, pairs, correction), kernel, landmarks, part, seed=1)


def problem_of(Z, signs, y, n_classes=None, basis=None, own=None):
    """Return the problem of rows Z of a factor that are their own scores with r landmarks.

    So the weights of a linear decision are those on z, and it decides rows like Z. ``basis`` are
    the records that are landmarks, by default the first; ``own`` the self-similarities, if they
    are known.
    """
    n, r = Z.shape
    basis = np.arange(r) if basis is None else np.asarray(basis)
    kept = "flip" if own is None else "none"
    embedding = CorrectedFactor(np.eye(r), np.zeros(r), np.asarray(signs), np.ones(r), kept)
    landmarks = Landmarks(Z, own, np.ones(n), basis, y[basis % n], "similarity")
    classes = tuple("abcdefgh"[: n_classes or y.max() + 1])
    part = TrainingPart(np.arange(n), y, np.arange(n), classes)
    kernel = LandmarkKernel(make_transform("raw"), None, Z, Z[basis % n], own, None)
    return Problem.of(embedding, kernel, landmarks, part, seed=1)


def learned(settings, Z, signs, y, **keywords):
    """Return what the learner of an entry of the config makes of :func:`problem_of`."""
    learner = make_learner(settings)
    (fitted,) = learner.fit(problem_of(Z, signs, y, **keywords), learner.choices())
    return fitted


def sparse_functions(learner, problem):
    """Return what a learner of basis functions finds, the functions of all classes together."""
    found = learner.solve(problem)
    return SimpleNamespace(
        coef=np.column_stack([f.coef for f in found]),
        active=[f.rows for f in found],
        weights=[f.weights for f in found],
        **{name: np.array([getattr(f, name) for f in found]) for name in ("intercept", "n_iter")},
        converged=np.array([f.converged for f in found]),
    )
