import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from kreinflow.base.errors import InputError
from kreinflow.estimators import KreinClassifier, KreinNystroem
from own_scores import Counting, distance, pairs_of, shared
from small_inputs import families

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")

RECORDS = families(6, classes=("a", "b"), each=20, changed=0.3)
TEXTS, LABELS = [text for _, _, text in RECORDS], [label for _, label, _ in RECORDS]
PAGE = Path(__file__).parents[2] / "docs" / "own-similarity.md"


def directed(a, b):
    A, B = ([pairs_of(text) for text in side] for side in (a, b))
    return np.array([[len(x & y) / len(x) for y in B] for x in A])


def test_the_block_of_the_page_runs(capsys):
    block = re.search(r"test_metric.py -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    exec(block, {"pairs": shared, "texts": TEXTS, "labels": LABELS})
    assert float(capsys.readouterr().out) > 0.9


@pytest.mark.parametrize(
    ("metric", "kind", "expected"),
    [(shared, "similarity", 1), (directed, "asymmetric", 2)],
)
def test_the_metric_is_asked_for_landmark_columns_alone(metric, kind, expected):
    counting = Counting(metric)
    learner = {"learner": "ny_epcvm"} if kind == "asymmetric" else {}
    model = KreinClassifier(
        metric=counting, kind=kind, selector="uniform", n_landmarks=8, **learner
    ).fit(TEXTS, LABELS)
    n, m = len(TEXTS), 8
    pairs = n * m - m * (m + 1) // 2 if expected == 1 else 2 * (n * m - m * m) + m * (m - 1)
    checks = len(counting.pairs) - pairs - n
    assert 0 < checks <= 20
    matrix = KreinClassifier(kind=kind, selector="uniform", n_landmarks=8, **learner)
    asked = len(counting.pairs)
    model.predict(TEXTS[:5])
    assert len(counting.pairs) - asked == 5 * m
    landmarks = [TEXTS[i] for i in model.landmark_indices_]
    np.testing.assert_array_equal(model._query(TEXTS).scores, metric(TEXTS, landmarks))
    # The matrix of all pairs has other digests, so other landmarks: what is learned is alike.
    accuracy = matrix.fit(metric(TEXTS, TEXTS), LABELS).score(metric(TEXTS, TEXTS), LABELS)
    assert abs(model.score(TEXTS, LABELS) - accuracy) < 0.11


def test_enclosing_balls_ask_for_candidates_and_columns_once():
    counting = Counting(shared)
    KreinClassifier(metric=counting, kernel_params={"self": 1}).fit(TEXTS, LABELS)
    asked = [frozenset(pair) for pair in counting.pairs]
    assert len(asked) - len(set(asked)) <= 20  # those that are checked
    assert all(len(pair) == 2 for pair in asked)


def test_any_objects_can_be_compared():
    rng = np.random.default_rng(7)
    numbers = [*rng.normal(size=20), *rng.normal(4, size=20)]
    wrapped = [{"value": number} for number in numbers]
    y = np.repeat([0, 1], 20)

    def of_dicts(a, b):
        return distance(*([one["value"] for one in side] for side in (a, b)))

    model = KreinClassifier(
        metric=of_dicts, kind="dissimilarity", selector="uniform", n_landmarks=6
    )
    assert cross_val_score(model, wrapped, y, cv=4).mean() > 0.9
    series = np.array([np.full(3, number) for number in numbers])

    def of_arrays(a, b):
        return distance([x[0] for x in a], [x[0] for x in b])

    other = clone(model).set_params(metric=of_arrays).fit(series, y)
    assert other.score(series, y) > 0.9
    Z = KreinNystroem(metric=shared, selector="uniform", n_landmarks=6).fit_transform(TEXTS)
    assert len(Z) == len(TEXTS)


@pytest.mark.parametrize(
    ("settings", "X", "message"),
    [
        ({"metric": "cosine"}, TEXTS, "metric: is a function of two lists"),
        ({"metric": shared, "kernel": "gaussian"}, TEXTS, "metric: is a function of two lists"),
        ({"metric": shared, "kind": "zero_diagonal_similarity"}, TEXTS, "is none of similarity"),
        ({"metric": shared, "kernel_params": {"selfs": 1}}, TEXTS, "unknown key 'selfs'"),
        ({"metric": shared}, "text", "X: 'text' is no list of objects"),
        ({"metric": lambda a, b: [1]}, TEXTS, "returned the shape"),
        ({"metric": directed}, TEXTS, "If it has a direction, set kind: asymmetric"),
    ],
)
def test_what_is_refused(settings, X, message):
    with pytest.raises(InputError, match=message):
        KreinClassifier(**settings).fit(X, LABELS)
