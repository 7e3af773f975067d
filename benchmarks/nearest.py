"""What finding the nearest of many training records takes, and whether a library does better.

    python benchmarks/nearest.py                            5,000 and 100,000 records, some minutes
    python benchmarks/nearest.py --points 1000000           needs 4 GB
    python benchmarks/nearest.py --residues 100

100 protein families in 25 superfamilies (``kinds.py``), 120 landmarks of all families, log scores,
words of 1 to 3 letters, rates of the widths 1 (scores) and 3 (words). 5,000 records and the queries
are aligned with the landmarks. Further records are mutants of these, and so are their scores: at a
million records the alignments alone would take half an hour.

All seconds are processor seconds of one thread. "ready" is what the first search makes of the
records; what does not fit a quarter of ``--memory`` is made again for each 4,096 queries. "all
distances" are those of ``Lift.columns``, sorted; they are measured on a tenth of the queries, up to
100,000 records. "aligned" is what the queries take to be aligned with as many records.

Libraries have a row each if they can be imported: faiss-cpu, hnswlib, usearch, pynndescent. They
search vectors without the words of three letters: the scores, and 64 principal components of the
words. "recall" is the share of the true 50 nearest among the 50 and among the 500 that they find.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignment_peers import SCHEME
from kinds import Site, drawn, evolved, sizes, tree
from kreinflow.alignment.engine import align_rectangle, pack, self_scores
from kreinflow.alignment.transforms import make_transform
from kreinflow.base.numerics import FloatArray, limited
from kreinflow.sequences.simulation import LETTERS, lg_model
from kreinflow.views.lift import Lift
from kreinflow.views.nearest import Search
from kreinflow.views.objects import Viewed, squared_distances
from kreinflow.views.words import Words

LANDMARKS, ALIGNED, NEAREST, WIDER, SKETCH = 120, 5000, (20, 50, 200), 500, 64
RATES = {"scores": 1.0, "words": 3.0}
"""Widths, in units of the median squared distance of each view."""

Find = Callable[[NDArray[np.float32], int], NDArray[Any]]


def families(count: int, residues: int, random: np.random.Generator) -> list[Site]:
    """Return records of 100 families in 25 superfamilies, in any order."""
    of_family = iter(sizes(100, count, 10, 0.6))
    found = []
    for _ in range(25):
        ancestor = drawn(int(residues * random.uniform(0.7, 1.3)), random)
        for _ in range(4):
            root = evolved(ancestor, 0.8, random)
            found += tree(root, next(of_family), random.uniform(0.6, 2.0), random)
    return [found[place] for place in random.permutation(len(found))]


def mutants(
    sequences: list[bytes], U: FloatArray, count: int, random: np.random.Generator
) -> tuple[list[bytes], FloatArray]:
    """Return more records: 5 to 50 % of the sites of others are drawn again, and scores fall so."""
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
    cumulative = np.cumsum(lg_model()[1])[:-1]
    parents = random.integers(len(sequences), size=count)
    shares = random.uniform(0.05, 0.5, count)
    found = []
    for parent, share in zip(parents.tolist(), shares.tolist(), strict=True):
        residues = np.frombuffer(sequences[parent], dtype=np.uint8).copy()
        places = random.integers(len(residues), size=int(share * len(residues)))
        residues[places] = letters[np.searchsorted(cumulative, random.random(len(places)))]
        found.append(residues.tobytes())
    log = np.log(21)
    scores = np.empty((count, U.shape[1]), dtype=np.float32)
    for first in range(0, count, 10_000):
        part = slice(first, first + 10_000)
        quotients = np.expm1(U[parents[part]] * log) * (1 - shares[part, None])
        noise = np.exp(0.1 * random.standard_normal(quotients.shape))
        scores[part] = np.log1p(quotients * noise) / log
    return found, scores


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds, and what a function gave."""
    start = time.process_time()
    given = function()
    return time.process_time() - start, given


def aligned(sequences: list[bytes], n_landmarks: int) -> tuple[FloatArray, float]:
    """Return the log scores of all but the first with the first, and the seconds of a pair."""
    packed = pack(sequences)
    numbers = np.arange(len(sequences), dtype=np.int32)
    rows, columns = numbers[:n_landmarks], numbers[n_landmarks:]
    took, scores = seconds(lambda: align_rectangle(packed, rows, columns, SCHEME, 1))
    own = self_scores(packed, numbers, SCHEME, 1).astype(float)
    quotients = scores.T / np.sqrt(own[n_landmarks:, None] * own[None, :n_landmarks])
    a = make_transform("log").constants["a"]
    return np.log1p(a * quotients) / np.log1p(a), took / scores.size


def sketches(words: Words, of: list[bytes], *others: list[bytes]) -> list[NDArray[np.float32]]:
    """Return principal components of words, those of a thousand of the first sequences."""
    some = words.features(of[:1000]).toarray()
    mean = some.mean(axis=0)
    axes = np.linalg.svd(some - mean, full_matrices=False)[2][:SKETCH].T
    return [
        np.vstack(
            [
                (words.features(own[first : first + 8192]) @ axes - mean @ axes).astype(np.float32)
                for first in range(0, len(own), 8192)
            ]
        )
        for own in (of, *others)
    ]


def faiss_hnsw(vectors: NDArray[np.float32]) -> Find:
    """Return the search of a graph of faiss."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(vectors.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 100, WIDER
    index.add(vectors)
    return lambda rows, q: index.search(rows, q)[1]


def hnswlib(vectors: NDArray[np.float32]) -> Find:
    """Return the search of a graph of hnswlib."""
    import hnswlib as library

    index = library.Index("l2", vectors.shape[1])
    index.init_index(len(vectors), ef_construction=100, M=16, random_seed=1)
    index.set_num_threads(1)
    index.add_items(vectors)
    index.set_ef(WIDER)
    return lambda rows, q: index.knn_query(rows, q)[0]


def usearch(vectors: NDArray[np.float32]) -> Find:
    """Return the search of a graph of usearch."""
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="l2sq", connectivity=16, expansion_add=100)
    index.expansion_search = WIDER
    index.add(np.arange(len(vectors)), vectors, threads=1)
    return lambda rows, q: index.search(rows, q, threads=1).keys.astype(np.int64)


def pynndescent(vectors: NDArray[np.float32]) -> Find:
    """Return the search of a graph of pynndescent."""
    from pynndescent import NNDescent

    index = NNDescent(vectors, n_neighbors=30, random_state=1, n_jobs=1)
    index.prepare()
    index.query(vectors[:2], k=2)
    return lambda rows, q: index.query(rows, k=q, epsilon=0.2)[0]


LIBRARIES: Mapping[str, Callable[[NDArray[np.float32]], Find]] = {
    "faiss": faiss_hnsw,
    "hnswlib": hnswlib,
    "usearch": usearch,
    "pynndescent": pynndescent,
}


def recall(found: NDArray[Any], true: NDArray[Any]) -> float:
    """Return the mean share of the true ones that were found."""
    both = [len(np.intersect1d(*pair)) for pair in zip(found, true, strict=True)]
    return float(np.mean(both)) / true.shape[1]


def row(*cells: Any) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print a table for each number of records."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", nargs="+", type=int, default=[ALIGNED, 100_000])
    parser.add_argument("--residues", type=int, default=370)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--memory", type=float, default=4096, help="MB")
    parser.add_argument("--libraries", nargs="*", choices=list(LIBRARIES), default=list(LIBRARIES))
    asked = parser.parse_args()
    random = np.random.default_rng(0)
    n = asked.queries
    base = families(LANDMARKS + n + ALIGNED, asked.residues, random)
    texts = ["".join(LETTERS[code] for code in site.residues).encode() for site in base]
    texts = texts[: LANDMARKS + n + ALIGNED]
    U, pair = aligned(texts, LANDMARKS)
    queries, own = Viewed(texts[LANDMARKS : LANDMARKS + n]), texts[LANDMARKS + n :]
    X, known = U[:n], U[n:]
    words = Words((1, 2, 3), SCHEME.matrix.alphabet)
    features = words.features(own[:1000])
    views = {"scores": known[:1000], "words": features}
    rates = {
        view: 1 / (RATES[view] * float(np.median(squared_distances(Y, Y))))
        for view, Y in views.items()
    }
    rows = X.astype(np.float32)
    one = rows[:1], queries.take(np.arange(1)), 1
    print(f"aligned: {1000 * n * LANDMARKS * pair:.0f} ms of {n} queries with {LANDMARKS}", end="")
    print("".join(f"; {1000 * n * q * pair:.0f} with {q}" for q in NEAREST))
    head = ("records", "way", "ready, s", *(f"q {q}, s" for q in NEAREST))
    print(row(*head, "recall"))
    print(row(*["---"] * (4 + len(NEAREST))))
    for p in asked.points:
        sequences, scores = own[:p], known[:p].astype(np.float32)
        if p > len(own):
            more, of_more = mutants(own, known, p - len(own), random)
            sequences, scores = [*own, *more], np.vstack([scores, of_more])
        with limited(1, asked.memory):
            few = Search(rates, words, scores[:1000], Viewed(sequences[:1000]))
            few.nearest(*one)  # compiles
            search = Search(rates, words, scores, Viewed(sequences))
            ready, _ = seconds(partial(search.nearest, *one))
            timed = [seconds(partial(search.nearest, rows, queries, q)) for q in NEAREST]
        true = timed[1][1]
        took = [f"{t:.2f}" for t, _ in timed]
        print(row(p, "all products", f"{ready:.1f}", *took, 1), flush=True)
        if p <= 100_000:
            lift = Lift("gaussian", rates, words, scores, Viewed(sequences))
            some = queries.take(np.arange(n // 10))
            lift.columns(X[:1], queries.take(np.arange(1)))
            t, _ = seconds(lambda lift=lift, some=some: lift.columns(X[: n // 10], some).sort())
            print(row(p, "all distances", "", f"{10 * t:.2f}", "", "", ""), flush=True)
        available = [name for name in asked.libraries if importlib.util.find_spec(name)]
        if not available:
            continue
        of_points, of_rows = sketches(words, sequences, texts[LANDMARKS : LANDMARKS + n])
        roots = np.sqrt([rates["scores"], rates["words"]]).astype(np.float32)
        vectors = np.hstack([roots[0] * scores, roots[1] * of_points])
        asked_for = np.hstack([roots[0] * X.astype(np.float32), roots[1] * of_rows])
        for name in available:
            ready, find = seconds(partial(LIBRARIES[name], vectors))
            t, found = seconds(partial(find, asked_for, NEAREST[1]))
            wider = find(asked_for, WIDER)
            shares = f"{recall(found, true):.3f}; {recall(wider, true):.3f}"
            print(row(p, name, f"{ready:.1f}", "", f"{t:.2f}", "", shares), flush=True)


if __name__ == "__main__":
    main()
