"""Scores by seeds in plain loops."""

from collections import defaultdict
from math import log


def seeds_of(seeds, sequence):
    """Each seed of a sequence, a shape with the groups of letters, and its place."""
    group_of = {letter: n for n, own in enumerate(seeds.groups) for letter in own.encode()}
    for shape in seeds.shapes:
        for i in range(len(sequence) - len(shape) + 1):
            own = [group_of.get(sequence[i + k]) for k, mark in enumerate(shape) if mark == "1"]
            if None not in own:
                yield (shape, *own), i


def plain_seed_scores(seeds, sequences, records):
    """The score of each sequence with each record, as lists of lists."""
    places = defaultdict(list)
    for r, record in enumerate(records):
        for seed, j in seeds_of(seeds, record):
            places[seed].append((r, j))
    found, n = [], len(records)
    for sequence in sequences:
        bands = [[0] * 32 for _ in records]
        for seed, i in seeds_of(seeds, sequence):
            hits = places.get(seed, [])
            if 0 < len(hits) <= 0.3 * n:
                for r, j in hits:
                    bands[r][(j - i) % 512 // 16] += round(4 * log((n + 1) / len(hits)))
        bands = [[min(own, 65535) for own in of] for of in bands]
        found.append([max(of[b] + of[b - 1] for b in range(32)) for of in bands])
    return found
