"""Few rows without numba: the same bits as by the compiled loops."""

import numpy as np
import pytest
import scipy.sparse

from kreinflow.views import few, loops
from kreinflow.views.words import Words
from views.test_loops import LETTERS, drawn

SEQUENCES = [*drawn(30, 50), *drawn(20, 7, seed=1), b"A", b"AR", *drawn(9, 2, seed=2), b"WWWW"]


def both(name, arguments, *written):
    """What each of the two modules writes into the last arguments."""
    made = []
    for module in (few, loops):
        out = [array.copy() for array in written]
        getattr(module, name)(*arguments, *out)
        made.append(out)
    return made


@pytest.mark.parametrize("lengths", [(1,), (2, 1), (1, 2, 3)])
def test_words_are_counted_as_by_the_loops(lengths):
    words = Words(lengths, LETTERS)
    codes, ends = words.coded(SEQUENCES)
    starts = np.concatenate([[0], ends])
    most = len(lengths) * len(codes)
    given = codes, starts, np.array(lengths), len(LETTERS)
    empty = np.zeros(len(starts), np.int64), np.zeros(most, np.int32), np.zeros(most)
    ours, theirs = (
        scipy.sparse.csr_array((values, places, rows)).sorted_indices()
        for rows, places, values in both("shares_of_words", given, *empty)
    )
    for part in ("indptr", "indices", "data"):
        assert getattr(ours, part).tobytes() == getattr(theirs, part).tobytes()
    assert ours.nnz > len(SEQUENCES)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_are_those_of_the_loops(kind):
    rng = np.random.default_rng(3)
    X, Y = (scipy.sparse.random_array((n, 80), density=0.3, rng=rng).tocsr() for n in (6, 40))
    other = Y.T.tocsr()
    given = X.indptr, X.indices, X.data.astype(kind)
    given += other.indptr, other.indices.astype(np.uint32), other.data.astype(kind)
    ours, theirs = both("add_products", given, rng.normal(size=(6, 40)).astype(kind))
    assert ours[0].tobytes() == theirs[0].tobytes()


@pytest.mark.parametrize("x", [SEQUENCES[0], b"A", b"AR"])
def test_distances_are_those_of_the_loops(x):
    words, rng = Words((1, 2, 3), LETTERS), np.random.default_rng(4)
    places = rng.permutation(len(SEQUENCES))[:40]
    given = words.coded([x])[0], *words.coded(SEQUENCES), np.array(words.lengths)
    given += len(LETTERS), places, 0.3
    ours, theirs = both("add_word_distances", given, rng.normal(size=40))
    assert ours[0].tobytes() == theirs[0].tobytes()
    points = rng.normal(size=(len(SEQUENCES), 33)).astype(np.float32)
    given = rng.normal(size=33), points, places, 0.7
    ours, theirs = both("add_distances", given, rng.normal(size=40))
    assert ours[0].tobytes() == theirs[0].tobytes()
