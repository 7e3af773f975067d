from dataclasses import replace

import numpy as np
import pytest

from kreinflow.alignment import engine, loops
from kreinflow.alignment.engine import align_pairs, diagonal_sums, pack, self_scores
from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix
from kreinflow.base.errors import InputError, KreinflowError
from sequence_pairs import (
    AMINO_ACIDS,
    PREFIX,
    all_pairs,
    drawn,
    parasail_scores,
    scheme_of,
)


def test_threads_pieces_and_sides_do_not_matter(monkeypatch):
    rng = np.random.default_rng(15)
    packed = pack(drawn(rng, AMINO_ACIDS, 40, 1, 200), scheme_of())
    left, right = all_pairs(np.arange(40), np.arange(40))
    expected = align_pairs(packed, left, right)
    monkeypatch.setattr(engine, "_LEAST_CELLS", 20_000)
    assert np.array_equal(align_pairs(replace(packed, threads=3), left, right), expected)
    assert np.array_equal(align_pairs(replace(packed, threads=2), right, left), expected)


def alone(sequences, scheme, kind=None):
    """Return the sums, the scores and those of parasail, of sequences with themselves."""
    numbers = np.arange(len(sequences), dtype=np.int32)
    packed = pack(sequences, scheme, 2)
    sums = diagonal_sums(packed, numbers)
    ours = self_scores(packed, numbers[::-1])[::-1]
    assert ours.dtype == np.int32
    if kind is not None:
        theirs = parasail_scores(sequences, numbers, numbers, scheme, kind)
        assert np.array_equal(ours, theirs)
        assert np.array_equal(align_pairs(packed, numbers, numbers), theirs)
    return sums, ours


@pytest.mark.parametrize("mode", list(PREFIX))
@pytest.mark.parametrize(
    ("name", "usual", "odd", "below_zero"),
    [
        *((name, AMINO_ACIDS.tobytes(), b"BZX*", b"X") for name in ("blosum62", "pam250")),
        ("dnafull", b"ACGT", b"RYKMSWBVHDN", b"N"),
    ],
)
def test_self_scores_are_those_of_parasail(mode, name, usual, odd, below_zero):
    rng = np.random.default_rng(18)
    pools = usual, usual + odd, odd + b"AST", below_zero
    sequences = [sequence for pool in pools for sequence in drawn(rng, pool, 40, 1, 200)]
    sums, ours = alone(sequences, scheme_of(name, mode=mode), "_striped_32")
    assert (sums[:40] == ours[:40]).all(), "no alignment for the usual letters"
    assert (sums[-40:] == -1).all(), "X and N score below 0 with themselves"


@pytest.mark.parametrize("mode", list(PREFIX))
@pytest.mark.parametrize(("gap_open", "gap_extend"), [(0, 0), (1, 0), (1, 1), (7, 2)])
def test_self_scores_under_any_matrix(mode, gap_open, gap_extend):
    rng, told = np.random.default_rng(19), 0
    for _ in range(60):
        half = rng.integers(-5, 6, (4, 4))
        scores = np.tril(half) + np.tril(half, -1).T + np.diag(rng.integers(0, 9, 4))
        matrix = SubstitutionMatrix("made up", "ACGT", scores.astype(np.int32))
        scheme = ScoringScheme(matrix, gap_open, gap_extend, mode)
        sums, ours = alone(drawn(rng, b"ACGT", 10, 1, 40), scheme, "")
        assert np.array_equal(sums[sums >= 0], ours[sums >= 0])
        told += np.count_nonzero(sums >= 0)
    assert 50 < told < 550


def test_a_sum_beyond_32_bits_is_left_to_the_alignment():
    matrix = SubstitutionMatrix("large", "A", np.array([[10_000]], dtype=np.int32))
    sums = diagonal_sums(pack([b"A" * 300_000, b"A"], ScoringScheme(matrix)), np.arange(2))
    assert sums.tolist() == [-1, 10_000]


def test_self_scores_of_some_sequences_of_a_chromosome_and_of_none():
    packed = pack([b"W" * 3_000_000, b"XX", b"WW", b"X"], scheme_of())  # too long to be aligned
    assert self_scores(packed, np.array([2, 1, 2, 0])).tolist() == [22, 0, 22, 33_000_000]
    assert self_scores(packed, np.empty(0, dtype=np.int64)).size == 0


def test_an_empty_sequence_and_scores_beyond_32_bits_are_refused(monkeypatch):
    with pytest.raises(InputError, match="sequence 2 is empty"):
        pack([b"A", b""], scheme_of())
    monkeypatch.setattr(loops, "align_piece", lambda *arguments: 3)
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(KreinflowError, match="3 scores exceed 32 bits"):
        align_pairs(pack([b"ACD", b"ACD"], scheme_of()), one, one + np.int32(1))


@pytest.mark.parametrize("mode", ["local", "global"])
def test_few_pairs_score_what_the_compiled_loop_says(mode, monkeypatch):
    rng = np.random.default_rng(8)
    letters = list("ARNDCQEGHILKMFPSTWYVX")
    left, right = (np.array(side, np.int32) for side in zip(*np.ndindex(5, 5), strict=True))
    texts = ["".join(rng.choice(letters, n)).encode() for n in (1, 300, 40, 41, 7)]
    packed = pack(texts, scheme_of(mode=mode), 2)
    numbers, scores, sums = np.arange(5), [], []
    for compiled in (True, False):
        monkeypatch.setattr(engine, "worth_compiling", lambda _, compiled=compiled: compiled)
        scores.append(engine.align_pairs(packed, left, right))
        sums.append(engine.diagonal_sums(packed, numbers))
    np.testing.assert_array_equal(*scores)
    np.testing.assert_array_equal(*sums)
    assert scores[0].dtype == scores[1].dtype
    assert (sums[0] < 0).any()
