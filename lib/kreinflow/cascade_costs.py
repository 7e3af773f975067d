"""What recipes with a cascade cost beside their first stage: pairs, seconds and megabytes.

Of n records in k classes, m landmarks, and F inner folds. Constants are a quarter more than was
measured. What is asked is an upper bound: which of the levels a cascade has, nobody knows before.
"""

from collections.abc import Iterable

from kreinflow.costs import Seconds, Statistics, records
from kreinflow.lift_costs import LIFTED_CUBE, LIFTED_ENTRY, LIFTED_SCORE, words_seconds
from kreinflow.models.cascade_choice import Wanted
from kreinflow.models.cascading import BLOCKS, LIKELIEST, MEMBERS, STEPS, sample_size

ASKED_PAIR = 1.5e-6
"""Of a pair that is asked, beside its alignment: 1e-6 for 5,000,000 of them."""

LOGIT = 5e-7
"""Of a class and record, for each level and inner fold and once more."""

ASKED_PAIR_BYTES = 50
"""Of a pair that is asked, in the job and by its query: 20 in the former."""

ASKED_TOGETHER, FACED_BYTES = 1024, 60
"""Queries that are asked together, and bytes of a record that they may ask."""

_LEVELS = 2 * (len(STEPS) + 1)  # the first stage, all steps, and pairs behind each of these


def _asks(statistics: Statistics, wanted: Wanted) -> float:
    """Return the records that one query asks at most."""
    n, classes = records(statistics), len(statistics["class_sizes"])
    members = min(LIKELIEST * n / classes, LIKELIEST * MEMBERS / 2)
    return min(n, wanted.most_nearest(0) + members)


def asked_pairs(statistics: Statistics, wanted: Wanted, tested: float) -> float:
    """Return the pairs at most that a cascade has aligned on one training part.

    Parameters
    ----------
    statistics : mapping
    wanted : Wanted
    tested : float
        The share of the records that the fold tests: all levels are asked for these.
    """
    n, classes = records(statistics), len(statistics["class_sizes"])
    queries = sample_size(n, classes) + tested * n
    return float(min(queries * _asks(statistics, wanted) + BLOCKS * n, n * (n + 1) / 2))


def unknown_asked_pairs(statistics: Statistics, wanted: Iterable[Wanted]) -> float:
    """Return the pairs at most that models with a cascade ask of the records held out as unknown.

    Those of all outer folds have most of their records in common.
    """
    asked = sum(_asks(statistics, own) for own in wanted)
    return float(sum(statistics["unknown"].values()) * min(asked, records(statistics)))


def cascade_seconds(
    statistics: Statistics,
    wanted: Wanted,
    landmarks: int,
    lengths: int,
    inner_folds: int,
    tested: float,
) -> Seconds:
    """Return the seconds of a cascade on one training part, beside those of its alignments.

    Parameters
    ----------
    statistics : mapping
    wanted : Wanted
    landmarks : int
    lengths : int
        Lengths of the words by which the nearest records are found, 0 without words.
    inner_folds : int
    tested : float
        See :func:`asked_pairs`.
    """
    n, classes = records(statistics), len(statistics["class_sizes"])
    sample = sample_size(n, classes)
    queries = sample + tested * n
    searched = queries * n * (LIFTED_ENTRY + LIFTED_SCORE * landmarks)
    kept = (inner_folds + 1) * words_seconds(statistics, lengths, n, 0)
    found = words_seconds(statistics, lengths, 0, queries * n)
    size = min(MEMBERS, 2 * n / classes)
    machines = LIFTED_CUBE * (inner_folds + 1) * BLOCKS * n * size
    logits = LOGIT * (inner_folds + 1) * _LEVELS * sample * classes
    asked = ASKED_PAIR * asked_pairs(statistics, wanted, tested)
    return Seconds(machines + logits + asked, searched) + kept + found


def cascade_mb(
    statistics: Statistics, wanted: Wanted, landmarks: int, inner_folds: int, tested: float
) -> float:
    """Return megabytes of a cascade: what is asked, what the levels say, and its records."""
    n, classes = records(statistics), len(statistics["class_sizes"])
    asked = ASKED_PAIR_BYTES * asked_pairs(statistics, wanted, tested)
    faced = FACED_BYTES * ASKED_TOGETHER * _asks(statistics, wanted)
    said = 8 * (1.5 * _LEVELS * sample_size(n, classes) + _LEVELS * tested * n) * classes
    index = 12 * n * landmarks * (inner_folds + 1)
    return (asked + faced + said + index) / 1e6
