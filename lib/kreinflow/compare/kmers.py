"""Counts of k-mers with a linear support vector machine."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from kreinflow.base.numerics import FloatArray
from kreinflow.compare.competitor import Competitor, LabelledSequences


class KmerSvm(Competitor):
    """scikit-learn's LinearSVC, C = 1, on counts of words scaled to unit length.

    Words have 3 residues, or 6 nucleotides (spectrum kernel: Leslie, Eskin & Noble 2002).
    """

    name = "kmer_svm"
    alignments_per_query = 0.0

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        k = 3 if self.molecule == "protein" else 6
        self._words = CountVectorizer(
            analyzer="char", ngram_range=(k, k), lowercase=False, dtype=np.float64
        )
        counts = self._words.fit_transform([s.decode() for s in train.sequences])
        machine = LinearSVC(C=1.0, random_state=0)
        self._classifier = machine.fit(normalize(counts), list(train.labels))
        words = sum(len(word) for word in self._words.vocabulary_)
        self.model_bytes = machine.coef_.nbytes + machine.intercept_.nbytes + words

    def decisions(self, queries: Sequence[bytes]) -> FloatArray:
        """Return the decision value of each class; of two classes one, that of the second."""
        counts = self._words.transform([query.decode() for query in queries])
        return np.asarray(self._classifier.decision_function(normalize(counts)))

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        values = self.decisions(queries)
        best = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(np.intp)
        return [str(label) for label in self._classifier.classes_[best]]
