"""Words alone: a recipe with the view "words", without a single landmark."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.numerics import FloatArray
from kreinflow.compare.competitor import Competitor, LabelledSequences
from kreinflow.compare.methods import INNER_FOLDS, LEARNER, LIFT, WORDS
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.sequences.payload import digest
from kreinflow.views.objects import Viewed

LENGTHS = {"protein": (1, 2, 3), "nucleotide": (1, 2, 3, 4)}

SEED = 1


class WordsAlone(Competitor):
    """The lift of a recipe with the view "words", and nothing else: no scores, no alignments.

    The kernel is a Gaussian of the features of :class:`~kreinflow.views.objects.Words`, at most
    4,000 sequences are its inducing points, and SF-LSM with equal weights of the classes learns
    from its columns. Width and ridge are chosen on inner folds of the training sequences.
    """

    name = WORDS
    alignments_per_query = 0.0

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        classes, codes = np.unique(train.labels, return_inverse=True)
        n, none = len(codes), np.empty(0, dtype=np.int64)
        digests = [digest(sequence) for sequence in train.sequences]
        part = TrainingPart(np.arange(n), codes, np.array(digests), tuple(classes.tolist()))
        landmarks = Landmarks(np.empty((n, 0)), np.ones(n), np.ones(n), none, none, "similarity")
        views = {"words": LENGTHS[self.molecule]}
        recipe = {"name": WORDS, "views": views, "lift": LIFT, "rank": "misfit"}
        settings = Settings(WORDS, SEED, INNER_FOLDS, RejectRule(0.05))
        source = LiftSource(Viewed(train.sequences), digests, self.scheme.matrix.alphabet)
        learning = training(landmarks, part, settings, source)
        kernel = landmark_kernel(landmarks, part, make_transform("raw"))
        self._classifier = learning.train(recipe, LEARNER, None, kernel).classifier
        arrays = self._classifier.to_parts()[1].values()
        self.model_bytes = sum(array.nbytes for array in arrays)

    def probabilities(self, queries: Sequence[bytes]) -> FloatArray:
        """Return the probability of each class, in the order of their names."""
        n = len(queries)
        query = Query(np.empty((n, 0)), np.ones(n), np.ones(n), Viewed(queries))
        return self._classifier.predict_proba(query)

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        most = self.probabilities(queries).argmax(axis=1)
        return [self._classifier.classes[code] for code in most.tolist()]
