"""The nearest neighbour by exact alignment scores with all training sequences."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kreinflow.alignment.backends import backend_named, checked
from kreinflow.alignment.engine import pack
from kreinflow.compare.competitor import Competitor, LabelledSequences

_PAIRS = 1 << 22  # of a call of the engine


class SmithWaterman(Competitor):
    """The class of the training sequence with the highest Smith-Waterman score.

    Matrix and gaps are those of the run; of equals the first counts. Scores are aligned anew and
    kept nowhere: the run's score store neither gives nor takes any, and its counts stay its own.
    """

    name = "smith_waterman"

    def load(self) -> None:
        some = np.zeros(64, dtype=np.int64)  # fewer would not need all of it
        scheme = replace(self.scheme, mode="local")
        backend_named("auto")(pack([b"A" * 200], scheme), some, some)

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        self._train, self._threads = train, threads
        self.model_bytes = sum(map(len, train.sequences))
        self.alignments_per_query = float(len(train.sequences))

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        align = checked(backend_named("auto"), share=0.02)
        scheme = replace(self.scheme, mode="local")
        n = len(self._train.sequences)
        height = max(1, _PAIRS // n)
        found: list[str | None] = []
        for start in range(0, len(queries), height):
            some = queries[start : start + height]
            packed = pack([*some, *self._train.sequences], scheme, self._threads)
            columns = np.arange(len(some), len(some) + n)
            scores = align(packed, np.arange(len(some)), columns)
            found += [self._train.labels[place] for place in scores.argmax(axis=1)]
        return found
