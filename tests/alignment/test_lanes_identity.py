"""The scores of the fastest backend, against parasail's own functions, one pair after the other."""

import contextlib
import os
import platform
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from kreinflow.alignment import backends, batches, loops, pair_lists
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import NOT_ALIGNED, pack
from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix, _built_in_names
from pair_list_kinds import KINDS, lists_in
from sequence_pairs import AMINO_ACIDS, all_pairs, drawn, parasail_scores, scheme_of

ALIGN = backend_named("auto")
LANES = (16, 32, 64)


@contextlib.contextmanager
def all_in(lanes):
    """Leave nothing to parasail that so many lanes can hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "lanes_here", lambda: lanes)
        patch.setattr(backends, "_FEWEST_STEPS", 0)
        patch.setattr(batches, "COLUMN_STEPS", 1e9)
        patch.setattr(batches, "LEAST_STEPS", 20_000)  # so that there are several pieces
        yield


def oracle(sequences, rows, columns, scheme):
    """Return parasail's scores; where its striped functions are wrong, those of its plain loop."""
    kind = "_striped_32" if scheme.gap_open > scheme.gap_extend else ""
    scores = parasail_scores(sequences, *all_pairs(rows, columns), scheme, kind)
    return scores.reshape(len(rows), len(columns))


def assert_same(ours, theirs, mask=None):
    """All wanted scores are the same, and nothing else is there."""
    if mask is not None:
        theirs = np.where(mask, theirs, NOT_ALIGNED)
    assert ours.dtype == np.int32
    assert ours.shape == theirs.shape
    wrong = np.argwhere(ours != theirs)
    assert not wrong.size, f"{len(wrong)} of {ours.size}, first {wrong[0]}: {ours[tuple(wrong[0])]}"


def assert_aligned(packed, rows, columns, theirs, mask=None, threads=2):
    """The backend gives these scores, as it chooses to align and in lanes of all numbers."""
    packed = replace(packed, threads=threads)
    assert_same(ALIGN(packed, rows, columns, mask), theirs, mask)
    for lanes in LANES:
        with all_in(lanes):
            assert_same(ALIGN(packed, rows, columns, mask), theirs, mask)
    pairs = np.nonzero(np.ones(theirs.shape) if mask is None else mask)
    left, right = rows[pairs[0]], columns[pairs[1]]
    for kind in KINDS:
        with lists_in(kind):
            if tables := pair_lists.table_schemes(packed):
                assert_same(pair_lists.align_lists(packed, left, right, tables), theirs[pairs])


def assert_identical(sequences, rows, columns, scheme):
    """Align rows with columns and columns with rows; return the scores."""
    rows, columns, packed = np.asarray(rows), np.asarray(columns), pack(sequences, scheme)
    theirs = oracle(sequences, rows, columns, scheme)
    assert_aligned(packed, rows, columns, theirs)
    assert_same(ALIGN(packed, columns, rows), theirs.T)
    return theirs


def relatives(rng, count, longest, letters=AMINO_ACIDS):
    """Return mutated parts of a few, some with a gap; half of the lengths are log-uniform."""
    letters = np.asarray(letters)
    ancestors = rng.choice(letters, (1 + count // 30, longest))
    sequences = []
    for _ in range(count):
        size = int(longest ** rng.random() if rng.random() < 0.5 else rng.integers(longest) + 1)
        start = rng.integers(longest - size + 1)
        part = ancestors[rng.integers(len(ancestors)), start : start + size].copy()
        changed = rng.random(size) < rng.choice([0, 0.05, 0.1, 0.3, 1])
        part[changed] = rng.choice(letters, np.count_nonzero(changed))
        if size > 3 and rng.random() < 0.4:
            a, b = np.sort(rng.integers(0, size, 2))
            part = np.delete(part, slice(a, min(b, a + 20)))
        sequences.append(part.tobytes())
    return sequences


def letters_of(matrix):
    return np.frombuffer(matrix.alphabet.encode(), dtype=np.uint8)


# Matrices, letters and gaps.


def test_all_matrices_of_parasail_with_all_their_letters():
    rng, names = np.random.default_rng(51), _built_in_names()
    assert {"blosum62", "pam250", "dnafull", "nuc44"} < set(names)
    assert len(names) > 60
    largest = []
    for name in names:
        gap_open = int(rng.integers(2, 20))
        scheme = scheme_of(name, gap_open, int(rng.integers(0, gap_open)))
        sequences = relatives(rng, 66, 150, letters_of(scheme.matrix))
        assert set(b"".join(sequences)) == set(scheme.matrix.alphabet.encode())
        largest.append(assert_identical(sequences, range(32), range(32, 66), scheme).max())
    assert np.median(largest) > 127
    assert min(largest) > 20


@pytest.mark.parametrize(
    ("gap_open", "gap_extend", "factor"),
    [
        *((gap, gap, 1) for gap in (0, 1, 5, 8, 11, 127, 128, 129, 255, 256, 10_000)),
        *((1, 0, 1), (11, 0, 1), (127, 0, 1), (127, 1, 1), (128, 127, 1), (129, 1, 1)),
        *((200, 5, 1), (300, 250, 1), (10_000, 1, 1), (2, 1, 25), (5, 1, 9), (11, 1, 11)),
        *((11, 1, 12), (11, 1, 30), (400, 40, 100), (9_999, 0, 900), (3, 3, 12), (0, 0, 32)),
    ],
)
def test_gaps_and_entries_of_all_sizes(gap_open, gap_extend, factor):
    rng = np.random.default_rng([52, gap_open, gap_extend, factor])
    scheme = scheme_of("blosum62", gap_open, gap_extend, factor=factor)
    sequences = relatives(rng, 70, 150)
    rows, columns = np.arange(30), np.arange(30, 70)
    scores = assert_identical(sequences, rows, columns, scheme)
    assert_same(backend_named("parasail")(pack(sequences, scheme, 2), rows, columns), scores)
    assert np.count_nonzero(scores > 255) > 3


POOL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-/<>@"


def drawn_scheme(rng, size, largest=12, gaps=None):
    """Return a scheme with a random matrix, whose diagonal need not be its largest."""
    half = rng.integers(-largest, largest // 2 + 1, (size, size))
    scores = np.tril(half) + np.tril(half, -1).T + np.diag(rng.integers(0, largest, size))
    letters = "".join(rng.permutation(list(POOL))[:size])
    matrix = SubstitutionMatrix("drawn", letters, scores.astype(np.int32))
    gap_open = int(rng.integers(0, 2 * largest)) if gaps is None else gaps[0]
    gap_extend = int(rng.integers(0, gap_open + 1)) if gaps is None else gaps[1]
    return ScoringScheme(matrix, gap_open, gap_extend)


SIZES = [1, 2, 4, 15, 16, 17, 20, 24, 31, 32, 33, 40]
LARGEST = [1, 3, 60, 120, 126, 127, 128, 200, 255, 256, 1_000, 6_600]


@pytest.mark.parametrize(
    ("size", "largest"), [*((size, 12) for size in SIZES), *((20, most) for most in LARGEST)]
)
def test_alphabets_and_entries_of_all_sizes(size, largest):
    rng = np.random.default_rng([53, size, largest])
    for gaps in (None, (largest, 1), (1, 0)):
        scheme = drawn_scheme(rng, size, largest, gaps)
        sequences = relatives(rng, 75, 70, letters_of(scheme.matrix))
        assert len(set(b"".join(sequences))) == size
        assert_identical(sequences, range(40), range(35, 75), scheme)


@pytest.mark.parametrize("worst", [-100, -126, -127, -128, -129, -150, -180, -1_000, -10_000])
def test_one_entry_far_below_the_others(worst):
    usual = scheme_of().matrix
    table = usual.scores.copy()
    table[0, 1] = table[1, 0] = worst
    scheme = ScoringScheme(SubstitutionMatrix("worst", usual.alphabet, table), 11, 1)
    sequences = relatives(np.random.default_rng([70, -worst]), 70, 120)
    assert assert_identical(sequences, range(35), range(35, 70), scheme).max() > 255
    low = SubstitutionMatrix("low", "ACGT", np.full((4, 4), worst, dtype=np.int32))
    sequences = drawn(np.random.default_rng(55), b"ACGT", 70, 1, 30)
    scores = assert_identical(sequences, range(35), range(35, 70), ScoringScheme(low, 5, 2))
    assert scores.max() == 0, "no entry is above 0"


def test_characters_that_are_no_letters():
    # To parasail's Python functions * is none of a matrix's own: others stand in.
    rng = np.random.default_rng(34)
    table = rng.integers(-5, 3, (4, 4))
    scores = table + table.T + 6 * np.eye(4, dtype=int)
    sequences = drawn(rng, b"*+7A", 80, 20, 150)
    odd = ScoringScheme(SubstitutionMatrix("odd", "*+7A", scores), 5, 2)
    plain = ScoringScheme(SubstitutionMatrix("odd", "ACGT", scores), 5, 2)
    everyone = np.arange(80)
    translated = [s.translate(bytes.maketrans(b"*+7A", b"ACGT")) for s in sequences]
    theirs = oracle(translated, everyone, everyone, plain)
    assert_aligned(pack(sequences, odd), everyone, everyone, theirs)


# Scores where a width ends.


def steps_scheme(values, mismatch, gap_open, gap_extend):
    """Return a scheme whose letter i scores ``values[i]`` with itself, ``mismatch`` with others."""
    scores = np.full((len(values),) * 2, mismatch, dtype=np.int32)
    np.fill_diagonal(scores, values)
    return ScoringScheme(
        SubstitutionMatrix("steps", POOL[: len(values)], scores), gap_open, gap_extend
    )


def of_self_score(rng, score, scheme):
    """Return a sequence that scores this with itself; a letter of its matrix must score 1."""
    worth = np.diagonal(scheme.matrix.scores)
    chosen = []
    while score:
        fit = np.flatnonzero(worth <= score)
        if score > 5 * worth.max():  # any but the least, which would make it long
            fit = fit[worth[fit] >= worth.max() // 12]
            chosen.append(rng.choice(fit))
        else:
            chosen.append(fit[worth[fit].argmax()])
        score -= worth[chosen[-1]]
    order = rng.permutation(np.array(chosen))
    return letters_of(scheme.matrix)[order].tobytes()


def assert_exact(rng, scores, scheme, columns):
    """Compare sequences of these self-scores with those at ``columns`` of them."""
    sequences = [of_self_score(rng, score, scheme) for score in scores]
    places = [list(scores).index(score) for score in columns]
    found = assert_identical(sequences, range(len(scores)), places, scheme)
    assert found[places, np.arange(len(places))].tolist() == list(columns)
    return found


@pytest.mark.parametrize(
    "scheme",
    [
        steps_scheme([1, 4, 5, 6, 7, 8, 9, 11], -4, 11, 1),
        steps_scheme([1], 0, 1, 1),
        steps_scheme([1, 2, 3], -1, 2, 1),
        steps_scheme([1, 5], -4, 10, 2),
        steps_scheme([1, 13], -23, 9, 2),
        steps_scheme([1, 30], -17, 50, 20),
        steps_scheme([1, 60], -60, 60, 60),
        steps_scheme([1, 100], -27, 127, 27),
        steps_scheme([1, 126], -1, 128, 1),
    ],
    ids=lambda scheme: f"{scheme.matrix.scores.max()} {scheme.matrix.scores.min()}",
)
def test_each_score_around_the_end_of_8_bits(scheme):
    rng, scores = np.random.default_rng(56), range(90, 270)
    exact = [116, 117, 127, 128, 239, 240, 241, 242, 254, 255, 256]
    assert_exact(rng, scores, scheme, exact)
    assert_exact(rng, range(1, 135), scheme, [1, 2, 3, 130])


@pytest.mark.parametrize(
    "scheme",
    [
        steps_scheme([1, 9, 50, 100], -30, 20, 3),
        steps_scheme([1, 9, 90, 127], -128, 127, 127),
        steps_scheme([1, 10, 128, 500], -300, 500, 100),
        steps_scheme([1, 10, 100, 1_000], -1_000, 900, 0),
        steps_scheme([1, 10, 100, 1_000, 10_000], -10_000, 10_000, 1),
        steps_scheme([1, 10, 100, 1_000, 6_000], -5, 7, 1),
    ],
    ids=lambda scheme: f"{scheme.matrix.scores.max()} {scheme.matrix.scores.min()}",
)
def test_scores_around_the_ends_of_16_bits(scheme):
    rng = np.random.default_rng(57)
    exact = [32_766, 32_767, 32_768, 65_300, 65_533, 65_534, 65_535, 65_536, 65_537, 65_600]
    others = [*range(65_301, 65_600, 9), *range(55_500, 65_300, 411), *range(32_600, 32_900, 31)]
    assert_exact(rng, [*exact, *others], scheme, exact)


# Shapes, orders, lengths.


@pytest.fixture(scope="module")
def family():
    """160 sequences with themselves: packed, and parasail's scores."""
    rng = np.random.default_rng(60)
    sequences = relatives(rng, 160, 150)
    everyone = np.arange(160)
    return pack(sequences, scheme_of()), oracle(sequences, everyone, everyone, scheme_of())


SHAPES = [(1, 1), (1, 7), (1, 130), (2, 130), (3, 20), (15, 16), (16, 17), (31, 33), (32, 32)]
SHAPES += [(50, 20), (50, 1), (63, 65), (64, 64), (65, 1), (127, 5), (128, 3), (129, 64)]


@pytest.mark.parametrize(("height", "width"), [*SHAPES, (130, 130)])
def test_rectangles_of_all_sizes_in_any_order_of_lengths(family, height, width):
    packed, theirs = family
    rng = np.random.default_rng([61, height, width])
    for order in ("any", "ascending", "descending"):
        rows, columns = rng.permutation(160)[:height], rng.permutation(160)[:width]
        if order != "any":
            rows = rows[np.argsort(packed.lengths[rows])]
            columns = columns[np.argsort(packed.lengths[columns])]
        if order == "descending":
            rows, columns = rows[::-1], columns[::-1]
        for a, b in ((rows, columns), (columns, rows)):
            assert_aligned(packed, a, b, theirs[np.ix_(a, b)], threads=1)


def masks_of(rng, height, width):
    for density in (0.01, 0.1, 0.5, 0.9, 1):
        yield rng.random((height, width)) < density
    empty = np.zeros((height, width), dtype=bool)
    yield empty
    for part in ((height // 2, slice(None)), (slice(None), width - 1), (height - 1, width // 2)):
        one = empty.copy()
        one[part] = True
        yield one
    yield rng.random(height)[:, None] < np.full(width, 0.3)  # whole rows
    yield np.tile(rng.random(width) < 0.3, (height, 1))
    yield np.tri(height, width, dtype=bool)


@pytest.mark.parametrize(("height", "width"), [(1, 40), (40, 1), (60, 12), (12, 60), (130, 100)])
def test_masks_of_all_densities(family, height, width):
    packed, theirs = family
    rng = np.random.default_rng([63, height, width])
    for number, mask in enumerate(masks_of(rng, height, width)):
        rows, columns = rng.permutation(160)[:height], rng.permutation(160)[:width]
        before = mask.copy()
        expected, threads = theirs[np.ix_(rows, columns)], 1 + number % 3
        assert_aligned(packed, rows, columns, expected, mask, threads)
        assert np.array_equal(mask, before)
        # Columns first, which is not C's order.
        assert_aligned(packed, columns, rows, expected.T, mask.T, threads)
    assert len(loops.align_batches.signatures) == 1, "it is compiled once"


def test_sequences_of_one_letter():
    rng = np.random.default_rng(65)
    ones, alone = [bytes([letter]) for letter in AMINO_ACIDS] * 2, scheme_of()
    assert assert_identical(ones, range(40), range(40), alone).max() == 11
    sequences = [*relatives(rng, 60, 200), *ones]
    sequences = [sequences[i] for i in rng.permutation(100)]
    assert_identical(sequences, range(50), range(100), alone)
    repeats = [
        bytes([letter]) * int(size) for letter, size in zip(b"AW" * 35, range(70), strict=True)
    ]
    assert_identical(repeats[2:], range(34), range(68), alone)


def test_very_long_sequences_among_short_ones():
    rng = np.random.default_rng(66)
    long = rng.choice(AMINO_ACIDS, 9_000)
    part = np.where(rng.random(7_500) < 0.2, rng.choice(AMINO_ACIDS, 7_500), long[900:8_400])
    sequences = [*relatives(rng, 80, 120), long.tobytes(), part.tobytes(), long[:7_000].tobytes()]
    sequences += [long[4_000 + 300 * i : 4_000 + 330 * i + 40].tobytes() for i in range(15)]
    rows = np.concatenate([np.arange(0, 40), [80, 81, 82], np.arange(83, 98)])
    columns = np.concatenate([np.arange(40, 50), [81, 85, 82], np.arange(90, 98)])
    scores = assert_identical(sequences, rows, columns, scheme_of())
    assert scores.max() > 2**15
    assert np.count_nonzero((scores > 255) & (scores < 2**15)) > 20


# Draws of all this together.


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_drawn(seed):
    rng = np.random.default_rng([68, seed])
    if seed % 3 == 0:
        scheme = drawn_scheme(rng, int(rng.integers(1, 36)), int(rng.choice([2, 9, 40, 130, 900])))
    else:
        gap_open = int(rng.choice([0, 1, 3, 10, 11, 14, 40, 130]))
        name = str(rng.choice(_built_in_names()))
        scheme = scheme_of(name, gap_open, int(rng.integers(0, min(gap_open, 9) + 1)))
    longest = int(rng.choice([2, 20, 100, 400]))
    count = int(rng.choice([3, 30, 90, 150])) if longest < 400 else 30
    sequences = relatives(rng, count, longest, letters_of(scheme.matrix))
    rows = rng.integers(0, count, rng.integers(1, 1 + min(count, 90)))
    columns = rng.integers(0, count, rng.integers(1, 1 + min(count, 50)))
    mask = rng.random((rows.size, columns.size)) < rng.choice([0.02, 0.3, 0.95, 1])
    theirs = np.zeros(mask.shape, dtype=np.int32)
    kind = "_striped_32" if scheme.gap_open > scheme.gap_extend else ""
    pairs = np.nonzero(mask)
    theirs[pairs] = parasail_scores(sequences, rows[pairs[0]], columns[pairs[1]], scheme, kind)
    assert_aligned(pack(sequences, scheme), rows, columns, theirs, mask, int(rng.integers(1, 4)))


# Processors.


def widths_are_exact():
    """Scores of 8, 16 and 32 bits, in lanes that are full and that are not, are parasail's."""
    for number, (name, factor) in enumerate([("blosum62", 1), ("dnafull", 1), ("pam30", 200)]):
        scheme = scheme_of(name, 11 * factor, factor, factor=factor)
        rng = np.random.default_rng([69, number])
        sequences = relatives(rng, 150, 260, letters_of(scheme.matrix))
        for height, width in ((130, 20), (3, 100), (70, 1)):
            rows, columns = rng.permutation(150)[:height], rng.permutation(150)[:width]
            assert_identical(sequences, rows, columns, scheme)


ANOTHER_PROCESSOR = """
import llvmlite.binding as llvm

llvm.get_host_cpu_name = lambda: "x86-64"
llvm.get_host_cpu_features = llvm.FeatureMap

from alignment.test_lanes_identity import widths_are_exact
from numba.core.registry import cpu_target

widths_are_exact()
print(cpu_target.target_context.codegen().magic_tuple()[1])
"""


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="x86-64 only")
def test_scores_are_the_same_on_the_least_of_processors(tmp_path):
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)}
    environment |= {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, "-c", ANOTHER_PROCESSOR]
    done = subprocess.run(
        command, env=os.environ | environment, stdout=subprocess.PIPE, check=True, text=True
    )
    assert done.stdout == "x86-64\n"
