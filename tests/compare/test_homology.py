"""Kinds of folds, and folds between which no sequences are alike."""

from dataclasses import replace

import numpy as np
import pytest

from data_sets import dataset_of
from kreinflow.base.errors import InputError
from kreinflow.compare.homology import homology_folds
from kreinflow.compare.kinds import HOMOLOGY, kind_of_folds, twins_of
from kreinflow.config.preflight import check_budgets
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import partition_of
from kreinflow.sequences.payload import Sequences
from small_inputs import families

OTHERS = {"k": 3, "repeats": 2, "identity": 0.9, "column": None, "table": None}
OTHERS |= {"clustering": "kmer"}
PART = {"source": {"type": "simulated"}, "folds": {"method": "stratified", **OTHERS}}


def test_a_data_set_has_a_twin_for_each_kind_that_it_lacks():
    twins = twins_of({"a": PART, "m": {"source": {"type": "matrix"}, "folds": {}}})
    assert list(twins) == ["a"]
    several = {"type": "fasta", "fasta": "x.fasta", "labels": {"table": "t", "multiple": "all"}}
    assert twins_of({"a": PART, "b": {**PART, "source": several}}) == twins
    (twin,) = twins["a"]
    assert twin == "a+homology-aware"
    folds = twins["a"][twin]["folds"]
    assert kind_of_folds(folds) == HOMOLOGY
    assert (folds["k"], folds["repeats"]) == (3, 2)
    own = {**PART, "folds": PART["folds"] | {"method": "grouped"}}
    assert kind_of_folds(own["folds"]) == "grouped at 90% identity"
    assert list(twins_of({"a": own})["a"]) == ["a+random", "a+homology-aware"]
    # Its own clusters are others: identity as a share of the shorter sequence, by shared words.
    alike = {**PART, "folds": own["folds"] | {"identity": 0.4}}
    assert list(twins_of({"a": alike})["a"]) == ["a+random", "a+homology-aware"]
    by_column = own["folds"] | {"column": "taxonomy"}
    assert kind_of_folds(by_column) == "grouped by taxonomy"
    assert kind_of_folds(own["folds"] | {"method": "table"}) == "own table"


def clustered(clusters_of):
    """Classes of so many clusters, of three sequences each."""
    names = [f"{name}{i}" for name, clusters in clusters_of.items() for i in range(clusters)]
    records = families(1, names, each=3, changed=0.1)
    classes = tuple(clusters_of)
    codes = np.array([classes.index(cluster[0]) for _, cluster, _ in records])
    payload = Sequences(tuple(residues.encode() for _, _, residues in records))
    ids = tuple(id for id, _, _ in records)
    return replace(dataset_of(codes, payload), ids=ids, classes=classes)


@pytest.fixture
def dataset():
    """Two classes of three clusters each, one of a single cluster, one of two."""
    return clustered({"a": 3, "b": 3, "c": 1, "d": 2})


def test_two_classes_of_one_cluster_each_are_never_tested():
    dataset = clustered({"a": 1, "b": 1})
    table = homology_folds(dataset, 2, 2, 1)
    assert set(table["fold"]) == {-1}
    check_budgets(dataset, partition_of(table, dataset), {"all": {"budget": 6}})
    with pytest.raises(InputError, match="more than the 6 distinct"):
        check_budgets(dataset, partition_of(table, dataset), {"all": {"budget": 7}})


def test_clusters_share_a_fold_and_each_class_is_known_where_it_is_tested(dataset):
    with pytest.raises(InputError, match="than k = 3 folds; .c. has 1"):
        assign_folds({**OTHERS, "method": "grouped", "identity": 0.4}, dataset, 1, None)
    table = homology_folds(dataset, 3, 2, 1)
    assert table["id"].tolist() == [*dataset.ids, *dataset.ids]
    table["cluster"] = table["id"].str[:2]
    table["class"] = table["id"].str[:1]
    for _, part in table.groupby("repeat"):
        assert (part.groupby("cluster")["fold"].nunique() == 1).all()
        assert part.groupby("group")["cluster"].nunique().tolist() == [1] * 9
        by_class = part.groupby("class")["fold"].agg(lambda folds: sorted(set(folds)))
        assert by_class["a"] == by_class["b"] == [0, 1, 2]
        assert by_class["c"] == [-1]
        assert len(by_class["d"]) == 2


def test_a_data_set_with_the_name_of_a_twin_is_refused():
    with pytest.raises(InputError, match="'A.homology-aware' is the name that the"):
        twins_of({"a": PART, "A+homology-aware": PART})
