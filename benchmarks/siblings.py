"""Labels that are paths: classes learned as they are, and the children of each node by themselves.

    python benchmarks/siblings.py                   all sets: some minutes on a quiet machine
    python benchmarks/siblings.py --sets pfam_kin   some of them

Each set is aligned once, all with all, and a third of its records is predicted in turn from the
others. For each learner and number of landmarks the table has

* ``plain``: the classes as they are, with one temperature, as for labels without levels;
* ``leaves``, ``siblings``, ``inner``: what ``learn`` makes of it, with temperatures of the forks;
* the accuracy (``leaf``, ``top``) and the mean log loss (``loss``, ``top_loss``) of classes and of
  their first parts, whose probability is the sum of its classes;
* ``answered``: the share of records whose first part has a probability of 0.95 or more, and
  ``wrong``, the share of all records that are answered so and wrong;
* ``forks``: the folds in which the inner folds preferred the forks; ``seconds``: of training.
"""

import argparse
import gzip
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from Bio import SeqIO

from aligned_folds import Fold, aligned, configuration, folds_of
from kinds import Labelled, drawn, evolved, flanked, related, sizes, text, tree
from kreinflow.base.hierarchy import Tree
from kreinflow.evaluation.metrics import PROBABILITY_PREFIX
from kreinflow.fitting.run import predict_fold

LEARNERS = {
    "sf_lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"},
    "ny_ikfd": {"method": "ny_ikfd"},
}
LIFTED = "sf_lsm+lift"
LIFT = {"views": {"words": [1, 2, 3]}, "lift": {"kernel": "gaussian"}}
RECIPES = (*LEARNERS, LIFTED)
WAYS = {"plain": None, "leaves": "leaves", "siblings": "siblings", "inner": "inner"}


def nested(random: np.random.Generator) -> Labelled:
    """Return 700 domains of 12 superfamilies of 3 to 6 families, far from each other."""
    found = []
    for number, size in enumerate(sizes(12, 700, 24, 0.6)):
        ancestor = drawn(int(random.integers(90, 200)), random)
        parts = np.array_split(np.arange(size), int(random.integers(3, 7)))
        for family, part in enumerate(parts):
            root = evolved(ancestor, 1.0, random)
            for site in tree(root, len(part), 2.2, random):
                found.append((text(flanked(site, 10, random)), f"a{number:02d}.{family}"))
    return found


def pfam_kin() -> Labelled:
    """Return the domains of the demonstration, by clan and family."""
    table = pd.read_csv(DATA / "pfam_kin.tsv", sep="\t").set_index("id")
    with gzip.open(DATA / "pfam_kin.fasta.gz", "rt") as file:
        return [
            (str(r.seq), f"{table.loc[r.id, 'clan']}.{table.loc[r.id, 'family']}")
            for r in SeqIO.parse(file, "fasta")
        ]


def random(name: str) -> np.random.Generator:
    return np.random.default_rng([1, *name.encode()])


SETS = {
    "pfam_kin": pfam_kin,
    "related": lambda: related(random("related")),
    "far": lambda: nested(random("far")),
}
EACH = (2, 6)
"""Landmarks for each class."""
BACK_OFF = 0.95
DATA = Path(__file__).parents[1] / "examples" / "pfam_kin"


def configured(classes: int, recipes: Sequence[str]) -> dict[str, Any]:
    """Return the config of some recipes with few landmarks and with more."""
    way, budgets = {"method": "kmeans++", "transform": "log"}, [each * classes for each in EACH]
    return configuration(
        "protein",
        {
            "selectors": {f"m{m}": {**way, "budget": m} for m in budgets},
            "learners": LEARNERS,
            "recipes": [
                {
                    "name": f"{name}-{m}",
                    "transform": "log",
                    "selector": f"m{m}",
                    "learner": name.split("+")[0],
                    **(LIFT if name == LIFTED else {}),
                }
                for m in budgets
                for name in recipes
            ],
        },
    )


def figures(name: str, recipes: Sequence[str]) -> pd.DataFrame:
    """Return what is measured of a set, a row for each recipe and way."""
    dataset, scheme = aligned(SETS[name](), "protein")
    config, partition = configured(len(dataset.classes), recipes), folds_of(dataset, False)
    rows = []
    for fold_name in partition.names:
        fold = Fold(dataset, partition, fold_name, scheme, config)
        for selector, table in fold.tables().items():
            run = fold.run(table)
            landmarks = run.landmarks(table)
            training = fold.training(run, landmarks)
            own = [recipe for recipe in config["recipes"] if recipe["selector"] == selector]
            for way, learn in WAYS.items():
                if learn is not None:
                    forks = Tree.of(dataset.classes, ".").forks
                    training = replace(training, forks=forks, learn=learn)
                start = time.perf_counter()
                for recipe, trained in fold.trained(training, own):
                    seconds = time.perf_counter() - start
                    predictions = predict_fold(
                        run, landmarks, fold_name, recipe["name"], trained.classifier
                    )
                    forked = "siblings=1" in trained.figures["hyper_parameters"]
                    rows.append(
                        {"recipe": recipe["name"], "way": way, **measured(predictions)}
                        | {"forks": int(forked), "seconds": seconds}
                    )
                    start = time.perf_counter()
    sums = pd.DataFrame(rows).groupby(["recipe", "way"], sort=False).sum()
    n = sums.pop("records")
    shares = ["leaf", "top", "answered", "wrong"]
    sums[shares] = sums[shares].mul(100 / n, axis=0)
    sums[["loss", "top_loss"]] = sums[["loss", "top_loss"]].div(n, axis=0)
    order = [recipe["name"] for recipe in config["recipes"]]
    return sums.loc[[(recipe, way) for recipe in order for way in WAYS]]


def measured(predictions: pd.DataFrame) -> dict[str, float]:
    """Return numbers of records and sums of losses, of classes and of their first parts."""
    p = predictions.filter(regex=f"^{PROBABILITY_PREFIX}")
    p.columns = p.columns.str.removeprefix(PROBABILITY_PREFIX)
    q = p.T.groupby(lambda label: label.split(".")[0]).sum().T
    first = predictions["true"].str.split(".").str[0]
    right, answered = q.idxmax(axis=1) == first, q.max(axis=1) >= BACK_OFF
    return {
        "records": len(p),
        "leaf": (p.idxmax(axis=1) == predictions["true"]).sum(),
        "loss": log_losses(p, predictions["true"]).sum(),
        "top": right.sum(),
        "top_loss": log_losses(q, first).sum(),
        "answered": answered.sum(),
        "wrong": (answered & ~right).sum(),
    }


def log_losses(p: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Return the log loss of each row."""
    codes = p.columns.get_indexer(y)
    return -np.log(np.maximum(p.to_numpy()[np.arange(len(p)), codes], 1e-15))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), choices=RECIPES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets:
        print(name)
        print(figures(name, options.recipes).round(4).to_string(), flush=True)


if __name__ == "__main__":
    main()
