"""What fills a score store: the interface, and sequences that are aligned."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.backends import Backend, CheckedBackend, align_fast
from kreinflow.alignment.batches import working_bytes
from kreinflow.alignment.engine import Mask, PackedSequences, align_rectangle, pack, self_scores
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.numerics import IntArray


class Scorer(ABC):
    """Scores pairs of objects that are given by their numbers.

    The ``digest`` names how, and so the store; scores are of the ``dtype``, or fit it. ``ordered``
    tells that (i, j) is another pair than (j, i). A pair costs the product of its two ``lengths``,
    its cells; a call should have ``cells_per_call`` at least. ``agreed`` counts the pairs that were
    scored twice to check them.
    """

    digest: str
    dtype: np.dtype[Any]
    kept_dtype: np.dtype[Any]  # holds the scores of all pairs of these objects
    ordered: bool = False
    threads: int = 1
    cells_per_call: int | None = None
    lengths: IntArray
    agreed: int = 0

    @abstractmethod
    def score(self, rows: IntArray, columns: IntArray, mask: Mask) -> NDArray[Any]:
        """Return the scores of rows with columns; of pairs that no mask wants, none."""

    @abstractmethod
    def alone(self, rows: IntArray) -> NDArray[Any]:
        """Return the score of each row with itself."""

    def within(self, threads: int, room: int) -> tuple[Self, int]:
        """Return what scores with so many threads in so many bytes, and the bytes left."""
        return self, room

    def checking(self, total: int, seed: int, advice: str) -> Self:
        """Return what also checks a sample of ``total`` pairs; ``advice`` ends its message."""
        return self


@dataclass(eq=False)
class Aligner(Scorer):
    """Sequences, and what aligns them."""

    packed: PackedSequences
    backend: Backend = align_fast
    dtype = np.dtype(np.int32)

    @classmethod
    def of(
        cls, scheme: ScoringScheme, sequences: Sequence[bytes], backend: Backend = align_fast
    ) -> Self:
        """Return what aligns sequences by a scheme."""
        return cls(pack(sequences, scheme), backend)

    @property
    def digest(self) -> str:  # type: ignore[override]
        return self.packed.scheme.digest

    @property
    def kept_dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """16 bits where all scores of the sequences fit, else 32."""
        sequences = [self.packed[number].tobytes() for number in range(len(self.lengths))]
        small = self.packed.scheme.score_bound(sequences) <= np.iinfo(np.int16).max
        return np.dtype(np.int16 if small else np.int32)

    @property
    def lengths(self) -> IntArray:  # type: ignore[override]
        return self.packed.lengths

    @property
    def threads(self) -> int:  # type: ignore[override]
        return self.packed.threads

    @property
    def agreed(self) -> int:  # type: ignore[override]
        return self.backend.agreed if isinstance(self.backend, CheckedBackend) else 0

    def score(self, rows: IntArray, columns: IntArray, mask: Mask) -> NDArray[Any]:
        return self.backend(self.packed, rows, columns, mask)

    def alone(self, rows: IntArray) -> NDArray[Any]:
        return self_scores(self.packed, rows)

    def within(self, threads: int, room: int) -> tuple[Self, int]:
        each = working_bytes(self.lengths)
        threads = max(1, min(threads, room // (2 * max(each, 1))))
        return replace(self, packed=replace(self.packed, threads=threads)), room - threads * each

    def checking(self, total: int, seed: int, advice: str) -> Self:
        if self.backend is align_rectangle:
            return self
        advice += "Then set alignment.backend to parasail and run again."
        backend = CheckedBackend(self.backend, total=total, seed=seed, advice=advice)
        return replace(self, backend=backend)
