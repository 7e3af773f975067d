"""Words against a naive count."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from kreinflow.views.objects import Words


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


def test_of_long_and_short_sequences_the_arrays_are_the_same():
    """Of few words there is a dense count: it drops the zeros, and keeps the order."""
    words, own = Words((1, 2), "ACGT"), [b"", *drawn(4, "ACGT", 12)]
    dense = words.features([*own, b"ACGT" * 100])[: len(own)]
    assert len(b"".join(own)) * 2 < len(own) * 16, "alone they are few for their words"
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(dense, name), getattr(words.features(own), name))
