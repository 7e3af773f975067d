"""Lifted problems on synthetic scores, words and vectors, for the tests of lifting."""

import numpy as np

from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.random_streams import hash_keys
from kreinflow.fitting.fit_lift import Lifting
from kreinflow.fitting.inner_folds import InnerFits, inner_partition
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.training import Training
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.views.objects import Viewed

LETTERS = "ACGT"
BOTH = {"words": [1, 2], "vectors": True}


class Records:
    """Labelled objects: their scores with all others, their sequences and their vectors.

    The first m are landmarks; the classes are ``signal`` apart, with 0 nothing tells of them.
    """

    def __init__(self, n=60, n_classes=3, seed=0, signal=2.0, m=12):
        rng = np.random.default_rng(seed)
        self.y = rng.permutation(np.arange(n) % n_classes)
        self.y[:n_classes] = np.arange(n_classes)
        self.X = rng.normal(size=(n, 3)) + signal * rng.normal(size=(n_classes, 3))[self.y]
        shares = rng.dirichlet(np.full(4, 2.0), size=n_classes)
        shares = np.full_like(shares, 0.25) if signal == 0 else shares
        self.sequences = [
            "".join(rng.choice(list(LETTERS), rng.integers(12, 20), p=shares[c])).encode()
            for c in self.y
        ]
        self.vectors = rng.normal(size=(n, 4)) + signal * rng.normal(size=(n_classes, 4))[self.y]
        self.names = [f"record {i}" for i in range(n)]
        self.m = m

    def ordered(self, order):
        """The same records in another order; the landmarks stay the same."""
        other = object.__new__(Records)
        other.__dict__.update(self.__dict__)
        other.y, other.X, other.vectors = (a[order] for a in (self.y, self.X, self.vectors))
        other.sequences = [self.sequences[i] for i in order]
        other.names = [self.names[i] for i in order]
        return other

    def landmarks(self, unit=1.0):
        """Scores of all with the landmarks: a Gaussian less a wider one, which is indefinite."""
        places = np.array([self.names.index(f"record {i}") for i in range(self.m)])
        squared = ((self.X[:, None] - self.X[places]) ** 2).sum(axis=2)
        K = unit * (np.exp(-squared / 8) - 0.3 * np.exp(-squared / 60))
        own = np.full(len(K), 0.7 * unit)
        return Landmarks(K, own, np.zeros(len(K)), places, self.y[places], "similarity")

    @property
    def part(self):
        rows = np.arange(len(self.y))
        classes = tuple("abcdefgh"[: self.y.max() + 1])
        return TrainingPart(rows, self.y, np.array(self.names), classes)

    def lifting(self, views=BOTH, kernel="gaussian", width=1.0, inducing=4000):
        return Lifting(
            Viewed(self.sequences, self.vectors),
            self.part,
            views,
            {"kernel": kernel, "width": width, "inducing": inducing},
            hash_keys(1, "inducing points", self.names),
            LETTERS,
        )

    def kernel(self, unit=1.0):
        return landmark_kernel(self.landmarks(unit), self.part, make_transform("raw"))

    def inner(self, k=3):
        return inner_partition(self.part, k, 1, "r0f0")

    def training(self, unit=1.0, **lift):
        fits = InnerFits(self.inner())
        rule = RejectRule(0.2)
        lifting = self.lifting(**lift)
        return Training(self.landmarks(unit), self.part, fits, rule, 1, lambda _: lifting)

    def trained(self, learner, unit=1.0, **lift):
        """What the training of a lifted recipe gives."""
        recipe = {"name": "it", "transform": "raw", "correction": "none", "rank": "misfit"}
        recipe |= {"lift": {"any": "thing"}, "views": {}}
        return self.training(unit, **lift).train(recipe, learner, None, self.kernel(unit))

    def decisions(self, classifier, unit=1.0, places=None):
        """The decisions of a classifier for records, from their scores and themselves."""
        places = np.arange(len(self.y)) if places is None else places
        C, zeros = self.landmarks(unit).scores[places], np.zeros(len(places))
        objects = Viewed(self.sequences, self.vectors).take(places)
        return classifier.decision_function(Query(C, zeros, zeros, objects))
