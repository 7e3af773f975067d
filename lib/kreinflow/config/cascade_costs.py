"""What recipes with a cascade cost beside their first stage: pairs, seconds and megabytes.

Of n records in k classes, m landmarks, and F inner folds. Constants are a quarter more than was
measured. What is asked is an upper bound: which of the levels a cascade has, nobody knows before.
"""

from collections.abc import Iterable

from kreinflow.answering.record_scores import NEAREST_WEIGHTS
from kreinflow.config.costs import Seconds, Statistics, records
from kreinflow.config.lift_costs import LIFTED_CUBE, LIFTED_ENTRY, LIFTED_SCORE, words_seconds
from kreinflow.fitting.cascade_choice import Wanted
from kreinflow.fitting.fit_cascade import BLOCKS, LIKELIEST, MEMBERS, STEPS, sample_size
from kreinflow.views.nearest import WIDTH

ASKED_PAIR = 1.5e-6
"""Of a pair that is asked, beside its alignment: 1e-6 for 5,000,000 of them."""

LOGIT = 5e-7
"""Of a class and record, for each level and inner fold and once more."""

ASKED_PAIR_BYTES = 50
"""Of a pair that is asked, in the job and by its query: 20 in the former."""

ASKED_TOGETHER, FACED_BYTES = 1024, 60
"""Queries that are asked together, and bytes of a record that they may ask."""

KEPT_BYTES, MADE_BYTES = 9, 40
"""Of a residue for each length of words: of all records, which a search keeps, and of those that it
makes ready at a time. 7.4 and 32 in records of 100 residues, less in longer ones."""

FEATURE_COPIES = 3
"""Of what a level looks at: by inner fold, together, and in the order of the records."""

_LEVELS = 2 * (len(STEPS) + 1)  # the first stage, all steps, and pairs behind each of these


def _asks(statistics: Statistics, wanted: Wanted) -> float:
    """Return the records that one query asks at most."""
    return min(records(statistics), wanted.most_nearest(0) + _members(statistics))


def _members(statistics: Statistics) -> int:
    """Return the members of the likeliest classes at most: one fewer machines connect them all."""
    return min(_largest(statistics, LIKELIEST), (LIKELIEST - 1) * MEMBERS)


def _largest(statistics: Statistics, number: int) -> int:
    """Return the records of the largest classes."""
    return sum(sorted(statistics["class_sizes"].values())[-number:])


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
    size = min(MEMBERS, _largest(statistics, 2))
    machines = LIFTED_CUBE * (inner_folds + 1) * BLOCKS * n * size
    logits = LOGIT * (inner_folds + 1) * _LEVELS * sample * classes
    asked = ASKED_PAIR * asked_pairs(statistics, wanted, tested)
    return Seconds(machines + logits + asked, searched) + kept + found


def cascade_mb(
    statistics: Statistics,
    wanted: Wanted,
    landmarks: int,
    lengths: int,
    inner_folds: int,
    tested: float,
    most_mb: float,
) -> float:
    """Return megabytes of a cascade on one training part.

    That is what is asked, what the levels look at and say, its records, and the search for the
    nearest of one inner fold at a time.

    Parameters
    ----------
    statistics, wanted, landmarks, lengths, inner_folds, tested
        See :func:`cascade_seconds`.
    most_mb : float
        What learning may take: a search keeps a quarter of it at most.
    """
    n, classes = records(statistics), len(statistics["class_sizes"])
    sample = sample_size(n, classes)
    asked = ASKED_PAIR_BYTES * asked_pairs(statistics, wanted, tested)
    faced = FACED_BYTES * ASKED_TOGETHER * _asks(statistics, wanted)
    together = max(sample, min(ASKED_TOGETHER, tested * n))
    looked = 8 * FEATURE_COPIES * NEAREST_WEIGHTS * together * classes
    said = 8 * _LEVELS * (1.5 * sample + tested * n) * classes
    index = 12 * n * landmarks * (inner_folds + 1)
    words = lengths * float(statistics["lengths"].get("mean", 0))
    kept = min(n * (4 * landmarks + KEPT_BYTES * words), most_mb / 4 * 1e6)
    made = min(n, WIDTH) * (24 * landmarks + MADE_BYTES * words)
    return (asked + faced + looked + said + index + kept + made) / 1e6
