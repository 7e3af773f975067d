r"""Segments without gaps on the diagonals where seeds hit: what tells a relative from chance.

A segment of a diagonal of x and r scores the sum of its pairs of letters, by BLOSUM62 of proteins,
and for other groups 3 for two letters of one group, else -3. Of two neighbouring bands, 32
diagonals d, with the largest score of a segment of each,

.. math:: g(x, r) = \sum_d \max(0, \max_{segment} \sum_{i} S(x_i, r_{i + d}) - 18).

So several segments with gaps between them count together, and what chance has does not. Diagonals
are known modulo 512: of all these it is the largest sum. All numbers are integers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.base.numerics import FloatArray, IntArray, worth_compiling

LANES = 32  #: neighbouring diagonals
APART = 512  #: diagonals so far apart are not told apart by seeds
ABOVE = 18  #: of the score of a segment, what counts
FEW, MANY = 100, 1000  #: records that are looked at: of any object, and at most
SURE = 1e-10  #: E-value of segments that are those of a relative
Besides = tuple[IntArray, IntArray]
"""The codes of objects, and of all records; those of an object's own code are left out."""
_BY_CHANCE = {True: (0.3176, 0.1337), False: (np.log(3) / 3, 1 / 3)}
"""lambda and K of segments of proteins and of others: those of ``ungapped_constants``."""
_ROWS = 1 << 19  # residues of records, with 32 diagonals each, that are looked at for an object
_MATCH, _UNKNOWN = 3, -1
_OUTSIDE = -(1 << 14)  # ends a segment
_LARGEST = (1 << 15) - 1
_MOST = LANES * _LARGEST
_OF_ROW = 0.2  # microseconds without compiled loops


def compiled_loops() -> Any:
    """Return :mod:`kreinflow.views.loops`, which is imported when it is worth its time."""
    from kreinflow.views import loops

    return loops


def is_protein(groups: Sequence[str]) -> bool:
    """Return whether groups of letters are those of proteins."""
    return bool(set("".join(groups)) - set("ACGTU"))


def letter_scores(groups: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    """Return the number of each of the 256 characters, and the scores of two numbers.

    Letters of no group are one.
    """
    letters = "".join(groups)
    numbers = np.full(256, len(letters), dtype=np.uint8)
    numbers[np.frombuffer(letters.encode(), dtype=np.uint8)] = np.arange(len(letters))
    scores = np.full((len(letters) + 1,) * 2, _UNKNOWN, dtype=np.int16)
    if is_protein(groups):
        matrix = load_substitution_matrix("blosum62")
        own = [matrix.alphabet.index(letter) for letter in letters]
        scores[:-1, :-1] = matrix.scores[np.ix_(own, own)]
    else:
        group = np.repeat(np.arange(len(groups)), [len(own) for own in groups])
        scores[:-1, :-1] = np.where(group[:, None] == group, _MATCH, -_MATCH)
    return numbers, scores


def by_chance(groups: Sequence[str], lengths: FloatArray, residues: float) -> FloatArray:
    r"""Return g of the best segment that chance alone is expected to give, of shape (n,).

    .. math:: g_0(x) = \max\left(0, \frac{\ln(K\, m\, M)}{\lambda} - 18\right)

    for m residues of an object (``lengths``) and M of all records: the score of an E-value of 1 of
    segments without gaps (Karlin & Altschul, PNAS 87:2264, 1990).
    """
    rate, K = _BY_CHANCE[is_protein(groups)]
    best = np.log(np.maximum(1.0, K * lengths * residues)) / rate
    return np.asarray(np.maximum(best - ABOVE, 0.0))


class Gapless:
    """Records whose diagonals are looked at."""

    def __init__(self, groups: Sequence[str], sequences: Sequence[bytes]) -> None:
        self._groups, (self._numbers, self._scores) = groups, letter_scores(groups)
        self._letters = self._numbers[np.frombuffer(b"".join(sequences), dtype=np.uint8)]
        self._starts = np.cumsum([0, *map(len, sequences)])

    def ranked(
        self,
        sequences: Sequence[bytes],
        found: Sequence[IntArray],
        q: int,
        few: int,
        besides: Besides | None = None,
    ) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """Return the q records of the largest g of each object in order, g, and who has a relative.

        That is an object with a g of an E-value of :data:`SURE` at most, besides those left out.
        ``found``, three of shape (n, k): records by their scores by seeds in order, these, and the
        second of their bands. Looked at are the first ``few``, or less of long ones; the others
        follow, with the least g of these. Where :data:`FEW` of so many residues take too long,
        scores by seeds stay. Of equal g the first of the order.
        """
        sizes = np.array([len(sequence) for sequence in sequences])
        mean = self._starts[-1] // max(1, len(self._starts) - 1)
        hits = np.count_nonzero(found[1], axis=1)
        most = np.minimum(MANY, _ROWS // (sizes * mean // APART + LANES))
        looked = np.minimum(np.minimum(hits, most), few)
        looked[most < np.minimum(FEW, hits)] = 0
        width = max(q, int(looked.max(initial=0)))  # what is behind these stays there
        places, scores, bands = (own[:, :width] for own in found)
        own, column = self.scores(sequences, places, bands, looked), np.arange(places.shape[1])
        beyond = column >= looked[:, None]
        least = own.min(axis=1, initial=_MOST, where=~beyond, keepdims=True)
        others = ~beyond
        if besides is not None:
            others &= besides[1][places] != besides[0][:, None]
        enough = by_chance(self._groups, sizes, self._starts[-1] / SURE)
        related = own.max(axis=1, initial=-1, where=others) >= enough
        own = np.where(beyond, np.where(column < hits[:, None], least, 0), own)
        own = np.where(looked[:, None] > 0, own, scores)
        order = np.argsort(-own, axis=1, kind="stable")[:, :q]
        ranked = (np.take_along_axis(of, order, axis=1) for of in (places, own))
        return *ranked, related

    def scores(
        self, sequences: Sequence[bytes], places: IntArray, bands: IntArray, looked: IntArray
    ) -> IntArray:
        """Return g of each object with the first records of its row, so many as ``looked`` has.

        ``places``, ``bands``, of shape (n, k): records, and b of bands b - 1 and b of 16 diagonals.
        """
        letters = self._numbers[np.frombuffer(b"".join(sequences), dtype=np.uint8)]
        ends = np.cumsum([0, *map(len, sequences)])
        sizes, found = np.diff(ends), np.zeros(places.shape, dtype=np.int64)
        # The lowest of the diagonals of each record, of those that are not told apart.
        lowest = LANES // 2 * (bands - 1)
        lowest -= (lowest + sizes[:, None] + LANES - 1) // APART * APART
        if worth_compiling(_OF_ROW * float(sizes @ looked)):
            profile = _outside(self._scores, int(sizes.max(initial=0)))
            objects, records = (letters, ends), (self._letters, self._starts)
            asked = places, lowest, looked
            compiled_loops().add_segments(self._scores, profile, objects, records, asked, found)
            return found
        for row, end in enumerate(ends[1:].tolist()):
            own, some = letters[end - sizes[row] : end], slice(looked[row])
            found[row, some] = self._plain_scores(own, places[row, some], lowest[row, some])
        return found

    def _plain_scores(
        self, letters: NDArray[np.uint8], places: IntArray, lowest: IntArray
    ) -> IntArray:
        profile, n = _outside(self._scores, len(letters)), len(letters)
        profile[:, LANES : LANES + n] = self._scores[:, letters]
        starts, sizes = self._starts[places], np.diff(self._starts)[places]
        found = np.zeros(len(places), dtype=np.int64)
        for d in range(0, int(sizes.max(initial=0) + n + APART), APART):
            low = lowest + d
            first, end = np.maximum(0, low), np.minimum(sizes, n + low + LANES - 1)
            here, best = np.zeros((2, len(places), LANES), dtype=np.int64)
            for step in range(int((end - first).max(initial=0))):
                own = np.flatnonzero(step < end - first)
                at = first[own] + step
                columns = (at - low[own] + 1)[:, None] + np.arange(LANES)
                added = profile[self._letters[starts[own] + at][:, None], columns]
                here[own] = np.clip(here[own] + added, 0, _LARGEST)
                best[own] = np.maximum(best[own], here[own])
            found = np.maximum(found, np.maximum(0, best - ABOVE).sum(axis=1))
        return found


def _outside(scores: NDArray[np.int16], n: int) -> NDArray[np.int16]:
    """Return a profile for n residues, with room at both ends, that ends each segment."""
    return np.full((len(scores), n + 2 * LANES), _OUTSIDE, dtype=np.int16)
