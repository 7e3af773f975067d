"""Whether a cascade keeps what it promises: the loss, the alignments, the probabilities.

    python benchmarks/promises.py --seeds 3                 all kinds, three data sets of each
    python benchmarks/promises.py --kinds close --losses 0.01

The kinds and folds are those of ``auto.py``, made anew from each seed. The first stage has log
scores, words and a lift over both; its landmarks are 5 % of the training records, at least one of
each class. The cascade above it is fitted once for each stated loss and for each stated mean number
of alignments; a number that the first stage alone exceeds is left out. All is measured on the
records that the fold tests:

* the accuracy that is lost against all levels of the same cascade asked ("own"), and against those
  of the cascade of the smallest stated loss ("most");
* the mean number of alignments of a query;
* the calibration error of the combined answers, in ten bins of equal width:
  sum_b n_b / n |mean probability - accuracy|, and what it would be on average if each answer were
  right with its probability ("if perfect");
* the share of wrong answers among those that are not rejected, beside the share that is stated.

The rows of the records go to ``FOLDER/KIND.SEED.tsv``; what is there is not run again. Means are
over records of a kind, then over kinds and seeds; behind ± stands the standard error of that mean.
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aligned_folds import HOMOLOGY, Fold, folds_of, molecule_of, sequences_of
from cascades import fitted, lifted, truth_of
from kinds import KINDS
from kreinflow.base.numerics import FloatArray, limited

BINS = 10
DRAWS = 200
"""Of answers by their probabilities."""


def calibration_error(top: FloatArray, right: FloatArray) -> float:
    """Return the mean distance of probability and accuracy, over bins of equal width."""
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    gaps = [abs(float((top - right)[bins == b].sum())) for b in range(BINS)]
    return sum(gaps) / len(top)


def perfect_error(top: FloatArray) -> float:
    """Return the calibration error to expect if each answer were right with its probability."""
    random = np.random.default_rng(1)
    draws = [random.random(len(top)) < top for _ in range(DRAWS)]
    return float(np.mean([calibration_error(top, right) for right in draws]))


def rows_of(fold: Fold, promises: list[dict[str, float]]) -> Iterator[pd.DataFrame]:
    """Yield a row for each tested record and promise."""
    (table,) = fold.tables().values()
    (recipe,) = fold.config["recipes"]
    given = [p for p in promises if p.get("alignments", np.inf) > len(table) + 2]
    for promise, (trained, climbed) in zip(given, fitted(fold, recipe, table, given), strict=True):
        cascade = climbed.cascade
        probabilities, alignments = climbed.at(cascade.threshold)
        everything, all_alignments = climbed.at(np.inf)
        top = probabilities.max(axis=1)
        ((what, stated),) = promise.items()
        yield pd.DataFrame(
            {
                "fold": fold.name,
                "what": what,
                "stated": stated,
                "landmarks": len(table),
                "cascade": trained.figures["cascade"],
                "inner_alignments": trained.figures["alignments_per_query"],
                "record": np.arange(len(top)),
                "top": top,
                "right": probabilities.argmax(axis=1) == truth_of(fold),
                "rejected": top < cascade.reject_threshold,
                "alignments": alignments,
                "right_all": everything.argmax(axis=1) == truth_of(fold),
                "alignments_all": all_alignments,
            }
        )


def measured(kind: str, seed: int, folder: Path, promises: list[dict[str, float]]) -> pd.DataFrame:
    """Return the rows of a kind from their file, which is made if it is not there."""
    path = folder / f"{kind.replace(', ', '.')}.{seed}.tsv"
    if not path.exists():
        plain, homology, _ = kind.partition(", ")
        dataset, scheme = sequences_of(plain, seed)
        partition = folds_of(dataset, bool(homology))
        config = lifted(molecule_of(plain), {"first": {"share": 0.05}})
        folds = [Fold(dataset, partition, f, scheme, config) for f in partition.names]
        with limited(1, 4096):
            found = [table for fold in folds for table in rows_of(fold, promises)]
        pd.concat(found).to_csv(path, sep="\t", index=False)
    return pd.read_csv(path, sep="\t").assign(kind=kind, seed=seed)


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Return what one promise gave on the records of one kind and seed."""
    kept, top = rows[~rows["rejected"]], rows["top"].to_numpy()
    return {
        "own": rows["right_all"].mean() - rows["right"].mean(),
        "alignments": rows["alignments"].mean(),
        "accuracy": rows["right"].mean(),
        "calibration": calibration_error(top, rows["right"].to_numpy()),
        "perfect": perfect_error(top),
        "accepted": len(kept) / len(rows),
        "error": 1 - kept["right"].mean(),  # NaN if none is accepted
    }


def summaries(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each kind, seed and promise."""
    keys = ["kind", "seed", "what", "stated"]
    lines = [
        dict(zip(keys, key, strict=True)) | summary(own)
        for key, own in rows.groupby(keys, sort=False)
    ]
    found = pd.DataFrame(lines)
    least = rows[(rows["what"] == "loss")]
    least = least[least["stated"] == least["stated"].min()]
    most = least.groupby(["kind", "seed"])["right_all"].mean().rename("everything")
    found = found.join(most, on=["kind", "seed"])
    return found.assign(most=found["everything"] - found["accuracy"])


def mean(values: pd.Series, scale: float = 100) -> str:
    """Return a mean over kinds and seeds, and its standard error."""
    known = values.dropna()
    if len(known) < 2:
        return "-" if known.empty else f"{scale * known.iloc[0]:.2f}"
    error = known.std(ddof=1) / np.sqrt(len(known))
    return f"{scale * known.mean():.2f} ± {scale * error:.2f}"


HEADINGS = (
    *("promise", "sets", "lost of own, %", "lost of most, %", "accuracy, %"),
    *("alignments", "of the stated", "calibration error", "if perfect", "accepted, %"),
    "wrong of these, %",
)


def cells(own: pd.DataFrame, what: str, stated: float) -> list[str]:
    """Return the cells of a promise, over the lines of kinds and seeds."""
    ratio = "" if what == "loss" else mean(own["alignments"] / stated, 1)
    return [
        f"{what} {stated:g}",
        str(len(own)),
        mean(own["own"]),
        mean(own["most"]),
        f"{100 * own['accuracy'].mean():.1f}",
        f"{own['alignments'].mean():.1f}",
        ratio,
        f"{own['calibration'].mean():.3f}",
        f"{own['perfect'].mean():.3f}",
        f"{100 * own['accepted'].mean():.1f}",
        mean(own["error"]),
    ]


def print_tables(found: pd.DataFrame, error: float | None) -> None:
    """Print each promise over all kinds, then each kind."""
    for kind in (None, *dict.fromkeys(found["kind"])):
        there = found if kind is None else found[found["kind"] == kind]
        print(f"\n{kind or f'All kinds; stated share of wrong answers: {error}'}\n")
        print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}")
        for key, own in there.groupby(["what", "stated"], sort=False):
            print(f"| {' | '.join(cells(own, *key))} |", flush=True)


def main() -> None:
    """Run what is asked for, and print the tables of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    every = [f"{kind}{how}" for kind in KINDS for how in ("", ", homology-aware")]
    every = [kind for kind in every if "," not in kind or kind.partition(",")[0] in HOMOLOGY]
    parser.add_argument("--kinds", nargs="+", choices=every, default=every)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--losses", nargs="*", type=float, default=[0.001, 0.005, 0.01])
    parser.add_argument("--alignments", nargs="*", type=float, default=[30, 60, 100])
    parser.add_argument("--folder", type=Path, default=Path("promises-benchmark"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    promises = [{"loss": loss} for loss in given.losses]
    promises += [{"alignments": number} for number in given.alignments]
    warnings.simplefilter("ignore")  # of landmarks that are too few for some classes
    found = [
        measured(kind, seed, given.folder, promises)
        for seed in range(1, given.seeds + 1)
        for kind in given.kinds
    ]
    config: Mapping[str, Any] = lifted("protein", {"first": {"share": 0.05}})
    print_tables(summaries(pd.concat(found)), config["reject_error"])


if __name__ == "__main__":
    main()
