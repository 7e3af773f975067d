import numpy as np
import pytest

from kreinflow.alignment.scoring import (
    ScoringScheme,
    SubstitutionMatrix,
    load_substitution_matrix,
)
from kreinflow.alignment.statistics import (
    _PUBLISHED,
    _ROBINSON,
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
    ],
)
def test_ungapped_constants_are_the_published_ones(matrix, rate, K):
    proteins = isinstance(matrix, str)
    loaded = load_substitution_matrix(matrix) if proteins else nucleotides(*matrix)
    found = ungapped_constants(loaded)
    assert found == pytest.approx((rate, K), rel=0.01 if proteins else 0.02)


def test_the_unit_of_the_scores_does_not_matter():
    rate, K = ungapped_constants(nucleotides(2, -3))
    tripled = ungapped_constants(nucleotides(6, -9))
    assert tripled == pytest.approx((rate / 3, K), rel=1e-9)


def test_published_constants_follow_blasts_gap_convention():
    rate, K, source = local_statistics(scheme_of(gap_open=12))
    assert (rate, K) == (0.267, 0.041)
    assert "11/1 as BLAST" in source
    assert local_statistics(scheme_of())[:2] == (0.243, 0.024)


GAPPED = """
BLOSUM50 13 3 .212 .063   12 3 .206 .055   11 3 .197 .042   10 3 .186 .031    9 3 .172 .022
BLOSUM50 16 2 .215 .066   15 2 .210 .058   14 2 .202 .045   13 2 .193 .035   12 2 .181 .025
BLOSUM50 19 1 .212 .057   18 1 .207 .050   17 1 .198 .037   16 1 .186 .025   15 1 .171 .015
BLOSUM62 11 2 .297 .082   10 2 .291 .075    9 2 .279 .058    8 2 .264 .045    7 2 .239 .027
BLOSUM62  6 2 .201 .012
BLOSUM62 13 1 .292 .071   12 1 .283 .059   11 1 .267 .041   10 1 .243 .024    9 1 .206 .010
PAM30     7 2 .305 .15     6 2 .287 .11     5 2 .264 .079
PAM30    10 1 .309 .15     9 1 .294 .11     8 1 .270 .072
PAM70     8 2 .301 .12     7 2 .286 .093    6 2 .264 .064
PAM70    11 1 .305 .12    10 1 .291 .091    9 1 .270 .060
"""
"""Of each matrix gap existence, extension, lambda and K, as in NCBI's blast_stat.c."""

ROBINSON = """A 78.05 C 19.25 D 53.64 E 62.95 F 38.56 G 73.77 H 21.99 I 51.42 K 57.44 L 90.19
M 22.43 N 44.87 P 52.03 Q 42.64 R 51.29 S 71.20 T 58.41 V 64.41 W 13.30 Y 32.16"""
"""The amino acids of Robinson & Robinson (1991), in thousandths, as in NCBI's blast_stat.c."""


def test_the_published_constants_stand_there_as_published():
    """Written twice: here for the second time, and read by rows and in another order."""
    expected = {}
    for line in GAPPED.strip().splitlines():
        name, *numbers = line.split()
        for at in range(0, len(numbers), 4):
            gaps, constants = numbers[at : at + 2], numbers[at + 2 : at + 4]
            expected[name.lower(), *map(int, gaps)] = tuple(map(float, constants))
    found = {(n, *gaps): pair for n, table in _PUBLISHED.items() for gaps, pair in table.items()}
    assert found == expected
    words = ROBINSON.split()
    assert dict(zip(words[::2], map(float, words[1::2]), strict=True)) == _ROBINSON
    assert sum(_ROBINSON.values()) == pytest.approx(1000, abs=0.02)


def test_gapped_lambda_rises_towards_the_ungapped_one():
    for name, table in _PUBLISHED.items():
        limit = ungapped_constants(load_substitution_matrix(name))
        for (opening, extend), (rate, K) in table.items():
            assert rate < limit[0], (name, opening, extend)
            dearer = table.get((opening + 1, extend), limit)
            assert rate < dearer[0], (name, opening, extend)
            assert dearer[1] > K, (name, opening, extend)


def test_a_matrix_of_the_same_name_but_other_scores_gets_its_own_constants():
    rate, _, source = local_statistics(scheme_of("blosum62", 12, factor=2))
    assert source == "computed, ungapped"
    assert rate == pytest.approx(0.3176 / 2, rel=0.01)


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
