"""What the levels of classes that are paths give, beside classes that know nothing of each other.

    python benchmarks/levels.py --seeds 10          prints the figures of docs/methods.md

Two data sets: simulated families of superfamilies, made anew from each seed, and the domains of the
demonstration, by clan and family. Each is tried with a linear learner and with a lift, on three
folds that are drawn from each seed. Of all landmarks there are a tenth of the training records.

* One level up: the accuracy of the likeliest node of the first level, whose probability is the sum
  of its classes; of the first part of the likeliest class; and of a classifier that was trained on
  the first parts alone.
* Answers: how many are answered at a level or below it, and how many of these are right there,
  beside ``back_off``. With plain probabilities no threshold is raised by the inner folds.
* Equal coverage: as many records as are answered at all are kept by the largest probabilities of
  classes, as a reject threshold keeps them. The errors are counted in two ways: an answer is wrong
  if its node is, a kept label if the label is; and both at the first level alone.
* Left out: each family, and each clan or superfamily of several, is unknown in turn, and its
  records are answered by a model of all others: with a right node, which is its clan or superfamily
  alone; with another family of it; with something else, or with nothing. So are the records of each
  third of all families. A model that tells unknown objects (``unknown``) is beside one that does
  not.
"""

import argparse
import gzip
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from Bio import SeqIO
from numpy.typing import NDArray

from aligned_folds import Aligned, Fold, aligned, configuration, learned
from kinds import Labelled
from kreinflow.answering.levels import Levels, lineages
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.numerics import FloatArray, IntArray, limited
from kreinflow.evaluation.measured_rows import probabilities_of
from kreinflow.fitting.run import objects_of
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import ALL, Partition, partition_of
from kreinflow.sequences.simulation import SUPERFAMILY, simulate_families

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "examples" / "pfam_kin"
BACK_OFFS = (0.8, 0.95)
FALSE_ALARMS, OVERCLASSIFICATION = 0.01, 0.05
FAMILIES, SEQUENCES = 12, 480
LEFT_OUT = {"simulated": 3, "pfam_kin": 1}
"""Seeds with which families are left out; the demonstration is the same for all."""


def simulated(seed: int) -> Labelled:
    """Return families of superfamilies, labelled as SCOP does."""
    return [
        (s.residues.decode(), f"{(int(s.label[6:]) - 1) // SUPERFAMILY + 1}/{s.label}")
        for s in simulate_families(FAMILIES, SEQUENCES, seed)
    ]


def pfam_kin(seed: int) -> Labelled:
    """Return the domains of the demonstration, by clan and family."""
    table = pd.read_csv(DATA / "pfam_kin.tsv", sep="\t").set_index("id")
    with gzip.open(DATA / "pfam_kin.fasta.gz", "rt") as file:
        return [
            (str(r.seq), f"{table.loc[r.id, 'clan']}/{table.loc[r.id, 'family']}")
            for r in SeqIO.parse(file, "fasta")
        ]


def of_first_level(dataset: Dataset) -> Dataset:
    """Return the data set with the first parts of its labels."""
    parts = [label.split("/")[0] for label in dataset.classes]
    classes = tuple(sorted(set(parts)))
    codes = np.array([classes.index(part) for part in parts])
    return replace(dataset, classes=classes, labels=codes[dataset.labels])


def configured(levels: dict[str, Any] | None) -> dict[str, Any]:
    """Return the config of both recipes."""
    way = {"method": "kmeans++", "transform": "log", "candidates": 30, "budget": {"share": 0.1}}
    recipe = {"transform": "log", "selector": "some"}
    lift = {"views": {"words": [1, 2, 3]}, "lift": {"kernel": "gaussian"}}
    config = configuration(
        "protein",
        {
            "inner_folds": 3,
            "selectors": {"some": way},
            "learners": {
                "ikfd": {
                    "method": "ny_ikfd",
                    "scatter": "pooled",
                    "bias": "least_squares",
                    "ridge": "inner",
                },
                "sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"},
            },
            "recipes": [
                {**recipe, "name": "linear", "learner": "ikfd"},
                {**recipe, "name": "lifted", "learner": "sf-lsm", **lift},
            ],
        },
    )
    config["datasets"]["it"]["levels"] = levels
    return config


def predictions_of(
    dataset: Dataset, scheme: Any, partition: Any, levels: dict[str, Any] | None
) -> pd.DataFrame:
    """Return the predictions of all folds."""
    config = configured(levels)
    folds = [Fold(dataset, partition, name, scheme, config) for name in partition.names]
    return pd.concat([table for fold in folds for _, table in learned(fold)], ignore_index=True)


def rows_of(pairs: Labelled, seed: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each recipe and ``back_off``."""
    dataset, scheme = aligned(pairs, "protein")
    settings = {"method": "stratified", "k": 3, "repeats": 1}
    partition = partition_of(assign_folds(settings, dataset, seed, Path()), dataset)
    above = predictions_of(of_first_level(dataset), scheme, partition, None)
    for back_off in BACK_OFFS:
        asked = {"separator": "/", "back_off": back_off}
        table = predictions_of(dataset, scheme, partition, asked)
        for recipe, own in table.groupby("recipe", sort=False):
            first = above[above["recipe"] == recipe]
            yield {"recipe": recipe, "back_off": back_off} | measured(own, dataset, first, back_off)


def measured(
    table: pd.DataFrame, dataset: Dataset, first: pd.DataFrame, back_off: float
) -> dict[str, float]:
    """Return the shares of one recipe."""
    classes = dataset.classes
    levels = Levels.of(classes, "/", back_off)
    paths, leaf = lineages(levels.tree), levels.tree.leaf
    p = probabilities_of(table)
    of_class, of_node = pd.Index(classes), pd.Index(levels.tree.nodes)
    true = paths[leaf[of_class.get_indexer(table["true"])]]
    label = paths[leaf[of_class.get_indexer(table["predicted"])]]
    told = paths[of_node.get_indexer(table["node"])]
    plain = paths[levels.nodes(p).node]
    likeliest, _ = levels.likeliest(p)
    found = {
        "accuracy": np.mean(label[:, 2] == true[:, 2]),
        "up: sum": np.mean(likeliest[:, 1] == true[:, 1]),
        "up: label": np.mean(label[:, 1] == true[:, 1]),
        "up: trained": np.mean(first["true"] == first["predicted"]),
    }
    for name, answered in (("", told), ("plain ", plain)):
        for level in (1, 2):
            some = answered[:, level] >= 0
            found[f"{name}answered {level}"] = some.mean()
            right = answered[some, level] == true[some, level]
            found[f"{name}right {level}"] = right.mean() if some.any() else np.nan
    some = told[:, 1] >= 0
    kept = np.zeros(len(some), dtype=bool)
    kept[np.argsort(-p.max(axis=1), kind="stable")[: some.sum()]] = True
    node_right = ((told == true) | (told < 0)).all(axis=1)
    found["wrong answers"] = np.mean(~node_right[some])
    found["wrong labels kept"] = np.mean(label[kept, 2] != true[kept, 2])
    found["wrong answers, level 1"] = np.mean(told[some, 1] != true[some, 1])
    found["wrong labels kept, level 1"] = np.mean(label[kept, 1] != true[kept, 1])
    return found


def left_out(dataset: Dataset, seed: int) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield what is not known in turn, and its records."""
    firsts = np.array([label.split("/")[0] for label in dataset.classes])
    own = firsts[dataset.labels]
    for first in np.unique(firsts):
        families = np.flatnonzero(firsts == first)
        if len(families) > 1:
            for code in families:
                yield "a family of several", dataset.labels == code
        yield "all families of a first level", own == first
    settings = {"method": "stratified", "k": 3, "repeats": 1}
    partition = partition_of(assign_folds(settings, dataset, seed, Path()), dataset)
    for fold in partition.names:
        yield "a third of each family", partition.testing(fold)


def unknown_rows(pairs: Labelled, back_off: float, seed: int) -> Iterator[dict[str, Any]]:
    """Yield what becomes of each record that is left out, by recipe, without and with p-values."""
    dataset, scheme = aligned(pairs, "protein")
    config = configured({"separator": "/", "back_off": back_off})
    scores, objects = dataset.payload_as(Aligned).scores, objects_of(dataset)
    names = np.array(dataset.classes, dtype=object)
    for what, mask in left_out(dataset, seed):
        left, out = np.flatnonzero(~mask), np.flatnonzero(mask)
        some = _of(dataset, left)
        partition = Partition(some.rows, np.empty((0, len(left)), dtype=np.int64))
        fold = Fold(some, partition, ALL, scheme, config)
        (table,) = fold.tables().values()
        run = fold.run(table)
        rows = left[table["row"].to_numpy()]
        training = fold.training(run, run.landmarks(table))
        strangers = run.strangers(training.part, scheme, config["seed"])
        training = replace(
            training,
            cache=run.pair_scores(scheme, "auto", 1, strangers),
            false_alarms=FALSE_ALARMS,
            overclassification=OVERCLASSIFICATION,
            strangers=strangers,
        )
        for recipe, trained in fold.trained(training, config["recipes"]):
            classifier = trained.classifier
            assert classifier.levels is not None
            assert classifier.records is not None
            known = left[classifier.records.rows]

            def ask(
                places: IntArray, records: IntArray, own: IntArray = out, known: IntArray = known
            ) -> FloatArray:
                return scores[own[places][:, None], known[records]]

            query = Query(
                scores[np.ix_(out, rows)],
                scores[out, out],
                dataset.lengths[out].astype(np.float64),
                objects.take(out),
                ask,
            )
            answers = classifier.answer(query)
            paths = np.array(classifier.levels.tree.nodes, dtype=object)
            for told, deepest in (("levels", None), ("and unknown", answers.deepest)):
                nodes = classifier.levels.nodes(answers.probabilities, deepest)
                for true, node in zip(names[dataset.labels[out]], paths[nodes.node], strict=True):
                    if not node:
                        answer = "nothing"
                    elif node in (true, true.split("/")[0]):
                        answer = "right: " + ("label" if "/" in node else "first level")
                    else:
                        sibling = node.split("/")[0] == true.split("/")[0]
                        answer = "another family of it" if sibling else "something else"
                    yield {"out": what, "recipe": recipe["name"], "told": told, "answer": answer}


def _of(dataset: Dataset, places: Any) -> Dataset:
    """Return some records, which are rows of their own, and their classes."""
    codes, labels = np.unique(dataset.labels[places], return_inverse=True)
    whole = dataset.payload_as(Aligned)
    sequences = tuple(whole.residues[place] for place in places)
    return replace(
        dataset,
        ids=tuple(dataset.ids[place] for place in places),
        labels=labels,
        classes=tuple(dataset.classes[code] for code in codes),
        rows=np.arange(len(places)),
        digests=tuple(dataset.digests[place] for place in places),
        payload=Aligned(sequences, whole.scores[np.ix_(places, places)]),
    )


KINDS = {"simulated": simulated, "pfam_kin": pfam_kin}


def _columns(table: pd.DataFrame) -> tuple[list[pd.Series], pd.Series]:
    return [table[name] for name in ("out", "recipe", "told")], table["answer"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    warnings.filterwarnings("ignore", "the factor misses")  # few landmarks, on purpose
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for kind in given.kinds:
        answers: list[dict[str, Any]] = []
        for seed in range(1, given.seeds + 1):
            with limited(1, 2048):
                own = rows_of(KINDS[kind](seed), seed)
                rows += [{"data": kind, "seed": seed} | row for row in own]
                if seed <= LEFT_OUT[kind]:
                    answers += unknown_rows(KINDS[kind](seed), BACK_OFFS[-1], seed)
        table = pd.DataFrame([row for row in rows if row["data"] == kind])
        figures = table.drop(columns=["data", "seed"]).groupby(["recipe", "back_off"], sort=False)
        mean, error = 100 * figures.mean(), 100 * figures.sem().fillna(0)
        shown = mean.round(2).astype(str) + " ± " + error.round(2).astype(str)
        if answers:
            found = pd.crosstab(*_columns(pd.DataFrame(answers)), normalize="index")
            print(f"{kind}, left out: % of the records\n{(100 * found).round(1).to_string()}\n")
        print(
            f"{kind}, {given.seeds} seeds: %, mean ± standard error\n{shown.T.to_string()}\n",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
