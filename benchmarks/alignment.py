"""How fast the alignment backends are, against four others on the same pairs in one run.

    python benchmarks/alignment.py                  timings (some minutes; keep the machine quiet)
    python benchmarks/alignment.py --ways           what was tried to make them faster, as ratios
    python benchmarks/alignment.py --peak           how far they are from what the machine can do
    python benchmarks/alignment.py --quick          a look whether it runs
    python benchmarks/alignment.py --check          100,000 pairs and long ones: scores identical?

Speed is in GCUPS, billions of cells of the dynamic programming matrices a second. Repeats are
interleaved, so that a slow minute of the machine hits all alike. Processor seconds are those of
all threads together; other jobs disturb them less, so --ways and --peak count them. Needs a C
compiler with OpenMP (gcc) for the bare loop. Ratios are asked for; the exit code is 1 if one is
missed.
"""

import argparse
import ctypes
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle OpenMP threads must not spin beside ours

import numpy as np
import parasail
import pyopal
from numpy.typing import NDArray
from scoring_matrices import ScoringMatrix

from kreinflow.alignment import engine, loop
from kreinflow.alignment import opal as opal_backend
from kreinflow.alignment.engine import Backend, PackedSequences, align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.store import ScoreStore

AMINO_ACIDS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)
SCHEME = ScoringScheme(load_substitution_matrix("blosum62"), gap_open=11, gap_extend=1)
Scores = NDArray[np.int32]


def families(rng: np.random.Generator, count: int, median: float) -> list[bytes]:
    """Return sequences of log-normal lengths, most of them related to some others."""
    ancestors = [
        rng.choice(AMINO_ACIDS, int(np.clip(rng.lognormal(np.log(median), 0.5), 30, 3000)))
        for _ in range(30)
    ]
    made = []
    for _ in range(count):
        parent = ancestors[rng.integers(len(ancestors))]
        changed = rng.random(parent.size) < rng.uniform(0.3, 0.9)
        child = np.where(changed, rng.choice(AMINO_ACIDS, parent.size), parent)
        cut = np.sort(rng.integers(0, child.size, 2))
        inserted = rng.choice(AMINO_ACIDS, rng.integers(0, 20))
        if cut[1] - cut[0] < child.size // 4:
            child = np.delete(child, np.arange(*cut))
        made.append(np.insert(child, int(cut[0]), inserted).tobytes())
    return made


def grid(rows: int, columns: int) -> tuple[Scores, Scores]:
    """Return the pairs of all rows with all columns, column by column: columns get the profile."""
    left = np.repeat(np.arange(rows, rows + columns, dtype=np.int32), rows)
    right = np.tile(np.arange(rows, dtype=np.int32), columns)
    return left, right


def ours(
    packed: PackedSequences, rows: int, columns: int, threads: int, backend: Backend = align_pairs
) -> Scores:
    left, right = grid(rows, columns)
    return backend(packed, left, right, SCHEME, threads).reshape(columns, rows).T


def compile_bare_loop(folder: Path) -> ctypes.CDLL:
    target, library = folder / "bare_loop.so", parasail.get_library()
    source = Path(__file__).with_name("bare_loop.c")
    options = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
    link = [f"-I{parasail.get_include()}", library, f"-Wl,-rpath,{os.path.dirname(library)}"]
    subprocess.run(["gcc", *options, source, "-o", target, *link], check=True)
    return ctypes.CDLL(str(target))


def bare(
    library: ctypes.CDLL, packed: PackedSequences, rows: int, columns: int, threads: int, side: int
) -> Scores:
    scores = np.empty((rows, columns), dtype=np.int32)
    library.bare_loop(
        ctypes.c_void_p(packed.letters.ctypes.data),
        ctypes.c_void_p(packed.offsets.ctypes.data),
        ctypes.c_int64(rows),
        ctypes.c_int64(columns),
        b"blosum62",
        11,
        1,
        threads,
        side,
        ctypes.c_void_p(scores.ctypes.data),
    )
    return scores


def python_loop(rows: list[str], columns: list[str]) -> Scores:
    scores = np.empty((len(rows), len(columns)), dtype=np.int32)
    for c, column in enumerate(columns):
        profile = parasail.profile_create_sat(column, parasail.blosum62)
        for r, row in enumerate(rows):
            scores[r, c] = parasail.sw_striped_profile_sat(profile, row, 11, 1).score
    return scores


def opal(rows: list[str], columns: list[str], threads: int, by_length: bool) -> Scores:
    order = np.argsort([len(row) for row in rows], kind="stable") if by_length else None
    database = pyopal.Database(rows if order is None else [rows[i] for i in order])
    matrix = ScoringMatrix.from_name("BLOSUM62")
    scores = np.empty((len(rows), len(columns)), dtype=np.int32)

    def align(c: int) -> None:
        aligner = pyopal.Aligner(matrix, gap_open=11, gap_extend=1)
        found = [hit.score for hit in aligner.align(columns[c], database)]
        scores[slice(None) if order is None else order, c] = found

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(align, range(len(columns))))
    return scores


def interleaved(
    runs: dict[str, Callable[[], Scores]],
    repeats: int,
    expected: Scores,
) -> tuple[dict[str, list[float]], dict[str, list[float]], bool]:
    """Return seconds and processor seconds of each run, and whether all scores are the same."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    processor: dict[str, list[float]] = {name: [] for name in runs}
    same, reference = True, None
    for _ in range(repeats):
        for name, run in runs.items():
            start, start_of_processor = time.perf_counter(), time.process_time()
            scores = run()
            seconds[name].append(time.perf_counter() - start)
            processor[name].append(time.process_time() - start_of_processor)
            reference = scores if reference is None else reference
            same &= bool(np.array_equal(scores, reference))
            same &= bool(np.array_equal(scores[:, : expected.shape[1]], expected))
    return seconds, processor, same


def compare(rows: int, columns: int, median: float, repeats: int, threads: int) -> bool:
    """Print the table of one size; return whether the three ratios are met."""
    sequences = families(np.random.default_rng(1), rows + columns, median)
    packed = pack(sequences)
    lengths = packed.lengths
    cells = int(lengths[:rows].sum() * lengths[rows:].sum())
    text = [sequence.decode() for sequence in sequences]
    row_text, column_text = text[:rows], text[rows:]
    folder = tempfile.TemporaryDirectory()
    library = compile_bare_loop(Path(folder.name))
    many = f"{threads} threads"
    runs: dict[str, Callable[[], Scores]] = {
        "kreinflow, 1 thread": lambda: ours(packed, rows, columns, 1),
        f"kreinflow, {many}": lambda: ours(packed, rows, columns, threads),
        "kreinflow by pyopal, 1 thread": lambda: ours(
            packed, rows, columns, 1, opal_backend.align_pairs
        ),
        f"kreinflow by pyopal, {many}": lambda: ours(
            packed, rows, columns, threads, opal_backend.align_pairs
        ),
        f"bare C loop, profile of the column, {many}": lambda: bare(
            library, packed, rows, columns, threads, 1
        ),
        f"bare C loop, profile of the row, {many}": lambda: bare(
            library, packed, rows, columns, threads, 0
        ),
        "Python loop over parasail": lambda: python_loop(row_text, column_text),
        f"pyopal as given, {many}": lambda: opal(row_text, column_text, threads, False),
        f"pyopal sorted by length, {many}": lambda: opal(row_text, column_text, threads, True),
    }
    expected = ours(packed, rows, min(columns, 2), 1)  # also compiles what is to be compiled
    seconds, processor, same = interleaved(runs, repeats, expected)
    folder.cleanup()
    print(
        f"\n{rows} x {columns} pairs, mean lengths {lengths[:rows].mean():.0f} and "
        f"{lengths[rows:].mean():.0f}, {cells / 1e9:.1f} billion cells, {repeats} repeats\n"
    )
    print("| | best GCUPS | median GCUPS | best in a processor second |\n|---|---|---|---|")
    best, median_speed, a_core = {}, {}, {}
    for name, times in seconds.items():
        best[name] = cells / min(times) / 1e9
        median_speed[name] = cells / statistics.median(times) / 1e9
        a_core[name] = cells / min(processor[name]) / 1e9
        print(f"| {name} | {best[name]:.1f} | {median_speed[name]:.1f} | {a_core[name]:.1f} |")
    one, mine, opal_one, opal_mine, bare_column, bare_row, loop = list(runs)[:7]
    print("\n| ratio | best | median | in processor seconds | asked | |\n|---|---|---|---|---|---|")
    met = same
    short = lengths.mean() < 200
    for label, ratio, others, asked in (
        ("to the faster bare C loop, same threads", mine, (bare_column, bare_row), 0.95),
        ("to the Python loop over parasail", mine, (loop,), 2.2),
        (f"{many} to 1", mine, (one,), 1.9),
        ("by pyopal to by parasail", opal_mine, (mine,), 1.15 if short else None),
        (f"by pyopal, {many} to 1", opal_mine, (opal_one,), None),
    ):
        by_best = best[ratio] / max(best[other] for other in others)
        by_median = median_speed[ratio] / max(median_speed[other] for other in others)
        by_core = a_core[ratio] / max(a_core[other] for other in others)
        met &= asked is None or by_best >= asked
        verdict = "" if asked is None else "met" if by_best >= asked else "MISSED"
        print(
            f"| {label} | {by_best:.2f} | {by_median:.2f} | {by_core:.2f} | {asked or '-'} | "
            f"{verdict} |"
        )
    print(f"\nall scores identical: {'yes' if same else 'NO'}")
    return met


def ways(rows: int, columns: int, median: float, repeats: int) -> bool:
    """Print what was tried with one thread, as the ratio to the speed of the backend as it is."""
    sequences = families(np.random.default_rng(1), rows + columns, median)
    packed = pack(sequences)
    lengths = packed.lengths
    left, right = grid(rows, columns)
    by_length = np.lexsort((right, lengths[right], left))
    both_by_length = np.lexsort((right, lengths[right], left, lengths[left]))
    by_row = np.argsort(right, kind="stable")

    def scores_of(
        backend: Backend, order: NDArray[np.int64] | None = None, swap: bool = False, **changed: Any
    ) -> Callable[[], Scores]:
        """Return a run on the pairs in some order, with some of the module's constants changed."""
        module = engine if backend is align_pairs else opal_backend
        chosen = np.arange(left.size) if order is None else order
        a, b = (right, left) if swap else (left, right)
        a, b = a[chosen], b[chosen]  # sorted before the clock starts

        def run() -> Scores:
            with ExitStack() as changes:
                for name, value in changed.items():
                    owner = loop if hasattr(loop, name) else module
                    changes.enter_context(patch.object(owner, name, value))
                found = backend(packed, a, b, SCHEME, 1)
            scores = np.empty_like(found)
            scores[chosen] = found
            return scores.reshape(columns, rows).T

        return run

    def only_16_bits(scheme: ScoringScheme) -> NDArray[np.int64]:
        library = parasail._lib
        names = (
            *("parasail_profile_create_16", "parasail_sw_striped_profile_16"),
            *("parasail_profile_free", "parasail_result_get_score"),
            *("parasail_result_is_saturated", "parasail_result_free"),
        )
        found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
        return np.array(found, dtype=np.int64)

    def through_the_store(backend: Backend, memory_mb: int) -> Callable[[], Scores]:
        digests = [hashlib.sha256(sequence).hexdigest() for sequence in sequences]

        def run() -> Scores:
            with tempfile.TemporaryDirectory() as folder:
                store = ScoreStore(Path(folder), SCHEME, sequences, digests, backend)
                wanted = np.arange(rows), np.arange(rows, rows + columns)
                store.fill([wanted], memory_mb=memory_mb)
                scores = np.empty((rows, columns), dtype=np.int32)
                store.gather_into(scores, *wanted)
                return scores

        return run

    def as_given(_: Any, left: Scores, right: Scores, __: Any) -> tuple[Scores, Scores, Scores]:
        return left, right, np.arange(left.size)

    def eight_pairs(*_: Any) -> NDArray[np.int64]:
        return np.append(np.arange(8, left.size, 8), left.size)

    class Buckets(pyopal.Aligner):  # type: ignore[misc]
        def align(self, *arguments: Any, **options: Any) -> Any:
            return super().align(*arguments, **(options | {"overflow": "buckets"}))

    def as_one_piece(*given: Any) -> list[NDArray[np.int64]]:
        return [given[-1]]

    def shortest_first(lengths: Any, _: Any, right: Any, run: Any) -> list[NDArray[np.int64]]:
        return [run[np.argsort(lengths[right[run]], kind="stable")]]

    with_buckets = SimpleNamespace(Database=pyopal.Database, Aligner=Buckets)
    limited_to_present = opal_backend._aligner

    def whole_alphabet(sequences: PackedSequences, scheme: ScoringScheme) -> Any:
        letters = np.frombuffer(scheme.matrix.alphabet.encode(), dtype=np.uint8)
        longer = PackedSequences(np.append(sequences.letters, letters), sequences.offsets)
        return limited_to_present(longer, scheme)

    by_opal = opal_backend.align_pairs
    tried: dict[str, dict[str, Callable[[], Scores]]] = {
        "parasail": {
            "as it is": scores_of(align_pairs),
            "profile of the column always": scores_of(align_pairs, longer_first=as_given),
            "profile of the row always": scores_of(
                align_pairs, by_row, swap=True, longer_first=as_given
            ),
            "a new profile for each pair": scores_of(align_pairs, by_row, longer_first=as_given),
            "rows by length": scores_of(align_pairs, by_length),
            "rows and columns by length": scores_of(align_pairs, both_by_length),
            "16 bits from the start": scores_of(align_pairs, _addresses=only_16_bits),
            "pieces of 8 pairs": scores_of(align_pairs, piece_ends=eight_pairs),
            "through the score store, self-scores too, 16 MB": through_the_store(align_pairs, 16),
            "through the score store, self-scores too, 512 MB": through_the_store(align_pairs, 512),
        },
        "pyopal": {
            "as it is": scores_of(by_opal),
            "one piece, targets as given": scores_of(by_opal, _pieces=as_one_piece),
            "one piece, shortest targets first": scores_of(by_opal, _pieces=shortest_first),
            "overflows in buckets (leaks memory)": scores_of(by_opal, pyopal=with_buckets),
            "letters that do not occur too": scores_of(by_opal, _aligner=whole_alphabet),
            "pieces of 5,000,000 cells": scores_of(by_opal, _CELLS=5_000_000, _LEAST_TARGETS=32),
            "pieces of 1,000,000,000 cells": scores_of(by_opal, _CELLS=1_000_000_000),
            "through the score store, self-scores too, 16 MB": through_the_store(by_opal, 16),
            "through the score store, self-scores too, 512 MB": through_the_store(by_opal, 512),
        },
    }
    print(
        f"\n{rows} x {columns} pairs, mean lengths {lengths[:rows].mean():.0f} and "
        f"{lengths[rows:].mean():.0f}, 1 thread, {repeats} repeats\n"
    )
    print("| backend | way | speed against the backend as it is |\n|---|---|---|")
    expected = ours(packed, rows, 1, 1)
    _, seconds, same = interleaved(
        {f"{b} | {way}": run for b, part in tried.items() for way, run in part.items()},
        repeats,
        expected,
    )
    for name, times in seconds.items():
        base = seconds[f"{name.split(' | ')[0]} | as it is"]
        print(f"| {name} | {min(base) / min(times):.2f} |")
    print(f"\nall scores identical: {'yes' if same else 'NO'}")
    return same


# Of the inner loops of 8-bit local alignment with AVX2, in the disassembly of libparasail of
# parasail 1.3.4 (parasail_sw_striped_profile_avx2_256_8) and of pyopal 0.7.3: vector instructions
# for 32 cells, and those of them that calculate; the others load and store.
STEPS = {"parasail": (13, 9), "pyopal": (16, 11)}


def peak(lengths: tuple[int, ...], repeats: int) -> bool:
    """Print how far each backend is, with one thread, from what the machine can calculate."""
    flags = Path("/proc/cpuinfo").read_text()
    if "avx2" not in flags:
        print("The inner loops were counted for AVX2, which this machine lacks.")
        return False
    nominal = [line.split(":")[1].strip() for line in flags.splitlines() if "MHz" in line]
    with tempfile.TemporaryDirectory() as folder:
        library = compile_bare_loop(Path(folder))

        def a_second(function: Any, count: int) -> float:
            best = 0.0
            for _ in range(repeats):
                start = time.process_time()
                function(ctypes.c_int64(count))
                best = max(best, count / (time.process_time() - start))
            return best / 1e9

        clock = a_second(library.dependent_additions, 400_000_000)
        rate = a_second(library.independent_vector_instructions, 600_000_000)
    print(
        f"\n/proc/cpuinfo: {nominal[0] if nominal else '?'} MHz; measured, by additions that need "
        f"each other: {clock:.2f} GHz; 8-bit vector additions and maxima that do not: {rate:.1f} "
        f"billion a second, {rate / clock:.1f} a cycle.\n\nOne thread; all on AVX2, 32 cells in a "
        "vector. Peak: 32 cells x vector instructions a second / those that an inner step "
        "calculates with.\n"
    )
    print(
        "| length of both | backend | GCUPS | 32 x clock / all of a step's | peak | of the peak |"
    )
    print("|---|---|---|---|---|---|")
    same = True
    for length in lengths:
        rng = np.random.default_rng(3)
        columns = 2
        rows = max(64, 1_500_000_000 // (columns * length * length))
        packed = pack([rng.choice(AMINO_ACIDS, length).tobytes() for _ in range(rows + columns)])
        runs: dict[str, Callable[[], Scores]] = {
            "parasail": lambda packed=packed, rows=rows: ours(packed, rows, 2, 1),
            "pyopal": lambda packed=packed, rows=rows: ours(
                packed, rows, 2, 1, opal_backend.align_pairs
            ),
        }
        _, seconds, equal = interleaved(runs, repeats, ours(packed, rows, 1, 1))
        same &= equal
        for name, times in seconds.items():
            every, calculating = STEPS[name]
            speed = rows * columns * length * length / min(times) / 1e9
            best = 32 * rate / calculating
            print(
                f"| {length} | {name} | {speed:.1f} | {32 * clock / every:.1f} | {best:.1f} | "
                f"{100 * speed / best:.0f} % |"
            )
    print(f"\nall scores identical: {'yes' if same else 'NO'}")
    return same


def log_uniform_pair(rng: np.random.Generator, low: int, high: int) -> tuple[bytes, bytes]:
    """Return two sequences, every other time with a stretch in common, more or less changed."""
    a, b = (
        rng.choice(AMINO_ACIDS, int(np.exp(rng.uniform(np.log(low), np.log(high + 1)))))
        for _ in range(2)
    )
    if rng.random() < 0.5:
        size = int(rng.integers(1, min(a.size, b.size) + 1))
        i, j = rng.integers(a.size - size + 1), rng.integers(b.size - size + 1)
        changed = rng.random(size) < rng.choice([0.0, 0.1, 0.4, 0.7])
        b[j : j + size] = np.where(changed, rng.choice(AMINO_ACIDS, size), a[i : i + size])
    return a.tobytes(), b.tobytes()


def check(count: int, threads: int) -> bool:
    """Compare scores with those of ``parasail.sw_striped_32``; return whether all are the same."""
    rng = np.random.default_rng(2)
    pairs = [log_uniform_pair(rng, 1, 2_000) for _ in range(count)]
    pairs += [log_uniform_pair(rng, 12_000, 35_000) for _ in range(6)]
    giant = rng.choice(AMINO_ACIDS, 35_000).tobytes()
    pairs += [(giant, giant), (giant[:12_000], giant[:12_000])]
    packed = pack([sequence for pair in pairs for sequence in pair])
    left = np.arange(0, 2 * len(pairs), 2, dtype=np.int32)
    found = align_pairs(packed, left, left + np.int32(1), SCHEME, threads)
    expected = [
        parasail.sw_striped_32(a.decode(), b.decode(), 11, 1, parasail.blosum62).score
        for a, b in pairs
    ]
    different = int(np.count_nonzero(found != np.array(expected)))
    print(
        f"{len(pairs)} pairs, lengths {packed.lengths.min()} to {packed.lengths.max()}, scores "
        f"{found.min()} to {found.max()}, {np.count_nonzero(found > 127)} beyond 8 bits, "
        f"{np.count_nonzero(found > 32_767)} beyond 16: {different} differ from "
        "parasail.sw_striped_32"
    )
    return different == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="identity of scores, no timings")
    parser.add_argument("--ways", action="store_true", help="what was tried, as ratios")
    parser.add_argument("--peak", action="store_true", help="how far from the machine's peak")
    parser.add_argument("--quick", action="store_true", help="a few pairs, two repeats")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.check:
        return 0 if check(1_000 if given.quick else 100_000, given.threads) else 1
    repeats = 2 if given.quick else given.repeats
    if given.peak:
        return 0 if peak((150,) if given.quick else (75, 150, 350, 1000, 3000), repeats) else 1
    if given.ways:
        shapes = [(300, 20, 150.0)] if given.quick else [(1500, 100, 130.0), (1000, 40, 330.0)]
        return 0 if all([ways(*shape, repeats=repeats) for shape in shapes]) else 1
    sizes = [(800, 40, 150.0)] if given.quick else [(4000, 40, 130.0), (2000, 40, 330.0)]
    sizes += [] if given.quick else [(1000, 300, 130.0)]
    met = [compare(*size, repeats=repeats, threads=given.threads) for size in sizes]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
