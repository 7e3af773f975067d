"""Scores by seeds, and by segments without gaps where they hit, in plain loops."""

from collections import defaultdict
from dataclasses import replace
from functools import cache
from math import exp, log

import numpy as np
import parasail


def seeds_of(seeds, sequence):
    """Each seed of a sequence, a shape with the groups of letters, and its place."""
    group_of = {letter: n for n, own in enumerate(seeds.groups) for letter in own.encode()}
    for shape in seeds.shapes:
        for i in range(len(sequence) - len(shape) + 1):
            own = [group_of.get(sequence[i + k]) for k, mark in enumerate(shape) if mark == "1"]
            if None not in own:
                yield (shape, *own), i


def plain_seed_bands(seeds, sequences, records):
    """The score of each sequence with each record, and the second of its bands."""
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
        both = [[of[b] + of[b - 1] for b in range(32)] for of in bands]
        found.append([(max(of), of.index(max(of))) for of in both])
    return found


def plain_seed_scores(seeds, sequences, records):
    """The score of each sequence with each record, as lists of lists."""
    return [[s for s, _ in of] for of in plain_seed_bands(seeds, sequences, records)]


@cache
def pair_scores(groups):
    """The scores of two characters, by parasail's table or by groups, of shape (256, 256)."""
    letters, scores = "".join(groups), np.full((256, 256), -1)
    for a in letters:
        for b in letters:
            same = any(a in own and b in own for own in groups)
            scores[ord(a), ord(b)] = 3 if same else -3
            if set(letters) - set("ACGTU"):
                place = ["ARNDCQEGHILKMFPSTWYV".index(letter) for letter in (a, b)]
                scores[ord(a), ord(b)] = parasail.blosum62.matrix[tuple(place)]
    return scores


def plain_segments(groups, query, record, band):
    """What the best segments of 32 diagonals have above 18; the largest of those 512 apart."""
    query, record = (np.frombuffer(own, dtype=np.uint8) for own in (query, record))
    matrix, first = pair_scores(groups)[query][:, record], 16 * (band - 1)
    best = 0
    for start in range(first - 512 * (1 + (first + len(query)) // 512), len(record), 512):
        total = 0
        for d in range(start, start + 32):
            sums = np.cumsum(np.append(0, np.diagonal(matrix, d)))
            most = int((sums - np.minimum.accumulate(sums)).max())
            total += max(0, most - 18)
        best = max(best, total)
    return best


def has_relative(groups, query, records, g):
    """Whether segments of the score g have an E-value of 1e-10 at most among all the records."""
    K, rate = (0.1337, 0.3176) if set("".join(groups)) - set("ACGTU") else (1 / 3, log(3) / 3)
    return K * len(query) * sum(map(len, records)) * exp(-rate * (g + 18)) <= 1e-10


def plain_nearest(seeds, sequences, records, left_out=None):
    """The records with a hit of each sequence in order, and all scores, 0 without a hit.

    ``left_out``, of each sequence: records that are no relatives of it.
    """
    found = []
    for sequence, without in zip(sequences, left_out or [()] * len(sequences), strict=True):
        for some, few in ((replace(seeds, shapes=seeds.shapes[:1]), 100), (seeds, 1000)):
            [own] = plain_seed_bands(some, [sequence], records)
            order = sorted((j for j in range(len(own)) if own[j][0]), key=lambda j: (-own[j][0], j))
            scores = [0] * len(records)
            for j in order[:few]:
                scores[j] = plain_segments(seeds.groups, sequence, records[j], own[j][1])
            for j in order[few:]:
                scores[j] = min(scores[i] for i in order[:few])
            best = max((scores[j] for j in order[:few] if j not in without), default=-1)
            if best >= 0 and has_relative(seeds.groups, sequence, records, best):
                break
        found.append((sorted(order, key=lambda j: -scores[j]), scores))
    return found
