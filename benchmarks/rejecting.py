"""Whether reject_error is kept on new objects, by whole models of generated classes.

    python benchmarks/rejecting.py --runs 100      prints the table of docs/classify.md

Each run draws training records and new objects from Gaussian classes that overlap, fits a
KreinClassifier, and counts the errors among the new objects that it accepts. Beside it stands the
threshold above which the share of errors on the inner folds was at most the tolerated one, which
promises nothing.
"""

import argparse
import sys
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED, RejectRule
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.estimators import KreinClassifier, base

ERROR = 0.01
CLASSES, FEATURES, NEW = 3, 4, 40_000


class Recorded(RejectRule):
    """The rule, and what it was last asked."""

    asked: tuple[FloatArray, IntArray]

    def threshold(self, probabilities: FloatArray, y: IntArray) -> float:
        """Keep the question, and answer it."""
        Recorded.asked = probabilities, y
        return super().threshold(probabilities, y)


def empirical_threshold(probabilities: FloatArray, y: IntArray) -> float:
    """Return the smallest top probability above which the share of errors was tolerated."""
    top = probabilities.max(axis=1)
    order = np.argsort(-top, kind="stable")
    rates = np.cumsum(probabilities.argmax(axis=1)[order] != y[order]) / np.arange(1, len(y) + 1)
    allowed = np.flatnonzero(rates <= ERROR)
    return float(top[order][allowed[-1]]) if len(allowed) else NOTHING_ACCEPTED


def draw(rng: np.random.Generator, n: int, distance: float) -> tuple[FloatArray, IntArray]:
    """Return objects of classes whose centres are so far apart, and their classes."""
    y = rng.permutation(np.arange(n) % CLASSES)
    X = rng.normal(size=(n, FEATURES))
    X[np.arange(n), y] += distance / np.sqrt(2)
    return X, y


def run(seed: int, n: int, distance: float, selector: str) -> list[dict[str, Any]]:
    """Return share accepted and errors of one model, by both thresholds."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n, distance)
    new, truth = draw(rng, NEW, distance)
    model = KreinClassifier(
        "gaussian",
        kernel_params={"width": 3.0},
        selector=selector,
        n_landmarks=30,
        random_state=seed,
    ).fit(X, y)
    p = model.predict_proba(new)
    wrong, top = p.argmax(axis=1) != truth, p.max(axis=1)
    found = []
    for rule, threshold in (
        ("bound", model.landmark_classifier_.reject_threshold),
        ("share on inner folds", empirical_threshold(*Recorded.asked)),
    ):
        kept = top >= threshold
        error = float(wrong[kept].mean()) if kept.any() else 0.0
        found.append(
            {
                "records": n,
                "errors of all, %": 100 * wrong.mean(),
                "landmarks": selector,
                "rule": rule,
                "runs above 1 %, %": 100 * (error > ERROR),
                "accepted, %": 100 * kept.mean(),
                "mean error, %": 100 * error,
                "largest error, %": 100 * error,
            }
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    base.RejectRule = Recorded  # type: ignore[attr-defined]
    base.REJECT_ERROR = ERROR
    for selector in ("uniform", "meb"):
        for n in (300, 1000, 3000):
            for distance in (4.0, 5.0):
                rows = [row for s in range(given.runs) for row in run(s, n, distance, selector)]
                table = pd.DataFrame(rows).groupby(["records", "landmarks", "rule"], sort=False)
                worst = table["largest error, %"].max()
                shown = table.mean().assign(**{"largest error, %": worst}).round(2)
                print(shown.to_string(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
