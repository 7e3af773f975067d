import json
import math

import numpy as np
import pytest

from kreinflow.alignment.scoring import (
    ScoringScheme,
    SubstitutionMatrix,
    load_substitution_matrix,
)
from kreinflow.alignment.statistics import _PUBLISHED, ungapped_constants
from kreinflow.alignment.transforms import NAMES, ScoreTransform, make_transform
from kreinflow.errors import InputError

SCHEME = ScoringScheme(load_substitution_matrix("blosum62"))


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
def test_an_entry_does_not_depend_on_its_block(name, block):
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


@pytest.mark.parametrize("name", NAMES)
def test_self_similarity_is_the_diagonal(name, block):
    _, row_self, _, n, _ = block
    transform = make_transform(name, SCHEME)
    diagonal = np.diag(transform.apply(np.diag(row_self), row_self, row_self, n, n))
    np.testing.assert_allclose(transform.self_similarity(row_self, n), diagonal, rtol=1e-14)


@pytest.mark.parametrize("name", ["sqrt", "log", "evalue"])
def test_negative_scores_are_refused(name, block):
    block[0][4, 2] = -1
    with pytest.raises(InputError, match=rf"transform {name}: the score of row 5 and column 3"):
        make_transform(name, SCHEME).apply(*block)
    numbers = np.arange(100, 157), np.arange(200, 211)
    with pytest.raises(InputError, match=r"the score of rows 104 and 202 of the data set \(rec"):
        make_transform(name, SCHEME).apply(*block, numbers)


@pytest.mark.parametrize("name", ["raw", "normalised"])
def test_negative_scores_pass(name, block):
    block[0][4, 2] = -1
    assert make_transform(name).apply(*block)[4, 2] < 0


@pytest.mark.parametrize("name", ["normalised", "sqrt", "log", "evalue"])
@pytest.mark.parametrize("score", [0, -3])
def test_self_scores_that_cannot_be_divided_by(name, score, block):
    block[2][6] = score
    with pytest.raises(InputError, match=r"the sequence of column 7 scores .* with itself"):
        make_transform(name, SCHEME).apply(*block)
    with pytest.raises(InputError, match=r"the sequence of row 206 of the data set \(records.tsv"):
        make_transform(name, SCHEME).apply(*block, (np.arange(57), np.arange(200, 211)))
    with pytest.raises(InputError, match="the sequence of row 7 "):
        make_transform(name, SCHEME).self_similarity(block[2], block[4])
    assert make_transform("raw").apply(*block).shape == (57, 11)


@pytest.mark.parametrize(
    ("name", "rate", "K"),
    [  # the ungapped values of NCBI's blast_stat.c
        ("blosum45", 0.2291, 0.0924),
        ("blosum50", 0.2318, 0.112),
        ("blosum62", 0.3176, 0.134),
        ("blosum90", 0.3346, 0.190),
        ("pam30", 0.3400, 0.283),
        ("pam70", 0.3345, 0.229),
    ],
)
def test_ungapped_constants_are_the_published_ones(name, rate, K):
    found = ungapped_constants(load_substitution_matrix(name))
    assert found == pytest.approx((rate, K), rel=0.01)


def nucleotides(match, mismatch):
    scores = np.full((4, 4), mismatch, dtype=np.int32)
    np.fill_diagonal(scores, match)
    return SubstitutionMatrix("mine", "ACGT", scores)


@pytest.mark.parametrize(
    ("match", "mismatch", "rate", "K"),
    [(1, -2, 1.33, 0.621), (1, -3, 1.374, 0.711), (2, -3, 0.634, 0.408), (1, -1, 1.099, 0.333)],
)
def test_ungapped_constants_of_nucleotides(match, mismatch, rate, K):
    found = ungapped_constants(nucleotides(match, mismatch))
    assert found == pytest.approx((rate, K), rel=0.02)


def test_the_unit_of_the_scores_does_not_matter():
    rate, K = ungapped_constants(nucleotides(2, -3))
    tripled = ungapped_constants(nucleotides(6, -9))
    assert tripled == pytest.approx((rate / 3, K), rel=1e-9)


def test_published_constants_follow_blasts_gap_convention():
    blast_11_1 = make_transform("evalue", ScoringScheme(SCHEME.matrix, 12, 1))
    assert (blast_11_1.constants["lambda"], blast_11_1.constants["K"]) == (0.267, 0.041)
    assert "11/1 as BLAST" in blast_11_1.constants["source"]
    parasail_11_1 = make_transform("evalue", SCHEME)
    assert (parasail_11_1.constants["lambda"], parasail_11_1.constants["K"]) == (0.243, 0.024)


def test_gapped_lambda_rises_towards_the_ungapped_one():
    for name, table in _PUBLISHED.items():
        limit = ungapped_constants(load_substitution_matrix(name))
        for (opening, extend), (rate, K) in table.items():
            assert rate < limit[0], (name, opening, extend)
            dearer = table.get((opening + 1, extend), limit)
            assert rate < dearer[0], (name, opening, extend)
            assert dearer[1] > K, (name, opening, extend)


def test_a_matrix_of_the_same_name_but_other_scores_gets_its_own_constants():
    other = SubstitutionMatrix("blosum62", SCHEME.matrix.alphabet, SCHEME.matrix.scores * 2)
    constants = make_transform("evalue", ScoringScheme(other, 12, 1)).constants
    assert constants["source"] == "computed, ungapped"
    assert constants["lambda"] == pytest.approx(0.3176 / 2, rel=0.01)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (nucleotides(5, -1), "mean score 0.500"),
        (nucleotides(-1, -1), "largest score -1"),
        (SubstitutionMatrix("mine", "AB", -np.eye(2, dtype=np.int32)), "neither all amino acids"),
    ],
)
def test_matrices_without_such_statistics(matrix, message):
    with pytest.raises(InputError, match=message):
        make_transform("evalue", ScoringScheme(matrix))
    assert (
        make_transform("evalue", None, **{"lambda": 0.3, "K": 0.1}).constants["source"] == "given"
    )


@pytest.mark.parametrize("name", NAMES)
def test_dict_round_trip(name):
    transform = make_transform(name, SCHEME)
    assert ScoreTransform.from_dict(json.loads(json.dumps(transform.to_dict()))) == transform


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"name": "log"}, "damaged"),
        ({"name": "exp", "constants": {}}, "'exp' is not one of raw, normalised"),
        ({"name": "log", "constants": {}}, "its constants are a; given are none"),
        ({"name": "log", "constants": {"a": -1}}, "a is -1"),
        ({"name": "log", "constants": {"a": "20"}}, "a is '20'"),
        ({"name": "sqrt", "constants": {"a": 20}}, "its constants are none; given are a"),
        ({"name": ["log"], "constants": {}}, "is not one of"),
        ({"name": "evalue", "constants": {"lambda": 1, "K": math.nan, "source": ""}}, "K is nan"),
    ],
)
def test_damaged_dict_is_refused(content, message):
    with pytest.raises(InputError, match=message):
        ScoreTransform.from_dict(content)
