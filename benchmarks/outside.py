"""Data that Python packages bring: what it is worth to align, and to look at words as well.

    pip install --no-deps --target FOLDER modlamp==4.3.3 tcrdist3==0.3
    python benchmarks/outside.py --packages FOLDER             all: an hour on a quiet machine
    python benchmarks/outside.py --packages FOLDER --data amp  one data set
    python benchmarks/outside.py --packages FOLDER --config x.yaml   recipes of a config

Nothing of the packages is imported, only their tables are read:

* ``amp``: antimicrobial peptides of APD3 against peptides of UniProt (modlamp);
* ``acp``: anticancer peptides of CancerPPD against random ones, composed as ``amp`` (modlamp);
* ``mira``: CDR3 of T-cell receptors, by the SARS-CoV-2 epitope that they bind (tcrdist3). One
  epitope has a third of all; so only those with 100 to 1,000 different CDR3 are classes.

Of equal sequences one is kept, of such with several labels none. Each class is split 80 to 20 once
(the first of five stratified folds), and all methods learn from the same part. Seconds are those
of the processor, for selecting, training with inner folds, and predicting the test part; the
alignments are made before. AUC is given for two classes, and the inner accuracy where a method has
inner folds.

Figures go to ``RESULTS/DATA.METHOD.tsv``; what is there is not run again.
"""

import argparse
import csv
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from aligned_folds import Aligned, Fold, configuration, learned, sequences_of
from auto import recipes_of
from kinds import KINDS, Labelled
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.numerics import FloatArray, limited
from kreinflow.compare.competitor import ComparedFold, quality
from kreinflow.compare.competitors import KmerSvm, WordsAlone
from kreinflow.evaluation.measured_rows import probabilities_of
from kreinflow.fitting.recipe_choice import choose_recipe
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import Partition, partition_of

BUDGETS = (60, 120, 500)
CLASS_SIZES = range(100, 1001)
"""Different CDR3 of an epitope that is a class."""

Figures = dict[str, Any]
CELLS: Mapping[str, Callable[[float], str]] = {
    "accuracy": lambda x: f"{100 * x:.1f}",
    "macro_f1": lambda x: f"{100 * x:.1f}",
    "auc": lambda x: f"{x:.3f}",
    "inner_accuracy": lambda x: f"{100 * x:.1f}",
    "alignments": lambda x: f"{x:,.0f}",
    "seconds": lambda x: f"{x:,.1f}",
}


def modlamp(table: str, packages: Path) -> Labelled:
    """Return a table of modlamp: its first line has a size and the names of the labels 0, 1."""
    path = packages / "modlamp" / "data" / table
    with path.open(newline="") as file:
        (_, _, *names), *rows = csv.reader(file)
    return [(residues.strip(), names[int(label)]) for residues, label in rows]


def mira(packages: Path) -> Labelled:
    """Return the CDR3 of the epitopes that :data:`CLASS_SIZES` allows, of tcrdist3's tables."""
    folder = packages / "tcrdist" / "data" / "covid19"
    found: Labelled = []
    for path in sorted(folder.glob("mira_epitope_*.tcrdist3.csv")):
        with path.open(newline="") as file:
            cdr3 = {row["cdr3_b_aa"] for row in csv.DictReader(file)}
        if len(cdr3) in CLASS_SIZES:
            epitope = path.name.split(".")[0].removeprefix("mira_epitope_")
            found += [(residues, epitope) for residues in sorted(cdr3)]
    return found


def distinct(pairs: Iterable[tuple[str, str]]) -> Labelled:
    """Return each sequence of one label once."""
    labels = defaultdict(set)
    for residues, label in pairs:
        labels[residues].add(label)
    return [(residues, own.pop()) for residues, own in sorted(labels.items()) if len(own) == 1]


LOADERS: dict[str, Callable[[Path], Labelled]] = {
    "amp": partial(modlamp, "AMPvsUniProt.csv"),
    "acp": partial(modlamp, "ACP_CancPPD_vs_Random.csv"),
    "mira": mira,
}


def load(name: str, packages: Path) -> Labelled:
    """Return a data set.

    Raises
    ------
    SystemExit
        If the packages are not there.
    """
    try:
        pairs = distinct(LOADERS[name](packages))
    except FileNotFoundError as error:
        raise SystemExit(f"{error.filename} is not there: see --help for the packages") from None
    if not pairs:
        raise SystemExit(f"{packages} has nothing of {name}: see --help for the packages")
    return pairs


def split(dataset: Dataset) -> tuple[Partition, str]:
    """Return a split of each class, 80 to 20, and the name of its fold."""
    settings = {"method": "stratified", "k": 5, "repeats": 1}
    partition = partition_of(assign_folds(settings, dataset, 1, Path()), dataset)
    return partition, partition.names[0]


def one_recipe(budget: int, lifted: bool) -> dict[str, Any]:
    """Return a config of one recipe."""
    recipe: dict[str, Any] = {
        "name": f"{'scores+words' if lifted else 'scores'}-{budget}",
        "transform": "log",
        "selector": "landmarks",
        "learner": "sf-lsm",
    }
    if lifted:
        recipe |= {"views": {"words": [1, 2, 3]}, "lift": {"kernel": "gaussian"}}
    selector = {"method": "kmeans++", "transform": "log", "candidates": 30, "budget": budget}
    return {
        "inner_folds": 5,
        "selectors": {"landmarks": selector},
        "learners": {"sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}},
        "recipes": [recipe],
    }


def measured(true: Iterable[str], predicted: Iterable[str], second: FloatArray) -> Figures:
    """Return accuracy, macro F1 and, of two classes, AUC.

    ``second`` grows with the chance of the second class; of more classes it is not looked at.
    """
    truth = list(true)
    classes = sorted(set(truth))
    auc = float("nan")
    if len(classes) == 2:
        auc = float(roc_auc_score([label == classes[1] for label in truth], second))
    found = quality(truth, list(predicted))
    return {"accuracy": found["accuracy"], "macro_f1": found["macro_f1"], "auc": auc}


def by_recipes(content: Mapping[str, Any], dataset: Dataset, scheme: ScoringScheme) -> Figures:
    """Return the figures of what the inner folds choose among the recipes of a config."""
    partition, fold = split(dataset)
    config = configuration("protein", content)
    start = time.process_time()
    trained = list(learned(Fold(dataset, partition, fold, scheme, config)))
    seconds = time.process_time() - start
    names = [str(figures["recipe"]) for figures, _ in trained]
    chosen = choose_recipe([figures for figures, _ in trained], names)
    figures, table = trained[names.index(chosen)]
    second = probabilities_of(table)[:, -1]
    return {
        **measured(table["true"], table["predicted"], second),
        "inner_accuracy": figures["inner_accuracy"],
        "alignments": figures["alignments"],
        "seconds": seconds,
        "chosen": chosen,
        "hyper_parameters": figures["hyper_parameters"],
    }


def by_words(
    kind: type[KmerSvm] | type[WordsAlone], dataset: Dataset, scheme: ScoringScheme
) -> Figures:
    """Return the figures of a competitor that aligns nothing."""
    partition, fold = split(dataset)
    rows = dataset.rows[partition.testing(fold)]
    queries = [dataset.sequences[row] for row in rows]
    competitor = kind(scheme, "protein")
    competitor.load()
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        competitor.fit(ComparedFold(dataset, partition, fold).training(), Path(folder), 1)
        predicted = [str(label) for label in competitor.predict(queries)]
        seconds = time.process_time() - start
    if isinstance(competitor, KmerSvm):
        second = competitor.pipeline.decision_function([q.decode() for q in queries])
    else:
        second = competitor.probabilities(queries)[:, -1]
    true = [dataset.row_labels[row] for row in rows]
    return measured(true, predicted, second) | {"alignments": 0.0, "seconds": seconds}


def by_nearest(dataset: Dataset, scheme: ScoringScheme) -> Figures:
    """Return the figures of the nearest of all training sequences, by raw scores."""
    partition, fold = split(dataset)
    known, asked = partition.training(fold), partition.testing(fold)
    scores = dataset.payload_as(Aligned).scores[np.ix_(asked, known)]
    labels = dataset.labels[known]
    names = np.array(dataset.classes)
    nearest = [scores[:, labels == code].max(axis=1) for code in (0, len(names) - 1)]
    return {
        **measured(
            names[dataset.labels[asked]].tolist(),
            names[labels[scores.argmax(axis=1)]].tolist(),
            nearest[1] - nearest[0],
        ),
        "alignments": float(known.sum()),
    }


def methods(config: Path | None) -> dict[str, Callable[[Dataset, ScoringScheme], Figures]]:
    """Return what is measured, by its name in the table."""
    if config is not None:
        content = recipes_of(config)
        recipes = [{**content, "recipes": [recipe]} for recipe in content["recipes"]]
        return {one["recipes"][0]["name"]: partial(by_recipes, one) for one in recipes}
    recipes = [one_recipe(budget, lifted) for budget in BUDGETS for lifted in (False, True)]
    return {
        "k-mer SVM": partial(by_words, KmerSvm),
        "words alone": partial(by_words, WordsAlone),
        "SW nearest": by_nearest,
        **{one["recipes"][0]["name"]: partial(by_recipes, one) for one in recipes},
        "auto": partial(by_recipes, {}),
    }


def main() -> None:
    """Run what is asked for, and print a table of each data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--data", nargs="+", choices=list(LOADERS), default=list(LOADERS))
    parser.add_argument("--config", type=Path, help="recipes in place of all methods here")
    parser.add_argument("--results", type=Path, default=Path("outside-benchmark"))
    asked = parser.parse_args()
    asked.results.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in asked.data:
        pairs = load(name, asked.packages)
        sizes = Counter(label for _, label in pairs)
        KINDS[name] = lambda _, pairs=pairs: pairs
        made: list[tuple[Dataset, ScoringScheme]] = []
        print(f"\n{name}: {len(pairs):,} sequences, {len(sizes)} classes\n")
        print("| method | accuracy | macro F1 | AUC | inner accuracy | alignments | seconds |")
        print("|---|---|---|---|---|---|---|")
        for method, measure in methods(asked.config).items():
            path = asked.results / f"{name}.{method.replace(' ', '-')}.tsv"
            if not path.exists():
                made = made or [sequences_of(name)]
                with limited(1, 4096):
                    figures = measure(*made[0])
                pd.DataFrame([figures]).to_csv(path, sep="\t", index=False)
            (row,) = pd.read_csv(path, sep="\t").to_dict("records")
            cells = [
                "" if np.isnan(row.get(key, np.nan)) else show(row[key])
                for key, show in CELLS.items()
            ]
            print(f"| {' | '.join([method, *cells])} |", flush=True)


if __name__ == "__main__":
    main()
