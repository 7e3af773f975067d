"""What a new object costs: seconds of a processor, and core hours for a million of them."""

from kreinflow.costs import ALIGNED_CELL, ALIGNED_PAIR

TOLD = 1.4e-5
"""Seconds of an object beside its alignments: it is read, decided on and written
(``python benchmarks/jobs.py --lengths 350``)."""


def query_seconds(alignments: float, length: float, others: float) -> float:
    """Return the processor seconds of a new sequence.

    Parameters
    ----------
    alignments : float
        Sequences that it is aligned with.
    length, others : float
        Its residues, and those of the sequences that it is aligned with, on the mean.
    """
    return TOLD + alignments * (ALIGNED_PAIR + ALIGNED_CELL * length * others)


def million_hours(alignments: float, length: float, others: float) -> float:
    """Return the core hours of a million new sequences; see :func:`query_seconds`."""
    return 1e6 * query_seconds(alignments, length, others) / 3600
