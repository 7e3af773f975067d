"""How fast queries are aligned with records of their own, beside whole rectangles and parasail.

    python benchmarks/asked_pairs.py                          all lengths and numbers, some minutes
    python benchmarks/asked_pairs.py --residues 150 --asked 50 --threads 1

5,000 queries ask for 20, 50 and 200 of 4,000 records each: those of their own family of 28 first,
by words of two letters. "Rectangle" is all queries with as many records drawn at random, and so
with as many pairs and few relatives; "family" is all queries of a family with all its records.
Speed is in GCUPS, billions of cells of the dynamic programming matrices a second, of processor
seconds and of the clock; repeats are interleaved, and the best counts. "Beyond 8 bits" is the
share of the pairs that are asked whose scores need 16: they cost at least twice the time. Parasail
aligns the pairs of 200 queries.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from alignment_peers import SCHEME, Scores
from kinds import drawn, text, tree
from kreinflow.alignment.asked import align_asked
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import PackedSequences, align_pairs, pack
from kreinflow.base.numerics import IntArray

FAMILIES, TIME = 28, 1.6
OF_PARASAIL = 200
AUTO = backend_named("auto")


def made(residues: int, count: int) -> tuple[PackedSequences, IntArray]:
    """Return sequences of families of this many residues, more or less, and their families."""
    random = np.random.default_rng(1)
    sizes = random.multinomial(count, np.ones(FAMILIES) / FAMILIES)
    lengths = residues * random.lognormal(0, 0.3, FAMILIES)
    trees = (
        tree(drawn(int(length), random), int(size), TIME, random)
        for length, size in zip(lengths, sizes, strict=True)
    )
    texts = [text(site).encode() for family in trees for site in family]
    order = random.permutation(count)
    return pack([texts[k] for k in order]), np.repeat(np.arange(FAMILIES), sizes)[order]


def nearest(packed: PackedSequences, family: IntArray, queries: int, most: int) -> IntArray:
    """Return the records that each query asks for, its family's first, then by their words."""
    words = np.zeros((family.size, 400))
    number = np.zeros(256, dtype=np.int64)
    number[list(b"ARNDCQEGHILKMFPSTWYV")] = np.arange(20)
    for k, (start, stop) in enumerate(zip(packed.offsets, packed.offsets[1:], strict=False)):
        codes = number[packed.letters[start:stop]]
        words[k] = np.sqrt(np.bincount(20 * codes[:-1] + codes[1:], minlength=400))
    words /= np.linalg.norm(words, axis=1)[:, None]
    closeness = words[:queries] @ words[queries:].T
    closeness += family[:queries, None] == family[queries:]
    return queries + np.argsort(-closeness, axis=1, kind="stable")[:, :most]


def cells(packed: PackedSequences, rows: IntArray, asked: IntArray) -> float:
    """Return the cells of the matrices of all pairs."""
    return float((packed.lengths[rows][:, None] * packed.lengths[asked]).sum())


def speeds(runs: dict[str, tuple[Callable[[], object], float]], repeats: int) -> dict[str, str]:
    """Return GCUPS of processor seconds, and of the clock, of the best of interleaved repeats."""
    best = {name: (np.inf, np.inf) for name in runs}
    for _ in range(repeats):
        for name, (run, _) in runs.items():
            clock, processor = time.perf_counter(), time.process_time()
            run()
            taken = time.process_time() - processor, time.perf_counter() - clock
            best[name] = min(best[name][0], taken[0]), min(best[name][1], taken[1])
    return {
        name: " / ".join(f"{amount / seconds / 1e9:.1f}" for seconds in best[name])
        for name, (_, amount) in runs.items()
    }


def by_pairs(packed: PackedSequences, rows: IntArray, asked: IntArray, threads: int) -> Scores:
    """Return the scores of all pairs by parasail."""
    left = np.repeat(rows, asked.shape[1]).astype(np.int32)
    found = align_pairs(packed, left, asked.ravel().astype(np.int32), SCHEME, threads)
    return found.reshape(asked.shape)


def line(
    packed: PackedSequences, family: IntArray, near: IntArray, n: int, threads: int, repeats: int
) -> str:
    """Return a line of the table: of n queries, with a number of threads."""
    random, queries = np.random.default_rng(2), near.shape[0]
    rows, asked = np.arange(n), near[:n]
    some = queries + np.sort(random.permutation(family.size - queries)[: asked.shape[1]])
    few = rows[:OF_PARASAIL]
    own = [
        (np.flatnonzero(family[:queries] == f), queries + np.flatnonzero(family[queries:] == f))
        for f in range(3)
    ]

    def of_families() -> None:
        for left, right in own:
            AUTO(packed, left, right, SCHEME, threads)

    in_families = sum(cells(packed, a, np.tile(b, (a.size, 1))) for a, b in own)
    runs: dict[str, tuple[Callable[[], object], float]] = {
        "asked": (
            partial(align_asked, packed, rows, asked, SCHEME, threads, AUTO),
            cells(packed, rows, asked),
        ),
        "rectangle": (
            partial(AUTO, packed, rows, some, SCHEME, threads),
            cells(packed, rows, np.tile(some, (n, 1))),
        ),
        "family": (of_families, in_families),
        "parasail": (
            partial(by_pairs, packed, few, asked[:OF_PARASAIL], threads),
            cells(packed, few, asked[:OF_PARASAIL]),
        ),
    }
    scores = align_asked(packed, rows, asked, SCHEME, threads, AUTO)
    same = np.array_equal(scores[:OF_PARASAIL], by_pairs(packed, few, asked[:OF_PARASAIL], threads))
    found = speeds(runs, repeats)
    ratios = [
        float(found["asked"].split()[0]) / float(found[name].split()[0])
        for name in ("rectangle", "family", "parasail")
    ]
    share = f"{100 * np.mean(scores > 240):.0f} %"
    parts = [str(n), str(asked.shape[1]), str(threads), share, *found.values()]
    parts += [f"{ratio:.2f}" for ratio in ratios]
    return f"| {' | '.join(parts)} |" + ("" if same else " SCORES DIFFER")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--residues", type=int, nargs="+", default=[150, 370])
    parser.add_argument("--queries", type=int, nargs="+", default=[5000, 64, 1])
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--asked", type=int, nargs="+", default=[20, 50, 200])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    for residues in arguments.residues:
        most = max(arguments.queries)
        packed, family = made(residues, most + arguments.records)
        near = nearest(packed, family, most, max(arguments.asked))
        print(f"\n{residues} residues (mean {packed.lengths.mean():.0f})\n")
        heads = ["queries", "asked", "threads", "beyond 8 bits", "asked, processor / clock"]
        heads += ["rectangle", "family", "parasail"]
        heads += [f"to {name}" for name in ("rectangle", "family", "parasail")]
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for n in arguments.queries:
            for q in arguments.asked:
                for threads in arguments.threads:
                    parts = packed, family, near[:, :q], n, threads, arguments.repeats
                    print(line(*parts), flush=True)


if __name__ == "__main__":
    main()
