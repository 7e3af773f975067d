"""The automatic choice: what it may cost, and that it looks at no record that is tested."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from data_sets import dataset_of
from kreinflow.answering.record_scores import ScoreCache
from kreinflow.config import auto as automatic
from kreinflow.config.configuration import complete_configuration
from kreinflow.fitting.recipe_choice import choose_recipe
from kreinflow.landmarks.budgets import landmarks_wanted, pairs_with
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.scores import MatrixScores, transforms_of
from small_inputs import training_on

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


def bytes_of(classifier):
    """All that is learned, the records that a cascade may ask among it."""
    header, arrays = classifier.to_parts()
    return repr(header), {name: array.tobytes() for name, array in arrays.items()}


def inner_figures(K, codes, fold):
    """What the training part of a fold says of each recipe, and the landmarks of all."""
    dataset = replace(dataset_of(codes, Sequences((b"M" * 80,) * N)), classes=("a", "b", "c", "d"))
    scores = MatrixScores(K)
    transforms = transforms_of(
        ["log", "normalised", "evalue"],
        {**CONFIG["transforms"], "evalue": {"lambda": 0.267, "K": 0.041}},
        None,
    )
    seed, training, parts = CONFIG["seed"], PARTITION.training(fold), training_parts(PARTITION)
    stage = LandmarkStage(dataset, scores, transforms, seed, training, fold, parts)
    tables = {
        name: stage.select(make_selector(settings))
        for name, settings in CONFIG["selectors"].items()
    }
    figures = []
    for name, table in tables.items():
        training = training_on(table, stage, CONFIG["selectors"][name], PARTITION, CONFIG)
        asked = ScoreCache(lambda rows, others: K[rows[:, None], others], N, symmetric=True)
        training = replace(training, cache=asked, evidence=transforms["evalue"])
        own = [recipe for recipe in CONFIG["recipes"] if recipe["selector"] == name]
        recipes = training.train_recipes(own, CONFIG["learners"], transforms, [])
        figures += [
            {"recipe": r["name"], **trained.figures, "model": bytes_of(trained.classifier)}
            for r, trained in recipes
        ]
    order = [recipe["name"] for recipe in CONFIG["recipes"]]
    return tables, figures, choose_recipe(figures, order)


def test_the_choice_is_the_same_when_the_tested_records_are_scrambled():
    """Their scores and labels are others; landmarks, inner figures, models and recipe stay."""
    K, codes = made_up(1)
    random = np.random.default_rng(3)
    tested = PARTITION.testing("r0f1")
    noise, _ = made_up(5, spread=3.0)
    scrambled = np.where(tested[:, None] | tested, noise, K)
    np.fill_diagonal(scrambled, np.diagonal(K))
    others = np.where(tested, random.permutation(codes), codes)
    assert (others != codes).any()
    plain, again = (
        inner_figures(scores, labels, "r0f1")
        for scores, labels in ((K, codes), (scrambled, others))
    )
    for name, table in plain[0].items():
        assert table.equals(again[0][name])
        assert not tested[table["row"]].any()
    assert plain[1:] == again[1:]
    asking = [figures for figures in plain[1] if figures["cascade"] not in ("", "first stage")]
    assert asking
    assert all("records_rows" in figures["model"][1] for figures in asking)
    assert len(plain[1]) == len(automatic.names(automatic.SEQUENCES))
    assert len({figures["landmarks"] for figures in plain[1]}) > 1, "budgets differ"


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
    transforms = transforms_of([kind.selection], CONFIG["transforms"], None)
    for fold in [*PARTITION.names, "all"]:
        training, parts = PARTITION.training(fold), training_parts(PARTITION)
        stage = LandmarkStage(dataset, MatrixScores(K), transforms, seed, training, fold, parts)
        sets = [
            set(stage.select(make_selector(settings))["row"]) for settings in selectors.values()
        ]
        assert all(smaller < larger for smaller, larger in pairwise(sets))
        assert sets[-1] <= set(np.flatnonzero(training))
        assert len(sets) == (4 if kind.lines is automatic.OF_SEQUENCES else 3)


@pytest.mark.parametrize(
    "kind",
    [automatic.SEQUENCES, automatic.NUCLEOTIDES, automatic.GLOBAL, automatic.GIVEN],
    ids=lambda kind: kind.prefix,
)
def test_cascades_are_tried_where_sequences_are_aligned(kind):
    recipes = automatic.comparison([kind], 10_000)["recipes"]
    asking = [recipe["selector"] for recipe in recipes if "cascade" in recipe]
    aligned = kind is not automatic.GIVEN
    assert asking == [f"{kind.prefix}{name}" for name in (("fewer", "few") if aligned else ())]
    assert len({recipe["name"] for recipe in recipes}) == len(recipes) == len(kind.lines)


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
