"""Pairs of sequences and scoring schemes that the tests of both alignment backends share."""

import numpy as np

from kreinflow.alignment.scoring import (
    ScoringScheme,
    SubstitutionMatrix,
    load_substitution_matrix,
)

AMINO_ACIDS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)


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
