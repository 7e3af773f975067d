"""How rectangles are laid out in batches; test_backends.py holds the scores against parasail's."""

import itertools

import llvmlite.binding as llvm
import numpy as np
import pytest

from kreinflow.alignment import batches, engine, loops
from kreinflow.alignment.engine import NOT_ALIGNED, pack
from kreinflow.alignment.vector_code import lanes_here
from sequence_pairs import AMINO_ACIDS, drawn, related_pair, scheme_of


@pytest.fixture
def left_over(monkeypatch):
    """Lay out rectangles however small, and note the pairs that parasail aligns."""
    noted = []
    real = engine.align_rectangle

    def align(sequences, rows, columns, mask=None):
        noted.append(np.argwhere(mask))
        return real(sequences, rows, columns, mask)

    monkeypatch.setattr(engine, "align_rectangle", align)

    def pairs():
        found = np.concatenate([np.empty((0, 2), dtype=np.int64), *noted])
        noted.clear()
        return {tuple(pair) for pair in found.tolist()}

    return pairs


class Batches(list):
    """All batches, and those of 16 bits."""

    def __init__(self):
        self.wide = []


@pytest.fixture
def handed_out(monkeypatch):
    """Note what the compiled loop aligns: (lanes, members, landmarks) of each batch.

    Batches of 16 bits are in ``wide`` as well.
    """
    noted = Batches()
    real = loops.align_batches

    def align(scheme, sequences, members, landmarks, part, out):
        kernel, (numbers, _, ranges), (others, _, other_ranges) = scheme[0], members, landmarks
        for batch in range(*part):
            own = numbers[slice(*ranges[batch])]
            noted.append((int(kernel[2]), own, others[slice(*other_ranges[batch])]))
            if kernel[3] == 16:
                noted.wide.append(noted[-1][1:])
        return real(scheme, sequences, members, landmarks, part, out)

    monkeypatch.setattr(loops, "align_batches", align)
    return noted


def numbers(start, stop):
    return np.arange(start, stop)


def test_all_pairs_of_a_large_rectangle_lie_in_lanes_once(left_over, handed_out):
    rng = np.random.default_rng(50)
    packed = pack(drawn(rng, AMINO_ACIDS, 500, 60, 90), scheme_of())
    for rows, columns in (((0, 400), (400, 500)), ((400, 500), (0, 400))):
        batches.align_in_batches(packed, numbers(*rows), numbers(*columns))
        assert left_over() == set()
        pairs = [
            pair for _, own, landmarks in handed_out for pair in itertools.product(own, landmarks)
        ]
        assert len(pairs) == len(set(pairs)) == 400 * 100
        for width, own, _ in handed_out:
            lengths = packed.lengths[own]
            assert width == lanes_here() if own.size > lanes_here() // 2 else own.size <= width
            assert (np.diff(lengths) <= 0).all()
            assert lengths[0] - lengths[-1] <= 10  # sorted before they were cut
        handed_out.clear()


def test_few_sequences_are_left_to_parasail(left_over, handed_out):
    rng = np.random.default_rng(52)
    packed = pack(drawn(rng, AMINO_ACIDS, 130, 140, 160), scheme_of())
    batches.align_in_batches(packed, numbers(0, 3), numbers(3, 5))
    assert len(left_over()) == 6
    assert not handed_out
    batches.align_in_batches(packed, numbers(0, 1), numbers(1, 130))
    assert len(left_over()) < 10  # the other side lies in the lanes
    assert all(landmarks.tolist() == [0] for _, _, landmarks in handed_out)
    handed_out.clear()
    few = lanes_here() // 2
    batches.align_in_batches(packed, numbers(0, few), numbers(few, 2 * few))
    assert {width for width, _, _ in handed_out} == {few}  # narrower vectors, sooner done


def test_a_long_sequence_does_not_fill_a_batch_of_its_own(left_over, handed_out, monkeypatch):
    rng = np.random.default_rng(53)
    short = drawn(rng, AMINO_ACIDS, 200, 50, 60)
    packed = pack([rng.choice(AMINO_ACIDS, 3_000).tobytes(), *short], scheme_of())
    batches.align_in_batches(packed, numbers(0, 150), numbers(150, 201))
    for _, own, _ in handed_out:
        assert packed.lengths[own].max() < 2 * packed.lengths[own].min()
    monkeypatch.setattr(batches, "_LONGEST", 2_999)
    handed_out.clear()
    batches.align_in_batches(packed, numbers(150, 201), numbers(0, 150))
    assert left_over() == {(row, 0) for row in range(51)}
    assert all(0 not in own and 0 not in landmarks for _, own, landmarks in handed_out)


def test_pairs_beyond_8_bits_get_batches_of_16(left_over, handed_out):
    rng = np.random.default_rng(54)
    parent = rng.choice(AMINO_ACIDS, 300)
    relatives = [
        np.where(rng.random(300) < 0.2, rng.choice(AMINO_ACIDS, 300), parent).tobytes()
        for _ in range(80)
    ]
    packed = pack([*relatives, *drawn(rng, AMINO_ACIDS, 300, 280, 300)], scheme_of(), 2)
    found = batches.align_in_batches(packed, numbers(0, 380), numbers(0, 20))
    assert left_over() == set()
    wide = handed_out.wide
    again = {pair for own, landmarks in wide for pair in itertools.product(own, landmarks)}
    assert again == {tuple(pair) for pair in np.argwhere(found > 240).tolist()}
    assert len(again) >= 80 * 20


def test_relatives_are_foreseen_where_a_mask_asks_for_them(left_over, handed_out):
    rng = np.random.default_rng(60)
    parents = rng.choice(AMINO_ACIDS, (2, 300))
    family = np.arange(400) % 2
    sequences = [
        np.where(rng.random(300) < 0.2, rng.choice(AMINO_ACIDS, 300), parents[of]).tobytes()
        for of in family
    ]
    packed, rows, columns = pack(sequences, scheme_of(), 2), numbers(0, 200), numbers(200, 400)
    whole = engine.align_rectangle(packed, rows, columns, np.ones((200, 200), bool))
    left_over()
    same = family[:200, None] == family[200:]
    for among, most in ((same, 1.3), (~same, 1.02)):  # times that a pair is aligned
        handed_out.clear()
        handed_out.wide.clear()
        mask = among & (rng.random(same.shape) < 0.5)
        found = batches.align_in_batches(packed, rows, columns, mask)
        assert np.array_equal(found, np.where(mask, whole, NOT_ALIGNED))
        assert len(left_over()) <= 0.1 * np.count_nonzero(mask)
        tried = sum(own.size * landmarks.size for _, own, landmarks in handed_out)
        assert tried <= most * np.count_nonzero(mask)
        wide = sum(own.size * landmarks.size for own, landmarks in handed_out.wide)
        assert wide >= 0.9 * np.count_nonzero(mask) if among is same else not wide


def test_a_batch_that_fills_half_of_the_lanes_takes_half(left_over, handed_out):
    if (width := lanes_here()) == 16:
        pytest.skip("there are no fewer lanes")
    rng = np.random.default_rng(61)
    packed = pack(drawn(rng, AMINO_ACIDS, 400, 190, 200), scheme_of())
    # A whole batch for each, and one that half of the lanes hold.
    mask = (numbers(0, 200)[:, None] - numbers(0, 200)) % 200 < width + width // 2 - 4
    rows, columns = numbers(0, 200), numbers(200, 400)
    for sides, wanted in (((rows, columns), mask), ((columns, rows), mask.T)):
        handed_out.clear()
        batches.align_in_batches(packed, *sides, wanted)
        for lanes_of, own, _ in handed_out:
            assert lanes_of == (width if own.size > width // 2 else width // 2)
        assert {lanes_of for lanes_of, _, _ in handed_out} == {width, width // 2}


def test_the_side_that_fills_its_batches_lies_in_lanes(left_over, handed_out):
    rng, width = np.random.default_rng(62), lanes_here()
    packed = pack(drawn(rng, AMINO_ACIDS, 100 + 3 * width, 190, 200), scheme_of())
    rows, columns = numbers(0, 100), numbers(100, 100 + 3 * width)
    mask = np.zeros((100, 3 * width), dtype=bool)
    for row in range(100):
        mask[row, rng.permutation(3 * width)[:width]] = True
    for sides, wanted in (((rows, columns), mask), ((columns, rows), mask.T)):
        handed_out.clear()
        batches.align_in_batches(packed, *sides, wanted)
        assert {own.size for _, own, _ in handed_out} == {width}
        assert {int(k) for _, _, landmarks in handed_out for k in landmarks} == set(range(100))


def test_the_loop_is_compiled_once(left_over):
    rng = np.random.default_rng(58)
    packed = pack(
        [sequence for _ in range(100) for sequence in related_pair(rng, 400)], scheme_of(), 2
    )
    for rows, columns in (((0, 150), (100, 200)), ((0, 20), (20, 200)), ((0, 200), (0, 30))):
        mask = rng.random((rows[1] - rows[0], columns[1] - columns[0])) < 0.6
        for wanted in (None, mask):
            sides = numbers(*rows), numbers(*columns)
            batches.align_in_batches(packed, *sides, wanted)
    assert len(loops.align_batches.signatures) == 1


def test_as_many_lanes_as_the_processor_has():
    features = llvm.get_host_cpu_features()
    widest = 64 if features.get("avx512bw") else 32 if features.get("avx2") else 16
    assert lanes_here() in ((32, 64) if widest == 64 else (widest,))
