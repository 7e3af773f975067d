"""Pairs of sequences, scoring schemes and their scores, for all tests that align."""

import threading
from collections import Counter

import numpy as np
import parasail

from kreinflow.alignment import engine
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import NOT_ALIGNED, align_rectangle, pack
from kreinflow.alignment.scoring import (
    ScoringScheme,
    SubstitutionMatrix,
    load_substitution_matrix,
)

AMINO_ACIDS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)
PREFIX = {"local": "sw", "global": "nw", "semiglobal": "sg"}


def drawn(rng, letters, count, lowest, highest):
    """Return sequences of letters, of uniform lengths."""
    pool = np.frombuffer(letters, dtype=np.uint8)
    return [rng.choice(pool, rng.integers(lowest, highest)).tobytes() for _ in range(count)]


def related_pair(rng, longest):
    """Return two sequences of log-uniform lengths; half of them share a mutated stretch."""
    a, b = (rng.choice(AMINO_ACIDS, int(longest ** rng.random())) for _ in range(2))
    if rng.random() < 0.5:
        start = rng.integers(a.size)
        part = a[start : start + 1 + rng.integers(a.size)].copy()
        changed = rng.random(part.size) < rng.choice([0, 0.1, 0.4])
        part[changed] = rng.choice(AMINO_ACIDS, changed.sum())
        cut = rng.integers(b.size + 1)
        b = np.concatenate([b[:cut], part, b[cut:]])[:longest]
    return a.tobytes(), b.tobytes()


def scheme_of(name="blosum62", gap_open=11, gap_extend=1, mode="local", factor=1):
    matrix = load_substitution_matrix(name)
    scaled = SubstitutionMatrix(matrix.name, matrix.alphabet, matrix.scores * np.int32(factor))
    return ScoringScheme(scaled, gap_open, gap_extend, mode)


def all_pairs(rows, columns):
    """Return the numbers of all rows with all columns, row by row."""
    left, right = np.meshgrid(rows, columns, indexing="ij")
    return left.ravel().astype(np.int32), right.ravel().astype(np.int32)


def rectangle(sequences, rows, columns, scheme, align=align_rectangle, mask=None):
    """Return the scores of rows x columns."""
    return align(pack(sequences, scheme, 2), np.asarray(rows), np.asarray(columns), mask)


def parasail_scores(sequences, left, right, scheme, kind="_striped_32"):
    """Return what parasail's own function says, one pair after the other; "" is its plain loop."""
    align = getattr(parasail, PREFIX[scheme.mode] + kind)
    if hasattr(parasail, scheme.matrix.name):
        table = getattr(parasail, scheme.matrix.name).copy()
    else:
        table = parasail.matrix_create(scheme.matrix.alphabet, 1, 0)
    for (i, j), score in np.ndenumerate(scheme.matrix.scores):
        table[i, j] = int(score)
    texts = [sequence.decode() for sequence in sequences]
    gaps = scheme.gap_open, scheme.gap_extend
    pairs = zip(left, right, strict=True)
    return np.array([align(texts[i], texts[j], *gaps, table).score for i, j in pairs])


def too_large(packed, rows, columns, mask=None):
    """Stand in for a backend whose scores are all wrong."""
    scores = align_rectangle(packed, rows, columns, mask)
    return np.where(scores == NOT_ALIGNED, scores, scores + 1).astype(np.int32)


class Counting:
    """A backend with a log of the pairs of residues.

    Its method ``self_scores`` takes the place of the engine's, with the same log.
    """

    def __init__(self):
        self.pairs = Counter()
        self._one_at_a_time = threading.Lock()

    def _log(self, packed, left, right):
        with self._one_at_a_time:
            texts = [packed[number].tobytes() for number in range(packed.lengths.size)]
            pairs = zip(left.tolist(), right.tolist(), strict=True)
            self.pairs.update(tuple(sorted((texts[i], texts[j]))) for i, j in pairs)

    def __call__(self, packed, rows, columns, mask=None):
        r, c = np.nonzero(np.ones((rows.size, columns.size)) if mask is None else mask)
        self._log(packed, rows[r], columns[c])
        return backend_named("auto")(packed, rows, columns, mask)

    def self_scores(self, packed, numbers):
        self._log(packed, numbers, numbers)
        return engine.self_scores(packed, numbers)

    @property
    def others(self):
        return sum(count for (a, b), count in self.pairs.items() if a != b)

    @property
    def alone(self):
        return self.pairs.total() - self.others

    @property
    def most(self):
        return max(self.pairs.values())
