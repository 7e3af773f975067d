"""The nearest neighbour by exact alignment scores with all training sequences."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kreinflow.alignment.scoring import PARASAIL_VERSION
from kreinflow.competitors.competitor import Competitor, Records

_PAIRS = 1 << 22  # of a call of the engine


class SmithWaterman(Competitor):
    """The class of the training sequence with the highest Smith-Waterman score.

    Matrix and gaps are those of the run; of equals the first counts. Scores are aligned anew and
    kept nowhere: the run's score store neither gives nor takes any, and its counts stay its own.
    """

    name = "smith_waterman"

    @classmethod
    def version(cls) -> str:
        """Return the version of parasail."""
        return f"parasail {PARASAIL_VERSION}"

    def load(self) -> None:
        """Load the compiled engine."""
        from kreinflow.alignment.engine import align_pairs, pack

        pair = np.array([0], dtype=np.int32)
        align_pairs(pack([b"A"]), pair, pair, self.scheme, 1)

    def fit(self, train: Records, folder: Path, threads: int) -> None:
        """Keep the training sequences: there is nothing to learn."""
        self._train, self._threads = train, threads

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        """Align each query with all training sequences."""
        from kreinflow.alignment.engine import align_pairs, pack  # slow; not to know a version

        scheme = replace(self.scheme, mode="local")
        n = len(self._train.sequences)
        height = max(1, _PAIRS // n)
        found: list[str | None] = []
        for start in range(0, len(queries), height):
            some = queries[start : start + height]
            scores = align_pairs(
                pack([*some, *self._train.sequences]),
                np.repeat(np.arange(len(some), dtype=np.int32), n),
                np.tile(np.arange(len(some), len(some) + n, dtype=np.int32), len(some)),
                scheme,
                self._threads,
            ).reshape(len(some), n)
            found += [self._train.labels[place] for place in scores.argmax(axis=1)]
        return found

    def model_bytes(self) -> int:
        """Return the number of residues."""
        return sum(len(sequence) for sequence in self._train.sequences)

    def alignments_per_query(self) -> float:
        """Return the number of training sequences."""
        return float(len(self._train.sequences))
