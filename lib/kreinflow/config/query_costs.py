"""What a new object costs: seconds of a processor, and core hours for a million of them.

Constants are as measured, in processor seconds of one thread (``python benchmarks/jobs.py``).
"""

from collections.abc import Mapping
from typing import Any

from kreinflow.config.costs import PARASAIL_CELL, PARASAIL_RESIDUE

TOLD = 1.4e-5
"""Seconds of an object beside its alignments: it is read, decided on and written
(``--lengths 350``)."""

PAIR, CELL = 3e-8, 2.8e-11
"""Of a pair that is aligned locally, and of a product of its lengths: 36 billion cells a second
with AVX-512, a fifth fewer with AVX2 (benchmarks/results.md)."""

ASKED, ASKED_CELL = 7e-6, 8e-11
"""Of a pair that is asked for, beside its alignment: it is chosen, and traced back
(``--cascade 100 --lengths 150 350``)."""

SEARCHED = 4.5e-8
"""Of a record among which the nearest are searched for (docs/scale.md: 100,000 of them)."""

INDUCED, INDUCED_SCORE, INDUCED_CELL = 4e-8, 3.5e-11, 4e-13
"""Of a point of a lift, for each of them: by itself, by the landmarks, by the words of two
sequences."""


def query_seconds(
    alignments: float,
    length: float,
    others: float,
    *,
    asked: float = 0.0,
    searched: float = 0.0,
    inducing: float = 0.0,
    by_parasail: bool = False,
) -> float:
    r"""Return the processor seconds of a new sequence.

    With A alignments of a sequence of l residues with others of o, of which K are asked for,
    R records searched, and p points of a lift:

    .. math::
        t = t_0 + A (t_1 + c_1 l o) + K (t_2 + c_2 l o) + R t_3 + p (t_4 + t_5 (A - K) + c_3 l o)

    Parameters
    ----------
    alignments : float
        Sequences that it is aligned with, in the mean: landmarks, and records that are asked.
    length, others : float
        Its residues, and those of the sequences that it is aligned with, on the mean.
    asked : float
        Those of the alignments that a cascade or the search for relatives asks for.
    searched : float
        Records that are searched for the nearest: all training records, times the share of the
        sequences that ask.
    inducing : float
        Inducing points of a lift; 0 without one.
    by_parasail : bool
        See :func:`~kreinflow.alignment.scoring.by_parasail`: a pair takes longer.
    """
    cells = length * others
    pair = PAIR + CELL * cells
    if by_parasail:
        pair = length * PARASAIL_RESIDUE + PARASAIL_CELL * cells
    induced = INDUCED + INDUCED_SCORE * (alignments - asked) + INDUCED_CELL * cells
    return (
        TOLD
        + alignments * pair
        + asked * (ASKED + ASKED_CELL * cells)
        + searched * SEARCHED
        + inducing * induced
    )


def recipe_seconds(
    recipe: Mapping[str, Any],
    alignments: float,
    landmarks: float,
    records: float,
    length: float,
    by_parasail: bool = False,
    asking: float = 0.5,
) -> float:
    """Return the :func:`query_seconds` of a model of a recipe.

    Parameters
    ----------
    recipe : mapping
        Its ``lift``, as in the config.
    alignments : float
        Of a new sequence, in the mean. Those beyond the landmarks, and the sequence with itself, a
        cascade or the search for relatives asks for.
    landmarks, records : float
        Of the model: landmarks, and distinct training records.
    length : float
        Of all sequences, on the mean.
    by_parasail : bool
    asking : float
        Share of the sequences that ask, if any does.
    """
    lift = recipe.get("lift")
    asked = max(0.0, alignments - landmarks - 1)
    return query_seconds(
        alignments,
        length,
        length,
        asked=asked,
        searched=asking * records if asked else 0.0,
        inducing=min(lift["inducing"], records) if lift else 0,
        by_parasail=by_parasail,
    )


def million_hours(seconds: float) -> float:
    """Return the core hours of a million new sequences that take so many seconds each."""
    return 1e6 * seconds / 3600
