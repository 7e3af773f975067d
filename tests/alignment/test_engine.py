import numpy as np
import parasail
import pytest

from kreinflow.alignment import engine, loop
from kreinflow.alignment.engine import align_pairs, diagonal_sums, pack
from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix
from kreinflow.errors import InputError, KreinflowError
from sequence_pairs import AMINO_ACIDS, related_pair, scheme_of

PREFIX = {"local": "sw", "global": "nw", "semiglobal": "sg"}


def both(pairs, scheme, oracle, threads=2):
    packed = pack([sequence for pair in pairs for sequence in pair])
    left = np.arange(0, 2 * len(pairs), 2, dtype=np.int32)
    ours = align_pairs(packed, left, left + np.int32(1), scheme, threads)
    table = getattr(parasail, scheme.matrix.name).copy()
    for (i, j), score in np.ndenumerate(scheme.matrix.scores):
        table[i, j] = int(score)
    theirs = [
        oracle(a.decode(), b.decode(), scheme.gap_open, scheme.gap_extend, table).score
        for a, b in pairs
    ]
    return ours, np.array(theirs)


@pytest.mark.parametrize(
    ("mode", "count"), [("local", 5_000), ("global", 1_000), ("semiglobal", 1_000)]
)
def test_scores_are_those_of_parasail(mode, count):
    rng = np.random.default_rng(11)
    pairs = [related_pair(rng, 2_000) for _ in range(count)]
    oracle = getattr(parasail, f"{PREFIX[mode]}_striped_32")
    ours, theirs = both(pairs, scheme_of(mode=mode), oracle)
    assert np.array_equal(ours, theirs)
    assert theirs.max() > 2**8  # some of them saturate 8 bits
    assert np.count_nonzero(theirs > 0) > count / 10


def test_protein_too_long_for_16_bits():
    rng = np.random.default_rng(12)
    a = rng.choice(AMINO_ACIDS, 12_500).tobytes()
    ours, theirs = both([(a, a), (a, a[:300])], scheme_of(), parasail.sw_striped_32)
    assert np.array_equal(ours, theirs)
    assert theirs[0] > 2**15


@pytest.mark.slow
def test_100000_pairs_and_some_of_the_longest_proteins():
    rng = np.random.default_rng(16)
    pairs = [related_pair(rng, 2_000) for _ in range(100_000)]
    for length in (12_000, 20_000, 35_000):
        a = rng.choice(AMINO_ACIDS, length)
        b = np.concatenate([a[: length // 2], rng.choice(AMINO_ACIDS, 12_000)])
        pairs += [(a.tobytes(), b.tobytes()), (b.tobytes(), rng.choice(a, 12_000).tobytes())]
    ours, theirs = both(pairs, scheme_of(), parasail.sw_striped_32)
    assert np.array_equal(ours, theirs)
    assert np.count_nonzero(theirs > 2**15) >= 2


@pytest.mark.parametrize("mode", list(PREFIX))
@pytest.mark.parametrize(
    ("gap_open", "gap_extend", "factor"),
    [(1, 1, 1), (0, 0, 1), (8, 8, 1), (2, 1, 25), (127, 1, 1), (200, 5, 1), (5, 1, 9), (1, 0, 1)],
)
def test_schemes_where_parasails_fast_functions_are_wrong(mode, gap_open, gap_extend, factor):
    # Linear gaps defeat the striped functions, large entries the 8-bit ones: the plain loop of
    # parasail is the oracle.
    rng = np.random.default_rng(13)
    pairs = [related_pair(rng, 300) for _ in range(150)]
    scheme = scheme_of("blosum62", gap_open, gap_extend, mode, factor)
    ours, theirs = both(pairs, scheme, getattr(parasail, PREFIX[mode]))
    assert np.array_equal(ours, theirs)


def test_nucleotides():
    rng = np.random.default_rng(14)
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    pairs = [
        (rng.choice(letters, 150).tobytes(), rng.choice(letters, 90).tobytes()) for _ in range(50)
    ]
    ours, theirs = both(pairs, scheme_of("dnafull", 10, 2), parasail.sw)
    assert np.array_equal(ours, theirs)


def test_threads_pieces_and_sides_do_not_matter(monkeypatch):
    rng = np.random.default_rng(15)
    packed = pack([rng.choice(AMINO_ACIDS, rng.integers(1, 200)).tobytes() for _ in range(40)])
    left, right = (x.ravel().astype(np.int32) for x in np.mgrid[:40, :40])
    expected = align_pairs(packed, left, right, scheme_of(), 1)
    monkeypatch.setattr(engine, "_LEAST_CELLS", 20_000)
    assert np.array_equal(align_pairs(packed, left, right, scheme_of(), 3), expected)
    assert np.array_equal(align_pairs(packed, right, left, scheme_of(), 2), expected)


def test_the_longer_sequence_gets_the_profile_where_that_pays():
    rng = np.random.default_rng(17)
    lengths = rng.integers(1, 300, 50)
    left = rng.integers(0, 50, 2_000).astype(np.int32)
    right = rng.integers(0, 50, 2_000).astype(np.int32)
    for cost in (0.0, 8.0, 1e9):
        first, second, places = loop.longer_first(lengths, left, right, cost)
        assert np.array_equal(np.sort(places), np.arange(2_000))
        assert (np.diff(first) >= 0).all()  # one run, so one profile, for each sequence
        swapped = 0
        for i, j, place in zip(first, second, places, strict=True):
            columns = np.maximum(lengths[right[place]] - lengths[left[right == right[place]]], 0)
            longer = lengths[right[place]] > lengths[left[place]]
            pays = longer and columns.sum() > cost * lengths[right[place]]
            pair = (right[place], left[place]) if pays else (left[place], right[place])
            assert (i, j) == pair
            swapped += pays
        assert (swapped == 0) == (cost == 1e9)
        assert swapped < 1_100


def test_pieces_shrink_so_that_threads_end_together(monkeypatch):
    sizes = []
    piece = loop.align_piece

    def counted(*arguments):
        left, right, start, stop = arguments[6:10]
        sizes.append(int((lengths[left[start:stop]] * lengths[right[start:stop]]).sum()))
        return piece(*arguments)

    monkeypatch.setattr(loop, "align_piece", counted)
    monkeypatch.setattr(engine, "_LEAST_CELLS", 100_000)
    # Sorted, which is the worst case; those of the right side once more, so that none is aligned
    # with itself.
    packed = pack([b"A" * size for size in (*range(1, 201), *range(1, 21))])
    lengths = packed.lengths
    left, right = (x.ravel().astype(np.int32) for x in np.mgrid[:200, 200:220])
    align_pairs(packed, left, right, scheme_of(), 1)
    total = int(lengths[:200].sum() * lengths[200:].sum())
    assert sum(sizes) == total
    assert len(sizes) > 20
    pair = 200 * 20
    assert max(sizes) == sizes[0] <= total // 8 + pair  # an eighth of what is left, a thread
    assert sizes[-2] <= 100_000 + pair


def alone(sequences, scheme):
    numbers = np.arange(len(sequences), dtype=np.int32)
    packed = pack(sequences)
    sums = diagonal_sums(packed, numbers, scheme.matrix)
    return sums, align_pairs(packed, numbers, numbers, scheme, 1)


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
    scheme = scheme_of(name, mode=mode)
    sequences = [
        rng.choice(np.frombuffer(letters, np.uint8), rng.integers(1, 200)).tobytes()
        for letters in (usual, usual + odd, odd + b"AST", below_zero)
        for _ in range(40)
    ]
    sums, ours = alone(sequences, scheme)
    oracle = getattr(parasail, f"{PREFIX[mode]}_striped_32")
    table = getattr(parasail, name)
    theirs = [oracle(s.decode(), s.decode(), 11, 1, table).score for s in sequences]
    assert np.array_equal(ours, theirs)
    assert (sums[:40] == theirs[:40]).all(), "no alignment for the usual letters"
    assert (sums[-40:] == -1).all(), "X and N score below 0 with themselves"


@pytest.mark.parametrize("mode", list(PREFIX))
@pytest.mark.parametrize(("gap_open", "gap_extend"), [(0, 0), (1, 0), (1, 1), (7, 2)])
def test_self_scores_under_any_matrix(mode, gap_open, gap_extend):
    rng = np.random.default_rng(19)
    letters, told = np.frombuffer(b"ACGT", dtype=np.uint8), 0
    for _ in range(60):
        half = rng.integers(-5, 6, (4, 4))
        scores = np.tril(half) + np.tril(half, -1).T + np.diag(rng.integers(0, 9, 4))
        matrix = SubstitutionMatrix("made up", "ACGT", scores.astype(np.int32))
        scheme = ScoringScheme(matrix, gap_open, gap_extend, mode)
        sequences = [rng.choice(letters, rng.integers(1, 40)).tobytes() for _ in range(10)]
        sums, ours = alone(sequences, scheme)
        table = parasail.matrix_create("ACGT", 1, 0)
        for (i, j), score in np.ndenumerate(scores):
            table[i, j] = int(score)
        oracle = getattr(parasail, PREFIX[mode])
        theirs = np.array(
            [oracle(s.decode(), s.decode(), gap_open, gap_extend, table).score for s in sequences]
        )
        assert np.array_equal(ours, theirs)
        assert np.array_equal(sums[sums >= 0], theirs[sums >= 0])
        told += np.count_nonzero(sums >= 0)
    assert 50 < told < 550


def test_a_chromosome_is_not_aligned_with_itself(monkeypatch):
    sequence = np.random.default_rng(20).choice(AMINO_ACIDS, 3_000_000)
    scores = scheme_of().matrix.scores.diagonal()[
        [scheme_of().matrix.alphabet.index(chr(c)) for c in AMINO_ACIDS]
    ]
    expected = scores @ np.bincount(sequence, minlength=256)[AMINO_ACIDS]
    monkeypatch.setattr(loop, "align_piece", lambda *arguments: 1 / 0)
    assert alone([sequence.tobytes()], scheme_of())[1].tolist() == [expected]


def test_a_sum_beyond_32_bits_is_left_to_the_alignment():
    matrix = SubstitutionMatrix("large", "A", np.array([[10_000]], dtype=np.int32))
    sums = diagonal_sums(pack([b"A" * 300_000, b"A"]), np.arange(2, dtype=np.int32), matrix)
    assert sums.tolist() == [-1, 10_000]


def test_no_pairs():
    none = np.empty(0, dtype=np.int32)
    assert align_pairs(pack([b"A"]), none, none, scheme_of(), 2).size == 0


def test_unknown_letter_is_named():
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(InputError, match=r"sequence 2: the letter 'U' at position 3 .* blosum62"):
        align_pairs(pack([b"ACD", b"ACU"]), one, one, scheme_of(), 1)


def test_empty_sequence_is_refused():
    with pytest.raises(InputError, match="sequence 2 is empty"):
        pack([b"A", b""])


def test_saturation_of_32_bits_is_an_error_not_a_number(monkeypatch):
    monkeypatch.setattr(loop, "align_piece", lambda *arguments: 3)
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(KreinflowError, match="3 scores exceed 32 bits"):
        align_pairs(pack([b"ACD", b"ACD"]), one, one + np.int32(1), scheme_of(), 1)
