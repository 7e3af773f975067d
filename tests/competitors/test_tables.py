"""The tables and the page of the comparison, and what a fold of it measures."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.competitors.competitor import Competitor, UnavailableError
from kreinflow.competitors.methods import OURS
from kreinflow.competitors.ours import training_alignments
from kreinflow.competitors.page import render_page
from kreinflow.competitors.run import FOLD_COLUMNS, quality, run_competitor
from kreinflow.competitors.tables import COMPARE_COLUMNS, compare_table, fold_table
from kreinflow.sequences.dataset import load_dataset
from kreinflow.sequences.partition import partition_of

SCHEME = ScoringScheme(load_substitution_matrix("BLOSUM62"))
FOLDS = {"method": "stratified", "k": 2, "repeats": 1}


class Constant(Competitor):
    """Says the same of all but the shortest query, of which it says nothing."""

    name = "blast"
    proteins_only = True

    @classmethod
    def version(cls):
        return "1"

    def fit(self, train, folder, threads):
        self.label = train.labels[0]
        self.train = train

    def predict(self, queries):
        self.queries = queries
        shortest = min(map(len, queries))
        return [None if len(query) == shortest else self.label for query in queries]

    def model_bytes(self):
        return 7


@pytest.fixture(scope="module")
def dataset():
    source = {"type": "simulated", "families": 3, "sequences": 30, "min_class_size": 2}
    return load_dataset(source, None, SCHEME.matrix.alphabet, 1)


@pytest.fixture(scope="module")
def partition(dataset):
    folds = np.arange(len(dataset.ids)) % 2
    table = pd.DataFrame({"id": dataset.ids, "group": dataset.rows, "repeat": 0, "fold": folds})
    return partition_of(table, dataset)


def test_unassigned_is_wrong_and_no_class():
    found = quality(["a", "a", "b", "b"], ["a", "", "b", "a"])
    assert found["accuracy"] == 0.5
    assert found["unassigned"] == 0.25
    # a: precision 1/2, recall 1/2; b: precision 1, recall 1/2
    assert found["macro_f1"] == pytest.approx((0.5 + 2 / 3) / 2)


def test_a_fold_learns_from_its_training_part_alone(dataset, partition, tmp_path):
    competitor = Constant(SCHEME, "protein")
    ticks = iter([10.0, 12.0, 15.0])
    figures, predictions = run_competitor(
        competitor, dataset, partition, "r0f1", tmp_path, 1, lambda: next(ticks)
    )
    tested = {dataset.sequences[row] for row in dataset.rows[partition.testing("r0f1")]}
    assert set(competitor.queries) == tested
    assert tested.isdisjoint(competitor.train.sequences)
    assert len({*tested, *competitor.train.sequences}) == len(dataset.sequences)
    known = dict(zip(dataset.sequences, dataset.row_labels, strict=True))
    assert [known[s] for s in competitor.train.sequences] == list(competitor.train.labels)
    assert list(figures) == list(FOLD_COLUMNS)
    assert figures["train_seconds"] == 2
    assert figures["query_seconds"] == 3000 / len(tested)
    assert figures["records"] == len(predictions) == partition.testing("r0f1").sum()
    right = predictions["true"] == predictions["predicted"]
    assert figures["accuracy"] == right.mean()


class Missing(Constant):
    @classmethod
    def version(cls):
        raise UnavailableError("it is not on PATH")


class Broken(Constant):
    def predict(self, queries):
        raise UnavailableError("it ended with code 1: no")


@pytest.mark.parametrize(
    ("kind", "molecule", "reason"),
    [
        (Missing, "protein", "it is not on PATH"),
        (Broken, "protein", "it ended with code 1: no"),
        (Constant, "nucleotide", "for proteins only"),
    ],
)
def test_what_cannot_run_is_a_row_with_its_reason(
    dataset, partition, tmp_path, kind, molecule, reason
):
    figures, predictions = run_competitor(
        kind(SCHEME, molecule), dataset, partition, "r0f0", tmp_path, 1
    )
    assert figures["reason"] == reason
    assert np.isnan(figures["accuracy"])
    assert predictions.empty


def rows(method, accuracies, reason="", **more):
    return [
        pd.DataFrame(
            [
                dict.fromkeys(FOLD_COLUMNS, 1.0)
                | {"method": method, "repeat": 0, "fold": fold, "records": 10}
                | {"accuracy": accuracy, "version": "v", "reason": reason, **more}
            ]
        )
        for fold, accuracy in enumerate(accuracies)
    ]


def made_up():
    parts = {
        "random": [
            *rows("diamond", ["", ""], "<b>missing</b>", version=""),
            *reversed(rows("blast", [0.5, 0.7])),
            *rows(OURS, [0.9, 1.0]),
        ],
        "homology-aware": rows("blast", [0.25]),
    }
    return fold_table(parts)


def test_means_and_deviations_are_those_of_the_folds():
    folds = made_up()
    assert folds["method"].tolist()[:4] == [OURS, OURS, "blast", "blast"]
    assert folds["fold"].tolist()[:4] == [0, 1, 0, 1]
    table = compare_table(folds)
    assert list(table.columns) == list(COMPARE_COLUMNS)
    assert table["method"].tolist() == [OURS, "blast", "diamond", "blast"]
    assert table["tested_folds"].tolist() == [2, 2, 0, 1]
    np.testing.assert_allclose(table["accuracy_mean"], [0.95, 0.6, np.nan, 0.25])
    np.testing.assert_allclose(table["accuracy_sd"], [0.05 * 2**0.5, 0.1 * 2**0.5, np.nan, np.nan])
    assert table["reason"].tolist() == ["", "", "<b>missing</b>", ""]


def test_the_page_shows_each_row_and_escapes_what_it_prints():
    page = render_page({"a & b": compare_table(made_up())}, 1)
    assert "a &amp; b" in page
    assert "95.00 ± 7.07" in page
    assert "not run: &lt;b&gt;missing&lt;/b&gt;" in page
    assert page.count('class="best"') == 1
    assert page.count("<script") == 1  # sorts tables


def test_alignments_of_the_training_part_are_counted(dataset, partition):
    n = int(partition.training("r0f0").sum())
    sizes = np.bincount(dataset.labels[partition.training("r0f0")])

    def count(**selector):
        return training_alignments(dataset, partition, "r0f0", selector, 4)

    assert count() == 4 * n
    assert count(candidates=None) == 4 * n + (sizes**2).sum()
    assert count(candidates=2) == 4 * n + 2 * n
    assert count(sketch=3) == 4 * n + 3 * n
