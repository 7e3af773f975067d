"""A plane to look at: objects and landmarks in the two leading dimensions of a Krein factor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.cluster.hierarchy
import scipy.spatial.distance
from numpy.typing import NDArray

from kreinflow.base.numerics import IntArray, single_threaded
from kreinflow.base.random_streams import hash_keys
from kreinflow.base.tiled_matrix import MatrixLike
from kreinflow.krein.correction import CorrectedFactor
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import KreinFactor
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart
from kreinflow.learners.moments import class_means

SHOWN_OBJECTS = 2000
"""Objects of a map, at most, beside its landmarks."""
SHOWN_LANDMARKS = 1000
"""Landmarks of a map and of its factor, at most."""
ORDERED_CLASSES = 1000
"""Classes whose leaves are put in the best order, at most: time grows with their cube."""


def some_landmarks(landmarks: Landmarks, keys: NDArray[Any]) -> Landmarks:
    """Return the landmarks, of many those with the least keys."""
    if len(landmarks.rows) <= SHOWN_LANDMARKS:
        return landmarks
    least = np.argsort(keys, kind="stable")[:SHOWN_LANDMARKS]
    return landmarks.some(np.isin(np.arange(len(keys)), least))


def leading(
    factor: KreinFactor, pairs: Eigenpairs, dimensions: int
) -> tuple[CorrectedFactor, float]:
    r"""Return the uncorrected factor in its leading dimensions alone.

    .. math:: z^*(x) = z(x) \, T_k \, |a_k|^{1/2}

    with the ``dimensions`` (or fewer) eigenvalues a_k of K~ that are largest in absolute value, the
    largest first. The sum of all ``|a|`` is returned too.
    """
    first = np.argsort(-np.abs(pairs.values), kind="stable")[:dimensions]
    a = pairs.values[first]
    with single_threaded():
        scaled = pairs.map[:, first] * np.sqrt(np.abs(a))
        matrix, offset = factor.matrix @ scaled, factor.offset @ scaled
    embedding = CorrectedFactor(matrix, offset, np.sign(a), a, "none")
    return embedding, float(np.abs(pairs.values).sum())


def map_points(
    kernel: LandmarkKernel,
    part: TrainingPart,
    ids: Sequence[str],
    landmark_rows: IntArray,
    embedding: CorrectedFactor,
    seed: int,
) -> pd.DataFrame:
    r"""Return objects and landmarks in the plane of two eigenpairs of K~.

    .. math:: (x, y)_i = (|a_1|^{1/2} c_{1i}, \; |a_2|^{1/2} c_{2i})

    for the eigenvectors c of the two eigenvalues a that are largest in absolute value: the kernel
    is approximated by the sum of sign(a) times the products of the coordinates. Each axis points to
    its farthest point. Of many objects some are taken by a hash of seed and id; identical ones
    count as one.

    ``ids`` are those of the records of the part, ``embedding`` is that of :func:`leading`, of one
    or two dimensions. Returned are the columns id, class, landmark, x, y, by record.
    """
    _, first = np.unique(part.rows, return_index=True)
    keys = hash_keys(seed, "map", [ids[i] for i in first])
    first = first[np.argsort(keys, kind="stable")]
    chosen = np.isin(part.rows[first], landmark_rows)
    places = np.sort(
        np.concatenate([first[~chosen][:SHOWN_OBJECTS], first[chosen][:SHOWN_LANDMARKS]])
    )
    is_landmark = np.isin(part.rows[places], landmark_rows)
    points = np.zeros((len(places), 2))
    with single_threaded():
        points[:, : embedding.rank] = embedding.transform(np.asarray(kernel.C[places]))
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    points *= np.where(farthest < 0, -1.0, 1.0)
    return pd.DataFrame(
        {
            "id": [ids[i] for i in places],
            "class": [part.classes[code] for code in part.labels[places]],
            "landmark": is_landmark,
            "x": points[:, 0],
            "y": points[:, 1],
        }
    )


def similar_classes(C: MatrixLike, labels: NDArray[Any], classes: Sequence[str]) -> list[str]:
    """Return the classes in an order that has similar ones side by side.

    Average linkage of the Euclidean distances between the classes' mean landmark scores, each
    divided by its length, with the leaves ordered so that the sum of distances between neighbours
    is least (Bar-Joseph et al., Bioinformatics 17, S22-S29, 2001). Of the order and its reverse the
    one that starts with the smaller name. Classes without a record are left out.

    ``C``, of shape (n, n_landmarks), are transformed scores; ``labels`` are codes of two classes at
    least, or of records with several labels indicators of shape (n, n_classes).
    """
    if labels.ndim == 1:
        present, codes = np.unique(labels, return_inverse=True)
        means = class_means(C, codes, np.bincount(codes))
    else:
        present = np.flatnonzero(labels.any(axis=0))
        means = class_means(C, labels[:, present], labels[:, present].sum(axis=0))
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    directions = means / np.where(lengths > 0, lengths, 1.0)
    distances = scipy.spatial.distance.pdist(directions)
    ordered = len(present) <= ORDERED_CLASSES
    tree = scipy.cluster.hierarchy.linkage(distances, "average", optimal_ordering=ordered)
    order = [classes[present[leaf]] for leaf in scipy.cluster.hierarchy.leaves_list(tree)]
    return min(order, order[::-1])
