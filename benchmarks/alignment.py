"""How fast the alignment engine is, against four others on the same pairs in one run.

    python benchmarks/alignment.py                  timings (some minutes; keep the machine quiet)
    python benchmarks/alignment.py --quick          a look whether it runs
    python benchmarks/alignment.py --check          100,000 pairs and long ones: scores identical?

Speed is in GCUPS, billions of cells of the dynamic programming matrices a second. Repeats are
interleaved, so that a slow minute of the machine hits all alike. Needs a C compiler with OpenMP
(gcc) for the bare loop. Three ratios are asked for; the exit code is 1 if one is missed.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle OpenMP threads must not spin beside ours

import numpy as np
import parasail
import pyopal
from numpy.typing import NDArray
from scoring_matrices import ScoringMatrix

from kreinflow.alignment.engine import PackedSequences, align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix

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


def ours(packed: PackedSequences, rows: int, columns: int, threads: int) -> Scores:
    left, right = grid(rows, columns)
    return align_pairs(packed, left, right, SCHEME, threads).reshape(columns, rows).T


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
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    same = True
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            scores = run()
            seconds[name].append(time.perf_counter() - start)
            same &= bool(np.array_equal(scores[:, :2], expected))
            if name == "kreinflow, 1 thread":
                reference = scores
            same &= bool(np.array_equal(scores, reference))
    folder.cleanup()
    print(
        f"\n{rows} x {columns} pairs, mean lengths {lengths[:rows].mean():.0f} and "
        f"{lengths[rows:].mean():.0f}, {cells / 1e9:.1f} billion cells, {repeats} repeats\n"
    )
    print("| | best GCUPS | median GCUPS |\n|---|---|---|")
    best, median_speed = {}, {}
    for name, times in seconds.items():
        best[name] = cells / min(times) / 1e9
        median_speed[name] = cells / statistics.median(times) / 1e9
        print(f"| {name} | {best[name]:.1f} | {median_speed[name]:.1f} |")
    mine, one, bare_column, bare_row, loop = list(runs)[1], *(list(runs)[i] for i in (0, 2, 3, 4))
    print("\n| ratio | best | median | asked | |\n|---|---|---|---|---|")
    met = same
    for label, others, asked in (
        ("to the faster bare C loop, same threads", (bare_column, bare_row), 0.95),
        ("to the Python loop over parasail", (loop,), 2.2),
        (f"{many} to 1", (one,), 1.9),
    ):
        by_best = best[mine] / max(best[other] for other in others)
        by_median = median_speed[mine] / max(median_speed[other] for other in others)
        met &= by_best >= asked
        verdict = "met" if by_best >= asked else "MISSED"
        print(f"| {label} | {by_best:.2f} | {by_median:.2f} | {asked} | {verdict} |")
    print(f"\nall scores identical: {'yes' if same else 'NO'}")
    return met


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
    parser.add_argument("--quick", action="store_true", help="a few pairs, two repeats")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.check:
        return 0 if check(1_000 if given.quick else 100_000, given.threads) else 1
    repeats = 2 if given.quick else given.repeats
    sizes = [(800, 40, 150.0)] if given.quick else [(4000, 40, 130.0), (2000, 40, 330.0)]
    sizes += [] if given.quick else [(1000, 300, 130.0)]
    met = [compare(*size, repeats=repeats, threads=given.threads) for size in sizes]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
