"""What a cascade reaches with a stated mean number of alignments, on larger data.

    python benchmarks/stated.py                            all: an hour on a quiet machine
    python benchmarks/stated.py --sets pfam_kin            one data set
    python benchmarks/stated.py --sets enzymes --size 20   a look whether it runs

* ``pfam_kin``: the 960 domains of the demonstration, 16 Pfam families, several of one clan;
  stratified 5 folds, all of them, once for each seed;
* ``enzymes``: 28 classes in 7 families of 4, 5,124 sequences of about 370 residues, as in
  ``kinds.py``; the first of five stratified folds;
* ``remote``: 2,990 sequences of 49 superfamilies, most of which have no close relative, as in
  ``kinds.py``; the first fold.

First stages have log scores, words and a lift over both. Their landmarks are three, six and 8.5
tenths of the stated number, at least one of each class. In each fold the one counts that has the
highest inner accuracy. "all" has all training records as landmarks (SF-LSM on log scores);
"nearest" is the class of the training record of the highest score, normalised score or least
E-value. Accuracies are in %, ± standard deviation over folds. "to train" counts the alignments of
the first stage and of its cascade.

Figures go to ``RESULTS/SET.tsv``; what is there is not run again.
"""

import argparse
import gzip
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aligned_folds import Aligned, Fold, aligned, read_figures
from cascades import fitted, lifted, one_stage, truth_of
from kinds import Labelled, enzymes, superfamilies
from kreinflow.alignment.transforms import make_transform
from kreinflow.base.numerics import limited
from kreinflow.fitting.recipe_choice import choose_recipe
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import partition_of
from promises import calibration_error, perfect_error

PARTS = (0.3, 0.6, 0.85)
"""Of the stated alignments, for the landmarks of a first stage."""
REMOTE = (280, 330, 430, 0.5)
DATA = Path(__file__).parents[1] / "examples" / "pfam_kin"


def pfam_kin() -> Labelled:
    """Return the domains of the demonstration and their families."""
    with gzip.open(DATA / "pfam_kin.fasta.gz", "rt") as file:
        records = [record.split("\n", 1) for record in file.read().split(">")[1:]]
    families = pd.read_csv(DATA / "pfam_kin.tsv", sep="\t").set_index("id")["family"]
    return [("".join(lines.split()), str(families[id])) for id, lines in records]


@dataclass(frozen=True)
class Set:
    """A data set, and what is asked of it.

    Parameters
    ----------
    make : callable
        Returns the sequences and their classes.
    stated : tuple of float
        Mean alignments; those below 1 are shares of the exhaustive ones.
    folds : int
        Of five, that are looked at.
    """

    make: Callable[[], Labelled]
    stated: tuple[float, ...]
    folds: int


def sets(size: int) -> dict[str, Set]:
    """Return all data sets; ``size`` is that of an enzyme class."""
    random = partial(np.random.default_rng, 1)
    return {
        "pfam_kin": Set(pfam_kin, (40, 60), 5),
        "enzymes": Set(lambda: enzymes(random(), size), (36, 60, 125), 1),
        "remote": Set(lambda: superfamilies(random(), round(2990 * size / 183)), REMOTE, 1),
    }


def budgets_of(stated: float, classes: int) -> list[int]:
    """Return the landmarks of the first stages that are tried."""
    wanted = {max(classes, round(part * stated)) for part in PARTS}
    return sorted(count for count in wanted if count + 2 <= stated)


def rows_of(fold: Fold, stated: tuple[float, ...], exhaustive: bool) -> Iterator[dict[str, Any]]:
    """Yield the figures of a fold."""
    n, classes = int(fold.partition.training(fold.name).sum()), len(fold.dataset.classes)
    numbers = [number if number >= 1 else number * n for number in stated]
    wanted: dict[int, list[float]] = {}
    for number in numbers:
        for count in budgets_of(number, classes):
            wanted.setdefault(count, []).append(number)
    config = lifted("protein", {str(count): count for count in sorted(wanted)})
    of_cascades = Fold(fold.dataset, fold.partition, fold.name, fold.scheme, config)
    recipes = {recipe["name"]: recipe for recipe in config["recipes"]}
    for name, table in of_cascades.tables().items():
        own = wanted[int(name)]
        cascades = [{"alignments": number} for number in own]
        found = fitted(of_cascades, recipes[name], table, cascades)
        for number, (trained, climbed) in zip(own, found, strict=True):
            probabilities, alignments = climbed.at(climbed.cascade.threshold)
            top, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth_of(fold)
            everything, _ = climbed.at(np.inf)
            yield {
                "kind": "cascade",
                "stated": number,
                "recipe": name,
                **trained.figures,
                "accuracy": right.mean(),
                "accuracy_all": np.mean(everything.argmax(axis=1) == truth_of(fold)),
                "calibration": calibration_error(top, right),
                "perfect": perfect_error(top),
                "alignments": alignments.mean(),
                "to_train": trained.figures["cascade_pairs"] + int(name) * n,
            }
        print(f"{fold.name}: {name} landmarks", flush=True)
    yield from nearest(fold)
    if exhaustive:
        yield from everything_of(fold, n)


def nearest(fold: Fold) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of the nearest of all training records."""
    dataset = fold.dataset
    tested, known = (
        np.flatnonzero(part(fold.name))
        for part in (fold.partition.testing, fold.partition.training)
    )
    scores = dataset.payload_as(Aligned).scores
    own, lengths = np.diag(scores), dataset.lengths.astype(np.float64)
    for name in ("raw", "normalised", "evalue"):
        transform = make_transform(name, fold.scheme)
        there = scores[np.ix_(tested, known)]
        if name != "raw":
            there = transform.evidence(
                there, own[tested, None], own[known], lengths[tested, None], lengths[known]
            )
        found = dataset.labels[known[there.argmax(axis=1)]]
        yield {
            "kind": f"nearest, {name}",
            "accuracy": np.mean(found == dataset.labels[tested]),
            "alignments": len(known),
        }


def everything_of(fold: Fold, n: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of a linear machine over all training records."""
    config = lifted("protein", {"all": n})
    recipe = {**config["recipes"][0], "lift": None, "views": {}}
    whole = Fold(fold.dataset, fold.partition, fold.name, fold.scheme, config)
    (table,) = whole.tables().values()
    yield {"kind": "all", **one_stage(whole, recipe, table)}


def figures_of(name: str, own: Set, seeds: int, exhaustive: bool) -> pd.DataFrame:
    """Return the figures of all folds of a data set."""
    dataset, scheme = aligned(own.make(), "protein")
    rows = []
    for seed in range(1, seeds + 1) if own.folds > 1 else (1,):
        partition = split(dataset, seed)
        for fold_name in partition.names[: own.folds]:
            fold = Fold(dataset, partition, fold_name, scheme, lifted("protein", {"it": 30}))
            with limited(1, 4096):
                rows += [
                    {"fold": f"{seed}.{fold_name}", **row}
                    for row in rows_of(fold, own.stated, exhaustive)
                ]
    return pd.DataFrame(rows).assign(n=len(dataset.ids), classes=len(dataset.classes))


def split(dataset: Dataset, seed: int) -> Any:
    """Return five stratified folds."""
    settings = {"method": "stratified", "k": 5, "repeats": 1}
    return partition_of(assign_folds(settings, dataset, seed, Path()), dataset)


def chosen(figures: pd.DataFrame) -> pd.DataFrame:
    """Return, of the first stages of each fold, the row that the inner folds prefer."""
    rows = []
    for _, own in figures.groupby("fold", sort=False):
        found: list[Mapping[str, Any]] = own.to_dict("records")  # type: ignore[assignment]
        rows.append(own[own["recipe"] == choose_recipe(found, own["recipe"].tolist())])
    return pd.concat(rows)


def shown(values: pd.Series) -> str:
    """Return mean and standard deviation in %."""
    spread = f" ± {100 * values.std(ddof=1):.2f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.2f}{spread}"


def print_set(name: str, figures: pd.DataFrame) -> None:
    """Print the table of a data set."""
    n, classes = (int(figures[key].iloc[0]) for key in ("n", "classes"))
    print(f"\n{name}: {n:,} sequences, {classes} classes, {figures['fold'].nunique()} folds\n")
    headings = ["method", "stated", "landmarks", "alignments", "accuracy", "calibration error"]
    headings += ["if perfect", "all levels asked", "to train", "cascade of the first fold"]
    print(f"| {' | '.join(headings)} |\n|{'---|' * len(headings)}")
    cascades = figures[figures["kind"] == "cascade"]
    for stated, every in cascades.groupby("stated", sort=True):
        own = chosen(every)
        landmarks = "/".join(map(str, sorted(set(own["landmarks"].astype(int)))))
        cells = ["cascade", f"{stated:g}", landmarks, f"{own['alignments'].mean():.1f}"]
        cells += [shown(own["accuracy"]), f"{own['calibration'].mean():.3f}"]
        cells.append(f"{own['perfect'].mean():.3f}")
        cells += [shown(own["accuracy_all"]), f"{own['to_train'].mean():,.0f}"]
        print(f"| {' | '.join([*cells, str(own['cascade'].iloc[0])])} |")
    for kind, own in figures[figures["kind"] != "cascade"].groupby("kind", sort=False):
        cells = [str(kind), "", "", f"{own['alignments'].mean():.0f}", shown(own["accuracy"])]
        print(f"| {' | '.join([*cells, *[''] * 5])} |", flush=True)


def main() -> None:
    """Run what is asked for, and print a table of each data set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = list(sets(1))
    parser.add_argument("--sets", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", type=int, default=2, help="of the folds of pfam_kin")
    parser.add_argument(
        "--size", type=int, default=183, help="of an enzyme class; the others in proportion"
    )
    parser.add_argument("--no-exhaustive", action="store_true", help='leave "all" out')
    parser.add_argument("--results", type=Path, default=Path("stated-benchmark"))
    given = parser.parse_args()
    known = sets(given.size)
    given.results.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in given.sets:
        path = given.results / f"{name}.tsv"
        if not path.exists():
            made = figures_of(name, known[name], given.seeds, not given.no_exhaustive)
            made.to_csv(path, sep="\t", index=False)
        print_set(name, read_figures(path))


if __name__ == "__main__":
    main()
