"""The automatic choice: what it may cost, and what it tries."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from data_sets import dataset_of
from kreinflow.config import auto as automatic
from kreinflow.config.configuration import complete_configuration
from kreinflow.landmarks.budgets import landmarks_wanted, pairs_with
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.scores import MatrixScores, transforms_of

pytestmark = pytest.mark.filterwarnings("ignore")  # tiny factors miss self-scores, and say so

N = 96
CONFIG = complete_configuration({"datasets": {"mine": {"source": {"type": "simulated"}}}})
PARTITION = Partition(groups=np.arange(N), folds=np.arange(N)[None, :] % 3)


def made_up(seed, spread=0.7):
    """Positive scores of unbalanced classes, and their codes."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(4), [48, 27, 15, 6])[random.permutation(N)]
    centres = 2 * random.standard_normal((4, 6))
    X = centres[codes] + spread * random.standard_normal((N, 6))
    K = np.round(400 * np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 12))
    return K, codes


@pytest.mark.parametrize("n", [100, 23_238, 23_239])
@pytest.mark.parametrize("k", [5, 10])
def test_there_are_landmarks_for_every_size_within_the_alignments(n, k):
    training, parts = n * (k - 1) // k, k + 1
    wanted = {
        name: landmarks_wanted(selector["budget"], training, classes=50, objects=n, parts=parts)
        for name, selector in CONFIG["selectors"].items()
    }
    assert list(wanted) == ["fewer", "few", "some", "many"]
    assert min(wanted.values()) >= min(50, training)
    assert wanted["fewer"] <= wanted["few"] <= wanted["some"] <= wanted["many"] <= training
    limit = 0.9 * CONFIG["auto"]["alignments"]
    assert pairs_with(min(wanted["many"] * parts, n), n) <= limit, "few and some are among them"
    if n * (n - 1) / 2 <= limit:
        assert wanted["many"] == min(training, 4000)


@pytest.mark.parametrize(
    "kind",
    [automatic.SEQUENCES, automatic.GLOBAL, automatic.GIVEN, automatic.ASYMMETRIC],
    ids=lambda kind: kind.prefix,
)
@pytest.mark.parametrize("seed", range(2))
def test_landmarks_of_each_set_are_among_those_of_the_next(kind, seed):
    """In each training part; the candidates that they are chosen by are the same for all."""
    K, codes = made_up(seed)
    if kind is automatic.ASYMMETRIC:
        K = K * np.random.default_rng(seed).uniform(0.8, 1, K.shape)
    dataset = replace(dataset_of(codes, Sequences((b"M" * 80,) * N)), classes=("a", "b", "c", "d"))
    selectors = automatic.comparison([kind], 10_000)["selectors"]
    assert len({str({**settings, "budget": None}) for settings in selectors.values()}) == 1
    transforms = transforms_of([kind.transform], CONFIG["transforms"], None)
    for fold in [*PARTITION.names, "all"]:
        training, parts = PARTITION.training(fold), training_parts(PARTITION)
        stage = LandmarkStage(dataset, MatrixScores(K), transforms, seed, training, fold, parts)
        sets = [
            set(stage.select(make_selector(settings))["row"]) for settings in selectors.values()
        ]
        assert all(smaller < larger for smaller, larger in pairwise(sets))
        assert sets[-1] <= set(np.flatnonzero(training))
        assert len(sets) == (4 if kind.lines is automatic.OF_SEQUENCES else 3)


@pytest.mark.parametrize("vectors", [None, "v.tsv"])
def test_of_several_labels_nothing_is_tried_that_gives_one(vectors):
    labels = {"table": "l.tsv", "multiple": "all"}
    sequences = {"type": "fasta", "fasta": "x.fasta"}
    matrix = {"type": "matrix", "matrix": "k.csv", "kind": "asymmetric"}
    config = complete_configuration(
        {
            "datasets": {
                "one": {"source": sequences | {"labels": {"table": "l.tsv"}}, "vectors": vectors},
                "several": {"source": sequences | {"labels": labels}, "vectors": vectors},
                "matrix": {"source": matrix | {"labels": labels}, "vectors": vectors},
            }
        }
    )
    by_name = {recipe["name"]: recipe for recipe in config["recipes"]}
    own = [by_name[name] for name in config["datasets"]["several"]["recipes"]]
    assert len(own) == len(config["datasets"]["matrix"]["recipes"]) == 6
    assert not any(recipe["cascade"] for recipe in own)
    assert {recipe["learner"] for recipe in own} == {"sf-lsm"}
    assert all(name.startswith("several-") for name in config["datasets"]["several"]["recipes"])
    assert set(config["datasets"]["one"]["recipes"]).isdisjoint(recipe["name"] for recipe in own)
