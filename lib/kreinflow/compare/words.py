"""Words alone: what a recipe with views has left without a single landmark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow import __version__
from kreinflow.base.numerics import FloatArray
from kreinflow.compare.competitor import Competitor, Records

LENGTHS = {"protein": (1, 2, 3), "nucleotide": (1, 2, 3, 4)}
"""Of the words."""

LIFT: Mapping[str, Any] = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
LEARNER: Mapping[str, Any] = {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}
INNER_FOLDS = 5


class WordsAlone(Competitor):
    """The lift of a recipe with the view "words", and nothing else: no scores, no alignments.

    See :func:`kreinflow.compare.word_recipe.train_on_words`.
    """

    name = "words"

    @classmethod
    def version(cls) -> str:
        """Return the version of kreinflow."""
        return __version__

    def load(self) -> None:
        """Import what trains recipes."""
        import kreinflow.compare.word_recipe  # noqa: F401

    def fit(self, train: Records, folder: Path, threads: int) -> None:
        """Train a recipe without landmarks."""
        from kreinflow.compare.word_recipe import train_on_words  # slow

        self._classifier = train_on_words(
            train.sequences, train.labels, LENGTHS[self.molecule], self.scheme.matrix.alphabet
        )

    def probabilities(self, queries: Sequence[bytes]) -> FloatArray:
        """Return the probability of each class, in the order of their names."""
        from kreinflow.answering.query import Query
        from kreinflow.views.objects import Viewed

        n = len(queries)
        query = Query(np.empty((n, 0)), np.ones(n), np.ones(n), Viewed(queries))
        return self._classifier.predict_proba(query)

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        """Return the class of the highest probability: each query has one."""
        most = self.probabilities(queries).argmax(axis=1)
        return [self._classifier.classes[code] for code in most.tolist()]

    def model_bytes(self) -> int:
        """Return the size of the inducing points and the weights."""
        return sum(array.nbytes for array in self._classifier.to_parts()[1].values())

    def alignments_per_query(self) -> float:
        """Return 0."""
        return 0.0
