"""The runner against dense loops by hand, and what it must not see."""

from dataclasses import replace

import numpy as np
import pytest

from kreinflow.config.configuration import complete_configuration
from kreinflow.learners.fisher import fisher_path
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import Partition, partition_of
from kreinflow.sequences.sources.registry import make_source
from papers.cross_validation import around, cross_validate
from small_inputs import matrix_source

SELECTORS = {
    "all": {"method": "all"},
    "meb": {"method": "meb", "transform": "raw", "candidates": None},
    "uniform": {"method": "uniform", "budget": "meb"},
}
LEARNERS = {
    "ikfd": {"method": "ny_ikfd"},
    "ridge": {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares", "ridge": "inner"},
    "pcvm": {"method": "ny_pcvm", "basis": "all"},
}


def recipe(name, selector="meb", learner="ikfd", correction="none", rank=1.0):
    names = {"name": name, "selector": selector, "learner": learner}
    return {**names, "correction": correction, "transform": "raw", "rank": rank}


RECIPES = [
    recipe("all", "all", rank=5),
    recipe("all-clip", "all", correction="clip", rank=5),
    recipe("meb"),
    recipe("meb-flip", correction="flip"),
    recipe("pcvm-meb", learner="pcvm"),
    recipe("ridge-uniform", "uniform", "ridge"),
]

SIGNS = np.array([1, 1, 1, -1, -1])


def vectors():
    """Three classes that overlap, in a space with three positive and two negative directions."""
    rng = np.random.default_rng(3)
    centres = np.repeat(1.5 * rng.normal(size=(3, 5)), 20, axis=0)
    X = (centres + rng.normal(size=centres.shape)) * [2, 2, 2, 0.05, 0.05]
    return X, np.repeat(["a", "b", "c"], 20)


def scores_of(kind, X):
    if kind == "similarity":
        return (X * SIGNS) @ X.T
    D = ((X[:, None] - X) ** 2 * SIGNS).sum(axis=2)
    assert D.min() >= 0
    return D


def opened(folder, kind, change=lambda scores: scores):
    """The data set of these scores, its folds, and the whole config."""
    X, labels = vectors()
    np.save(folder / "scores.npy", change(scores_of(kind, X)))
    (folder / "labels.txt").write_text("\n".join(labels) + "\n")
    source = matrix_source(kind, "scores.npy", "labels.txt")
    config = {"datasets": {"mine": {"source": source, "folds": {"k": 4, "repeats": 2}}}, "seed": 2}
    config |= {"selectors": SELECTORS, "learners": LEARNERS, "recipes": RECIPES}
    whole = complete_configuration(config)
    settings = whole["datasets"]["mine"]
    dataset = make_source(settings["source"], folder).load(None, 2)
    folds = assign_folds(settings["folds"], dataset, 2, folder)
    return dataset, partition_of(folds, dataset), whole


@pytest.fixture
def dissimilar(tmp_path):
    return opened(tmp_path, "squared_dissimilarity")


def measured(dataset, partition, whole, recipes=None, **more):
    config = whole | {"recipes": recipes or whole["recipes"], "seed": 2, "inner_folds": 3}
    return cross_validate(dataset, partition, config, **more)


def dense_accuracy(S, labels, training, clip, rank=5):
    """Accuracy with all training rows as landmarks: the eigenpairs of their block of S."""
    block = S[np.ix_(training, training)]
    values, V = np.linalg.eigh((block + block.T) / 2)
    kept = np.argsort(-np.abs(values))[:rank]
    values, V = values[kept], V[:, kept]
    if clip:
        V, values = V[:, values > 0], values[values > 0]
    Z = S[:, training] @ V / np.sqrt(np.abs(values))
    (fisher,) = fisher_path(Z[training], np.sign(values), labels[training], labels.max() + 1)
    return np.mean(fisher.decide(Z[~training]).argmax(axis=1) == labels[~training])


def centred(D, training):
    """Similarities around the mean of the training rows, with the dense projection."""
    n = len(D)
    P = np.eye(n) - np.outer(np.ones(n), training / training.sum())
    return -P @ D @ P.T / 2


@pytest.mark.parametrize(
    ("kind", "centring"),
    [
        ("similarity", "landmarks"),
        ("squared_dissimilarity", "landmarks"),  # all training rows are landmarks: one mean
        ("squared_dissimilarity", "training"),
    ],
)
def test_accuracies_are_those_of_a_dense_loop(tmp_path, kind, centring):
    dataset, partition, whole = opened(tmp_path, kind)
    table = measured(dataset, partition, whole, centring=centring)
    assert table["recipe"].unique().tolist() == [r["name"] for r in RECIPES]
    assert (table.groupby("recipe").size() == 8).all()
    assert (table["failure"] == "").all()
    for name in ("all", "all-clip"):
        lines = table[table["recipe"] == name]
        for fold, accuracy in zip(partition.names, lines["accuracy"], strict=True):
            training = partition.training(fold)
            S = dataset.matrix if kind == "similarity" else centred(dataset.matrix, training)
            assert accuracy == dense_accuracy(S, dataset.labels, training, name == "all-clip")


def test_centring_the_factor_is_the_same_for_a_kernel_of_full_rank(dissimilar):
    """With all training rows as landmarks and all eigenvalues, eq. 6 of gisbrecht2015 is exact."""
    recipes = [recipe("all", "all", correction="flip")]
    ways = [
        measured(*dissimilar, recipes, centring=way) for way in ("landmarks", "training", "factor")
    ]
    for table in ways:
        assert (table["positive"] == 3).all()
        assert (table["negative"] == 2).all()
        assert table["accuracy"].tolist() == ways[0]["accuracy"].tolist()


def test_similarities_around_a_mean_are_inner_products_there(dissimilar):
    X, _ = vectors()
    X = X - X[3:12].mean(axis=0)
    found = around(np.arange(3, 12), dissimilar[0])
    assert found.kind == "similarity"
    np.testing.assert_allclose(found.matrix, (X * SIGNS) @ X.T, atol=1e-12)


@pytest.mark.parametrize("centring", ["landmarks", "training", "factor"])
def test_training_does_not_see_the_test_part(dissimilar, centring):
    """Other scores and labels in the test part change what is measured, and nothing else."""
    dataset, partition, whole = dissimilar
    one = Partition(partition.groups, np.where(partition.folds[:1] == 0, 0, -1))
    tested = one.testing("r0f0")
    rng = np.random.default_rng(0)
    matrix, labels = dataset.matrix.copy(), dataset.labels.copy()
    noise = rng.uniform(1, 9, size=matrix.shape)
    matrix[tested], matrix[:, tested] = noise[tested], noise[tested].T
    np.fill_diagonal(matrix, 0)
    labels[tested] = rng.permutation(labels[tested])
    before = measured(dataset, one, whole, centring=centring)
    payload = replace(dataset.payload, values=matrix)
    changed = replace(dataset, payload=payload, labels=labels)
    after = measured(changed, one, whole, centring=centring)
    measures = ["accuracy", "seconds_training", "seconds_testing"]
    assert before.drop(columns=measures).equals(after.drop(columns=measures))
    assert (before["accuracy"] > after["accuracy"]).all()


def test_what_is_told_of_a_fold(tmp_path):
    table = measured(*opened(tmp_path, "similarity")).set_index("recipe")
    assert (table.loc["all", "landmarks"] == 45).all()
    assert (table.loc["all", "basis_used"] == 1).all()
    np.testing.assert_array_equal(
        table.loc["meb", "landmarks"], table.loc["ridge-uniform", "landmarks"]
    )
    assert table.loc["ridge-uniform", "hyper_parameters"].str.fullmatch(r'\{"ridge": \S+\}').all()
    assert (table.loc["pcvm-meb", "basis_used"] < 1).all()
    assert (table.loc["meb", "negative"] > 0).all()
    assert ((table["negative_fraction"] > 0) == (table["negative"] > 0)).all()
    assert (table[["seconds_training", "seconds_testing"]] > 0).all(axis=None)


def test_a_recipe_that_fails_leaves_the_others_alone(tmp_path):
    negative = opened(tmp_path, "similarity", lambda scores: -np.abs(scores) - np.eye(60))
    recipes = [recipe("clip", correction="clip", rank=1), recipe("flip", rank=1)]
    table = measured(*negative, recipes).set_index("recipe")
    assert table.loc["clip", "failure"].str.contains("leaves nothing").all()
    assert table.loc["clip", "accuracy"].isna().all()
    assert (table.loc["flip", "failure"] == "").all()
