"""Words against a naive count."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from kreinflow.base.numerics import limited
from kreinflow.views.objects import Words
from small_inputs import PROTEIN


def naive(sequences, lengths, letters):
    """Square roots of the shares of words, by their texts in the order of the letters."""
    rows = []
    for sequence in (residues.decode() for residues in sequences):
        row = []
        for k in lengths:
            counts = Counter(sequence[i : i + k] for i in range(len(sequence) - k + 1))
            total = sum(counts.values())
            row += [np.sqrt(counts["".join(w)] / (total or 1)) for w in product(letters, repeat=k)]
        rows.append(row)
    return np.array(rows)


def drawn(n, letters, longest=30, seed=0):
    """Sequences of 1 to ``longest`` letters."""
    rng = np.random.default_rng(seed)
    return [
        "".join(rng.choice(list(letters), rng.integers(1, longest + 1))).encode() for _ in range(n)
    ]


@pytest.mark.parametrize("lengths", [(1,), (2,), (3,), (4,), (1, 2, 3), (3, 1), (2, 4)])
@pytest.mark.parametrize("letters", ["AC", "ACGT", "TGCA"])
def test_words_are_those_of_a_naive_count(lengths, letters):
    sequences = [b"A", b"CA", b"ACA", b"AAAA", *drawn(40, letters)]
    words = Words(lengths, letters)
    found = words.features(sequences)
    assert found.shape == (len(sequences), words.n_features)
    np.testing.assert_array_equal(found.toarray(), naive(sequences, lengths, letters))


def test_the_distance_is_twice_the_squared_hellinger_distance():
    x, y = Words((1,), "ACGT").features([b"ACCA", b"ACGG"]).toarray()
    p, q = np.array([0.5, 0.5, 0, 0]), np.array([0.25, 0.25, 0.5, 0])
    assert ((x - y) ** 2).sum() == pytest.approx(2 * (1 - np.sqrt(p * q).sum()), rel=1e-14)


def test_a_sequence_has_the_same_bits_among_others_alone_and_with_threads():
    sequences, words = drawn(700, PROTEIN, 80), Words((1, 2), PROTEIN)
    together = words.features(sequences).toarray()
    for places in ([0], [255, 256, 257], list(range(699, 500, -7))):
        alone = words.features([sequences[i] for i in places]).toarray()
        np.testing.assert_array_equal(alone, together[places])
    with limited(threads=2, memory_mb=1):
        np.testing.assert_array_equal(words.features(sequences).toarray(), together)
