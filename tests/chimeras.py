"""Records with several labels: points that are sums of centres, sequences that are joined."""

from dataclasses import replace

import numpy as np

from fitting.trainings import embedded, recipe_for, training_of
from kreinflow.fitting.inner_folds import inner_partition
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from small_inputs import configuration, families, fasta_source, trained_recipe, write_fasta

LABELS = ("a", "b", "c", "d", "e")


def rarest(memberships):
    """The rarest label of each record: what looks at one label a record is given this one."""
    counts = memberships.sum(axis=0)
    return np.where(memberships, counts, len(memberships) + 1).argmin(axis=1)


def points_of_several(n, seed=0, signal=1.2, shares=(1, 1, 1, 1, 1), both=0.4):
    """Points near the sum of the centres of their labels, and which labels each has: one or two.

    The centres are the same for all seeds. With no signal they are all at zero.
    """
    rng, k = np.random.default_rng(seed), len(shares)
    centres = signal * np.random.default_rng(7).normal(size=(k, 8))
    memberships = np.zeros((n, k), dtype=bool)
    share = np.array(shares) / np.sum(shares)
    memberships[np.arange(n), rng.choice(k, n, p=share)] = True
    two = np.flatnonzero(rng.random(n) < both)
    memberships[two, rng.choice(k, len(two), p=share)] = True
    return memberships @ centres + rng.normal(size=(n, 8)) / 2, memberships


def several_problem(n=150, m=25, outside=0, seed=0, **keywords):
    """Scores of points with landmarks, an indefinite kernel; the training part lacks the last."""
    X, memberships = points_of_several(n + outside, seed, **keywords)
    squared = ((X[:, None] - X[:m]) ** 2).sum(axis=2)
    labels = rarest(memberships)
    landmarks = Landmarks(
        scores=np.exp(-squared / 20) - 0.3 * np.exp(-squared / 200),
        self_scores=np.full(len(X), 0.7),
        lengths=np.zeros(len(X)),
        rows=np.arange(m),
        classes=labels[:m],
        kind="similarity",
    )
    classes = LABELS[: memberships.shape[1]]
    everything = np.arange(n)
    part = TrainingPart(everything, labels[:n], everything, classes, memberships[:n])
    return landmarks, part, memberships


def trained_on_several(settings, landmarks, part, correction="none", k=3, **recipe):
    """A recipe trained on records with several labels."""
    embedding, kernel = embedded(landmarks, part, correction)
    training = training_of(landmarks, part, inner_partition(part, k, 1, "r0f0"))
    recipe = recipe_for("similarity", correction, settings["method"]) | recipe
    return training.train(recipe, settings, embedding, kernel)


def chimeras(seed=1, each=14, length=60):
    """Sequences of three families, and some that are two joined; which families each is of."""
    records = families(seed, each=each, length=length, changed=0.2)
    codes = np.repeat(np.arange(3), each)
    sequences = [residues for _, _, residues in records]
    memberships = np.eye(3, dtype=bool)[codes]
    pairs = [(i, i + each) for start in (0, each) for i in range(start, start + each, 2)]
    sequences += [sequences[i] + sequences[j] for i, j in pairs]
    memberships = np.concatenate([memberships, [memberships[i] | memberships[j] for i, j in pairs]])
    return sequences, memberships


def model_of_several(folder, learner=None, seed=1, **more):
    """A recipe trained on :func:`chimeras`, which ``x.fasta`` holds; see :func:`trained_recipe`."""
    sequences, memberships = chimeras(seed)
    label = [LABELS[code] for code in rarest(memberships)]
    records = [(f"r{i}", label[i], residues) for i, residues in enumerate(sequences)]
    write_fasta(folder / "x.fasta", records)
    of = dict(zip((id for id, *_ in records), memberships, strict=True))

    def changed(dataset):
        assert dataset.classes == LABELS[:3]
        return replace(dataset, memberships=np.array([of[id] for id in dataset.ids]))

    config = configuration(fasta_source(), "log", **more)
    if learner is not None:
        name = config["recipes"][0]["learner"]
        config["learners"][name] = learner
    return trained_recipe(config, folder, changed)
