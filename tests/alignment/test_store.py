import errno
import hashlib
import io
import os
import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from kreinflow.alignment import filling, progress, scorer, segments
from kreinflow.alignment import store as store_module
from kreinflow.alignment.backends import align_fast
from kreinflow.alignment.engine import not_aligned
from kreinflow.alignment.progress import ProgressPrinter
from kreinflow.alignment.scorer import Aligner
from kreinflow.alignment.segments import block_of
from kreinflow.alignment.store import ScoreStore
from kreinflow.base.errors import InputError, KreinflowError
from sequence_pairs import AMINO_ACIDS, Counting, drawn, rectangle, scheme_of

SCHEME = scheme_of()
FOLDER = SCHEME.digest[:16]


def some_sequences(count):
    return drawn(np.random.default_rng(0), AMINO_ACIDS, count, 5, 40)


SEQUENCES = some_sequences(60)


def digest(sequence):
    return hashlib.sha256(sequence).hexdigest()


def open_store(folder, sequences=SEQUENCES, backend=align_fast, scheme=SCHEME):
    aligner = Aligner.of(scheme, sequences, backend)
    return ScoreStore(folder, aligner, [digest(s) for s in sequences])


def gathered(store, rows, columns, dtype=np.int32):
    out = np.empty((len(rows), len(columns)), dtype=dtype)
    store.gather_into(out, np.asarray(rows), np.asarray(columns))
    return out


def assert_gathered(store, rows, columns, sequences=SEQUENCES, scheme=SCHEME, dtype=np.int32):
    """What the store has is what the engine says of all rows with all columns; returned."""
    found = gathered(store, rows, columns, dtype)
    assert np.array_equal(found, rectangle(sequences, rows, columns, scheme))
    return found


def wanted_pairs(rectangles):
    return {
        tuple(sorted((int(i), int(j))))
        for rows, columns in rectangles
        for i in rows
        for j in columns
        if i != j
    }


ALL = np.arange(60)
CLASS_SCORES = [(np.arange(0, 30), np.arange(0, 12)), (np.arange(30, 60), np.arange(30, 45))]
COLUMNS = [(ALL, np.array([3, 50, 8, 31, 17, 59]))]
OVERLAPPING = [(np.arange(10, 50), np.arange(20, 40)), (np.arange(20, 60), np.arange(0, 30))]


@pytest.fixture
def counting(monkeypatch):
    """A backend that logs its pairs, and the self-scores of all stores."""
    counting = Counting()
    monkeypatch.setattr(scorer, "self_scores", counting.self_scores)
    return counting


@pytest.mark.parametrize("blocks", [1, 2, 7])
@pytest.mark.parametrize("rectangles", [CLASS_SCORES, COLUMNS, OVERLAPPING])
def test_each_pair_once_and_all_found(tmp_path, rectangles, blocks, counting):
    reports = [
        open_store(tmp_path, backend=counting).fill(rectangles, block, blocks)
        for block in range(blocks)
    ]
    pairs = wanted_pairs(rectangles)
    rows = np.unique(np.concatenate([rows for rows, _ in rectangles]))
    assert counting.most == 1
    assert counting.others == len(pairs) == sum(report.aligned for report in reports)
    assert counting.alone == rows.size == sum(report.self_scores for report in reports)
    assert not any(report.reused for report in reports)
    lengths = np.array([len(sequence) for sequence in SEQUENCES])
    cells = sum(lengths[i] * lengths[j] for i, j in pairs) + (lengths[rows] ** 2).sum()
    assert sum(report.cells for report in reports) == cells
    store = open_store(tmp_path, backend=None)
    for rectangle_ in rectangles:
        assert_gathered(store, *rectangle_)
    expected = np.diag(rectangle(SEQUENCES, ALL, ALL, SCHEME))
    assert np.array_equal(store.self_scores(rows), expected[rows])


def test_a_pair_asked_for_both_ways_round_is_shared_out_evenly(tmp_path):
    sequences = some_sequences(120)
    everything = [(np.arange(120), np.arange(120))]
    aligned = [open_store(tmp_path, sequences).fill(everything, b, 2).aligned for b in range(2)]
    rows = [sum(block_of(digest(s), 2) == b for s in sequences) for b in range(2)]
    assert sum(aligned) == 120 * 119 // 2
    for share, height in zip(aligned, rows, strict=True):
        assert share / sum(aligned) == pytest.approx(height / 120, abs=0.1)


def test_nothing_is_aligned_again_by_later_calls(tmp_path, counting):
    for blocks, rectangles in ((2, CLASS_SCORES), (3, COLUMNS), (1, OVERLAPPING), (2, COLUMNS)):
        for block in range(blocks):
            open_store(tmp_path, backend=counting).fill(rectangles, block, blocks)
    assert counting.most == 1
    assert counting.others == len(wanted_pairs(CLASS_SCORES + COLUMNS + OVERLAPPING))
    report = open_store(tmp_path, backend=counting).fill(COLUMNS)
    assert (report.aligned, report.self_scores) == (0, 0)
    assert report.reused == len(wanted_pairs(COLUMNS))


def test_an_interrupt_loses_no_more_than_ten_seconds(tmp_path, monkeypatch):
    clock, sizes = [1_000.0], []
    monkeypatch.setattr(segments.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", 3_000)
    monkeypatch.setattr(filling, "_SECONDS_PER_CALL", 0.0)

    class Slow(Counting):
        def __call__(self, packed, rows, columns, mask=None):
            if len(sizes) == 23:
                raise KeyboardInterrupt
            sizes.append(np.count_nonzero(mask))
            clock[0] += 3.0
            return super().__call__(packed, rows, columns, mask)

    with pytest.raises(KeyboardInterrupt):
        open_store(tmp_path, backend=Slow()).fill(COLUMNS)
    assert len(list(tmp_path.rglob("segment_*"))) == 5
    assert open_store(tmp_path).fill(COLUMNS).reused == sum(sizes[:20])
    assert_gathered(open_store(tmp_path), *COLUMNS[0])


def test_a_full_disk_loses_no_segment_and_the_next_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "_SECONDS_PER_SEGMENT", 0.0)
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", 10_000)
    monkeypatch.setattr(filling, "_SECONDS_PER_CALL", 0.0)
    first, second = Counting(), Counting()
    room = iter([True] * 6)

    def sync(handle):
        if not next(room, False):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        with pytest.raises(KreinflowError, match="segment_000007.*No space left on device"):
            open_store(tmp_path, backend=first).fill(COLUMNS)
    assert not list(tmp_path.rglob("*.part"))
    kept = open_store(tmp_path, backend=second).fill(COLUMNS).reused
    assert 0 < kept < first.others, "what was aligned for the segment that had no room"
    assert kept + second.others == len(wanted_pairs(COLUMNS))
    assert_gathered(open_store(tmp_path), *COLUMNS[0])


def test_segments_are_bounded_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_BYTES_PER_PAIR", 10_000)  # 10,000 pairs at a time at most
    rows, columns = np.arange(400), np.arange(100)
    sequences = some_sequences(400)
    store = open_store(tmp_path, sequences)
    assert store.fill([(rows, columns)], memory_mb=1).aligned == 400 * 100 - 100 - 100 * 99 // 2
    assert len(list(tmp_path.rglob("segment_*"))) > 1
    assert_gathered(store, rows, columns, sequences)


@pytest.mark.parametrize(
    ("rectangles", "blocks"), [(OVERLAPPING, [(b, 4) for b in range(4)]), (COLUMNS, [(0, 1)] * 2)]
)
def test_filled_at_the_same_time(tmp_path, rectangles, blocks, counting):
    """Several blocks; and one, which has one writer: the second waits, and finds all there."""
    jobs = [
        threading.Thread(target=open_store(tmp_path, backend=counting).fill, args=(rectangles, *b))
        for b in blocks
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert counting.most == 1
    assert counting.others == len(wanted_pairs(rectangles))
    for rectangle_ in rectangles:
        assert_gathered(open_store(tmp_path), *rectangle_)


def test_gather_in_any_order_repeated_into_a_memory_map_and_what_is_missing(tmp_path):
    store = open_store(tmp_path)
    store.fill(COLUMNS)
    rows, columns = np.array([5, 3, 3, 59, 0]), np.array([59, 3, 59])
    expected = assert_gathered(store, rows, columns)
    assert_gathered(store, columns, rows)
    out = np.lib.format.open_memmap(tmp_path / "c.npy", "w+", dtype=np.int16, shape=(5, 3))
    store.gather_into(out, rows, columns)
    out.flush()
    assert np.array_equal(np.load(tmp_path / "c.npy"), expected)
    missing = f"{store.folder}: .* {digest(SEQUENCES[0])} and {digest(SEQUENCES[2])} is missing"
    with pytest.raises(KreinflowError, match=missing):
        gathered(store, [0, 1], [3, 2])
    with pytest.raises(KreinflowError, match="missing"):
        open_store(tmp_path, [*SEQUENCES, b"ACD"]).self_scores(np.array([60]))


def test_scores_beyond_16_bits(tmp_path):
    long = np.random.default_rng(1).choice(AMINO_ACIDS, 7_000).tobytes()
    sequences = [long, long[:6_900], b"ACDEF"]
    store = open_store(tmp_path, sequences)
    store.fill([(np.arange(3), np.arange(2))])
    assert assert_gathered(store, np.arange(3), np.arange(2), sequences).max() > 2**15
    with pytest.raises(KreinflowError, match="does not fit int16"):
        gathered(store, np.arange(3), np.arange(2), np.int16)
    assert_gathered(store, np.arange(2, 3), np.arange(2), sequences, dtype=np.int16)


@pytest.mark.parametrize(
    ("score", "dtype"),
    [(2**15 - 1, np.int16), (2**15, np.int32), (1 - 2**15, np.int16), (-(2**15), np.int32)],
)
def test_a_segment_has_16_bits_a_score_where_all_fit(tmp_path, score, dtype):
    """All but the smallest, which stands for a pair that is not aligned."""
    table = np.arange(80, dtype=np.uint8).reshape(5, 16)
    scored = SimpleNamespace(digest="scheme", agreed=0)
    writer = segments.SegmentWriter(tmp_path, scored, table, 100)
    absent = not_aligned(np.int32)
    panel = np.array([[3, absent], [absent, score]], dtype=np.int32)
    writer.add_panel(np.array([1, 4]), np.array([0, 2]), panel)
    writer.add_self_scores(np.array([3]), np.array([70_000], dtype=np.int32))
    writer.flush()
    (path,) = tmp_path.iterdir()
    arrays = segments.read_segment(path, "scheme")
    assert arrays["scores"].dtype == dtype
    assert arrays["scores"].tolist() == [3, not_aligned(dtype), not_aligned(dtype), score]
    assert arrays["self_scores"].tolist() == [70_000]
    assert arrays["panels"].tolist() == [[0, 2, 0, 2]]
    for name, rows in (("rows", [1, 4]), ("columns", [0, 2]), ("self_rows", [3])):
        assert np.array_equal(arrays[name], table[rows])


def test_schemes_have_stores_of_their_own(tmp_path):
    scheme = scheme_of(mode="global")
    store = open_store(tmp_path, scheme=scheme)
    store.fill(COLUMNS)
    assert assert_gathered(store, *COLUMNS[0], scheme=scheme, dtype=np.int16).min() < 0
    (segment,) = store.folder.rglob("segment_*")
    target = tmp_path / FOLDER / "block_1_of_1" / segment.name
    target.parent.mkdir(parents=True)
    target.write_bytes(segment.read_bytes())
    with pytest.raises(InputError, match=re.escape(str(target)) + ".*of another store"):
        open_store(tmp_path)


def test_after_a_damaged_segment_is_deleted_only_its_pairs_are_aligned_again(tmp_path):
    rectangles = [(ALL, np.array([3, 50])), (ALL, np.array([8, 31])), (ALL, np.array([17]))]
    for rectangle_ in rectangles:
        open_store(tmp_path).fill([rectangle_])
    paths = sorted(tmp_path.rglob("segment_*"))
    whole = {path: path.read_bytes() for path in paths}
    assert len(paths) == 3
    path = paths[1]
    data = bytearray(whole[path])
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    advice = f"Delete it and the folder {path.parents[3]}/alignment, and"
    with pytest.raises(InputError, match=f"{re.escape(str(path))}: .*{re.escape(advice)}"):
        open_store(tmp_path)
    path.unlink()
    counting = Counting()
    store = open_store(tmp_path, backend=counting)
    with pytest.raises(KreinflowError, match="is missing. Delete the folder .*/alignment"):
        gathered(store, *rectangles[1])
    store.fill(rectangles)
    assert counting.others == len(wanted_pairs(rectangles[1:2]) - wanted_pairs(rectangles[:1]))
    for rectangle_ in rectangles:
        assert_gathered(store, *rectangle_)
    assert all(path.read_bytes() == whole[path] for path in paths[::2])


@pytest.mark.parametrize("more", [["aa" * 8], ["cc" * 8, "00" * 8, "aa" * 8, "bb" * 8]])
def test_sequences_with_one_digest_are_refused(tmp_path, more):
    digests = ["aa" * 8, *more]
    with pytest.raises(KreinflowError, match="digests that begin alike"):
        ScoreStore(tmp_path, Aligner.of(SCHEME, some_sequences(len(digests))), digests)


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / FOLDER).write_text("a file stands here")
    store = open_store(tmp_path)
    with pytest.raises(KreinflowError, match="cannot be written"):
        store.fill(COLUMNS)


def test_progress_printer(monkeypatch):
    now = iter([100.0, 101.0, 106.0, 107.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    stream = io.StringIO()
    printer = ProgressPrinter(stream, "alignment demo block 1/4")
    for done in (10, 30, 60):
        printer(done * 10**9, 60 * 10**9)
    assert stream.getvalue().splitlines() == [
        "alignment demo block 1/4: 50 %, 5.0 GCUPS, 6 s left",
        "alignment demo block 1/4: 100 %, 8.6 GCUPS, 0 s left",
    ]


def test_single_pairs_are_those_of_the_rectangles_in_the_store(tmp_path):
    rng = np.random.default_rng(6)
    open_store(tmp_path).fill(
        [(np.arange(30), np.array([3, 50, 40])), (np.arange(5), np.arange(9))]
    )
    left, right = rng.integers(0, 60, (2, 4000))
    found = open_store(tmp_path).of_pairs(left, right)
    S = rectangle(SEQUENCES, np.arange(60), np.arange(60), SCHEME)
    known = np.zeros((60, 60), dtype=bool)
    known[np.ix_(np.arange(30), [3, 50, 40])] = known[:5, :9] = True
    known |= known.T
    np.fill_diagonal(known, np.arange(60) < 30)  # the scores with themselves are of rows
    absent = not_aligned(np.int32)
    np.testing.assert_array_equal(found, np.where(known, S, absent)[left, right])
    assert 0 < np.count_nonzero(found != absent) < len(left)
