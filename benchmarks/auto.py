"""What `auto` gives on made-up data of many kinds, beside what people run today.

    python benchmarks/auto.py                      all kinds: some minutes on a quiet machine
    python benchmarks/auto.py --kinds close remote some of them
    python benchmarks/auto.py --config config.yaml the selectors, learners and recipes of a config

The kinds are those of ``kinds.py``. Each is made once, from a fixed seed, and all its sequences
are aligned with each other; all methods then learn from the training parts of the same three
folds and predict the rest. ``auto`` is what the workflow runs for a config that names data alone:
its selectors, recipes, race and inner folds, and in each fold the recipe that these prefer, by
``prefer: cheap``, by ``prefer: accuracy``, and by accuracy among the recipes that need at most a
tenth of the exhaustive alignments. Beside each stands the mean number of alignments a query, and
its share of the exhaustive ones in %.

The exhaustive best is the best on the test folds of five recipes that have all training records as
landmarks: SF-LSM on log scores, square roots and normalised scores, linear SVC on log scores, and
SF-LSM on a Gaussian of log scores times a Gaussian of words. The last column is the recipe of
``auto`` that was best on the test folds. Nobody can know these two before.

Two tables more are of cascades, beside one stage with as many landmarks, and of their training
alignments; ``cascades.py`` says what is fitted.

Figures of each fold go to ``FOLDER/KIND.tsv``; kinds that are there are not run again. The table
of all is printed: mean and standard deviation (n - 1) of the accuracy over folds, and the mean of
the macro F1, in %.
"""

import argparse
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from aligned_folds import (
    WORDS,
    Aligned,
    Fold,
    configuration,
    figures_of_kinds,
    learned,
)
from cascades import figures_of_cascades, print_cascades
from kinds import KINDS
from kreinflow.compare.competitor import ComparedFold, quality, run_competitor
from kreinflow.compare.competitors import Blast, KmerSvm
from kreinflow.fitting.recipe_choice import choose_recipe, race_table, unbeatable

OTHERS = {"blast": "BLAST", "nearest": "SW nearest", "kmer_svm": "k-mer SVM"}
HEADINGS = (
    *("kind", "N", "classes", "auto, cheap", "alignments", "auto, accuracy", "alignments"),
    *("auto, a tenth", "alignments", "exhaustive best", *OTHERS.values(), "best recipe"),
)
SHARE = 0.1
"""Of the exhaustive alignments, for the choice that has few."""
BEHIND = 0.005
"""Accuracy that it may lose."""


def recipes_of(path: Path | None) -> dict[str, Any]:
    """Return what a config says of landmarks, learners and inner folds, if there is one."""
    content = yaml.safe_load(path.read_bytes()) if path else {}
    wanted = "inner_folds", "transforms", "selectors", "learners", "recipes"
    return {key: content[key] for key in wanted if key in content}


def exhaustive(config: Mapping[str, Any], molecule: str) -> dict[str, Any]:
    """Return the config of recipes that have all training records as landmarks."""
    linear: dict[str, Any] = {"selector": "all", "learner": "sf-lsm"}
    lift = {"views": {"words": WORDS[molecule]}, "lift": {"kernel": "gaussian"}}
    own = {
        "inner_folds": config["inner_folds"],
        "selectors": {"all": {"method": "all"}},
        "learners": {
            "sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"},
            "svc": {"method": "linear_svc"},
        },
        "recipes": [
            *(
                {**linear, "name": f"all-{name}-sf-lsm", "transform": name}
                for name in ("log", "sqrt", "normalised")
            ),
            {**linear, "name": "all-log-svc", "transform": "log", "learner": "svc"},
            {**linear, "name": "all-log-lifted", "transform": "log", **lift},
        ],
    }
    return configuration(molecule, own)


def figures_of_fold(fold: Fold) -> list[dict[str, Any]]:
    """Return accuracy and macro F1 of each recipe, beside what its training said, and of others."""
    dataset, partition, scheme = fold.dataset, fold.partition, fold.scheme
    molecule = "nucleotide" if scheme.matrix.name == "nuc44" else "protein"
    rows = []
    for kind, config in (
        ("recipe", fold.config),
        ("exhaustive", exhaustive(fold.config, molecule)),
    ):
        order = [recipe["name"] for recipe in config["recipes"]]
        results = {
            trained["recipe"]: trained
            | quality(predictions["true"].tolist(), predictions["predicted"].tolist())
            for trained, predictions in learned(replace(fold, config=config))
        }
        rows += [{"method": name, "kind": kind, **results[name]} for name in order]
    parts = partition.testing(fold.name), partition.training(fold.name)
    tested, training = map(np.flatnonzero, parts)
    scores = dataset.payload_as(Aligned).scores
    nearest = training[scores[np.ix_(tested, training)].argmax(axis=1)]
    named = np.array(dataset.classes)[dataset.labels]
    found = quality(named[tested].tolist(), named[nearest].tolist())
    rows.append({"method": "nearest", "kind": "other", **found})
    for competitor in (Blast, KmerSvm):
        with tempfile.TemporaryDirectory() as folder:
            compared = ComparedFold(dataset, partition, fold.name)
            row, _ = run_competitor(competitor(scheme, molecule), compared, Path(folder), 1)
        found = {key: row[key] for key in ("method", "accuracy", "macro_f1")}
        rows.append({"kind": "other", **found})
    rows += figures_of_cascades(fold, molecule)
    return [{"fold": fold.name, **row} for row in rows]


def chosen(figures: pd.DataFrame, prefer: str) -> pd.DataFrame:
    """Return the rows of the recipes that the inner folds prefer, one for each fold.

    As in the workflow, the first fold has all recipes but those that could not be chosen before
    one with the fewest landmarks, the others those that its race leaves.
    """
    rows: list[pd.DataFrame] = []
    names = figures["recipe"].drop_duplicates().tolist()
    for _, own in figures.groupby("fold", sort=True):
        found = [{str(key): value for key, value in row.items()} for row in own.to_dict("records")]
        name = choose_recipe(found, names, prefer=prefer)
        if not rows:
            least = min(row["landmarks"] for row in found)
            first = [row for row in found if row["landmarks"] == least]
            if prefer == "cheap":
                found = [row for row in found if not unbeatable(first, row["landmarks"])]
            race = race_table(found, names, prefer)
            names = race.loc[race["goes_on"] == "yes", "recipe"].tolist()
        rows.append(own[own["recipe"] == name])
    return pd.concat(rows)


def shown(rows: pd.DataFrame) -> str:
    """Return mean and deviation of the accuracy, and the mean macro F1, in %."""
    accuracy, f1 = 100 * rows["accuracy"], 100 * rows["macro_f1"]
    return f"{accuracy.mean():.1f} ± {accuracy.std():.1f} / {f1.mean():.1f}"


def best(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the method with the highest mean accuracy."""
    return rows[rows["method"] == rows.groupby("method", sort=False)["accuracy"].mean().idxmax()]


def cells_of(figures: pd.DataFrame) -> tuple[list[str], bool | None]:
    """Return the cells of a kind, and whether a tenth of the alignments is enough.

    None, if no recipe makes do with a tenth in all folds.
    """
    recipes, everything, others = (
        figures[figures["kind"] == kind] for kind in ("recipe", "exhaustive", "other")
    )
    most = everything.groupby("fold")["alignments_per_query"].max()
    full, name = best(everything), str(best(everything)["method"].iloc[0])
    # Both have the alignment of a query with itself beside those with landmarks.
    all_of_fold = everything.groupby("fold")["landmarks"].max()
    few = recipes["alignments_per_query"] <= SHARE * recipes["fold"].map(all_of_fold) + 1
    always = few.groupby(recipes["method"]).transform("all")
    cells = [str(figures["n"].iloc[0]), str(figures["classes"].iloc[0])]
    enough = None
    for rows, prefer in (
        (recipes, "cheap"),
        (recipes, "accuracy"),
        (recipes[always], "accuracy"),
    ):
        if rows.empty:
            cells += ["-", "-"]
            continue
        own = chosen(rows, prefer)
        needed, share = own["alignments"].mean(), 100 / most.mean()
        cells += [shown(own), f"{needed:.0f} ({needed * share:.0f} %)"]
        enough = own["accuracy"].mean() >= full["accuracy"].mean() - BEHIND
    cells.append(f"{shown(full)} ({name}, {most.mean():.0f})")
    cells += [shown(others[others["method"] == method]) for method in OTHERS]
    ahead = best(recipes)
    cells.append(f"{shown(ahead)} ({ahead['method'].iloc[0]})")
    return cells, None if not always.any() else enough


def main() -> None:
    """Run what is asked for, and print the table of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--folder", type=Path, default=Path("auto-benchmark"))
    parser.add_argument("--config", type=Path, help="recipes in place of those of `auto`")
    asked = parser.parse_args()
    own = recipes_of(asked.config)
    warnings.simplefilter("ignore")  # of landmarks that are too few: what `few` is there to show
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
    verdicts, kinds = {}, {}
    results = figures_of_kinds(
        asked.kinds, asked.folder, lambda molecule: configuration(molecule, own), figures_of_fold
    )
    for name, found in results:
        kinds[name] = found
        cells, verdicts[name] = cells_of(found)
        print(f"| {' | '.join([name, *cells])} |", flush=True)
    close = [name for name, enough in verdicts.items() if enough]
    print(
        f"\nWith at most {SHARE:.0%} of the exhaustive alignments within {100 * BEHIND:.1f} points "
        f"of the exhaustive best: {len(close)} of {len(verdicts)} kinds: {', '.join(close)}."
    )
    everything = {name: best(rows[rows["kind"] == "exhaustive"]) for name, rows in kinds.items()}
    print_cascades(kinds, everything)


if __name__ == "__main__":
    main()
