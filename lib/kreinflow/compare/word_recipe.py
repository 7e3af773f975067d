"""The recipe of words alone: what is slow to import of :mod:`kreinflow.compare.words`."""

from collections.abc import Sequence

import numpy as np

from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.reject_threshold import RejectRule
from kreinflow.compare.words import INNER_FOLDS, LEARNER, LIFT
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.sequences.payload import digest
from kreinflow.views.objects import Viewed

SEED = 1


def train_on_words(
    sequences: Sequence[bytes], labels: Sequence[str], lengths: Sequence[int], letters: str
) -> LandmarkClassifier:
    """Train a recipe with the view "words" and no landmarks, by the code of all recipes.

    The kernel is a Gaussian of the features of :class:`~kreinflow.views.words.Words`, at most
    4,000 sequences are its inducing points, and SF-LSM with equal weights of the classes learns
    from its columns. Width and ridge are chosen on inner folds of the sequences given.

    Parameters
    ----------
    sequences, labels : sequence
        All sequences are different.
    lengths : sequence of int
        Of the words.
    letters : str
        That sequences are made of.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    n = len(codes)
    digests = [digest(sequence) for sequence in sequences]
    part = TrainingPart(np.arange(n), codes, np.array(digests), tuple(classes.tolist()))
    none = np.empty(0, dtype=np.int64)
    landmarks = Landmarks(np.empty((n, 0)), np.ones(n), np.ones(n), none, none, "similarity")
    views = {"words": lengths}
    recipe = {"name": "words", "views": views, "lift": LIFT, "rank": "misfit"}
    settings = Settings("words", SEED, INNER_FOLDS, RejectRule(0.05))
    learning = training(landmarks, part, settings, LiftSource(Viewed(sequences), digests, letters))
    kernel = landmark_kernel(landmarks, part, make_transform("raw"))
    return learning.train(recipe, LEARNER, None, kernel).classifier
