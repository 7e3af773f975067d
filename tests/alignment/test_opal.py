"""pyopal against parasail, which is the measure of all backends."""

import hashlib
import itertools

import numpy as np
import parasail
import pyopal
import pytest

from kreinflow.alignment import engine, opal
from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import pack
from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix
from kreinflow.alignment.store import ScoreStore
from kreinflow.errors import InputError, KreinflowError
from sequence_pairs import AMINO_ACIDS, related_pair, scheme_of


def some_sequences(rng, pairs, longest):
    return [sequence for _ in range(pairs) for sequence in related_pair(rng, longest)]


def all_pairs(align, sequences, queries, scheme):
    """Return the scores of the first sequences with all."""
    packed = pack(sequences)
    left = np.repeat(np.arange(queries, dtype=np.int32), len(sequences))
    right = np.tile(np.arange(len(sequences), dtype=np.int32), queries)
    return align(packed, left, right, scheme, 2)


@pytest.fixture
def no_parasail(monkeypatch):
    """What is aligned after this is aligned by pyopal."""

    def refuse(sequences, left, right, scheme, threads):
        assert not left.size
        return np.empty(0, dtype=np.int32)

    return lambda: monkeypatch.setattr(engine, "align_pairs", refuse)


def test_backends_by_name():
    assert backend_named("parasail") is engine.align_pairs
    assert backend_named("pyopal") is opal.align_pairs


@pytest.mark.parametrize(
    ("gap_open", "gap_extend", "factor"),
    # the last ones do not fit 8 bits
    [(11, 1, 1), (1, 1, 1), (0, 0, 1), (8, 8, 1), (1, 0, 1), (127, 1, 1), (200, 5, 1), (2, 1, 25)],
)
def test_scores_are_those_of_parasail(gap_open, gap_extend, factor, no_parasail):
    rng = np.random.default_rng(31)
    sequences = some_sequences(rng, 150, 400)
    scheme = scheme_of("blosum62", gap_open, gap_extend, "local", factor)
    theirs = all_pairs(engine.align_pairs, sequences, 60, scheme)
    no_parasail()
    ours = all_pairs(opal.align_pairs, sequences, 60, scheme)
    assert np.array_equal(ours, theirs)
    assert 0.001 < np.mean(theirs > 2**8 - 1) < 1  # some overflow 8 bits


def test_long_sequences_beyond_8_and_16_bits(no_parasail, monkeypatch):
    rng = np.random.default_rng(32)
    long = rng.choice(AMINO_ACIDS, 12_500)
    sequences = [long.tobytes(), long[:3_000].tobytes(), long[500:9_000].tobytes(), b"W"]
    changed = np.where(rng.random(4_000) < 0.3, rng.choice(AMINO_ACIDS, 4_000), long[:4_000])
    sequences += [changed.tobytes(), *some_sequences(rng, 3, 300)]
    scheme = scheme_of()
    theirs = [
        parasail.sw_striped_32(sequences[0].decode(), other.decode(), 11, 1, parasail.blosum62)
        for other in sequences
    ]
    theirs = np.array([result.score for result in theirs])
    assert theirs.max() > 2**15
    assert np.count_nonzero((theirs > 2**8) & (theirs < 2**15)) >= 2
    no_parasail()
    monkeypatch.setattr(opal, "_FEWEST_TARGETS", 1)
    ours = all_pairs(opal.align_pairs, sequences, 1, scheme)
    assert np.array_equal(ours, theirs)


def test_letters_of_all_kinds(no_parasail):
    # X, B and Z as the matrix has them; U, O and J as the alphabet of the data set replaces them.
    rng = np.random.default_rng(33)
    alphabet = ResidueAlphabet(scheme_of().matrix.alphabet, "protein")
    letters = list("ARNDCQEGHILKMFPSTWYVBZXUOJarnduoj")
    raw = ["".join(rng.choice(letters, rng.integers(1, 120))) for _ in range(120)]
    assert set("UOJ") < set("".join(raw))
    sequences = [alphabet.clean(text.encode()) for text in raw]
    theirs = all_pairs(engine.align_pairs, sequences, 120, scheme_of())
    no_parasail()
    ours = all_pairs(opal.align_pairs, sequences, 120, scheme_of())
    assert np.array_equal(ours, theirs)


def test_nucleotides_and_a_matrix_with_characters_that_are_no_letters(no_parasail):
    rng = np.random.default_rng(34)
    dna = [rng.choice(list(b"ACGTN"), rng.integers(20, 150)).astype("u1") for _ in range(80)]
    theirs = all_pairs(
        engine.align_pairs, [s.tobytes() for s in dna], 80, scheme_of("dnafull", 10, 2)
    )
    table = rng.integers(-5, 3, (4, 4))
    odd = SubstitutionMatrix("odd", "*+7A", (table + table.T + 6 * np.eye(4, dtype=int)))
    digits = [rng.choice(list(b"*+7A"), rng.integers(20, 150)).astype("u1") for _ in range(80)]
    theirs_of_odd = all_pairs(
        engine.align_pairs, [s.tobytes() for s in digits], 80, ScoringScheme(odd, 5, 2)
    )
    no_parasail()
    ours = all_pairs(opal.align_pairs, [s.tobytes() for s in dna], 80, scheme_of("dnafull", 10, 2))
    assert np.array_equal(ours, theirs)
    ours = all_pairs(opal.align_pairs, [s.tobytes() for s in digits], 80, ScoringScheme(odd, 5, 2))
    assert np.array_equal(ours, theirs_of_odd)
    assert theirs_of_odd.max() > 0


def test_pairs_in_any_order_few_targets_and_small_pieces(monkeypatch):
    rng = np.random.default_rng(35)
    sequences = some_sequences(rng, 40, 200)
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
    none = np.empty(0, dtype=np.int32)
    assert opal.align_pairs(packed, none, none, scheme, 2).size == 0
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


def test_a_store_filled_by_either_backend_has_the_same_bytes(tmp_path):
    rng = np.random.default_rng(37)
    sequences = list(dict.fromkeys(some_sequences(rng, 60, 150)))
    digests = [hashlib.sha256(sequence).hexdigest() for sequence in sequences]
    rectangles = [(np.arange(len(sequences)), np.arange(50)), (np.arange(40), np.arange(30, 90))]
    for name in ("parasail", "pyopal"):
        for block in range(2):
            store = ScoreStore(
                tmp_path / name, scheme_of(), sequences, digests, backend_named(name)
            )
            store.fill(rectangles, block, 2, threads=2)
    files = sorted(path for path in (tmp_path / "parasail").rglob("*") if path.is_file())
    assert sum(path.suffix == ".safetensors" for path in files) == 2
    for path in files:
        other = tmp_path / "pyopal" / path.relative_to(tmp_path / "parasail")
        assert path.read_bytes() == other.read_bytes()


def test_a_store_filled_by_one_backend_is_complete_for_the_other(tmp_path):
    rng = np.random.default_rng(38)
    sequences = list(dict.fromkeys(some_sequences(rng, 30, 60)))
    digests = [hashlib.sha256(sequence).hexdigest() for sequence in sequences]
    rectangles = [(np.arange(len(sequences)), np.arange(20))]
    for first, second in itertools.permutations(("parasail", "pyopal")):
        reports = [
            ScoreStore(tmp_path / first, scheme_of(), sequences, digests, backend_named(name)).fill(
                rectangles
            )
            for name in (first, second)
        ]
        assert reports[0].aligned > 0
        assert reports[1].aligned == reports[1].self_scores == 0


def test_other_modes_are_refused():
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="aligns in mode local, not global"):
        opal.align_pairs(pack([b"ACD"]), one, one, scheme_of(mode="global"), 1)


def test_unknown_letters_and_too_many_letters_are_named():
    many = np.zeros(40, dtype=np.int32)
    with pytest.raises(InputError, match=r"sequence 2: the letter 'U' at position 3 .* blosum62"):
        opal.align_pairs(pack([b"ACD", b"ACU"]), many, many, scheme_of(), 1)
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
