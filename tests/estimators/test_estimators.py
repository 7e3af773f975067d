"""The estimators against dense formulas, other libraries, each other and the workflow's path."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

import kreinflow
from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.base.errors import KreinflowError
from kreinflow.estimators import (
    KreinClassifier,
    KreinNystroem,
    NystroemClassifier,
    alignment_kernel,
)
from kreinflow.estimators.choice import CHOSEN
from kreinflow.fitting.inner_folds import inner_partition
from kreinflow.learners.registry import LEARNERS as LEARNER_TYPES
from sequence_pairs import too_large
from small_inputs import (
    KINDS,
    configuration,
    families,
    matrix_of,
    matrix_source,
    points,
    trained_recipe,
    vectors_source,
)

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")

PAGES = Path(__file__).parents[2]
LEARNERS = {
    "ny_ikfd": {"scatter": "pooled", "bias": "least_squares", "ridge": "inner"},
    "ny_pcvm": {"max_iter": 60},
    "krein_lsm": {},
    "nearest_landmark": {},
    "dissimilarity_space": {"penalty": 1.0},
}


def scores(kind="similarity", each=20, seed=1):
    X, labels = points(seed, each=each)
    return matrix_of(kind, X, X), np.array(labels), X


# The workflow's path: files in, the pieces that its scripts are made of.


def workflow(folder, source, learner="krein_lsm", *, transform="raw", selector=None, **recipe):
    """The decisions of the final model for its own training records, and its landmarks."""
    config = configuration(source, transform, "it", recipe=recipe) | {
        "seed": 0,
        "selectors": {"meb": selector or {"method": "meb", "transform": transform}},
        "learners": {"it": {"method": learner, **LEARNERS[learner]}},
    }
    it = trained_recipe(config, folder)
    first = np.unique(it.dataset.rows, return_index=True)[1]
    return it.decisions, it.probabilities, first[it.rows]


def check_decisions(model, X, found):
    decisions, probabilities, landmarks = found
    if isinstance(model, KreinClassifier):
        assert model.landmark_indices_.tolist() == landmarks.tolist()
    np.testing.assert_allclose(model.decision_function(X), decisions, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), probabilities, rtol=0, atol=1e-10)


def matrix_files(folder, kind):
    K, labels, _ = scores(kind)
    np.save(folder / "k.npy", K)
    (folder / "y.txt").write_text("\n".join(labels) + "\n")
    return matrix_source(kind, "k.npy"), K, labels


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "asymmetric"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_matrix_gives_the_decisions_of_the_workflow(tmp_path, kind, learner):
    source, K, labels = matrix_files(tmp_path, kind)
    *_, landmarks = found = workflow(tmp_path, source, learner)
    settings = {"kind": kind, "learner": learner, "learner_params": LEARNERS[learner]}
    model = KreinClassifier(**settings).fit(K, labels)
    check_decisions(model, K, found)
    # And the classifier over the columns of the same landmarks, which knows no other landmarks for
    # its inner folds to choose.
    chosen = json.loads(model.training_["hyper_parameters"] or "{}")
    settings["learner_params"] = LEARNERS[learner] | chosen
    over = NystroemClassifier(K[np.ix_(landmarks, landmarks)], **settings)
    C, own = K[:, landmarks], np.diagonal(K)
    over.fit(C, labels, self_similarities=own if "dissimilarity" not in kind else None)
    np.testing.assert_allclose(over.decision_function(C), found[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("correction", ["none", "landmark_basis"])
@pytest.mark.parametrize("learner", ["ny_pcvm", "ny_ikfd", "nearest_landmark"])
def test_an_asymmetric_matrix_gives_the_decisions_of_the_workflow(tmp_path, learner, correction):
    source, K, labels = matrix_files(tmp_path, "asymmetric")
    uniform = {"method": "uniform", "budget": 12}
    found = workflow(tmp_path, source, learner, selector=uniform, correction=correction)
    settings = {"learner": learner, "learner_params": LEARNERS[learner], "correction": correction}
    model = KreinClassifier(kind="asymmetric", selector="uniform", n_landmarks=12, **settings)
    check_decisions(model.fit(K, labels), K, found)
    # Of twelve landmarks drawn at random few are near.
    assert np.mean(model.predict(K) == labels) > (0.6 if learner == "nearest_landmark" else 0.8)


@pytest.mark.parametrize(
    ("selector", "learner"),
    [
        *((selector, "ny_ikfd") for selector in sorted(CHOSEN)),
        *(("meb", learner) for learner in sorted(LEARNER_TYPES)),
    ],
)
def test_similarities_with_a_zero_diagonal_are_learned(selector, learner):
    K, labels, _ = scores("zero_diagonal_similarity", each=40)
    train, test = np.arange(120) % 2 == 0, np.arange(120) % 2 == 1
    model = KreinClassifier(
        kind="zero_diagonal_similarity",
        selector=selector,
        n_landmarks=30 if "budget" in CHOSEN[selector].settings_schema else None,
        learner=learner,
        correction="flip" if LEARNER_TYPES[learner].needs_positive else "none",
    ).fit(K[np.ix_(train, train)], labels[train])
    assert np.mean(model.predict(K[np.ix_(test, train)]) == labels[test]) > 0.6


def test_vectors_give_the_decisions_of_the_workflow_duplicates_too(tmp_path):
    _, labels, X = scores()
    X, labels = np.concatenate([X, X[:5]]), np.concatenate([labels, labels[:5]])
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "y.txt").write_text("\n".join(labels) + "\n")
    name, params = "difference_of_gaussians", {"width": 2.0, "subtracted_width": 6.0}
    source = vectors_source("x.npy", {"name": name, **params})
    model = KreinClassifier(name, kernel_params=params).fit(X, labels)
    check_decisions(model, X, workflow(tmp_path, source, "krein_lsm"))


# Dense formulas and other libraries.


@pytest.mark.parametrize("correction", ["none", "flip", "clip", "square", "shift"])
def test_with_all_landmarks_the_embedding_is_the_dense_one(correction):
    values = np.concatenate([np.linspace(1, 5, 20), np.linspace(-3, -0.5, 10)])
    V = np.linalg.qr(np.random.default_rng(3).normal(size=(30, 30)))[0]
    corrected = {
        "none": values,
        "flip": np.abs(values),
        "clip": np.maximum(values, 0),
        "square": values**2,
        "shift": values - values.min(),
    }[correction]
    K = (V * values) @ V.T
    map = KreinNystroem(selector="all", rank=1.0, correction=correction)
    Z = map.fit_transform(K)
    np.testing.assert_allclose((Z * map.signs_) @ Z.T, (V * corrected) @ V.T, atol=1e-12)
    np.testing.assert_allclose(np.sort(map.eigenvalues_), np.sort(values), atol=1e-12)
    assert (map.signs_ < 0).any() == (correction == "none")
    assert map.get_feature_names_out()[0] == "kreinnystroem0"


def test_dissimilarities_are_embedded_as_by_classical_scaling():
    D, _, X = scores("dissimilarity")
    Z = KreinNystroem(kind="dissimilarity", selector="uniform", n_landmarks=5).fit_transform(D)
    gaps = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.testing.assert_allclose(gaps, D, atol=1e-6)
    centred = KernelPCA(2, kernel="linear").fit_transform(X)
    np.testing.assert_allclose(np.abs(Z[:, :2]), np.abs(centred), atol=1e-6)


def test_probabilities_of_two_classes_follow_from_the_decision():
    K, labels, _ = scores()
    two = labels != "c"
    K = K[np.ix_(two, two)]
    model = KreinClassifier(learner="nearest_landmark").fit(K, labels[two])
    f, T = model.decision_function(K), model.landmark_classifier_.temperature
    expected = 1 / (1 + np.exp(-2 * f / T))
    np.testing.assert_allclose(model.predict_proba(K)[:, 1], expected, rtol=1e-10)


@pytest.mark.parametrize("learner", ["ny_pcvm", "ny_epcvm", "krein_lsm"])
def test_a_landmark_that_is_given_twice_changes_no_prediction(learner):
    K, labels, _ = scores()
    S, T = np.arange(0, 60, 4), np.r_[:60:4, 0, 4, 8]
    once, twice = (
        NystroemClassifier(K[np.ix_(s, s)], rank=1.0, learner=learner).fit(K[:, s], labels)
        for s in (S, T)
    )
    assert twice.training_["rank"] == once.training_["rank"]
    assert (twice.predict(K[:, T]) == once.predict(K[:, S])).mean() > 0.95


# Records that are alike.


def noise():
    """Scores of points that say nothing of their labels."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 2))
    return matrix_of("similarity", X, X), X, rng.integers(0, 2, 40)


def test_a_landmark_that_is_given_twice_is_held_out_twice():
    """Its twin would know the record that is measured: all right, of labels that are noise."""
    K, _, y = noise()
    found = {}
    for times in (1, 2):
        S = np.tile(np.arange(len(K)), times)
        model = NystroemClassifier(K[np.ix_(S, S)], learner="nearest_landmark").fit(K[:, S], y)
        found[times] = model.training_["inner_accuracy"]
    assert found[2] == found[1] < 0.7


def partitions(monkeypatch):
    """The inner folds that fits draw, with their training parts."""
    found = []

    def noted(part, *rest):
        inner = inner_partition(part, *rest)
        found.append((part, inner))
        return inner

    monkeypatch.setattr("kreinflow.fitting.pipeline.inner_partition", noted)
    return found


def test_equal_rows_of_columns_are_one_object(monkeypatch):
    """A pair of equal records is in one inner fold, though their labels differ."""
    found = partitions(monkeypatch)
    K, _, y = noise()
    S, everyone = np.arange(0, 40, 5), np.r_[np.arange(40), 1]
    NystroemClassifier(K[np.ix_(S, S)]).fit(K[np.ix_(everyone, S)], np.r_[y, 1 - y[1]])
    ((part, inner),) = found
    assert part.rows[40] == part.rows[1]
    assert inner[40] == inner[1] >= 0


def test_equal_vectors_of_two_classes_are_one_object(monkeypatch):
    """Whichever of them is the landmark, the other is in its inner fold."""
    found = partitions(monkeypatch)
    _, X, y = noise()
    model = KreinClassifier(
        "gaussian", kernel_params={"width": 1.0}, selector="uniform", n_landmarks=12
    )
    model.fit(np.r_[X, X], np.r_[y, 1 - y])
    ((part, inner),) = found
    np.testing.assert_array_equal(part.rows[:40], part.rows[40:])
    np.testing.assert_array_equal(inner[:40], inner[40:])


def test_new_rows_do_not_change_others():
    K, labels, _ = scores()
    model = KreinClassifier(n_landmarks=9).fit(K, labels)
    both = model.decision_function(K)
    alone = np.concatenate([model.decision_function(row[None]) for row in K])
    assert both.tobytes() == alone.tobytes()
    held = model.predict_set(K, 0.9)[np.arange(60), np.searchsorted(model.classes_, labels)]
    assert held.mean() > 0.9


# The alignment kernel.


def test_the_alignment_kernel_is_the_transformed_score():
    texts = [record[2] for record in families(5, classes=("a", "b"), each=3)]
    params = {"kernel_params": {"transform": "normalised"}, "correction": "none"}
    model = KreinNystroem("alignment", **params, selector="all", rank=1.0)
    Z, n = model.fit_transform(texts), len(texts)
    left, right = np.divmod(np.arange(n * n, dtype=np.int32), np.int32(n))
    scheme = ScoringScheme(load_substitution_matrix("blosum62"), 11, 1, "local")
    s = align_pairs(pack([text.encode() for text in texts], scheme), left, right).reshape(n, n)
    own = np.sqrt(np.diagonal(s))
    np.testing.assert_allclose((Z * model.signs_) @ Z.T, s / np.outer(own, own), atol=1e-12)


def test_scores_of_the_alignment_kernel_are_held_against_parasail(monkeypatch):
    monkeypatch.setattr(alignment_kernel, "backend_named", lambda name: too_large)
    model = KreinNystroem("alignment", selector="all", rank=1.0)
    with pytest.raises(KreinflowError, match=r"score \d+, by parasail \d+. This is a fault"):
        model.fit([record[2] for record in families(5, classes=("a", "b"), each=3)])


OF_SELECTORS = [
    {"learner": "ny_ikfd", "selector": selector}
    | ({} if selector in ("meb", "all") else {"n_landmarks": 12})
    for selector in CHOSEN
]
# The square is the correction that sees the largest powers of the scores.
OF_LEARNERS = [
    {"learner": learner, "correction": "square", "selector": "uniform", "n_landmarks": 12}
    for learner in LEARNER_TYPES
]


@pytest.mark.parametrize("kind", ["similarity", "squared_dissimilarity"])
@pytest.mark.parametrize(
    "parameters", OF_SELECTORS + OF_LEARNERS, ids=lambda p: f"{p['selector']} {p['learner']}"
)
def test_the_unit_of_a_matrix_changes_nothing_as_far_as_it_is_taken(kind, parameters):
    K, labels, _ = scores(kind)
    power, found = int(np.log2(np.abs(K).max())), []
    for unit in (1.0, 2.0 ** (-198 - power), 2.0 ** (198 - power)):  # 1e-60 < |k| < 1e60
        model = KreinClassifier(kind=kind, **parameters).fit(unit * K, labels)
        choice = model.training_["rank"], model.training_["hyper_parameters"]
        found.append((model.landmark_indices_.tolist(), model.predict(unit * K).tolist(), choice))
    assert found[1] == found[0]
    assert found[2] == found[0]


# Where they can be had, and what the pages say of them.


def test_the_package_hands_them_out():
    assert kreinflow.NystroemClassifier is NystroemClassifier
    with pytest.raises(AttributeError, match="has no attribute 'KreinClasifier'"):
        kreinflow.KreinClasifier  # noqa: B018


@pytest.mark.parametrize(
    ("page", "examples"),
    [("README.md", 2), ("docs/estimators.md", 9), ("docs/a-method-of-your-own.md", 1)],
)
def test_the_examples_of_the_pages_run(page, examples):
    mark = "<!-- run by: tests/estimators/test_estimators.py -->"
    blocks = re.findall(rf"{mark}\n```python\n(.*?)```", (PAGES / page).read_text(), re.DOTALL)
    assert len(blocks) >= examples
    records = families(6, classes=("kinase", "globin"), each=12)
    K, labels, X = scores()
    for block in blocks:
        names = {"K": K, "X": X, "y": labels}
        if "sequences" in block:
            names = {"sequences": [r[2] for r in records], "y": [r[1] for r in records]}
        shown = {**names, "print": lambda *_: None}
        exec(block, shown)
        score = shown.get("accuracy")
        assert score is None or np.mean(score) > 0.8
