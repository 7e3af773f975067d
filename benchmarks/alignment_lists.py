"""How near lists of pairs come to a full rectangle: alignment.py --lists.

Each query is aligned with some records of its own, seven tenths of them of its family. The speed in
rectangles is that of the way that was taken before, and is where a processor has no byte shuffles.
"""

from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from alignment_peak import least_seconds
from alignment_peers import AMINO_ACIDS, SCHEME, Scores
from kreinflow.alignment import backends
from kreinflow.alignment.backends import align_pair_lists, backend_named
from kreinflow.alignment.engine import pack

ASKED = {150: 0.6, 370: 0.7}  # of the speed of a full rectangle, by the mean length
PER_QUERY = (10, 20, 32, 64)
CHANGED = {"far": (0.9, 1.0), "near": (0.3, 0.8)}
"""The share of residues that differ within a family: hardly any score needs 16 bits, or some."""


def lists(
    random: np.random.Generator, length: int, changed: tuple[float, float], queries: int
) -> tuple[list[bytes], dict[int, Scores]]:
    """Return sequences, the queries first, and the records of each query by the number of these.

    There are 28 families, with lengths that have a standard deviation of 30 %.
    """
    sizes = np.maximum(random.normal(length, 0.3 * length, 28), 30).astype(int)
    ancestors = [random.choice(AMINO_ACIDS, size) for size in sizes]
    family = random.integers(0, 28, queries + 4_000)
    made = []
    for number in family.tolist():
        own = ancestors[number]
        at = random.random(own.size) < random.uniform(*changed)
        child = np.where(at, random.choice(AMINO_ACIDS, own.size), own)
        made.append(child[: int(own.size * random.uniform(0.85, 1))].tobytes())
    members = [queries + np.flatnonzero(family[queries:] == f) for f in range(28)]
    asked = {}
    for count in PER_QUERY:
        near = int(0.7 * count)
        rows = []
        for number in family[:queries].tolist():
            own = random.choice(members[number], near, replace=False)
            others = np.setdiff1d(np.arange(queries, len(made)), own)
            rows.append(np.append(own, random.choice(others, count - near, replace=False)))
        asked[count] = np.stack(rows)
    return made, asked


def compare_lists(quick: bool, repeats: int) -> bool:
    """Print the ratios to a full rectangle; return whether the bars are met by far families."""
    align, queries, met = backend_named("auto"), 100 if quick else 1_500, True
    print(
        f"\nOne thread, processor seconds, best of {repeats} interleaved repeats, {queries:,} "
        "queries. Ratios to the speed of 2,000 records x 100 queries of the same sequences.\n"
    )
    heads = "mean length | families | records a query | beyond 8 bits | GCUPS | in rectangles"
    print(f"| {heads} | in lists | asked | |\n|{'---|' * 9}")

    def in_rectangles(*given: Any) -> Scores:
        with patch.object(backends, "_tables", lambda *_: []):
            return align_pair_lists(*given)

    for length, asked in ASKED.items():
        for name, changed in CHANGED.items():
            sequences, wanted = lists(np.random.default_rng(5), length, changed, queries)
            packed = pack(sequences, SCHEME)
            own, rows = packed.lengths, np.arange(queries)
            block = np.arange(queries, queries + 2_000), rows[:100]
            runs: dict[Any, Any] = {"rectangle": partial(align, packed, *block)}
            cells: dict[Any, int] = {"rectangle": own[block[0]].sum() * own[block[1]].sum()}
            found = {}
            for count, partners in wanted.items():
                for way in (align_pair_lists, in_rectangles):
                    runs[count, way] = partial(way, packed, rows, partners, align)
                    cells[count, way] = (own[rows][:, None] * own[partners]).sum()
                    found[count, way] = runs[count, way]()
            seconds = least_seconds(runs, repeats)
            speed = {run: cells[run] / seconds[run] / 1e9 for run in runs}
            for count in PER_QUERY:
                ours, before = (found[count, way] for way in (align_pair_lists, in_rectangles))
                listed, old = (speed[count, way] for way in (align_pair_lists, in_rectangles))
                same, ratio = np.array_equal(ours, before), listed / speed["rectangle"]
                good = same and (name != "far" or ratio >= asked)
                met &= good
                verdict = "SCORES DIFFER" if not same else "met" if good else "MISSED"
                verdict = "" if same and name != "far" else verdict
                print(
                    f"| {length} | {name} | {count} | {np.mean(ours > 240):.0%} | {listed:.1f} | "
                    f"{old / speed['rectangle']:.2f} | {ratio:.2f} | "
                    f"{asked if name == 'far' else '-'} | "
                    f"{verdict} |",
                    flush=True,
                )
    return met
