"""What words and a lift add to the scores with few landmarks, and what they cost.

    python benchmarks/views.py                          all kinds: a quarter of an hour
    python benchmarks/views.py --kinds close peptides   some of them
    python benchmarks/views.py --learner ny_ikfd        another learner in all rows

The kinds and folds are those of ``auto.py``. All rows of a kind with as many landmarks have the
same landmarks (k-means++ in each class), log scores and the same learner. Widths, ridges and the
inner accuracy are of inner folds, so the outer folds are seen once.

Figures of each fold go to ``FOLDER/LEARNER/KIND.tsv``; kinds that are there are not run again. Two
tables are printed: means over all kinds with the costs, and the accuracy of each kind, both in %.
Beside each accuracy stands the inner one. "seconds" are processor seconds to train one fold, widths
and inner folds included. "queries a second" counts alignments with all landmarks and all that
follows, in one thread, as ``kreinflow classify`` does without reading and writing;
"unaligned" what follows alone.
"""

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aligned_folds import WORDS, Aligned, Fold, configuration, figures_of_kinds
from inducing import WAYS, Placed, columns_of
from kinds import KINDS
from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.query import Query
from kreinflow.compare.run import quality
from kreinflow.fitting.run import Run, predict_fold
from kreinflow.fitting.training import Training
from kreinflow.krein.landmark_kernel import Landmarks, landmark_kernel
from kreinflow.sequences.scores import MatrixScores

LANDMARKS = (30, 60, 120)
POINTS = 100
"""Inducing points in the rows that have fewer than there are records, of about 300."""

BOTH = "gaussian-scores+words"
ROWS: Mapping[str, Mapping[str, Any]] = {
    "linear-scores": {},
    "linear-scores+words": {"lift": {"kernel": "linear"}},
    "gaussian-scores": {"lift": {"kernel": "gaussian"}},
    BOTH: {"lift": {"kernel": "gaussian"}},
}
ALONE: Mapping[str, Mapping[str, Any]] = {
    "linear-words": {"lift": {"kernel": "linear", "width": 1}},
    "gaussian-words": {"lift": {"kernel": "gaussian"}},
}
"""Their scores are all zero, so that they have no part in the kernel."""

LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "sf_lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"},
    "ny_ikfd": {
        "method": "ny_ikfd",
        "scatter": "pooled",
        "bias": "least_squares",
        "ridge": "inner",
    },
}


def settings(learner: str, molecule: str) -> dict[str, Any]:
    """Return selectors, the learner and recipes as a config would name them."""
    chosen = {"method": "kmeans++", "transform": "log", "candidates": 30}
    return {
        "selectors": {str(count): {**chosen, "budget": count} for count in LANDMARKS},
        "learners": {"it": LEARNERS[learner]},
        "recipes": [
            {
                "name": name,
                "transform": "raw" if name in ALONE else "log",
                "selector": str(LANDMARKS[0]),
                "learner": "it",
                "views": {"words": WORDS[molecule]} if "words" in name else {},
                **row,
            }
            for name, row in {**ALONE, **ROWS}.items()
        ],
    }


def rows_of(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the figures of all rows, for one fold."""
    recipes = {recipe["name"]: recipe for recipe in fold.config["recipes"]}
    for number, (count, table) in enumerate(fold.tables().items()):
        run = fold.run(table)
        landmarks = run.landmarks(table)
        aligning = seconds_to_align(fold, run)
        if number == 0:
            nothing = MatrixScores(np.zeros_like(fold.dataset.payload_as(Aligned).scores))
            blind = fold.run(table, nothing)
            for name in ALONE:
                training = fold.training(blind, blind.landmarks(table))
                yield {"landmarks": 0, **figures_of(fold, blind, training, recipes[name], 0.0)}
        for name in ROWS:
            training = fold.training(run, landmarks)
            found = figures_of(fold, run, training, recipes[name], aligning)
            yield {"landmarks": int(count), **found}
        training = fold.training(run, landmarks)
        for name, placed, seconds in fewer(fold, training, recipes[BOTH]):
            own = replace(training, liftings=placed.always)
            found = figures_of(fold, run, own, {**recipes[BOTH], "name": name}, aligning)
            found["seconds"] += seconds
            yield {"landmarks": int(count), **found}


def fewer(
    fold: Fold, training: Training, recipe: Mapping[str, Any]
) -> Iterator[tuple[str, Placed, float]]:
    """Yield liftings of fewer inducing points by each way, and the seconds that these took."""
    kernel = landmark_kernel(
        training.landmarks, training.part, fold.transforms[recipe["transform"]]
    )
    assert training.liftings is not None
    lifting = training.liftings(recipe)
    start = time.process_time()
    known = lifting.tried(kernel, training.landmarks, training.fits.inner)
    trying = time.process_time() - start
    K = columns_of(lifting, kernel, known.best())
    for name, way in WAYS.items():
        start = time.process_time()
        places = way(
            training.part, POINTS, lifting.keys[training.part.rows], lambda j, own: K[own, j]
        )
        seconds = time.process_time() - start
        yield (
            f"{BOTH}, {POINTS} points: {name}",
            Placed.of(lifting, places, known),
            (trying + seconds),
        )


def figures_of(
    fold: Fold, run: Run, training: Training, recipe: Mapping[str, Any], aligning: float
) -> dict[str, Any]:
    """Return the accuracies and the costs of one recipe."""
    start = time.process_time()
    ((_, trained),) = fold.trained(training, [recipe])
    seconds = time.process_time() - start
    predictions = predict_fold(
        run, training.landmarks, fold.name, recipe["name"], trained.classifier
    )
    found = quality(predictions["true"].tolist(), predictions["predicted"].tolist())
    deciding = seconds_to_decide(run, training.landmarks, trained.classifier)
    return {
        "fold": fold.name,
        "method": recipe["name"],
        **found,
        "inner": trained.figures["inner_accuracy"],
        "seconds": seconds,
        "aligned": aligning,
        "decided": deciding,
        "hyper_parameters": trained.figures["hyper_parameters"],
    }


def seconds_to_align(fold: Fold, run: Run) -> float:
    """Return the processor seconds that a query takes to be aligned with the landmarks."""
    packed = pack(run.dataset.payload_as(Aligned).residues)
    queries = np.arange(len(run.dataset.digests), dtype=np.int32)
    start = time.process_time()
    align_pairs(
        packed,
        np.repeat(queries, len(run.union)),
        np.tile(run.union.astype(np.int32), len(queries)),
        fold.scheme,
        1,
    )
    return (time.process_time() - start) / len(queries)


def seconds_to_decide(run: Run, landmarks: Landmarks, classifier: LandmarkClassifier) -> float:
    """Return the processor seconds that a query takes when its scores are there: the second time.

    At first the inducing points are looked at, once for all queries.
    """
    rows = np.arange(len(run.dataset.digests))
    for _ in range(2):
        start = time.process_time()
        query = Query(
            np.asarray(landmarks.scores[rows]),
            landmarks.self_scores[rows],
            landmarks.lengths[rows],
            run.objects if classifier.looks_at_objects else None,
        )
        classifier.predict_proba(query)
    return (time.process_time() - start) / len(rows)


def shown(rows: pd.DataFrame) -> str:
    """Return the accuracy, and the inner one beside it."""
    return f"{100 * rows.accuracy.mean():.1f} ({100 * rows.inner.mean():.1f})"


def print_tables(found: pd.DataFrame) -> None:
    """Print the means over kinds with the costs, and the accuracies of each kind."""
    methods = list(dict.fromkeys(found["method"]))
    counts = sorted(set(found["landmarks"]))
    whole = ["method", "landmarks", "accuracy (inner)", "seconds", "queries a second", "unaligned"]
    lines = [whole, ["---"] * len(whole)]
    for count in counts:
        for method in methods:
            own = found[(found["method"] == method) & (found["landmarks"] == count)]
            if len(own):
                both = (own.aligned + own.decided).mean()
                speeds = f"{1 / both:,.0f}", f"{1 / own.decided.mean():,.0f}"
                lines.append([method, str(count), shown(own), f"{own.seconds.mean():.2f}", *speeds])
    kinds = list(dict.fromkeys(found["kind"]))
    for count in counts:
        there = found[found["landmarks"] == count]
        own_methods = [method for method in methods if method in set(there["method"])]
        lines += [[], ["landmarks", "kind", *own_methods], ["---"] * (2 + len(own_methods))]
        for kind in kinds:
            cells = [
                shown(there[(there["kind"] == kind) & (there["method"] == method)])
                for method in own_methods
            ]
            lines.append([str(count), kind, *cells])
    for line in lines:
        print(f"| {' | '.join(line)} |" if line else "", flush=True)


def main() -> None:
    """Run what is asked for, and print the tables of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--learner", choices=list(LEARNERS), default="sf_lsm")
    parser.add_argument("--folder", type=Path, default=Path("views-benchmark"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of landmarks that are too few for some classes
    found = [
        figures.assign(kind=name)
        for name, figures in figures_of_kinds(
            asked.kinds,
            asked.folder / asked.learner,
            lambda molecule: configuration(molecule, settings(asked.learner, molecule)),
            lambda fold: list(rows_of(fold)),
        )
    ]
    print_tables(pd.concat(found))


if __name__ == "__main__":
    main()
