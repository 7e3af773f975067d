"""A similarity of one's own in a run of the workflow: what it costs.

    python benchmarks/own_similarity.py FOLDER --series 100000 --landmarks 200
    python benchmarks/own_similarity.py --peer landmarks --series 2000 --tested 200
    python benchmarks/own_similarity.py --peer tslearn --series 2000 --tested 200

The workflow runs on generated series under dynamic time warping, by the function of
``examples/own_similarity/series.py``: calls, minutes, memory and accuracy, beside the nearest
neighbour of all training series on a part of the tested ones. ``benchmarks/objects.py`` has other
kinds of objects, in memory.

With ``--peer`` one method alone learns from some series and predicts others, in this process:
seconds, memory and accuracy of landmarks, or of the nearest neighbour of tslearn (Sakoe-Chiba band
of the same width), which needs an environment with tslearn, numba and pandas. Where it is missing
it is skipped with a word.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
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


def peer(name: str, n: int, landmarks: int, tested: int) -> None:
    """Learn from n series by one method, predict others, and print a row of figures."""
    X, y = series(n + tested)
    known, new = slice(n), slice(n, None)
    try:
        if name == "tslearn":
            from tslearn.neighbors import (  # type: ignore[import-not-found]
                KNeighborsTimeSeriesClassifier,
            )

            band = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": LENGTH // 10}
            model: Any = KNeighborsTimeSeriesClassifier(n_neighbors=1, metric_params=band, n_jobs=1)
        else:
            from kreinflow.estimators import KreinClassifier

            sys.path.insert(0, str(EXAMPLES))
            from series import distance

            model = KreinClassifier(
                metric=lambda a, b: distance(np.array(a), np.array(b)),
                kind="dissimilarity",
                learner="sf_lsm",
                selector="uniform",
                n_landmarks=landmarks,
            )
    except ImportError as error:
        print(f"skipped: {error}")
        return
    few = slice(2 * landmarks)
    model.fit(X[few], y[few]).predict(X[:5])  # compiles what has to be
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = [time.process_time()]
    model.fit(X[known], y[known])
    seconds.append(time.process_time())
    right = float(np.mean(model.predict(X[new]) == y[new]))
    seconds.append(time.process_time())
    learning, predicting = np.diff(seconds)
    row = {
        "method": name,
        "training": n,
        "tested": tested,
        "accuracy": right,
        "processor seconds, learning": learning,
        "processor seconds, predicting": predicting,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "MB more than before": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    }
    print(pd.Series(row).to_string())


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="a new folder for data and results")
    parser.add_argument("--peer", choices=["landmarks", "tslearn"], help="this alone, in memory")
    parser.add_argument("--series", type=int, default=100_000)
    parser.add_argument("--landmarks", type=int, default=200)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tested", type=int, default=100)
    given = parser.parse_args()
    if given.peer:
        peer(given.peer, given.series, given.landmarks, given.tested)
        return
    if given.folder is None:
        parser.error("name a new folder, or a --peer")
    scale(given.folder, given.series, given.landmarks, given.cores, given.tested)


if __name__ == "__main__":
    main()
