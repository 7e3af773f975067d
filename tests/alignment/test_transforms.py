import json
import math

import numpy as np
import pytest

from kreinflow.alignment.transforms import NAMES, ScoreTransform, make_transform, own_evidence
from kreinflow.base.errors import InputError
from sequence_pairs import scheme_of

SCHEME = scheme_of()


@pytest.fixture
def block():
    rng = np.random.default_rng(2)
    row_lengths, column_lengths = rng.integers(30, 400, 57), rng.integers(30, 400, 11)
    row_self, column_self = 5 * row_lengths + 7, 5 * column_lengths - 3
    scores = (rng.random((57, 11)) * np.minimum.outer(row_self, column_self)).astype(np.int32)
    return scores, row_self, column_self, row_lengths, column_lengths


def entry(name, s, si, sj, n, m):
    """The table of the module, one entry at a time."""
    normalised = s / math.sqrt(si * sj)

    def e(score, product):
        return max(0.0, 0.243 * score - math.log(0.024 * product))

    return {
        "raw": lambda: s,
        "normalised": lambda: normalised,
        "sqrt": lambda: math.sqrt(normalised),
        "log": lambda: math.log(1 + 20 * normalised) / math.log(21),
        "evalue": lambda: e(s, n * m) / math.sqrt(e(si, n * n) * e(sj, m * m)),
    }[name]()


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_is_that_of_the_formula(name, block):
    if name in ("raw", "normalised"):  # the others refuse it
        block[0][4, 2] = -1
    found = make_transform(name, SCHEME).apply(*block)
    scores, row_self, column_self, n, m = (part.tolist() for part in block)
    expected = [
        [entry(name, scores[i][j], row_self[i], column_self[j], n[i], m[j]) for j in range(11)]
        for i in range(57)
    ]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert found.max() > 0.3


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_does_not_depend_on_its_block_and_the_diagonal_is_the_self_similarity(name, block):
    transform = make_transform(name, SCHEME)
    scores, row_self, column_self, n, m = block
    whole = transform.apply(*block)
    for rows, columns in ((slice(3, 4), slice(0, 11)), (slice(5, 50), slice(2, 9, 3))):
        part = transform.apply(
            scores[rows, columns], row_self[rows], column_self[columns], n[rows], m[columns]
        )
        assert np.array_equal(part, whole[rows, columns])
    turned = transform.apply(scores.T, column_self, row_self, m, n)
    assert np.array_equal(turned, whole.T)
    diagonal = np.diag(transform.apply(np.diag(row_self), row_self, row_self, n, n))
    np.testing.assert_allclose(transform.self_similarity(row_self, n), diagonal, rtol=1e-14)
    assert ScoreTransform.from_dict(json.loads(json.dumps(transform.to_dict()))) == transform


@pytest.mark.parametrize("name", ["normalised", "sqrt", "log", "evalue"])
@pytest.mark.parametrize("score", [0, -3])
def test_scores_that_cannot_be_transformed(name, score, block):
    if name != "normalised":
        block[0][4, 2] = -1
        with pytest.raises(InputError, match=rf"transform {name}: a score is negative"):
            make_transform(name, SCHEME).apply(*block)
    block[2][6] = score
    said = f"a sequence of {block[4][6]} residues scores {score} with itself"
    with pytest.raises(InputError, match=said):
        make_transform(name, SCHEME).apply(*block)
    with pytest.raises(InputError, match=said):
        make_transform(name, SCHEME).self_similarity(block[2], block[4])
    assert make_transform("raw").apply(*block).shape == (57, 11)


def test_a_masked_sequence_resembles_nothing_by_expected_values():
    """Its own score is what chance gives, which is no fault: other transforms take it too."""
    transform = make_transform("evalue", SCHEME)
    own, n = np.array([12.0, 400.0]), np.array([70.0, 80.0])
    assert transform.unusable(own, n).size == 0
    scores = np.array([[12, 11], [11, 400]])
    similarity = transform.apply(scores, own, own, n, n)
    np.testing.assert_array_equal(similarity, [[0, 0], [0, 1]])
    np.testing.assert_array_equal(transform.self_similarity(own, n), [0, 1])


def test_constants_are_given_or_follow_from_the_scheme():
    given = make_transform("evalue", None, **{"lambda": 0.3, "K": 0.1})
    assert given.constants == {"lambda": 0.3, "K": 0.1, "source": "given"}
    found = make_transform("evalue", SCHEME).constants
    assert (found["lambda"], found["K"]) == (0.243, 0.024)
    with pytest.raises(InputError, match="give lambda and K, or a scoring scheme"):
        make_transform("evalue")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"name": "exp", "constants": {}}, "'exp' is not one of raw, normalised"),
        ({"name": "log", "constants": {}}, "its constants are a; given are none"),
        ({"name": "log", "constants": {"a": -1}}, "a is -1"),
        ({"name": "log", "constants": {"a": "20"}}, "a is '20'"),
        ({"name": ["log"], "constants": {}}, "is not one of"),
        ({"name": "sqrt", "constants": {"a": 20}}, "its constants are none; given are a"),
        ({"name": "evalue", "constants": {"lambda": 1, "K": math.nan, "source": ""}}, "K is nan"),
    ],
)
def test_damaged_dict_is_refused(content, message):
    with pytest.raises(InputError, match=message):
        ScoreTransform.from_dict(content)


def test_evidence_of_pairs_is_the_similarity_and_of_evalue_its_logarithm():
    scores, own = np.array([[40.0, np.nan, -3.0]]), np.array([[80.0]])
    others, lengths = np.array([[90.0, 50.0, -4.0]]), np.array([[30.0, 20.0, 5.0]])
    given = own, others, np.array([[25.0]]), lengths
    np.testing.assert_array_equal(make_transform("raw").evidence(scores, *given), [[40, 0, -3]])
    found = make_transform("normalised").evidence(scores, *given)
    np.testing.assert_allclose(found, [[40 / np.sqrt(80 * 90), 0, 0]])  # -4 cannot divide
    evalue = make_transform("evalue", **{"lambda": 0.3, "K": 0.1})
    surprise = 0.3 * 40 - np.log(0.1 * 25 * 30)
    np.testing.assert_allclose(evalue.evidence(scores, *given), [[np.log1p(surprise), 0, 0]])
    np.testing.assert_allclose(
        evalue.evalues(scores[:, :1], np.array([25.0]), lengths[:, :1]), [[np.exp(-surprise)]]
    )
    assert np.isnan(make_transform("log").evalues(scores, 25.0, lengths)).all()
    lengths = np.full(scores.shape, 30.0)
    logs = evalue.log_evalues(scores, lengths, lengths)
    np.testing.assert_allclose(np.exp(logs), evalue.evalues(scores, lengths, lengths), rtol=1e-12)
    assert np.isfinite(evalue.log_evalues(np.array([1e6]), lengths[:1, 0], lengths[:1, 0])).all()
    assert np.isnan(make_transform("log").log_evalues(scores, lengths, lengths)).all()


@pytest.mark.parametrize("kind", ["similarity", "squared_dissimilarity"])
def test_the_evidence_of_a_score_of_ones_own_has_no_unit_and_keeps_the_order(kind):
    rng = np.random.default_rng(4)
    S = rng.normal(size=(9, 9)) ** (2 if kind == "squared_dissimilarity" else 1)
    S = S + S.T
    evidence, sign = own_evidence(S, kind), 1 if kind == "similarity" else -1
    unit = np.median([abs(S[i, j]) for i in range(9) for j in range(9) if i != j])
    pairs, none = np.sort(rng.normal(size=40)), np.zeros(40)
    found = evidence.evidence(pairs, none, none, none, none)
    np.testing.assert_allclose(found, [math.asinh(sign * s / unit) for s in pairs])
    assert (np.diff(sign * found) > 0).all()
    scaled = own_evidence(1000 * S, kind).evidence(1000 * pairs, none, none, none, none)
    np.testing.assert_allclose(scaled, found, rtol=1e-12)
    np.testing.assert_array_equal(-evidence.log_evalues(pairs, none, none), found)
    np.testing.assert_array_equal(evidence.likeness(np.append(pairs, np.nan), 0.0)[:-1], found)
    assert np.isnan(evidence.likeness(np.array([np.nan]), np.zeros(1)))
    again = ScoreTransform.from_dict(json.loads(json.dumps(evidence.to_dict())))
    assert again == evidence


def test_the_unit_of_sparse_scores_is_their_mean():
    S = np.zeros((5, 5))
    S[0, 1] = S[1, 0] = 4.0
    assert own_evidence(S, "similarity").constants["unit"] == 0.4
    assert own_evidence(np.ones((1, 1)), "similarity").constants["unit"] == 1.0


def test_the_evidence_of_ones_own_is_no_transform_of_a_recipe():
    with pytest.raises(InputError, match="'own_score' is not one of raw"):
        make_transform("own_score")
