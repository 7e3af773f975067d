"""Records that join a cascade: it may ask them, and says the same where they tell nothing."""

from dataclasses import replace

import numpy as np
import pytest

from answering.cascades import Problem, Table, answered
from kreinflow.answering.nearest_records import Records
from kreinflow.fitting.cascade_update import with_more_records
from kreinflow.views import seeds
from kreinflow.views.objects import Viewed

CODES = np.array([0, 1, 3, 4, 5])  # a new class is in the middle, as its name says
SCALE = 2.5


def more_records(problem, classes):
    """Records behind those of the cascade, so far away in the space of an added landmark."""
    before, n = problem.cascade.records, len(classes)
    known = before.index.scores
    rows = np.vstack([known, known[:n]])
    column = np.append(np.zeros(len(known)), np.full(n, 1e3))
    sequences = before.index.objects.sequences
    return Records(
        index=replace(
            before.index,
            scores=np.column_stack([rows, column]).astype(np.float32),
            objects=Viewed((*sequences, *sequences[:n])),
        ),
        classes=np.append(CODES[before.classes], classes),
        rows=np.append(before.rows, before.rows.max() + 1 + np.arange(n)),
        self_scores=np.append(before.self_scores, before.self_scores[:n]),
        lengths=np.append(before.lengths, before.lengths[:n]),
        landmarks=np.append(before.landmarks, len(before)),
        seeds=before.seeds,
    )


def updated(problem, n_new):
    """The objects after an update: a first stage of another temperature, a class, a landmark."""
    query = problem.query
    decisions = np.full((len(query), len(CODES) + 1), -1e6)
    decisions[:, CODES] = query.decisions / SCALE
    nothing = np.zeros((len(decisions), 1))
    S = np.hstack([problem.S, problem.S[:, :n_new]])
    return replace(
        query,
        decisions=decisions,
        rows=np.hstack([query.rows, nothing]),
        scores=np.hstack([query.scores, nothing.astype(query.scores.dtype)]),
        ask=Table(S),
    )


@pytest.mark.parametrize("seed", range(3))
def test_far_records_and_a_new_class_change_no_answer(seed, monkeypatch):
    monkeypatch.setattr(seeds, "_UNIT", 0)  # these say nothing of any record
    problem = Problem(seed=seed)
    classes = np.array([2, 2, 2, 0, 5, 1, 1])
    cascade = with_more_records(problem.cascade, more_records(problem, classes), CODES, SCALE)
    before = problem.answer()
    after = answered(cascade, updated(problem, len(classes)))
    assert {0, 1, 2} == set(before.stage.tolist())
    np.testing.assert_array_equal(after.stage, before.stage)
    np.testing.assert_allclose(after.probabilities[:, CODES], before.probabilities, atol=1e-9)
    assert after.probabilities[:, 2].max() < 1e-6
    # New members of the classes that a machine tells apart are aligned too.
    assert (after.alignments >= before.alignments).all()
    assert after.alignments.sum() > before.alignments.sum()
