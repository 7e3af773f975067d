"""Both backends against parasail's own functions, one pair after the other."""

import hashlib
import itertools

import numpy as np
import pytest

from kreinflow.alignment import engine, opal
from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import pack
from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix
from kreinflow.alignment.store import ScoreStore
from kreinflow.errors import InputError
from sequence_pairs import (
    AMINO_ACIDS,
    PREFIX,
    all_pairs,
    drawn,
    parasail_scores,
    rectangle,
    related_pair,
    scheme_of,
)

NONE = np.empty(0, dtype=np.int32)


@pytest.fixture
def backend(request, monkeypatch):
    """What is asked of pyopal is aligned by it and not by parasail."""

    def refuse(sequences, left, right, scheme, threads):
        assert not left.size
        return NONE

    align = backend_named(request.param)
    if request.param == "pyopal":
        assert align is opal.align_pairs
        monkeypatch.setattr(opal, "_FEWEST_TARGETS", 1)
        monkeypatch.setattr(engine, "align_pairs", refuse)
    return align


each_backend = pytest.mark.parametrize("backend", ["parasail", "pyopal"], indirect=True)
each_backend_and_mode = pytest.mark.parametrize(
    ("backend", "mode"),
    [*(("parasail", mode) for mode in PREFIX), ("pyopal", "local")],
    indirect=["backend"],
)


def related(rng, count, longest, queries=0):
    """Return sequences, and which are paired: relatives, and some with the first 300."""
    sequences = [sequence for _ in range(count) for sequence in related_pair(rng, longest)]
    firsts = np.arange(0, 2 * count, 2, dtype=np.int32)
    left, right = all_pairs(np.arange(queries), np.arange(min(300, 2 * count)))
    return sequences, np.append(firsts, left), np.append(firsts + np.int32(1), right)


@each_backend_and_mode
def test_scores_are_those_of_parasail(backend, mode):
    count, scheme = 5_000 if mode == "local" else 1_000, scheme_of(mode=mode)
    sequences, left, right = related(np.random.default_rng(11), count, 2_000, queries=15)
    theirs = parasail_scores(sequences, left, right, scheme)
    assert np.array_equal(backend(pack(sequences), left, right, scheme, 2), theirs)
    assert theirs.max() > 2**8  # some of them saturate 8 bits
    assert np.count_nonzero(theirs > 0) > count / 10


@each_backend_and_mode
@pytest.mark.parametrize(
    ("gap_open", "gap_extend", "factor"),
    [(1, 1, 1), (0, 0, 1), (8, 8, 1), (2, 1, 25), (127, 1, 1), (200, 5, 1), (5, 1, 9), (1, 0, 1)],
)
def test_schemes_where_parasails_fast_functions_are_wrong(
    backend, mode, gap_open, gap_extend, factor
):
    # Linear gaps defeat the striped functions, large entries the 8-bit ones: the plain loop of
    # parasail is the oracle.
    sequences, left, right = related(np.random.default_rng(13), 150, 300, queries=20)
    scheme = scheme_of("blosum62", gap_open, gap_extend, mode, factor)
    theirs = parasail_scores(sequences, left, right, scheme, kind="")
    assert np.array_equal(backend(pack(sequences), left, right, scheme, 2), theirs)
    assert np.count_nonzero(theirs > 2**8 - 1) > 5


@each_backend
def test_long_sequences_beyond_8_and_16_bits(backend):
    rng = np.random.default_rng(32)
    long = rng.choice(AMINO_ACIDS, 12_500)
    changed = np.where(rng.random(4_000) < 0.3, rng.choice(AMINO_ACIDS, 4_000), long[:4_000])
    parts = long, long[:3_000], long[500:9_000], long[:300], changed
    sequences = [*(part.tobytes() for part in parts), b"W", *drawn(rng, b"ACDEF", 4, 1, 300)]
    left, right = all_pairs([0], np.arange(10))
    theirs = parasail_scores(sequences, left, right, scheme_of())
    assert np.array_equal(backend(pack(sequences), left, right, scheme_of(), 2), theirs)
    assert np.count_nonzero(theirs > 2**15) >= 2
    assert np.count_nonzero((theirs > 2**8) & (theirs < 2**15)) >= 2


@pytest.mark.slow
def test_100000_pairs_and_some_of_the_longest_proteins():
    rng = np.random.default_rng(16)
    sequences, left, right = related(rng, 100_000, 2_000)
    for length in (12_000, 20_000, 35_000):
        a = rng.choice(AMINO_ACIDS, length)
        b = np.concatenate([a[: length // 2], rng.choice(AMINO_ACIDS, 12_000)])
        n = len(sequences)
        left, right = np.append(left, [n, n + 1]), np.append(right, [n + 1, n + 2])
        sequences += [a.tobytes(), b.tobytes(), rng.choice(a, 12_000).tobytes()]
    theirs = parasail_scores(sequences, left, right, scheme_of())
    assert np.array_equal(engine.align_pairs(pack(sequences), left, right, scheme_of(), 2), theirs)
    assert np.count_nonzero(theirs > 2**15) >= 2


def cleaned_proteins(rng):
    # X, B and Z as the matrix has them; U, O and J as the alphabet of the data set replaces them.
    alphabet = ResidueAlphabet(scheme_of().matrix.alphabet, "protein")
    raw = drawn(rng, b"ARNDCQEGHILKMFPSTWYVBZXUOJarnduoj", 120, 1, 120)
    assert set(b"UOJ") < set(b"".join(raw))
    return [alphabet.clean(text) for text in raw]


def odd_scheme():
    table = np.random.default_rng(34).integers(-5, 3, (4, 4))
    scores = table + table.T + 6 * np.eye(4, dtype=int)
    return ScoringScheme(SubstitutionMatrix("odd", "*+7A", scores), 5, 2)


@each_backend
@pytest.mark.parametrize(
    ("draw", "scheme"),
    [
        (cleaned_proteins, scheme_of()),
        (lambda rng: drawn(rng, b"ACGTN", 80, 20, 150), scheme_of("dnafull", 10, 2)),
        (lambda rng: drawn(rng, b"*+7A", 80, 20, 150), odd_scheme()),
    ],
    ids=["proteins", "nucleotides", "characters that are no letters"],
)
def test_letters_of_all_kinds(backend, draw, scheme):
    sequences = draw(np.random.default_rng(33))
    everyone = np.arange(len(sequences))
    ours = rectangle(sequences, everyone, everyone, scheme, backend)
    if (
        scheme.matrix.name == "odd"
    ):  # to parasail's Python functions * is no letter: others stand in
        sequences = [s.translate(bytes.maketrans(b"*+7A", b"ACGT")) for s in sequences]
        scheme = ScoringScheme(SubstitutionMatrix("odd", "ACGT", scheme.matrix.scores), 5, 2)
    theirs = parasail_scores(sequences, *all_pairs(everyone, everyone), scheme, kind="")
    assert np.array_equal(ours.ravel(), theirs)
    assert theirs.max() > 0


@each_backend
def test_no_pairs(backend):
    assert backend(pack([b"A"]), NONE, NONE, scheme_of(), 2).size == 0


@each_backend
def test_unknown_letter_is_named(backend):
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(InputError, match=r"sequence 2: the letter 'U' at position 3 .* blosum62"):
        backend(pack([b"ACD", b"ACU"]), one, one, scheme_of(), 1)


def test_a_store_filled_by_either_backend_has_the_same_bytes_and_is_complete_for_both(tmp_path):
    rng = np.random.default_rng(37)
    sequences = list(dict.fromkeys(related(rng, 60, 150)[0]))
    digests = [hashlib.sha256(sequence).hexdigest() for sequence in sequences]
    rectangles = [(np.arange(len(sequences)), np.arange(50)), (np.arange(40), np.arange(30, 90))]

    def fill(folder, name, block):
        backend = backend_named(name)
        store = ScoreStore(tmp_path / folder, scheme_of(), sequences, digests, backend)
        return store.fill(rectangles, block, 2, threads=2)

    for name, block in itertools.product(("parasail", "pyopal"), range(2)):
        assert fill(name, name, block).aligned > 0
    files = sorted(path for path in (tmp_path / "parasail").rglob("*") if path.is_file())
    assert sum(path.suffix == ".safetensors" for path in files) == 2
    for path in files:
        other = tmp_path / "pyopal" / path.relative_to(tmp_path / "parasail")
        assert path.read_bytes() == other.read_bytes()
    for first, second in itertools.permutations(("parasail", "pyopal")):
        report = fill(first, second, 1)
        assert report.aligned == report.self_scores == 0
