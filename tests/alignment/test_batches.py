"""How rectangles are laid out in batches; test_backends.py holds the scores against parasail's."""

import itertools
from collections import namedtuple

import numpy as np
import pytest

from kreinflow.alignment import batches, engine, loops
from kreinflow.alignment.engine import NOT_ALIGNED, pack
from kreinflow.alignment.vector_code import lanes_here
from sequence_pairs import AMINO_ACIDS, drawn, scheme_of

Batch = namedtuple("Batch", "lanes, bits, members, landmarks")


@pytest.fixture
def left_over(monkeypatch):
    """Note the pairs that parasail aligns; the list may be cleared."""
    noted = []
    real = engine.align_rectangle

    def align(sequences, rows, columns, mask=None):
        noted.extend(map(tuple, np.argwhere(mask).tolist()))
        return real(sequences, rows, columns, mask)

    monkeypatch.setattr(engine, "align_rectangle", align)
    return noted


@pytest.fixture
def handed_out(monkeypatch):
    """Note the batches that the compiled loop aligns; the list may be cleared."""
    noted = []
    real = loops.align_batches

    def align(scheme, sequences, members, landmarks, part, out):
        kernel, (numbers, _, ranges), (others, _, other_ranges) = scheme[0], members, landmarks
        for batch in range(*part):
            own = numbers[slice(*ranges[batch])]
            noted.append(Batch(*kernel[2:4], own, others[slice(*other_ranges[batch])]))
        return real(scheme, sequences, members, landmarks, part, out)

    monkeypatch.setattr(loops, "align_batches", align)
    return noted


def pairs_of(handed_out, bits):
    """The pairs of the batches of so many bits, as often as they are aligned."""
    return [
        pair
        for batch in handed_out
        if batch.bits == bits
        for pair in itertools.product(batch.members.tolist(), batch.landmarks.tolist())
    ]


def family(rng, count, parents):
    """Sequences that are near the parents, the one after the other."""
    size = parents.shape[1]
    return [
        np.where(rng.random(size) < 0.2, rng.choice(AMINO_ACIDS, size), parent).tobytes()
        for parent in itertools.islice(itertools.cycle(parents), count)
    ]


def test_all_pairs_of_a_large_rectangle_lie_in_lanes_once(left_over, handed_out):
    rng = np.random.default_rng(50)
    packed = pack(drawn(rng, AMINO_ACIDS, 500, 60, 90), scheme_of())
    for rows, columns in itertools.permutations(np.split(np.arange(500), [400])):
        batches.align_in_batches(packed, rows, columns)
        assert not left_over
        pairs = pairs_of(handed_out, 8)
        assert len(pairs) == len(set(pairs)) == 400 * 100
        for width, _, own, _ in handed_out:
            lengths = packed.lengths[own]
            assert width == lanes_here() if own.size > lanes_here() // 2 else own.size <= width
            assert (np.diff(lengths) <= 0).all()
            assert lengths[0] - lengths[-1] <= 10  # sorted before they were cut
        handed_out.clear()


def test_few_sequences_are_left_to_parasail(left_over, handed_out):
    rng = np.random.default_rng(52)
    packed, numbers = pack(drawn(rng, AMINO_ACIDS, 130, 140, 160), scheme_of()), np.arange(130)
    batches.align_in_batches(packed, numbers[:3], numbers[3:5])
    assert len(left_over) == 6
    assert not handed_out
    left_over.clear()
    batches.align_in_batches(packed, numbers[:1], numbers[1:])
    assert len(left_over) < 10  # the other side lies in the lanes
    assert all(batch.landmarks.tolist() == [0] for batch in handed_out)
    handed_out.clear()
    few = lanes_here() // 2
    batches.align_in_batches(packed, numbers[:few], numbers[few : 2 * few])
    assert {batch.lanes for batch in handed_out} == {few}  # narrower vectors, sooner done


def test_a_long_sequence_does_not_fill_a_batch_of_its_own(left_over, handed_out, monkeypatch):
    rng = np.random.default_rng(53)
    short = drawn(rng, AMINO_ACIDS, 200, 50, 60)
    packed = pack([rng.choice(AMINO_ACIDS, 3_000).tobytes(), *short], scheme_of())
    first, second = np.split(np.arange(201), [150])
    batches.align_in_batches(packed, first, second)
    for batch in handed_out:
        assert packed.lengths[batch.members].max() < 2 * packed.lengths[batch.members].min()
    monkeypatch.setattr(batches, "LONGEST", 2_999)
    left_over.clear()
    handed_out.clear()
    batches.align_in_batches(packed, second, first)
    assert set(left_over) == {(row, 0) for row in range(51)}
    assert all(0 not in (*batch.members, *batch.landmarks) for batch in handed_out)


def test_pairs_beyond_8_bits_get_batches_of_16(left_over, handed_out):
    rng = np.random.default_rng(54)
    relatives = family(rng, 80, rng.choice(AMINO_ACIDS, (1, 300)))
    packed = pack([*relatives, *drawn(rng, AMINO_ACIDS, 300, 280, 300)], scheme_of(), 2)
    found = batches.align_in_batches(packed, np.arange(380), np.arange(20))
    assert not left_over
    again = set(pairs_of(handed_out, 16))
    assert again == {tuple(pair) for pair in np.argwhere(found > 240).tolist()}
    assert len(again) >= 80 * 20


def test_relatives_are_foreseen_where_a_mask_asks_for_them(left_over, handed_out):
    rng = np.random.default_rng(60)
    packed = pack(family(rng, 400, rng.choice(AMINO_ACIDS, (2, 300))), scheme_of(), 2)
    rows, columns = np.split(np.arange(400), 2)
    whole = engine.align_rectangle(packed, rows, columns, np.ones((200, 200), bool))
    same = rows[:, None] % 2 == columns % 2
    for among, most in ((same, 1.3), (~same, 1.02)):  # times that a pair is aligned
        left_over.clear()
        handed_out.clear()
        mask = among & (rng.random(same.shape) < 0.5)
        found = batches.align_in_batches(packed, rows, columns, mask)
        assert np.array_equal(found, np.where(mask, whole, NOT_ALIGNED))
        wanted = np.count_nonzero(mask)
        assert len(left_over) <= 0.1 * wanted
        narrow, wide = (len(pairs_of(handed_out, bits)) for bits in (8, 16))
        assert narrow + wide <= most * wanted
        assert wide >= 0.9 * wanted if among is same else not wide


def test_batches_fill_their_lanes(left_over, handed_out):
    """The side that fills them lies in lanes; what fills half of them takes half as many."""
    if (width := lanes_here()) == 16:
        pytest.skip("there are no fewer lanes")
    rng = np.random.default_rng(62)
    packed = pack(drawn(rng, AMINO_ACIDS, 400, 190, 200), scheme_of())
    rows, columns = np.arange(100), np.arange(100, 100 + 3 * width)
    exact = np.arange(3 * width) < np.full((100, 1), width)
    more = np.arange(3 * width) < np.full((100, 1), width + width // 2 - 4)
    for mask, lanes in ((exact, {width}), (more, {width, width // 2})):
        mask = rng.permuted(mask, axis=1)
        for sides, wanted in (((rows, columns), mask), ((columns, rows), mask.T)):
            handed_out.clear()
            batches.align_in_batches(packed, *sides, wanted)
            assert {batch.lanes for batch in handed_out} == lanes
            for batch in handed_out:
                assert batch.lanes == (width if batch.members.size > width // 2 else width // 2)
            assert {int(k) for batch in handed_out for k in batch.landmarks} == set(range(100))
