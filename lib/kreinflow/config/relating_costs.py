"""What telling unknown objects costs: pairs, seconds and megabytes; see fitting/fit_unknown.py.

Of n records and m landmarks. Constants are those of a cascade, which asks in the same way.
"""

from collections.abc import Mapping
from typing import Any

from kreinflow.answering.relatives import MORE, NEAREST
from kreinflow.config.cascade_costs import ASKED_PAIR, ASKED_PAIR_BYTES, KEPT_BYTES, MADE_BYTES
from kreinflow.config.costs import Seconds, Statistics, records
from kreinflow.config.lift_costs import LIFTED_ENTRY, LIFTED_SCORE, words_seconds
from kreinflow.fitting.fit_cascade import sample_size
from kreinflow.fitting.fit_unknown import LEFT_OUT
from kreinflow.fitting.strangers import STRANGERS
from kreinflow.views.nearest import WIDTH


def rule_pairs(landmarks: int) -> float:
    """Return the pairs at most that the rule of relatives takes."""
    return float(2 * STRANGERS * (landmarks + MORE) + STRANGERS * MORE)


def calibration_pairs(
    statistics: Statistics, tested: float, levels: Mapping[str, Any] | None = None
) -> float:
    """Return the pairs at most that p-values take on one training part, with the tested records.

    Parameters
    ----------
    statistics : mapping
    tested : float
        Share of the records.
    levels : mapping, optional
        That of the data set: each level but the last is left out as classes are.
    """
    n, classes = records(statistics), statistics["class_sizes"]
    sample, tries = sample_size(n, len(classes)), 1
    if levels is not None:
        tries += max(label.count(levels["separator"]) for label in classes)
    return float((sample + tries * min(sample, LEFT_OUT)) * NEAREST + tested * n * MORE)


def relating_seconds(
    statistics: Statistics, landmarks: int, lengths: int, searched: float, pairs: float
) -> Seconds:
    """Return the seconds beside those of the alignments.

    Parameters
    ----------
    statistics : mapping
    landmarks : int
    lengths : int
        Lengths of the words by which the nearest records are found, 0 without words.
    searched : float
        Objects whose nearest records are found.
    pairs : float
        That are aligned.
    """
    n = records(statistics)
    search = searched * n * (LIFTED_ENTRY + LIFTED_SCORE * landmarks)
    words = words_seconds(statistics, lengths, n, searched * n)
    return Seconds(ASKED_PAIR * pairs, search) + words


def relating_mb(
    statistics: Statistics, landmarks: int, lengths: int, pairs: float, most_mb: float
) -> float:
    """Return the megabytes of the records, of the search for the nearest, and of what is asked.

    Parameters
    ----------
    statistics, landmarks, lengths, pairs
        See :func:`relating_seconds`.
    most_mb : float
        What learning may take: a search keeps a quarter of it at most.
    """
    n = records(statistics)
    words = lengths * float(statistics["lengths"].get("mean", 0))
    kept = min(n * (4 * landmarks + KEPT_BYTES * words), most_mb / 4 * 1e6)
    made = min(n, WIDTH) * (24 * landmarks + MADE_BYTES * words)
    return (12 * n * landmarks + kept + made + ASKED_PAIR_BYTES * pairs) / 1e6
