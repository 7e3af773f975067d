"""Small selection problems from a dense matrix."""

import numpy as np

from kreinflow.base.random_streams import hash_keys
from kreinflow.landmarks.sampled_scores import Sketch
from kreinflow.landmarks.selector import SelectionProblem


def indefinite_kernel(n, p, q, seed=0, decay=1.0):
    """A kernel of signature (p, q) with falling eigenvalues, of random directions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p + q)) * decay ** np.arange(p + q)
    return (X * rng.permutation(np.repeat([1.0, -1.0], [p, q]))) @ X.T


def flip(K):
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.abs(values)) @ vectors.T


def digests_of(n):
    return [f"digest {i}" for i in range(n)]


def keys_of(n, name="draw", seed=1):
    return hash_keys(seed, name, digests_of(n))


def sketch_of(K, count=None, kind="similarity", seed=1, digests=None):
    """The sketch of all rows of K, from ``count`` of them."""
    order = np.argsort(hash_keys(seed, "sketch", digests or digests_of(len(K))))
    columns = K[:, order[:count]]
    return Sketch(np.arange(len(K)), order, columns, np.diag(K).copy(), kind)


def problem_of(K, labels, budget=None, sketch=None, seed=1, digests=None, rows=None):
    """The problem of some rows of K, exact inside each class."""
    digests = digests or digests_of(len(K))
    rows = np.arange(len(K)) if rows is None else np.sort(rows)
    members = {label: rows[np.asarray(labels)[rows] == label] for label in sorted(set(labels))}
    blocks = [K[np.ix_(own, own)] for own in members.values()]
    parts = [
        Sketch(own, np.arange(len(own)), block, np.diag(block).copy())
        for own, block in zip(members.values(), blocks, strict=True)
    ]
    order = np.argsort(hash_keys(seed, "sketch", [digests[row] for row in rows]))
    columns = K[np.ix_(rows, rows[order[:sketch]])]
    drawn = Sketch(rows, order, columns, np.diag(K)[rows].copy())
    return SelectionProblem(members, digests, seed, "0", budget, parts, drawn)
