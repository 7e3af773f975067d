"""Words alone, held against the dense formula, and that nothing else of a sequence counts."""

import numpy as np
import pytest

from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.answering.query_and_answers import Query
from kreinflow.compare.competitor import LabelledSequences
from kreinflow.compare.competitors import LENGTHS, WordsAlone
from kreinflow.sequences.simulation import simulate_families
from kreinflow.views.objects import Viewed, Words

SCHEME = ScoringScheme(load_substitution_matrix("BLOSUM62"))


@pytest.fixture(scope="module")
def drawn():
    simulated = simulate_families(5, 120, seed=2)
    sequences, labels = [s.residues for s in simulated], [s.label for s in simulated]
    return LabelledSequences(sequences[::2], labels[::2]), sequences[1::2], labels[1::2]


@pytest.fixture(scope="module")
def learned(drawn, tmp_path_factory):
    competitor = WordsAlone(SCHEME, "protein")
    competitor.load()
    competitor.fit(drawn[0], tmp_path_factory.mktemp("words"), 1)
    return competitor


def test_it_is_ridge_regression_on_a_gaussian_of_the_words(drawn, learned):
    train, queries, _ = drawn
    words = Words(tuple(LENGTHS["protein"]), SCHEME.matrix.alphabet)
    X, Q = (words.features(list(s)).toarray() for s in (train.sequences, queries))
    about = learned._classifier
    rate = about.lift.rates["words"]
    # Not one more view counts: the scores of no landmark are all alike.
    between = ((X[:, None] - X) ** 2).sum(axis=2)
    median = np.median(between[np.triu_indices(len(X), 1)])
    assert any(np.isclose(rate * median, 1 / width) for width in (1, 3, 10))
    points = words.features(list(about.lift.objects.sequences)).toarray()
    assert sorted(about.lift.objects.sequences) == sorted(train.sequences)  # they are few
    K = np.exp(-rate * ((X[:, None] - points) ** 2).sum(axis=2))
    L = np.exp(-rate * ((Q[:, None] - points) ** 2).sum(axis=2))
    classes, y = np.unique(train.labels, return_inverse=True)
    weights = (len(y) / len(classes) / np.bincount(y))[y]
    mean = weights @ K / weights.sum()
    covariance = (K - mean).T @ ((K - mean) * weights[:, None]) / len(y)
    fits = []
    for ridge in 10.0 ** np.arange(0, -9, -1):
        A = covariance + ridge * np.trace(covariance) / len(points) * np.eye(len(points))
        targets = np.where(y[:, None] == np.arange(len(classes)), 1.0, -1.0)
        own = weights @ targets / weights.sum()
        B = (K - mean).T @ ((targets - own) * weights[:, None]) / len(y)
        fits.append((L - mean) @ np.linalg.solve(A, B) + own)
    ones = np.ones(len(queries))
    found = about.decision_function(Query(np.empty((len(queries), 0)), ones, ones, Viewed(queries)))
    assert min(np.abs(fit - found).max() for fit in fits) < 1e-6


def test_labels_that_say_nothing_are_not_learned(drawn, tmp_path):
    """The inner folds choose; noise must not come out of them as more than chance."""
    train, queries, labels = drawn
    random = np.random.default_rng(3)
    right = []
    for _ in range(3):
        shuffled = random.permutation(train.labels).tolist()
        competitor = WordsAlone(SCHEME, "protein")
        competitor.fit(LabelledSequences(train.sequences, shuffled), tmp_path, 1)
        found = competitor.predict(queries)
        right += [a == b for a, b in zip(found, labels, strict=True)]
    assert np.mean(right) < 0.2 + 4 * np.sqrt(0.2 * 0.8 / len(queries))
