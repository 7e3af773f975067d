import numpy as np
import pytest

from kreinflow.alignment.scoring import (
    ScoringScheme,
    SubstitutionMatrix,
    load_substitution_matrix,
)
from kreinflow.alignment.statistics import (
    _PUBLISHED,
    local_statistics,
    ungapped_constants,
)
from kreinflow.base.errors import InputError
from sequence_pairs import scheme_of


def nucleotides(match, mismatch):
    scores = np.full((4, 4), mismatch, dtype=np.int32)
    np.fill_diagonal(scores, match)
    return SubstitutionMatrix("mine", "ACGT", scores)


@pytest.mark.parametrize(
    ("matrix", "rate", "K"),
    [  # the ungapped values of NCBI's blast_stat.c
        ("blosum45", 0.2291, 0.0924),
        ("blosum50", 0.2318, 0.112),
        ("blosum62", 0.3176, 0.134),
        ("blosum90", 0.3346, 0.190),
        ("pam30", 0.3400, 0.283),
        ("pam70", 0.3345, 0.229),
        ((1, -2), 1.33, 0.621),
        ((1, -3), 1.374, 0.711),
        ((2, -3), 0.634, 0.408),
        ((1, -1), 1.099, 0.333),
        ((3, -3), 1.099 / 3, 0.333),  # another unit
    ],
)
def test_ungapped_constants_are_the_published_ones(matrix, rate, K):
    proteins = isinstance(matrix, str)
    loaded = load_substitution_matrix(matrix) if proteins else nucleotides(*matrix)
    found = ungapped_constants(loaded)
    assert found == pytest.approx((rate, K), rel=0.01 if proteins else 0.02)


def test_published_constants_follow_blasts_gap_convention_and_the_scores():
    rate, K, source = local_statistics(scheme_of(gap_open=12))
    assert (rate, K) == (0.267, 0.041)
    assert "11/1 as BLAST" in source
    assert local_statistics(scheme_of())[:2] == (0.243, 0.024)
    rate, _, source = local_statistics(scheme_of(gap_open=12, factor=2))  # of the same name
    assert source == "computed, ungapped"
    assert rate == pytest.approx(0.3176 / 2, rel=0.01)


def test_gapped_lambda_rises_towards_the_ungapped_one():
    for name, table in _PUBLISHED.items():
        limit = ungapped_constants(load_substitution_matrix(name))
        for (opening, extend), (rate, K) in table.items():
            assert rate < limit[0], (name, opening, extend)
            dearer = table.get((opening + 1, extend), limit)
            assert rate < dearer[0], (name, opening, extend)
            assert dearer[1] > K, (name, opening, extend)


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
        local_statistics(ScoringScheme(matrix))
