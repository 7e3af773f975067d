"""Objects of six kinds under similarities of their own: landmark columns beside all pairs.

    python benchmarks/objects.py                      500 to learn, 500 to test, three seeds
    python benchmarks/objects.py --kinds series --objects 100 --seeds 1

All objects are made up, by a seed, and none is a vector with a kernel:

series      curves of unequal length, four shapes, each warped in time: dynamic time warping
texts       words that lose, gain and change letters: the edit distance by the longer length
spectra     peaks with noise and a shift of the whole: the cosine of peaks matched one to one, at
            their places or at the shifted ones (modified cosine), which is indefinite
graphs      trees and rings with labels: the best assignment of nodes, which is indefinite
points      clouds of points without an order: the mean Hausdorff distance, which is not metric
sets        sets in sets: the share of the first that the second has, which has a direction

Learners ask the function for the columns of ``--landmarks`` objects, drawn uniformly. Beside them
stand what asks for all pairs: the nearest neighbour, and a dense SVM on the kernel whose negative
eigenvalues are clipped (scikit-learn's, C by cross-validation; dissimilarities are centred). Calls
are pairs of training objects, and pairs for one test object; seconds those of the fit. ``negative``
is the share of negative eigenvalues, by size, of the kernel of all training objects; of ``sets``
the share of the antisymmetric part, by its norm.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kreinflow.base.numerics import FloatArray
from kreinflow.base.random_streams import stream
from kreinflow.estimators import KreinClassifier

Objects = list[Any]
Score = Callable[[Objects, Objects], FloatArray]


class Kind(NamedTuple):
    """How objects of some classes are drawn, and what compares them."""

    draw: Callable[[int, np.random.Generator], tuple[Objects, NDArray[np.str_]]]
    score: Score
    kind: str


def labels_of(count: int, names: str) -> NDArray[np.str_]:
    return np.array([names[number % len(names)] for number in range(count)])


def pairwise(compare: Callable[[Any, Any], float]) -> Score:
    """Return the score of lists from that of two objects."""

    def score(a: Objects, b: Objects) -> FloatArray:
        return np.array([[compare(x, y) for y in b] for x in a], dtype=np.float64)

    return score


def series(count: int, random: np.random.Generator) -> tuple[Objects, NDArray[np.str_]]:
    labels, found = labels_of(count, "abcd"), []
    for label in labels:
        warped = np.sort(random.random(int(random.integers(50, 120))) ** random.uniform(0.4, 2.5))
        wave = {
            "a": np.sin(2 * np.pi * warped),
            "b": np.sin(2 * np.pi * warped**2),
            "c": np.where(warped < 0.5, 2 * warped, 2 - 2 * warped) * 2 - 1,
            "d": np.sin(2 * np.pi * warped) * (1 - warped),
        }[str(label)]
        found.append(wave + 0.5 * random.normal(size=wave.size))
    return found, labels


@numba.njit(cache=True)
def _warped(x: FloatArray, y: FloatArray) -> float:
    before = np.full(y.size + 1, np.inf)
    before[0] = 0.0
    for i in range(x.size):
        now = np.full(y.size + 1, np.inf)
        for j in range(y.size):
            step = min(before[j], before[j + 1], now[j])
            now[j + 1] = step + (x[i] - y[j]) ** 2
        before = now
    return float(np.sqrt(before[y.size]))


def texts(count: int, random: np.random.Generator) -> tuple[Objects, NDArray[np.str_]]:
    labels, letters = labels_of(count, "abcde"), list("abcdefghijklmnop")
    words = {name: random.choice(letters, 30) for name in "abcde"}
    shared = random.choice(letters, 14)  # all classes have it
    found = []
    for label in labels:
        own: list[str] = []
        for letter in np.concatenate([words[str(label)][:16], shared]):
            kind = random.random()
            own += [] if kind < 0.15 else [str(random.choice(letters)) if kind < 0.55 else letter]
            own += [str(random.choice(letters))] * (random.random() < 0.15)
        found.append("".join(own))
    return found, labels


@numba.njit(cache=True)
def _edits(x: NDArray[np.uint8], y: NDArray[np.uint8]) -> float:
    row = np.arange(y.size + 1)
    for i in range(x.size):
        diagonal, row[0] = row[0], i + 1
        for j in range(y.size):
            new = min(diagonal + (x[i] != y[j]), row[j] + 1, row[j + 1] + 1)
            diagonal, row[j + 1] = row[j + 1], new
    return row[y.size] / max(1, x.size, y.size)


def edit_distance(x: str, y: str) -> float:
    return float(_edits(*(np.frombuffer(text.encode(), np.uint8) for text in (x, y))))


def spectra(count: int, random: np.random.Generator) -> tuple[Objects, NDArray[np.str_]]:
    labels = labels_of(count, "abcde")
    known = {name: np.sort(random.uniform(50, 500, 12)) for name in "abcde"}
    found = []
    for label in labels:
        places = known[str(label)]
        shift = random.choice([0.0, 14.0, 28.0])
        seen = random.random(places.size) < 0.5
        moved = places[seen] + shift * (random.random(seen.sum()) < 0.5)
        noise = random.uniform(50, 500, 12)
        peaks = np.concatenate([moved + random.normal(0, 0.3, moved.size), noise])
        heights = random.gamma(1.5, size=peaks.size)
        order = np.argsort(peaks)
        found.append((peaks[order], np.sqrt(heights[order]), 550.0 + shift))
    return found, labels


def modified_cosine(x: Any, y: Any) -> float:
    difference = x[2] - y[2]
    gaps = x[0][:, None] - y[0][None, :]
    near = (np.abs(gaps) < 1.0) | (np.abs(gaps - difference) < 1.0)
    products = x[1][:, None] * y[1][None, :] * near
    rows, columns = linear_sum_assignment(-products)
    return float(products[rows, columns].sum() / (np.linalg.norm(x[1]) * np.linalg.norm(y[1])))


def graphs(count: int, random: np.random.Generator) -> tuple[Objects, NDArray[np.str_]]:
    """Return degree, label, and mean label of the neighbours, of the nodes of each graph."""
    labels, found = labels_of(count, "abcd"), []
    for label in labels:
        n = int(random.integers(10, 18))
        edges = np.zeros((n, n))
        for node in range(1, n):
            other = node - 1 if label in "ab" else int(random.integers(node))
            edges[node, other] = edges[other, node] = 1
        if label in "ac":
            edges[0, n - 1] = edges[n - 1, 0] = 1
        for _ in range(3):
            i, j = random.integers(n, size=2)
            edges[i, j] = edges[j, i] = float(i != j)
        colours = (random.random(n) < (0.35 if label in "ad" else 0.6)).astype(float)
        degree = edges.sum(axis=1)
        around = edges @ colours / np.maximum(degree, 1)
        found.append(np.stack([degree, 2 * colours, around], axis=1))
    return found, labels


def assignment(x: FloatArray, y: FloatArray) -> float:
    similar = np.exp(-((x[:, None] - y[None]) ** 2).sum(axis=2))
    rows, columns = linear_sum_assignment(-similar)
    return float(similar[rows, columns].sum() / np.sqrt(len(x) * len(y)))


def points(count: int, random: np.random.Generator) -> tuple[Objects, NDArray[np.str_]]:
    labels, found = labels_of(count, "abcd"), []
    for label in labels:
        n = int(random.integers(15, 40))
        angle = random.uniform(0, 2 * np.pi, n)
        radius = {"a": 1.0, "b": 1.3, "c": 1.0, "d": 1.15}[str(label)]
        cloud = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if label == "c":
            cloud[:, 1] *= 0.6
        if label == "d":
            cloud = cloud[np.abs(cloud[:, 0]) > 0.4 * radius]
        found.append(cloud + random.normal(0, 0.25, cloud.shape) + random.normal(0, 0.2, 2))
    return found, labels


def hausdorff(x: FloatArray, y: FloatArray) -> float:
    gaps = np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=2))
    return float(max(gaps.min(axis=0).mean(), gaps.min(axis=1).mean()))


def sets(count: int, random: np.random.Generator) -> tuple[Objects, NDArray[np.str_]]:
    labels = labels_of(count, "abcde")
    liked = {name: random.choice(400, 60, replace=False) for name in "abcde"}
    found = []
    for label in labels:
        own = random.choice(liked[str(label)], int(random.integers(3, 20)), replace=False)
        other = random.choice(400, int(random.integers(5, 60)), replace=False)
        found.append(frozenset(own.tolist()) | frozenset(other.tolist()))
    return found, labels


def contained(x: frozenset[int], y: frozenset[int]) -> float:
    return len(x & y) / len(x)


KINDS = {
    "series": Kind(series, pairwise(_warped), "dissimilarity"),
    "texts": Kind(texts, pairwise(edit_distance), "dissimilarity"),
    "spectra": Kind(spectra, pairwise(modified_cosine), "similarity"),
    "graphs": Kind(graphs, pairwise(assignment), "similarity"),
    "points": Kind(points, pairwise(hausdorff), "dissimilarity"),
    "sets": Kind(sets, pairwise(contained), "asymmetric"),
}

LEARNERS: dict[str, dict[str, Any]] = {
    "Ny-PCVM": {"learner": "ny_pcvm"},
    "Ny-iKFD": {"learner": "ny_ikfd", "learner_params": {"ridge": "inner"}},
    "SF-LSM": {"learner": "sf_lsm", "learner_params": {"ridge": "inner"}},
    "Krein SVM": {"learner": "krein_sh_svm"},
}
DIRECTED: dict[str, dict[str, Any]] = {
    "EPCVM": {"learner": "ny_epcvm"},
    "SF-LSM": LEARNERS["SF-LSM"],
}
"""Those that learn from similarities with a direction."""


class Counted:
    """A score that counts the pairs that it was asked for."""

    def __init__(self, score: Score) -> None:
        self.score, self.pairs = score, 0

    def __call__(self, a: Objects, b: Objects) -> FloatArray:
        """Ask, and count."""
        self.pairs += len(a) * len(b)
        return self.score(a, b)


def centred(D: FloatArray, to: FloatArray) -> FloatArray:
    """Return the kernel of squared dissimilarities ``D`` with the objects of ``to``."""
    return -0.5 * (D - D.mean(axis=1, keepdims=True) - to.mean(axis=0) + to.mean())


def negative_share(K: FloatArray, kind: str) -> float:
    if kind == "asymmetric":
        return float(np.linalg.norm(K - K.T) / 2 / np.linalg.norm(K))
    values = np.linalg.eigvalsh((K + K.T) / 2)
    return float(np.abs(values[values < 0]).sum() / np.abs(values).sum())


def dense(
    kind: str, whole: FloatArray, new: FloatArray, y: NDArray[np.str_], truth: NDArray[np.str_]
) -> tuple[float, float, float]:
    """Return accuracies of the nearest neighbour and of the clipped SVM, and the negative share."""
    nearest = (new.argmin if kind == "dissimilarity" else new.argmax)(axis=1)
    neighbour = float((y[nearest] == truth).mean())
    if kind == "dissimilarity":
        K, of_new = centred(whole**2, whole**2), centred(new**2, whole**2)
    else:
        K, of_new = whole, new
    share = negative_share(K, kind)
    if kind == "asymmetric":
        return neighbour, float("nan"), share
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > 1e-8 * values[-1]
    Z = vectors[:, kept] * np.sqrt(values[kept])
    of_new = of_new @ (vectors[:, kept] / np.sqrt(values[kept]))
    Z, of_new = (part / np.abs(Z).max() for part in (Z, of_new))
    svm = GridSearchCV(SVC(kernel="linear"), {"C": 10.0 ** np.arange(-1, 4)}, cv=5).fit(Z, y)
    return neighbour, float((svm.predict(of_new) == truth).mean()), share


def measured(name: str, n: int, m: int, seed: int) -> list[dict[str, Any]]:
    """Return the rows of one kind and seed."""
    kind = KINDS[name]
    objects, labels = kind.draw(2 * n, stream(seed, f"objects {name}"))
    X, new, y, truth = objects[:n], objects[n:], labels[:n], labels[n:]
    rows = []
    for method, how in (DIRECTED if kind.kind == "asymmetric" else LEARNERS).items():
        score, start = Counted(kind.score), time.process_time()
        model = KreinClassifier(
            metric=score,
            kind=kind.kind,
            selector="uniform",
            n_landmarks=m,
            random_state=seed,
            **how,
        ).fit(X, y)
        seconds, asked = time.process_time() - start, score.pairs
        right = float((model.predict(new) == truth).mean())
        query = (score.pairs - asked) / n
        rows.append((method, 100 * right, asked, query, seconds))
    start = time.process_time()
    whole, of_new = kind.score(X, X), kind.score(new, X)
    asking = (time.process_time() - start) / 2
    neighbour, svm, share = dense(kind.kind, whole, of_new, y, truth)
    for method, right in (("1-NN", neighbour), ("dense SVM, clipped", svm)):
        rows.append((method, 100 * right, n * n, float(n), asking))
    columns = ("method", "accuracy", "calls", "calls a query", "seconds")
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return [{"objects": name, "negative": share, "seed": seed, **row} for row in found]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--objects", type=int, default=500, help="to learn from, and to test")
    parser.add_argument("--landmarks", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args(arguments)
    for name in asked.kinds:
        rows = [
            row
            for seed in range(asked.seeds)
            for row in measured(name, asked.objects, asked.landmarks, seed)
        ]
        table = pd.DataFrame(rows).drop(columns="seed")
        means = table.groupby(["objects", "method"], sort=False).mean().round(2)
        print(means.to_string(), "\n", flush=True)


if __name__ == "__main__":
    main()
