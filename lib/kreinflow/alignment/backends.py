"""The backends that the config can name, and their comparison with parasail."""

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.batches import align_in_batches
from kreinflow.alignment.engine import PackedSequences, align_pairs, align_rectangle
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import IntArray
from kreinflow.base.random_streams import stream

SAMPLE = 1_000  # pairs, or all
_SHOWN = 40  # residues of a sequence in a message


class Backend(Protocol):
    """A function that scores sequences; all return those of ``parasail.sw_striped_32`` (nw, sg)."""

    def __call__(
        self,
        sequences: PackedSequences,
        rows: IntArray,
        columns: IntArray,
        scheme: ScoringScheme,
        threads: int,
        mask: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int32]:
        """Return the scores of rows with columns, numbers of sequences, as int32.

        ``mask`` has the pairs that are wanted, all if it is left out; others are
        :data:`~kreinflow.alignment.engine.NOT_ALIGNED`. An InputError names a letter that the
        matrix does not know, a KreinflowError tells of a score that exceeds even 32 bits.
        """


BACKENDS: Mapping[str, Backend] = {"auto": align_in_batches, "parasail": align_rectangle}
"""By name: the fastest that is exact, which is the default, and the measure of all."""


def backend_named(name: str) -> Backend:
    """Return the backend that the config names."""
    return BACKENDS[name]


def drawn_pairs(mask: NDArray[np.bool_], size: int, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Return rows and columns of pairs of a mask, ``size`` of them or all."""
    places = np.flatnonzero(mask)
    if size < places.size:
        random = stream(seed, "pairs that parasail scores too")
        places = places[np.sort(random.choice(places.size, size, replace=False))]
    rows, columns = np.unravel_index(places, mask.shape)
    return rows, columns


def compare_with_parasail(
    sequences: PackedSequences,
    pairs: tuple[IntArray, IntArray],
    scores: NDArray[np.int32],
    scheme: ScoringScheme,
    threads: int,
    advice: str = "",
) -> None:
    """Raise a KreinflowError, which ends with ``advice``, if scores are not those of parasail."""
    rows, columns = (side.astype(np.int32) for side in pairs)
    expected = align_pairs(sequences, columns, rows, scheme, threads)  # columns are fewer: profiles
    wrong = np.flatnonzero(scores != expected)
    if wrong.size:
        first = wrong[0]
        a, b = (_shown(sequences, side[first]) for side in (rows, columns))
        raise KreinflowError(
            f"the sequences {a} and {b} score {scores[first]}, by parasail {expected[first]}. "
            "This is a fault of kreinflow on this processor. Please report it with both sequences "
            f"and the processor's name. {advice}".rstrip()
        )


def _shown(sequences: PackedSequences, number: int) -> str:
    start, stop = sequences.offsets[number : number + 2]
    first = sequences.letters[start : min(stop, start + _SHOWN)].tobytes().decode("ascii")
    return first if stop - start <= _SHOWN else f"{first}... ({stop - start} residues)"


class CheckedBackend:
    """A backend some of whose scores are compared with those of parasail.

    A ``share`` of the pairs of each call is compared, but one at least and 1,000 at most; or, if
    the ``total`` of the pairs of all calls is given, 1,000 of them or all. ``agreed`` counts them.
    """

    def __init__(
        self,
        backend: Backend,
        share: float = 1.0,
        total: int | None = None,
        seed: int = 0,
        advice: str = "",
    ) -> None:
        self._backend, self._share, self._total = backend, share, total
        self._seed, self._advice = seed, advice
        self._aligned = self.agreed = 0

    def __call__(
        self,
        sequences: PackedSequences,
        rows: IntArray,
        columns: IntArray,
        scheme: ScoringScheme,
        threads: int,
        mask: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int32]:
        """See :class:`Backend`."""
        scores = self._backend(sequences, rows, columns, scheme, threads, mask)
        wanted = np.ones(scores.shape, dtype=bool) if mask is None else mask
        count = int(np.count_nonzero(wanted))
        size = min(SAMPLE, math.ceil(self._share * count))
        seed = self._seed
        if self._total is not None:
            most, total = min(SAMPLE, self._total), max(self._total, 1)
            after = (self._aligned + count) * most // total
            size, seed = after - self._aligned * most // total, seed + self._aligned
            self._aligned += count
        r, c = drawn_pairs(wanted, size, seed)
        pairs = rows[r], columns[c]
        compare_with_parasail(sequences, pairs, scores[r, c], scheme, threads, self._advice)
        self.agreed += r.size
        return scores


def checked(backend: Backend, share: float = 1.0, advice: str = "") -> Backend:
    """Return a :class:`CheckedBackend`, or parasail itself."""
    return backend if backend is align_rectangle else CheckedBackend(backend, share, advice=advice)
