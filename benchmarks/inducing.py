"""Which training records a lifted kernel should stand on, where it cannot stand on all.

    python benchmarks/inducing.py                       some minutes on a quiet machine
    python benchmarks/inducing.py --points 250 --kinds remote

The kinds ``remote`` and ``related`` of ``kinds.py`` with eight times the members, three folds. All
rows of a table have the same landmarks, the same kernel (Gaussian of the scores times Gaussian of
words, widths by the inner folds) and the same learner. They differ in the inducing points alone.

``seconds`` are those that the choice takes. ``left`` is the share of the
kernel's diagonal that its Nyström approximation leaves out. Figures of each fold go to
``FOLDER/KIND.tsv``, and kinds that are there are not run again.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from numpy.typing import NDArray

from aligned_folds import Fold, aligned, configuration, folds_of
from kinds import related, remote
from kreinflow.base.numerics import RANK_TOLERANCE, FloatArray, IntArray, limited
from kreinflow.compare.competitor import quality
from kreinflow.fitting.fit_lift import Lifting, TriedWidths, Widths
from kreinflow.fitting.predictions import FoldRecords
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, landmark_kernel
from kreinflow.landmarks.kmeans import share_budget
from kreinflow.landmarks.weighted_draw import draw_row
from kreinflow.views.inducing import inducing_places

Column = Callable[[int, IntArray | slice], FloatArray]
"""Returns the kernel of one record with others; that of a record with itself is 1."""

LARGE = {"remote": partial(remote, times=8), "related": partial(related, times=8)}
EVERYTHING = slice(None)
_JITTER = 1e-9


def classes_at_random(part: Any, count: int, keys: NDArray[np.uint64], column: Column) -> IntArray:
    """Return those that the library takes."""
    return inducing_places(part.rows, part.labels, count, keys)


def uniform(part: Any, count: int, keys: NDArray[np.uint64], column: Column) -> IntArray:
    """Return those of the smallest keys."""
    return np.sort(np.argsort(keys, kind="stable")[:count])


def class_kmeans(part: Any, count: int, keys: NDArray[np.uint64], column: Column) -> IntArray:
    """Return k-means++ seeds of each class, by distances in the lifted kernel."""
    classes, sizes = np.unique(part.labels, return_counts=True)
    found = []
    for code, share in zip(classes, share_budget(sizes.tolist(), count), strict=True):
        own = np.flatnonzero(part.labels == code)
        distances, free = np.full(len(own), np.inf), np.ones(len(own), dtype=bool)
        rates = np.ones(len(own))
        for step in range(share):
            drawn = draw_row(rates, free, keys[own], step)
            free[drawn] = False
            found.append(own[drawn])
            rates = distances = np.minimum(distances, 2 - 2 * column(int(own[drawn]), own))
            rates = np.maximum(rates, 0)
    return np.sort(found)


def pivots(
    largest: bool, part: Any, count: int, keys: NDArray[np.uint64], column: Column
) -> IntArray:
    """Return pivots of a partial Cholesky factor: drawn by the residuals, or the largest ones."""
    n = len(keys)
    residuals, free = np.ones(n), np.ones(n, dtype=bool)
    L = np.empty((n, count), order="F")
    chosen = []
    for step in range(count):
        residuals[residuals <= RANK_TOLERANCE] = 0.0
        if largest:
            drawn = int(np.where(free, residuals, -1.0).argmax())
        else:
            drawn = draw_row(residuals, free, keys, step)
        free[drawn] = False
        chosen.append(drawn)
        if residuals[drawn] <= 0:
            L[:, step] = 0.0
            continue
        L[:, step] = column(drawn, EVERYTHING) - L[:, :step] @ L[drawn, :step]
        L[:, step] /= np.sqrt(residuals[drawn])
        residuals = np.maximum(residuals - L[:, step] ** 2, 0.0)
    return np.sort(np.array(chosen))


WAYS: Mapping[str, Callable[[Any, int, NDArray[np.uint64], Column], IntArray]] = {
    "classes, at random": classes_at_random,
    "uniform": uniform,
    "classes, k-means++": class_kmeans,
    "random pivots": partial(pivots, False),
    "largest pivots": partial(pivots, True),
}


@dataclass(frozen=True, eq=False)
class Placed(Lifting):
    """A lifting of given inducing points, of widths that were tried."""

    given: IntArray | None = None
    known: TriedWidths | None = None

    @property
    def inducing(self) -> IntArray:
        """The given ones."""
        assert self.given is not None
        return self.given

    def tried(self, kernel: LandmarkKernel, landmarks: Landmarks, inner: IntArray) -> TriedWidths:
        """Return what is known."""
        return super().tried(kernel, landmarks, inner) if self.known is None else self.known

    def always(self, recipe: Mapping[str, Any]) -> Lifting:
        """Return itself, whatever the recipe."""
        return self

    @classmethod
    def of(cls, lifting: Lifting, given: IntArray, known: TriedWidths | None = None) -> "Placed":
        """Return a lifting with other inducing points."""
        own = {name: getattr(lifting, name) for name in Lifting.__dataclass_fields__}
        return cls(**own, given=given, known=known)


def columns_of(lifting: Lifting, kernel: LandmarkKernel, widths: Widths) -> FloatArray:
    """Return the lifted kernel of all training records, which no workflow could hold."""
    every = np.arange(len(lifting.part.rows))
    return np.asarray(Placed.of(lifting, every).on(kernel, every, widths).kernel.C)


def figures_of(fold: Fold, counts: list[int]) -> list[dict[str, Any]]:
    """Return the accuracy of each way, number of points and recipe."""
    (table,) = fold.tables().values()
    run = fold.run(table)
    landmarks = run.landmarks(table)
    training = fold.training(run, landmarks)
    part = training.part
    (recipe,) = fold.config["recipes"]
    kernel = landmark_kernel(landmarks, part, fold.transforms[recipe["transform"]])
    lifting = training.liftings(recipe)
    known = lifting.tried(kernel, landmarks, training.fits.inner)
    K = columns_of(lifting, kernel, known.best())
    keys = lifting.keys[part.rows]
    rows = []
    for count in [*counts, len(part.rows)]:
        ways = WAYS if count < len(part.rows) else {"all": classes_at_random}
        for way_name, way in ways.items():
            start = time.process_time()
            places = way(part, count, keys, lambda j, others: K[others, j])
            seconds = time.process_time() - start

            placed = Placed.of(lifting, places, known)
            ((_, trained),) = fold.trained(replace(training, liftings=placed.always), [recipe])
            predictions = FoldRecords(run, landmarks, fold.name, trained.classifier).predictions(
                way_name
            )
            found = quality(predictions["true"].tolist(), predictions["predicted"].tolist())
            rows.append(
                {
                    "fold": fold.name,
                    "way": way_name,
                    "points": count,
                    "seconds": seconds,
                    "left": left_out(K, places),
                    "inner": trained.figures["inner_accuracy"],
                    **found,
                }
            )
    return rows


def left_out(K: FloatArray, places: IntArray) -> float:
    """Return the share of the kernel's trace that is not in its Nyström approximation."""
    C = K[:, places]
    W = C[places] + _JITTER * np.eye(len(places))
    Z = scipy.linalg.solve_triangular(np.linalg.cholesky(W), C.T, lower=True)
    return 1.0 - float(np.square(Z).sum() / np.trace(K))


def settings(landmarks: int) -> dict[str, Any]:
    """Return the config of one recipe."""
    return {
        "selectors": {
            "it": {"method": "kmeans++", "transform": "log", "candidates": 30, "budget": landmarks}
        },
        "learners": {"it": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}},
        "recipes": [
            {
                "name": "it",
                "transform": "log",
                "selector": "it",
                "learner": "it",
                "views": {"words": [1, 2, 3]},
                "lift": {"kernel": "gaussian"},
            }
        ],
    }


def main() -> None:
    """Run what is asked for, and print the table of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=list(LARGE), default=list(LARGE))
    parser.add_argument("--points", nargs="+", type=int, default=[250, 500, 1000])
    parser.add_argument("--landmarks", type=int, default=120)
    parser.add_argument("--folder", type=Path, default=Path("inducing-benchmark"))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    config = configuration("protein", settings(asked.landmarks))
    warnings.simplefilter("ignore")
    print("| kind | N | points | way | accuracy | inner accuracy | left, % | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in asked.kinds:
        path = asked.folder / f"{kind}.tsv"
        if not path.exists():
            pairs = LARGE[kind](np.random.default_rng([2, *kind.encode()]))
            dataset, scheme = aligned(pairs, "protein")
            partition = folds_of(dataset, False)
            with limited(1, 4096):
                rows = [
                    row
                    for name in partition.names
                    for row in figures_of(
                        Fold(dataset, partition, name, scheme, config), asked.points
                    )
                ]
            pd.DataFrame(rows).assign(n=len(dataset.ids)).to_csv(path, sep="\t", index=False)
        found = pd.read_csv(path, sep="\t")
        asked_for = found["points"].where(found["way"] != "all", -1)
        for (_, way), own in found.groupby([asked_for, "way"], sort=False):
            means = own.mean(numeric_only=True)
            cells = [
                f"{100 * means.accuracy:.1f} ± {100 * own.accuracy.std():.1f}",
                f"{100 * means.inner:.1f}",
                f"{100 * means.left:.1f}",
                f"{means.seconds:.1f}",
            ]
            line = [kind, str(own["n"].iloc[0]), f"{means.points:.0f}", str(way), *cells]
            print(f"| {' | '.join(line)} |", flush=True)


if __name__ == "__main__":
    main()
