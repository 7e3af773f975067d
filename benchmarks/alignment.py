"""How fast the alignment backends are, against two libraries on the same pairs in one run.

    python benchmarks/alignment.py             timings of all shapes, ten minutes on a quiet machine
    python benchmarks/alignment.py --shapes 150 "1 row"             some of them
    python benchmarks/alignment.py --peak      how much of what the machine can calculate is used
    python benchmarks/alignment.py --lists     each query with some records: how near a rectangle
    python benchmarks/alignment.py --ways      what makes the backends faster or slower, as ratios
    python benchmarks/alignment.py --check     100,000 pairs and long ones: scores identical?

Each takes ``--quick``, a look whether it runs. Speed is in GCUPS, billions of cells of the dynamic
programming matrices a second. Repeats are interleaved, so that a slow minute of the machine hits
all alike, and a run that is done in less than a tenth of a second is repeated within them.
Processor seconds are those of all threads together; other jobs disturb them less. The bars are
asked of both. The exit code is 1 if one is missed, or a score differs.

The peers are pyopal and a bare C loop over parasail's own function: see alignment_peers.py for
what they need.
"""

import argparse
import ctypes
import importlib
import importlib.util
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np
import parasail
from numpy.typing import NDArray

from alignment_peers import (
    AMINO_ACIDS,
    SCHEME,
    Peer,
    Scores,
    compile_bare_loop,
    peers,
)
from kreinflow.alignment import engine, loops
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import NOT_ALIGNED, align_pairs, pack
from kreinflow.alignment.scorer import Aligner
from kreinflow.alignment.store import ScoreStore
from kreinflow.sequences.payload import digest

Run = Callable[[], Scores]
K = TypeVar("K")

_SHORTEST_RUN = 0.1  # seconds


def families(
    random: np.random.Generator, count: int, median: float, shortest: int = 30, longest: int = 3000
) -> list[bytes]:
    """Return sequences of log-normal lengths, most of them related to some others."""
    ancestors = [
        random.choice(
            AMINO_ACIDS, int(np.clip(random.lognormal(np.log(median), 0.5), shortest, longest))
        )
        for _ in range(30)
    ]
    made = []
    for _ in range(count):
        parent = ancestors[random.integers(len(ancestors))]
        changed = random.random(parent.size) < random.uniform(0.3, 0.9)
        child = np.where(changed, random.choice(AMINO_ACIDS, parent.size), parent)
        cut = np.sort(random.integers(0, child.size, 2))
        inserted = random.choice(AMINO_ACIDS, random.integers(0, 20))
        if cut[1] - cut[0] < child.size // 4:
            child = np.delete(child, np.arange(*cut))
        made.append(np.insert(child, int(cut[0]), inserted).tobytes())
    return made


def relatives(random: np.random.Generator, count: int, length: int) -> list[bytes]:
    """Return copies of one sequence of which a tenth to a half is changed."""
    ancestor = random.choice(AMINO_ACIDS, length)
    made = []
    for _ in range(count):
        changed = random.random(length) < random.uniform(0.1, 0.5)
        made.append(np.where(changed, random.choice(AMINO_ACIDS, length), ancestor).tobytes())
    return made


@dataclass(frozen=True)
class Shape:
    """Rows x columns of sequences, and the ratio to the faster peer that is asked for.

    ``asked_of_amd`` is asked of processors of AMD that have AVX-512, ``asked`` of all others.
    """

    name: str
    rows: int
    columns: int
    median: float
    asked: float = 1.0
    asked_of_amd: float = 1.0
    many: bool = True  # of both sides: two threads have to take half the time
    least: int = 30  # the shortest ancestor; the longest has 100 times as many residues
    related: bool = False  # all with all, so that no score fits 8 bits

    def sequences(self) -> list[bytes]:
        """Return the sequences of the rows, then those of the columns."""
        random, count = np.random.default_rng(1), self.rows + self.columns
        if self.related:
            return relatives(random, count, int(self.median))
        return families(random, count, self.median, self.least, 100 * self.least)


SHAPES = (
    Shape("54", 6000, 100, 40, 1.0, 4.0, least=10),
    Shape("129 and 134", 4000, 40, 130, 2.2, 2.2),
    Shape("150", 4000, 60, 154, 1.0, 4.0),
    Shape("370", 1000, 50, 357, 1.0, 4.0),
    Shape("384 and 338", 2000, 40, 330, 2.0, 2.0),
    Shape("30", 10_000, 150, 22, least=5),
    Shape("1,000", 1000, 8, 990, least=100),
    Shape("3,000", 256, 6, 2835, least=300),
    Shape("1 landmark", 60_000, 1, 154, many=False),
    Shape("5 landmarks", 20_000, 5, 154, many=False),
    Shape("20 landmarks", 6000, 20, 154, many=False),
    Shape("1 row", 1, 2000, 154, many=False),
    Shape("50 rows", 50, 2000, 154, many=False),
    Shape("overflows", 300, 20, 600, related=True),
)
ASKED_OF_THREADS = 1.9


def smaller(shape: Shape) -> Shape:
    """Return a shape for a look whether it runs."""
    fewer = {name: max(1, getattr(shape, name) // 8) for name in ("rows", "columns")}
    return replace(shape, **fewer)


def interleaved(runs: dict[K, Run], repeats: int) -> tuple[dict[K, tuple[float, float]], bool]:
    """Return the least seconds and processor seconds of each run, and whether scores are equal."""
    best: dict[K, tuple[float, float]] = {}
    calls, same = {}, True
    reference: Scores | None = None
    for name, run in runs.items():  # not counted: it also compiles what is to be compiled
        start = time.perf_counter()
        scores = run()
        if time.perf_counter() - start < 10 * _SHORTEST_RUN:
            start = time.perf_counter()
            run()
        calls[name] = math.ceil(_SHORTEST_RUN / max(time.perf_counter() - start, 1e-6))
        best[name] = math.inf, math.inf
        reference = scores if reference is None else reference
        same &= bool(np.array_equal(scores, reference))
    assert reference is not None
    for _ in range(repeats):
        for name, run in runs.items():
            start, start_of_processor = time.perf_counter(), time.process_time()
            for _ in range(calls[name]):
                scores = run()
            seconds = (time.perf_counter() - start) / calls[name]
            processor = (time.process_time() - start_of_processor) / calls[name]
            best[name] = min(best[name][0], seconds), min(best[name][1], processor)
            same &= bool(np.array_equal(scores, reference))
    return best, same


def is_amd_with_avx512() -> bool:
    """Return whether this processor is one of AMD's that has AVX-512."""
    cpu = Path("/proc/cpuinfo").read_text()
    return "AuthenticAMD" in cpu and "avx512bw" in cpu


def compare(shape: Shape, repeats: int, threads: int, folder: Path) -> tuple[str, bool]:
    """Print the table of one shape; return its line in the last table, and whether bars are met."""
    sequences = shape.sequences()
    packed = pack(sequences, SCHEME)
    lengths = packed.lengths
    rows, columns = np.arange(shape.rows), np.arange(shape.rows, len(sequences))
    cells = int(lengths[rows].sum() * lengths[columns].sum())
    others = peers(sequences, shape.rows, compile_bare_loop(folder))

    def by_backend(name: str) -> Peer:
        align = backend_named(name)
        return lambda threads: align(replace(packed, threads=threads), rows, columns)

    ours = {"kreinflow, auto": by_backend("auto"), "kreinflow, parasail": by_backend("parasail")}
    counts = sorted({1, threads})
    runs: dict[tuple[str, int], Run] = {
        (name, n): partial(align, n) for name, align in (ours | others).items() for n in counts
    }
    best, same = interleaved(runs, repeats)
    print(
        f"\n{shape.name}: {shape.rows:,} x {shape.columns:,} pairs, mean lengths "
        f"{lengths[rows].mean():.0f} and {lengths[columns].mean():.0f}, {cells / 1e9:.2g} billion "
        f"cells, best of {repeats} repeats\n"
    )
    measures = [(n, kind) for n in counts for kind in (0, 1)]
    heads = [f"{_threads(n)}, {('clock', 'processor')[kind]}" for n, kind in measures]
    print(f"| GCUPS | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    for name in ours | others:
        print(_line(name, *(f"{cells / best[name, n][kind] / 1e9:.1f}" for n, kind in measures)))
    ratios = [
        min(best[name, n][kind] for name in others) / best["kreinflow, auto", n][kind]
        for n, kind in measures
    ]
    asked = shape.asked_of_amd if is_amd_with_avx512() else shape.asked
    times = best["kreinflow, auto", 1][0] / best["kreinflow, auto", threads][0]
    of_threads = shape.many and threads == 2
    met = min(ratios) >= asked and (not of_threads or times >= ASKED_OF_THREADS) and same
    verdict = "met" if met else "MISSED" if same else "SCORES DIFFER"
    figures = [*(f"{ratio:.2f}" for ratio in ratios), f"{asked:g}", f"{times:.2f}"]
    return _line(shape.name, *figures, str(ASKED_OF_THREADS) if of_threads else "-", verdict), met


def compare_all(shapes: Sequence[Shape], repeats: int, threads: int) -> bool:
    """Print the tables of all shapes and the last one, of ratios; return whether bars are met."""
    with tempfile.TemporaryDirectory() as folder:
        compared = [compare(shape, repeats, threads, Path(folder)) for shape in shapes]
    cpu = "AMD's with AVX-512" if is_amd_with_avx512() else "Intel's, or without AVX-512"
    print(
        "\nRatios of kreinflow, auto, to the fastest peer with the same threads. The bars are for "
        f"processors such as this one, {cpu}; the smallest ratio has to meet them.\n"
    )
    heads = [
        f"{_threads(n)}, {kind}" for n in sorted({1, threads}) for kind in ("clock", "processor")
    ]
    heads += ["asked", f"{_threads(threads)} to 1, clock", "asked", ""]
    print(f"| shape | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    print("\n".join(line for line, _ in compared))
    return all(met for _, met in compared)


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


# --- ways ------------------------------------------------------------------------------------

WAYS_OF_PARASAIL = (
    Shape("129 and 125", 1500, 100, 130),
    Shape("390 and 402", 1000, 40, 330),
)
WAYS_OF_AUTO = (  # large, as jobs are: each fill of the store scores 1,000 pairs by parasail too
    Shape("130", 8000, 250, 130),
    Shape("370", 4000, 100, 330),
)
LANES = ("kreinflow.alignment.batches", "lanes_here")
"""The function that says how many lanes a batch has; without it, that is not measured."""

ASKED_OF_STORE = 0.9


def ways_of_parasail(shape: Shape) -> dict[str, Run]:
    """Return the engine over parasail with one thread, as it is and otherwise."""
    packed = pack(shape.sequences(), SCHEME)
    rows, columns = shape.rows, shape.columns
    left = np.repeat(np.arange(rows, rows + columns, dtype=np.int32), rows)
    right = np.tile(np.arange(rows, dtype=np.int32), columns)
    by_row = np.argsort(right, kind="stable")

    def scores_of(
        order: NDArray[np.int64] | None = None, swap: bool = False, **changed: Any
    ) -> Run:
        """Return a run on the pairs in some order, with some functions of the engine changed."""
        chosen = np.arange(left.size) if order is None else order
        a, b = (right, left) if swap else (left, right)
        a, b = a[chosen], b[chosen]  # sorted before the clock starts

        def run() -> Scores:
            with ExitStack() as changes:
                for name, value in changed.items():
                    owner = loops if hasattr(loops, name) else engine
                    changes.enter_context(patch.object(owner, name, value))
                found = align_pairs(packed, a, b)
            scores = np.empty_like(found)
            scores[chosen] = found
            return scores.reshape(columns, rows).T

        return run

    def only_16_bits(_: Any) -> NDArray[np.int64]:
        names = (
            *("parasail_profile_create_16", "parasail_sw_striped_profile_16"),
            *("parasail_profile_free", "parasail_result_get_score"),
            *("parasail_result_is_saturated", "parasail_result_free"),
        )
        found = [ctypes.cast(getattr(parasail._lib, name), ctypes.c_void_p).value for name in names]
        return np.array(found, dtype=np.int64)

    def as_given(_: Any, left: Scores, right: Scores, __: Any) -> tuple[Any, ...]:
        return left, right, np.arange(left.size)

    def eight_pairs(*_: Any) -> NDArray[np.int64]:
        return np.append(np.arange(8, left.size, 8), left.size)

    return {
        "as it is": scores_of(),
        "profile of the column always": scores_of(longer_first=as_given),
        "profile of the row always": scores_of(by_row, swap=True, longer_first=as_given),
        "a new profile for each pair": scores_of(by_row, longer_first=as_given),
        "16 bits from the start": scores_of(_addresses=only_16_bits),
        "pieces of 8 pairs": scores_of(piece_ends=eight_pairs),
    }


def ways_of_auto(shape: Shape) -> dict[str, Run]:
    """Return the backend "auto" with one thread: as it is, other lanes, through the score store."""
    sequences = shape.sequences()
    packed = pack(sequences, SCHEME)
    rows, columns = np.arange(shape.rows), np.arange(shape.rows, len(sequences))
    digests = [digest(sequence) for sequence in sequences]
    align = backend_named("auto")
    module, name = LANES
    owner = importlib.import_module(module) if importlib.util.find_spec(module) else None

    def alone() -> Scores:
        return align(packed, rows, columns)

    def with_lanes(lanes: int) -> Scores:
        with patch.object(owner, name, lambda: lanes):
            return alone()

    def stored(memory_mb: int) -> Scores:
        with tempfile.TemporaryDirectory() as folder:
            store = ScoreStore(Path(folder), Aligner.of(SCHEME, sequences), digests)
            store.fill([(rows, columns)], memory_mb=memory_mb)
            scores = np.empty((rows.size, columns.size), dtype=np.int32)
            store.gather_into(scores, rows, columns)
            return scores

    found: dict[str, Run] = {"as it is": alone}
    for lanes in (16, 32, 64) if hasattr(owner, name) else ():
        found[f"{lanes} lanes"] = partial(with_lanes, lanes)
    for memory_mb in (16, 512, 1000):
        found[f"through the store, {memory_mb} MB"] = partial(stored, memory_mb)
    return found


def ways(quick: bool, repeats: int) -> bool:
    """Print the ways of both backends; return whether the store is fast enough."""
    met = True
    print(
        "Ratios to the speed of the backend as it is, one thread, best of "
        f"{repeats} interleaved repeats. The store reads, packs, writes and gathers; scores "
        "sequences with themselves, and 1,000 pairs by parasail too.\n"
    )
    print(
        "| backend | lengths | way | processor | clock | asked | |\n|---|---|---|---|---|---|---|"
    )
    for backend, make, shapes in (
        ("parasail", ways_of_parasail, WAYS_OF_PARASAIL),
        ("auto", ways_of_auto, WAYS_OF_AUTO),
    ):
        for shape in shapes:
            best, same = interleaved(make(smaller(shape) if quick else shape), repeats)
            met &= same
            for way, (seconds, processor) in best.items():
                ratios = best["as it is"][1] / processor, best["as it is"][0] / seconds
                asked = ASKED_OF_STORE if "store" in way else 0.0
                met &= min(ratios) >= asked
                verdict = "" if not asked else "met" if min(ratios) >= asked else "MISSED"
                shown = [f"{ratio:.2f}" for ratio in ratios]
                verdict = verdict if same else "SCORES DIFFER"
                print(_line(backend, shape.name, way, *shown, f"{asked or '-'}", verdict))
    return met


# --- check -----------------------------------------------------------------------------------

_SIDE = 256  # of the rectangles of --check


def log_uniform_pair(random: np.random.Generator, low: int, high: int) -> tuple[bytes, bytes]:
    """Return two sequences, every other time with a stretch in common, more or less changed."""
    a, b = (
        random.choice(AMINO_ACIDS, int(np.exp(random.uniform(np.log(low), np.log(high + 1)))))
        for _ in range(2)
    )
    if random.random() < 0.5:
        size = int(random.integers(1, min(a.size, b.size) + 1))
        i, j = random.integers(a.size - size + 1), random.integers(b.size - size + 1)
        changed = random.random(size) < random.choice([0.0, 0.1, 0.4, 0.7])
        b[j : j + size] = np.where(changed, random.choice(AMINO_ACIDS, size), a[i : i + size])
    return a.tobytes(), b.tobytes()


def check(count: int, threads: int) -> bool:
    """Compare scores with those of ``parasail.sw_striped_32``; return whether all are the same.

    The pairs are the diagonals of rectangles. These are scored twice: the diagonal alone, by a
    mask, and whole, which is what fills the lanes.
    """
    random = np.random.default_rng(2)
    pairs = [log_uniform_pair(random, 1, 2_000) for _ in range(count)]
    pairs += [log_uniform_pair(random, 12_000, 35_000) for _ in range(6)]
    giant = random.choice(AMINO_ACIDS, 35_000).tobytes()
    pairs += [(giant, giant), (giant[:12_000], giant[:12_000])]
    packed = pack([sequence for pair in pairs for sequence in pair], SCHEME, threads)
    expected = np.array(
        [
            parasail.sw_striped_32(a.decode(), b.decode(), 11, 1, parasail.blosum62).score
            for a, b in pairs
        ]
    )
    align = backend_named("auto")
    left = of_rectangles = 0
    by_parasail = engine.align_rectangle

    def counted(*given: Any) -> Scores:
        nonlocal left
        mask = given[3] if len(given) > 3 else None
        left += given[1].size * given[2].size if mask is None else int(np.count_nonzero(mask))
        return by_parasail(*given)

    masked, whole = np.empty((2, len(pairs)), dtype=np.int64)
    starts = [*range(0, count, _SIDE), count]
    for start, stop in zip(starts, [*starts[1:], len(pairs)], strict=True):
        rows = np.arange(2 * start, 2 * stop, 2)
        diagonal = np.eye(rows.size, dtype=bool)
        found = align(packed, rows, rows + 1, diagonal)
        if (found[~diagonal] != NOT_ALIGNED).any():
            print(f"pairs {start} to {stop}: a pair that was not wanted has a score")
            return False
        masked[start:stop] = np.diagonal(found)
        with patch.object(engine, "align_rectangle", counted):
            whole[start:stop] = np.diagonal(align(packed, rows, rows + 1))
        of_rectangles += rows.size**2
    different = [int(np.count_nonzero(found != expected)) for found in (masked, whole)]
    print(
        f"{len(pairs)} pairs, lengths {packed.lengths.min()} to {packed.lengths.max()}, scores "
        f"{whole.min()} to {whole.max()}, {np.count_nonzero(whole > 127)} beyond 127, "
        f"{np.count_nonzero(whole > 32_767)} beyond 32,767: {different[0]} differ from "
        f"parasail.sw_striped_32 where they are scored alone, {different[1]} in whole rectangles, "
        f"of whose {of_rectangles:,} pairs {left:,} were left to parasail"
    )
    return not any(different)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="identity of scores, no timings")
    parser.add_argument("--ways", action="store_true", help="what was tried, as ratios")
    parser.add_argument("--peak", action="store_true", help="how far from the machine's limit")
    parser.add_argument("--lists", action="store_true", help="each query with records of its own")
    parser.add_argument("--quick", action="store_true", help="small sizes, two repeats")
    parser.add_argument("--shapes", nargs="+", choices=[shape.name for shape in SHAPES])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    repeats = 2 if given.quick else given.repeats
    if given.check:
        met = check(1_000 if given.quick else 100_000, given.threads)
    elif given.peak:
        from alignment_peak import peak  # LLVM

        met = peak(given.quick, repeats)
    elif given.lists:
        from alignment_lists import compare_lists

        met = compare_lists(given.quick, repeats)
    elif given.ways:
        met = ways(given.quick, repeats)
    else:
        shapes = [shape for shape in SHAPES if shape.name in (given.shapes or shape.name)]
        shapes = [smaller(shape) for shape in shapes] if given.quick else shapes
        met = compare_all(shapes, repeats, given.threads)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
