"""A similarity of one's own: what it costs and what it gives.

    python benchmarks/own_similarity.py scale FOLDER --series 100000 --landmarks 200
    python benchmarks/own_similarity.py kinds

``scale`` runs the workflow on generated series under dynamic time warping, by the function of
``examples/own_similarity/series.py``: calls, minutes, memory and accuracy, beside the nearest
neighbour of all training series on a part of the tested ones. ``kinds`` compares learners, each by
the same landmark columns, with the nearest neighbour and an SVM of the whole, clipped matrix.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "own_similarity"
LENGTH, NOISE = 100, 0.3


def series(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Four shapes, each warped in time and with noise: (n, 100), and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    times = np.linspace(0, 1, LENGTH) ** rng.uniform(0.6, 1.6, size=(n, 1))
    wave = 2 * np.pi * times
    shapes = np.stack(
        [np.sin(wave), np.sin(wave) ** 3, np.sin(wave + 0.4 * np.sin(2 * wave)), np.sin(1.2 * wave)]
    )
    return shapes[y, np.arange(n)] + NOISE * rng.normal(size=(n, LENGTH)), y


def scale(folder: Path, n: int, landmarks: int, cores: int, tested: int) -> None:
    """Run the workflow on n series, and print a row of figures."""
    folder.mkdir(parents=True)
    X, y = series(n)
    np.save(folder / "x.npy", X)
    (folder / "y.txt").write_text("".join(f"shape{label}\n" for label in y))
    shutil.copy(EXAMPLES / "series.py", folder)
    score = {"function": "series:distance", "kind": "dissimilarity"}
    config = {
        "data": str(folder.resolve()),
        "alignment": {"blocks": cores, "threads": 1},
        "datasets": {
            "series": {
                "source": {
                    "type": "objects",
                    "objects": "x.npy",
                    "score": score,
                    "labels": {"lines": "y.txt"},
                },
                "folds": {"method": "stratified", "k": 2},
            }
        },
        "selectors": {"uniform": {"method": "uniform", "budget": landmarks}},
        "learners": {"lsm": {"method": "sf_lsm"}},
        "recipes": [
            {"name": "lsm", "transform": "raw", "selector": "uniform", "learner": "lsm"},
        ],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    begin = time.monotonic()
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += [
        "--configfile",
        str(folder / "config.yaml"),
        "--",
        "results/series/model.safetensors",
    ]
    command += ["results/series/evaluation/summary.tsv"]
    subprocess.run(command, check=True)
    minutes = (time.monotonic() - begin) / 60
    results = folder / "results" / "series"
    times = [pd.read_csv(path, sep="\t").assign(job=path.stem) for path in results.rglob("times/*")]
    jobs = pd.concat(times)
    account = json.loads((results / "columns" / "alignments.json").read_text())
    summary = pd.read_csv(results / "evaluation" / "summary.tsv", sep="\t")
    row = {
        "series": n,
        "pairs asked": account["aligned"],
        "share of all": account["aligned"] / account["full_matrix"],
        "minutes": minutes,
        "largest job, MB": jobs["max_rss"].max(),
        "accuracy": summary["accuracy_mean"].max(),
    }
    row |= nearest(folder, X, y, tested)
    print(pd.Series(row).to_string())


def nearest(folder: Path, X: np.ndarray, y: np.ndarray, tested: int) -> dict[str, Any]:
    """Return the accuracy of the nearest of all training series, for some tested ones."""
    sys.path.insert(0, str(folder))
    from series import distance  # type: ignore[import-not-found]

    folds = pd.read_csv(folder / "results" / "series" / "folds.tsv", sep="\t")
    in_test = folds["fold"].to_numpy() == 0
    test, known = np.flatnonzero(in_test)[:tested], np.flatnonzero(~in_test)
    distance(X[:1], X[:1])
    begin = time.monotonic()
    found = [y[known[distance(X[i : i + 1], X[known])[0].argmin()]] for i in test]
    seconds = time.monotonic() - begin
    return {
        "nearest: tested": len(test),
        "nearest: accuracy": float(np.mean(np.array(found) == y[test])),
        "nearest: minutes for as many as the folds test": seconds / len(test) * len(y) / 60,
    }


def strings(n: int) -> tuple[list[str], np.ndarray]:
    """Three families of strings under edit distance."""
    rng = np.random.default_rng(2)
    y = np.arange(n) % 3
    ancestors = rng.integers(97, 107, size=(3, 40))
    drawn = np.where(rng.random((n, 40)) < 0.6, rng.integers(97, 107, (n, 40)), ancestors[y])
    return ["".join(chr(c) for c in row if rng.random() < 0.9) for row in drawn], y


def edited(a: list[str], b: list[str]) -> np.ndarray:
    """Return edit distances."""
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    return np.asarray(process.cdist(a, b, scorer=Levenshtein.distance, dtype=np.int32), float)


def spectra(n: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Four kinds of mass spectra: some of 12 peaks of a kind, shifted, among 25 others."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 4
    kinds = rng.uniform(50, 500, size=(4, 12))
    drawn = [
        np.sort(
            np.append(
                (kinds[own] + rng.normal(0, 0.05, 12))[rng.random(12) < 0.25],
                rng.uniform(50, 500, 25),
            )
        )
        for own in y
    ]
    return drawn, y


def matched(a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
    """Return the share of the first spectrum's peaks that the second has: it has a direction."""
    near = [[np.abs(x[:, None] - z).min(axis=1) < 0.1 for z in b] for x in a]
    return np.array([[found.mean() for found in row] for row in near])


def graphs(n: int) -> tuple[list[str], np.ndarray]:
    """Three kinds of random trees, as lists of edges."""
    rng = np.random.default_rng(4)
    y = np.arange(n) % 3
    drawn = []
    for own in y:
        size = int(rng.integers(12, 30))
        parents = [int(rng.integers(max(0, i - (1, 3, i)[own]), i)) for i in range(1, size)]
        drawn.append(" ".join(f"{i}-{parent}" for i, parent in enumerate(parents, 1)))
    return drawn, y


def degrees(a: list[str], b: list[str]) -> np.ndarray:
    """Return the city-block distance of sorted degrees."""

    def of(edges: str) -> np.ndarray:
        found = np.sort(np.bincount([int(v) for edge in edges.split() for v in edge.split("-")]))
        return np.pad(found[::-1], (0, 64 - len(found)))

    A, B = (np.array([of(edges) for edges in side]) for side in (a, b))
    return np.asarray(np.abs(A[:, None] - B).sum(axis=2), float)


def warped(a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
    """Return dynamic time warping distances."""
    sys.path.insert(0, str(EXAMPLES))
    from series import distance

    return np.asarray(distance(a, b))


KINDS: dict[str, tuple[Callable[[int], Any], Callable[[Any, Any], np.ndarray], str]] = {
    "series, time warping": (lambda n: series(n), warped, "dissimilarity"),
    "strings, edit distance": (strings, edited, "dissimilarity"),
    "spectra, matched peaks": (spectra, matched, "asymmetric"),
    "trees, degrees": (graphs, degrees, "dissimilarity"),
}
LEARNERS = ("ny_pcvm", "ny_ikfd", "sf_lsm", "krein_sh_svm")


def kinds(n: int, landmarks: int) -> None:
    """Print accuracies of all learners on all kinds of objects, two folds each."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    from kreinflow.estimators import KreinClassifier
    from kreinflow.learners.registry import LEARNERS as KNOWN

    rows = []
    for name, (draw, function, kind) in KINDS.items():
        X, y = draw(n)
        objects = np.empty(n, dtype=object)
        for place, value in enumerate(X):
            objects[place] = value
        asked = 0

        def counting(a: Any, b: Any, function: Any = function) -> np.ndarray:
            nonlocal asked
            asked += len(a) * len(b)
            return function(a, b)

        begin = time.process_time()
        S = function([*objects], [*objects])
        whole = time.process_time() - begin
        K = S if kind == "asymmetric" else -0.5 * S**2
        K = (K + K.T) / 2
        if kind == "dissimilarity":
            centred = K - K.mean(axis=0)
            K = centred - centred.mean(axis=1)[:, None]
        values, vectors = np.linalg.eigh(K)
        negative = -values[values < 0].sum() / np.abs(values).sum()
        clipped = vectors * np.maximum(values, 0) @ vectors.T
        folds = list(StratifiedKFold(2, shuffle=True, random_state=1).split(y, y))

        about = name, f"{100 * negative:.0f} %"
        for learner in LEARNERS:
            if kind == "asymmetric" and KNOWN[learner].needs_symmetric:
                continue
            correction = "flip" if KNOWN[learner].needs_positive else "none"
            asked, right, begin = 0, [], time.process_time()
            for known, test in folds:
                model = KreinClassifier(
                    metric=counting,
                    kind=kind,
                    selector="uniform",
                    n_landmarks=landmarks,
                    learner=learner,
                    correction=correction,
                )
                model.fit(objects[known], y[known])
                right.append(model.score(objects[test], y[test]))
            seconds = (time.process_time() - begin) / len(folds)
            rows.append((*about, learner, np.mean(right), asked / len(folds), seconds))
        best = S if kind == "asymmetric" else -S
        near = [np.mean(y[k[best[np.ix_(t, k)].argmax(axis=1)]] == y[t]) for k, t in folds]
        rows.append((*about, "nearest neighbour", np.mean(near), n**2 / 4, whole / 4))
        dense = [
            SVC(kernel="precomputed", C=100 / np.abs(clipped).max())
            .fit(clipped[np.ix_(k, k)], y[k])
            .score(clipped[np.ix_(t, k)], y[t])
            for k, t in folds
        ]
        rows.append((*about, "SVM, whole matrix clipped", np.mean(dense), n**2, whole))
    columns = ["objects", "negative", "method", "accuracy", "pairs", "seconds"]
    print(pd.DataFrame(rows, columns=columns).round(3).to_string(index=False))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    large = commands.add_parser("scale")
    large.add_argument("folder", type=Path)
    large.add_argument("--series", type=int, default=100_000)
    large.add_argument("--landmarks", type=int, default=200)
    large.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    large.add_argument("--tested", type=int, default=100)
    small = commands.add_parser("kinds")
    small.add_argument("--objects", type=int, default=600)
    small.add_argument("--landmarks", type=int, default=40)
    given = parser.parse_args()
    if given.command == "scale":
        scale(given.folder, given.series, given.landmarks, given.cores, given.tested)
    else:
        kinds(given.objects, given.landmarks)


if __name__ == "__main__":
    main()
