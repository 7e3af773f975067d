"""What pyopal alone does; its scores are compared with parasail's in test_backends.py."""

import numpy as np
import pyopal
import pytest

from kreinflow.alignment import engine, opal
from kreinflow.alignment.engine import pack
from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix
from kreinflow.errors import InputError, KreinflowError
from sequence_pairs import AMINO_ACIDS, related_pair, scheme_of


def test_pairs_in_any_order_few_targets_and_small_pieces(monkeypatch):
    rng = np.random.default_rng(35)
    sequences = [sequence for _ in range(40) for sequence in related_pair(rng, 200)]
    packed, scheme = pack(sequences), scheme_of()
    sizes = [1, 31, 32, 33, 70, 5, 64]
    left = np.repeat(rng.integers(0, 80, len(sizes)), sizes).astype(np.int32)
    right = rng.integers(0, 80, left.size).astype(np.int32)  # repeated targets too
    expected = engine.align_pairs(packed, left, right, scheme, 1)
    asked = []
    real = engine.align_pairs

    def noted(packed, left, right, scheme, threads):
        asked.append(left.size)
        return real(packed, left, right, scheme, threads)

    monkeypatch.setattr(engine, "align_pairs", noted)
    for least, cells, threads in ((256, 50_000_000, 1), (10, 1, 3), (1, 20_000, 2)):
        monkeypatch.setattr(opal, "_LEAST_TARGETS", least)
        monkeypatch.setattr(opal, "_CELLS", cells)
        assert np.array_equal(opal.align_pairs(packed, left, right, scheme, threads), expected)
    assert asked == [1 + 31 + 5] * 3
    alone = np.arange(80, dtype=np.int32)  # the pairs of sequences with themselves
    assert np.array_equal(
        opal.align_pairs(packed, alone, alone, scheme, 2), real(packed, alone, alone, scheme, 2)
    )
    assert asked[-1] == 80


def test_pieces_hold_each_pair_once_longest_targets_first(monkeypatch):
    rng = np.random.default_rng(36)
    lengths = rng.integers(1, 900, 3_000)
    left, right = np.full(2_000, 7, np.int32), rng.integers(0, 3_000, 2_000).astype(np.int32)
    monkeypatch.setattr(opal, "_CELLS", 300 * 450 * int(lengths[7]))
    run = np.arange(100, 2_000)
    pieces = list(opal._pieces(lengths, left, right, run))
    assert np.array_equal(np.sort(np.concatenate(pieces)), run)
    assert (np.diff(lengths[right[np.concatenate(pieces)]]) <= 0).all()
    assert all(piece.size >= 512 for piece in pieces[:-1])
    assert 3 <= len(pieces) <= 4


def test_other_modes_are_refused():
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="aligns in mode local, not global"):
        opal.align_pairs(pack([b"ACD"]), one, one, scheme_of(mode="global"), 1)


def test_too_many_letters_are_named():
    many = np.zeros(40, dtype=np.int32)
    letters = "".join(map(chr, range(33, 60)))
    scheme = ScoringScheme(SubstitutionMatrix("wide", letters, np.eye(27, dtype=np.int32)))
    with pytest.raises(InputError, match="27 different letters, .* Use the backend parasail"):
        opal.align_pairs(pack([letters.encode()]), many, many, scheme, 1)


def test_an_overflow_of_32_bits_is_an_error_not_a_number(monkeypatch):
    class Overflowing(pyopal.Aligner):
        def align(self, *arguments, **options):
            raise OverflowError

    monkeypatch.setattr(pyopal, "Aligner", Overflowing)
    many = np.zeros(40, dtype=np.int32)
    with pytest.raises(KreinflowError, match="a score exceeds 32 bits"):
        opal.align_pairs(pack([b"ACD"]), many, many, scheme_of(), 1)


def test_overflows_leave_no_memory_behind():
    # pyopal's other way to treat them does: 64 bytes for each residue of the query, each time.
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    rng = np.random.default_rng(39)
    query = rng.choice(AMINO_ACIDS, 4_000)
    packed = pack([query.tobytes(), query[:300].tobytes()])
    left, right = np.zeros(32, np.int32), np.ones(32, np.int32)
    opal.align_pairs(packed, left, right, scheme_of(), 1)
    before = resident()
    for _ in range(60):
        opal.align_pairs(packed, left, right, scheme_of(), 1)
    assert resident() - before < 60 * 4_000 * 64 / 3
