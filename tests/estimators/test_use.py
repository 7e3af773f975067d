"""What scikit-learn does with the estimators, and what they refuse."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

from estimators.test_estimators import scores
from kreinflow.base.errors import InputError
from kreinflow.estimators import KreinClassifier, NystroemClassifier
from small_inputs import families

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


def test_folds_slice_rows_and_columns():
    K, labels, _ = scores()
    model = KreinClassifier(n_landmarks=8)
    folds = KFold(3, shuffle=True, random_state=0)
    by_hand = [
        clone(model)
        .fit(K[np.ix_(known, known)], labels[known])
        .score(K[np.ix_(new, known)], labels[new])
        for known, new in folds.split(K)
    ]
    np.testing.assert_array_equal(cross_val_score(model, K, labels, cv=folds), by_hand)
    assert min(by_hand) > 0.7


def test_lists_of_strings_are_cross_validated():
    records = families(4, classes=("a", "b"), each=10, changed=0.2)
    sequences, labels = [r[2] for r in records], [r[1] for r in records]
    folds = KFold(2, shuffle=True, random_state=0)
    model = KreinClassifier("edit_distance", selector="uniform", n_landmarks=6)
    assert cross_val_score(model, sequences, labels, cv=folds).mean() == 1


K3, Y3, X3 = scores(each=8)


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (KreinClassifier("gausian"), X3, "'gausian' is none of .*; did you mean 'gaussian'"),
        (KreinClassifier(kernel_params={"w": 1}), K3, "a precomputed matrix takes none"),
        (KreinClassifier(learner_params={"x": 1}), K3, "KreinClassifier: learner: unknown key 'x'"),
        (KreinClassifier(learner="svc"), K3, "svc cannot learn from negative eigenvalues"),
        (KreinClassifier(correction="flop"), K3, "correction: 'flop' is none .* 'flip'"),
        (KreinClassifier(selector="uniform"), K3, "selector: the key 'budget' is missing"),
        (KreinClassifier(random_state=None), K3, "random_state: None is not a whole number"),
        (
            KreinClassifier(kind="dissimilarity"),
            -K3,
            "X, row 1, column 1: -0.7 is no dissimilarity",
        ),
        (KreinClassifier(), np.triu(K3), "X: not symmetric"),
        (NystroemClassifier(1e-310 * K3), 1e-310 * K3, "landmark_matrix: its largest .* too small"),
        (KreinClassifier("alignment"), ["MKV1"] * 24, "residue 4 is '1', which the substitution"),
        (KreinClassifier("alignment"), ["*"] * 24, "sequence 1: has no residues"),
        (KreinClassifier("alignment"), ["XX"] * 24, "sequence 1: scores too little with itself"),
        (KreinClassifier("alignment"), [3] * 24, "is no list of strings"),
        (
            KreinClassifier(kind="asymmetric", learner="ny_pcvm"),
            K3,
            "the selector meb needs a symmetric kernel. Use one of all, given, uniform",
        ),
        (NystroemClassifier(K3, kind="asymmetric"), K3, "kind: 'asymmetric' is none of similarity"),
        (NystroemClassifier(K3), K3[:, :5], r"shape \(24, 24\), but C has 5 columns"),
        (KreinClassifier(lift={"widht": 1}), K3, "lift: unknown key 'widht'; did you mean 'width'"),
        (KreinClassifier(views={"words": [1]}), K3, "kernel 'precomputed' compares others"),
        (KreinClassifier("alignment", views={"vectors": True}), ["MKV"] * 24, "for the workflow"),
        (KreinClassifier(cascade={}), K3, "compares others. Leave them out, or"),
        (KreinClassifier("alignment", cascade={"los": 1}), ["MKV"] * 24, "did you mean 'loss'"),
    ],
)
def test_mistakes_are_named(model, X, message):
    with pytest.raises(InputError, match=message):
        model.fit(X, Y3)


def test_what_is_refused_after_the_fit():
    D, labels, _ = scores("dissimilarity", each=8)
    model = KreinClassifier(kind="dissimilarity").fit(D, labels)
    column = model.landmark_indices_[0]
    D[2, column] = -1
    with pytest.raises(InputError, match=f"X, row 2, column {column}: -1 is negative"):
        model.predict(D)
    S = model.landmark_indices_
    D = np.abs(D)
    over = NystroemClassifier(D[np.ix_(S, S)] * (1 - np.eye(len(S))), kind="dissimilarity")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        over.fit(D[:, S], labels, self_similarities=[1, 2, 3])
    with pytest.raises(InputError, match="C, row 0, column 0: -1 is negative, which no dissimil"):
        over.fit(D[:, S] * 0 - 1, labels)
    with pytest.raises(InputError, match="not between 0 and 1"):
        model.predict_set(D, 95)
    vectors = KreinClassifier("polynomial", kernel_params={"degree": 9}).fit(X3, Y3)
    with pytest.raises(InputError, match="of row 1 of X and row 2 of X is not finite"):
        vectors.predict(np.array([[1.0, 1.0], [1e200, 1.0]]))


def test_one_class_alone_is_named_plainly():
    K, *_ = scores()
    with pytest.raises(ValueError, match=r"^y has 1 class, 'lonely'\. At least two are needed\.$"):
        KreinClassifier().fit(K, ["lonely"] * len(K))
