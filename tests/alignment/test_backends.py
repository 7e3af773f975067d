"""What all backends do alike, and the sample of their pairs that parasail scores too."""

import hashlib
import itertools
import re

import numpy as np
import pytest

from kreinflow.alignment import backends, filling, segments
from kreinflow.alignment.backends import align_fast, backend_named, checked, drawn_pairs
from kreinflow.alignment.engine import NOT_ALIGNED, align_rectangle, pack
from kreinflow.alignment.store import ScoreStore
from kreinflow.base.errors import InputError, KreinflowError
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

each_backend = pytest.mark.parametrize("name", backends.BACKENDS)
SCHEME = scheme_of()
SEQUENCES = list(dict.fromkeys(drawn(np.random.default_rng(41), AMINO_ACIDS, 130, 5, 40)))[:120]
EVERYONE = np.arange(120)


@each_backend
@pytest.mark.parametrize("mode", list(PREFIX))
def test_scores_of_all_modes_are_those_of_parasail(name, mode):
    rng, scheme = np.random.default_rng(42), scheme_of(mode=mode)
    sequences = [sequence for _ in range(40) for sequence in related_pair(rng, 300)]
    rows, columns = np.arange(0, 80, 2), np.arange(1, 80, 2)
    theirs = parasail_scores(sequences, *all_pairs(rows, columns), scheme)
    ours = rectangle(sequences, rows, columns, scheme, backend_named(name))
    assert ours.dtype == np.int32
    assert np.array_equal(ours.ravel(), theirs)
    mask = rng.random(ours.shape) < 0.3
    some = rectangle(sequences, rows, columns, scheme, backend_named(name), mask)
    assert np.array_equal(some, np.where(mask, ours, NOT_ALIGNED))


@each_backend
@pytest.mark.parametrize(("height", "width"), [(0, 0), (0, 1), (1, 0), (0, 3), (2, 0)])
def test_no_pairs(name, height, width):
    rows, columns = np.zeros(height, dtype=np.int64), np.zeros(width, dtype=np.int64)
    for align in (backend_named(name), checked(backend_named(name)), checked(Erring())):
        assert align(pack([b"A"], SCHEME, 2), rows, columns).shape == (height, width)


@each_backend
def test_unknown_letter_is_named(name):
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(InputError, match=r"sequence 2: the letter 'U' at position 3 .* blosum62"):
        backend_named(name)(pack([b"ACD", b"ACU"], SCHEME), one, one)


def digests_of(sequences):
    return [hashlib.sha256(sequence).hexdigest() for sequence in sequences]


def store_of(folder, backend=align_fast):
    return ScoreStore(folder, SCHEME, SEQUENCES, digests_of(SEQUENCES), backend)


OVERLAPPING = [(EVERYONE, np.arange(50)), (np.arange(40), np.arange(30, 90))]


def test_a_store_filled_by_either_backend_has_the_same_bytes_and_is_complete_for_both(tmp_path):
    def fill(folder, name, block):
        return store_of(tmp_path / folder, backend_named(name)).fill(
            OVERLAPPING, block, 2, threads=2
        )

    for name, block in itertools.product(backends.BACKENDS, range(2)):
        assert fill(name, name, block).aligned > 0
    files = sorted(path for path in (tmp_path / "parasail").rglob("*") if path.is_file())
    assert sum(path.suffix == ".safetensors" for path in files) == 2
    for path in files:
        other = tmp_path / "auto" / path.relative_to(tmp_path / "parasail")
        assert path.read_bytes() == other.read_bytes()
    for first, second in itertools.permutations(backends.BACKENDS):
        report = fill(first, second, 1)
        assert report.aligned == report.self_scores == 0


# The sample.


@pytest.mark.parametrize("wanted", [0, 1, 7, 999, 1_000, 1_001, 6_000])
def test_drawn_pairs_are_1000_of_a_mask_or_all(wanted):
    inside = np.zeros(80 * 100, dtype=bool)
    inside[np.random.default_rng(43).choice(inside.size, wanted, replace=False)] = True
    mask = inside.reshape(80, 100)
    drawn_now, again, other = (
        np.ravel_multi_index(drawn_pairs(mask, 1_000, seed), mask.shape) for seed in (5, 5, 6)
    )
    assert drawn_now.size == np.unique(drawn_now).size == min(wanted, 1_000)
    assert inside[drawn_now].all()
    assert np.array_equal(drawn_now, again)
    assert np.array_equal(drawn_now, other) == (wanted <= 1_000)


def test_each_wanted_pair_is_as_likely():
    """Over seeds, each is drawn as often as a binomial variable allows, and so each two."""
    seeds = 2_000
    mask = np.random.default_rng(44).random((9, 10)) < 0.6
    found = np.zeros((seeds, mask.size))
    for seed in range(seeds):
        found[seed, np.ravel_multi_index(drawn_pairs(mask, 20, seed), mask.shape)] = 1
    found = found[:, mask.ravel()]
    together, n = found.T @ found, np.count_nonzero(mask)
    one, two = 20 / n, 20 * 19 / (n * (n - 1))
    for share, counts in ((one, np.diagonal(together)), (two, together[np.triu_indices(n, 1)])):
        z = (counts - seeds * share) / np.sqrt(seeds * share * (1 - share))
        assert np.abs(z).max() < 5
        assert (z**2).mean() == pytest.approx(1, abs=0.35)


class Erring:
    """parasail's scores, one of them wrong: of two sequences, whichever is the row."""

    def __init__(self, pair=(), by=1):
        self.pair, self.by = set(pair), by

    def __call__(self, packed, rows, columns, mask=None):
        scores = align_rectangle(packed, rows, columns, mask)
        for i, j in itertools.permutations(self.pair, 2):
            here = np.ix_(rows == i, columns == j)
            there = scores[here]
            wrong = NOT_ALIGNED if self.by is None else there + self.by
            scores[here] = np.where(there == NOT_ALIGNED, there, wrong)
        return scores


def test_parasail_is_not_held_against_itself():
    align = backend_named("parasail")
    assert align is align_rectangle
    assert checked(align) is align


def shown(number):
    """Return how a message tells a sequence."""
    text = SEQUENCES[number].decode()
    return text if len(text) <= 40 else f"{text[:40]}... ({len(text)} residues)"


@pytest.mark.parametrize("by", [1, -1, 256, None], ids=str)
def test_one_wrong_score_of_up_to_1000_is_found_for_certain_and_named(by):
    packed, rng = pack(SEQUENCES, SCHEME, 2), np.random.default_rng(45)
    rows, columns = np.split(rng.permutation(120)[:70], [20])
    for _ in range(20):
        i, j = rng.choice(rows), rng.choice(columns)
        [score] = parasail_scores(SEQUENCES, [i], [j], SCHEME)
        wrong = NOT_ALIGNED if by is None else score + by
        message = f"sequences {shown(i)} and {shown(j)} score {wrong}, by parasail {score}. This is"
        with pytest.raises(KreinflowError, match=re.escape(message)):
            checked(Erring((i, j), by))(packed, rows, columns)


# The sample of a fill of the store.


def stored(store, rows, columns):
    out = np.empty((len(rows), len(columns)), dtype=np.int32)
    store.gather_into(out, rows, columns)
    return out


@pytest.mark.parametrize("blocks", [1, 3])
def test_all_that_is_drawn_is_compared(tmp_path, blocks):
    """With overlapping rectangles, both ways round, with holes, over blocks."""
    everything = [*OVERLAPPING, (np.arange(60, 120), np.arange(60, 120))]
    store_of(tmp_path).fill([(np.arange(10, 70, 3), np.arange(0, 90, 2))])
    total = 0
    for block in range(blocks):
        report = store_of(tmp_path, Erring()).fill(everything, block, blocks, seed=block)
        assert report.reused > 0
        assert report.agreed == min(1_000, report.aligned)
        total += report.aligned
    assert total > 5_000
    few = [(EVERYONE[:25], EVERYONE[:25]), (EVERYONE[20:30], EVERYONE[15:40])]
    report = store_of(tmp_path / "few").fill(few)
    pairs = {frozenset((i, j)) for rows, columns in few for i in rows for j in columns if i != j}
    assert report.agreed == report.aligned == len(pairs)
    again = store_of(tmp_path / "few").fill(few)
    assert (again.agreed, again.aligned) == (0, 0)


@pytest.mark.parametrize("by", [1, None], ids=str)
def test_a_fill_with_a_wrong_score_ends_and_the_store_can_be_read(tmp_path, monkeypatch, by):
    monkeypatch.setattr(segments, "_SECONDS_PER_SEGMENT", 0.0)
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", 10_000)
    monkeypatch.setattr(filling, "_SECONDS_PER_CALL", 0.0)
    folder, rectangles = tmp_path / "small" / "scores", [(EVERYONE, np.array([3, 50, 8]))]
    # The shortest rows are the last.
    row = min(set(range(120)) - {3, 50, 8}, key=lambda i: len(SEQUENCES[i]))
    [score] = parasail_scores(SEQUENCES, [row], [50], SCHEME)
    wrong = NOT_ALIGNED if by is None else score + 1
    store = store_of(folder, Erring((row, 50), by))
    with pytest.raises(KreinflowError) as caught:
        store.fill(rectangles)
    home = store.folder / "block_1_of_1"
    advice = f"Delete the folders {store.folder} and {tmp_path}/small/alignment: other scores may"
    said = f"sequences {shown(row)} and {shown(50)} score {wrong}, by parasail {score}. This is"
    assert said in str(caught.value)
    assert advice in str(caught.value)
    assert len(list(home.glob("segment_*"))) > 3
    assert not list(folder.rglob("*.part"))
    before = sorted(path.read_bytes() for path in home.glob("segment_*"))
    report = store_of(folder, backend_named("parasail")).fill(rectangles)
    assert report.reused > 100
    assert report.aligned > 0
    expected = rectangle(SEQUENCES, EVERYONE, rectangles[0][1], SCHEME)
    assert np.array_equal(stored(store_of(folder), *rectangles[0]), expected)
    assert set(before) <= {path.read_bytes() for path in home.glob("segment_*")}
