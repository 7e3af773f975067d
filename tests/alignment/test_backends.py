"""What all backends do alike, and the sample of their pairs that parasail scores too."""

import hashlib
import itertools
import re

import numpy as np
import pytest

from kreinflow.alignment import backends, filling, segments
from kreinflow.alignment.backends import align_fast, backend_named, checked, drawn_pairs
from kreinflow.alignment.engine import NOT_ALIGNED, align_rectangle, pack
from kreinflow.alignment.scorer import Aligner
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
def test_no_pairs_and_an_unknown_letter(name):
    backend = backend_named(name)
    assert (checked(backend) is backend) == (name == "parasail")
    for height, width in ((0, 0), (0, 3), (2, 0)):
        rows, columns = np.zeros(height, dtype=np.int64), np.zeros(width, dtype=np.int64)
        for align in (backend, checked(backend)):
            assert align(pack([b"A"], SCHEME, 2), rows, columns).shape == (height, width)
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(InputError, match=r"sequence 2: the letter 'U' at position 3 .* blosum62"):
        backend(pack([b"ACD", b"ACU"], SCHEME), one, one)


def store_of(folder, backend=align_fast):
    digests = [hashlib.sha256(sequence).hexdigest() for sequence in SEQUENCES]
    return ScoreStore(folder, Aligner.of(SCHEME, SEQUENCES, backend), digests)


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


@pytest.mark.parametrize("by", [1, -1, 256, None], ids=str)
def test_one_wrong_score_of_up_to_1000_is_found_for_certain_and_named(by):
    packed, rng = pack(SEQUENCES, SCHEME, 2), np.random.default_rng(45)
    rows, columns = np.split(rng.permutation(120)[:70], [20])
    for _ in range(20):
        i, j = rng.choice(rows), rng.choice(columns)
        [score] = parasail_scores(SEQUENCES, [i], [j], SCHEME)
        wrong = NOT_ALIGNED if by is None else score + by
        a, b = (SEQUENCES[number].decode() for number in (i, j))
        message = f"sequences {a} and {b} score {wrong}, by parasail {score}. This is"
        with pytest.raises(KreinflowError, match=re.escape(message)):
            checked(Erring((i, j), by))(packed, rows, columns)


def test_the_first_pairs_are_compared_and_then_a_share():
    check = checked(align_fast, 0.1, first=150)
    packed, agreed = pack(SEQUENCES, SCHEME, 2), []
    for _ in range(3):
        check(packed, EVERYONE[:10], EVERYONE[:10])
        agreed.append(check.agreed)
    assert agreed == [100, 150, 160]


# The sample of a fill of the store.


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
    assert report.agreed == report.aligned == 300 + 160, "no pair twice"


def test_a_fill_with_a_wrong_score_ends_and_the_store_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "_SECONDS_PER_SEGMENT", 0.0)
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", 10_000)
    monkeypatch.setattr(filling, "_SECONDS_PER_CALL", 0.0)
    folder, columns = tmp_path / "small" / "scores", np.array([3, 50, 8])
    # The shortest rows are the last.
    row = min(set(range(120)) - {3, 50, 8}, key=lambda i: len(SEQUENCES[i]))
    store = store_of(folder, Erring((row, 50)))
    advice = f"Delete the folders {store.folder} and {tmp_path}/small/alignment: other scores may"
    with pytest.raises(KreinflowError, match=re.escape(advice)):
        store.fill([(EVERYONE, columns)])
    assert len(list(store.folder.rglob("segment_*"))) > 3
    assert not list(folder.rglob("*.part"))
    report = store_of(folder, backend_named("parasail")).fill([(EVERYONE, columns)])
    assert report.reused > 100
    assert report.aligned > 0
    out = np.empty((120, 3), dtype=np.int32)
    store_of(folder).gather_into(out, EVERYONE, columns)
    assert np.array_equal(out, rectangle(SEQUENCES, EVERYONE, columns, SCHEME))
