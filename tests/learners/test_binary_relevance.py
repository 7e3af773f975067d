"""Records with several labels: a learner of two classes for each."""

from dataclasses import replace

import numpy as np
import pytest

from chimeras import several_problem
from fitting.trainings import LEARNERS as SETTINGS
from fitting.trainings import PSD_ONLY, embedded
from kreinflow.base.errors import InputError
from kreinflow.learners.binary_relevance import BinaryRelevance
from kreinflow.learners.learner import Problem
from kreinflow.learners.registry import make_learner

NOT_LINEAR = {"ikqd", "nearest", "dissimilarities-elm"}
LINEAR = sorted(SETTINGS.keys() - NOT_LINEAR)


def whole(landmarks, part, correction="none"):
    return Problem.of(*embedded(landmarks, part, correction), landmarks, part, 1)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("shape", [{}, {"shares": (1, 1), "both": 0.6}], ids=["five", "two"])
def test_it_is_the_learner_on_each_label_alone(name, shape):
    """Of two labels as well, which are not each other's mirror image like two classes."""
    landmarks, part, memberships = several_problem(**shape)
    problem = whole(landmarks, part, "flip" if name in PSD_ONLY else "none")
    learner = make_learner(SETTINGS[name])
    choices = learner.choices()[:2]
    together = BinaryRelevance(learner).fit(problem, choices)
    for code in range(memberships.shape[1]):
        two = replace(
            part, labels=memberships[:, code].astype(int), classes=("n", "y"), memberships=None
        )
        alone = learner.fit(replace(problem, part=two), choices)
        for one, own in zip(together, alone, strict=True):
            np.testing.assert_array_equal(one.decision.weights[:, code], own.decision.weights[:, 1])
            assert one.decision.intercept[code] == own.decision.intercept[1]
            assert type(one.decision) is type(own.decision)
            assert one.iterations >= own.iterations
            assert own.converged or not one.converged
            for note, labels in own.notes.items():
                assert one.notes[note][code] == labels[1]


@pytest.mark.parametrize("every", [False, True])
def test_a_label_that_no_record_or_each_has_is_refused(every):
    landmarks, part, memberships = several_problem()
    memberships = memberships.copy()
    memberships[:, 2] = every
    part = replace(part, memberships=memberships)
    learner = BinaryRelevance(make_learner(SETTINGS["lsm"]))
    with pytest.raises(InputError, match="no training record has the label 'c', or all have it"):
        learner.fit(whole(landmarks, part), learner.choices()[:1])
