"""The cascade: who goes up, what is said there, and what it costs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from answering.cascades import Problem, answered
from kreinflow.answering.cascade import LevelAnswers, followed
from kreinflow.answering.query_and_answers import Answers

SHAPES = {
    "both": {},
    "one step": {"steps": (12,)},
    "few of seeds": {"steps": (4, 11, 14)},
    "nearest alone": {"pairs": ()},
    "pairs alone": {"steps": ()},
    "one pair": {"pairs": ((1, 3),)},
    "by scores": {"evidence": "normalised"},
    "nothing": {"steps": (), "pairs": ()},
}


@pytest.fixture(scope="module", params=SHAPES)
def problem(request):
    return Problem(seed=len(request.param), **SHAPES[request.param])


def test_each_level_says_what_the_plain_sums_say(problem):
    scores, table = problem.scores()
    levels = problem.cascade.level_answers(scores)
    for i in range(len(problem.S)):
        expected = problem.every_level[i]
        assert len(expected) == len(levels)
        for level, (probabilities, alignments, _, reached) in zip(levels, expected, strict=True):
            np.testing.assert_allclose(level.probabilities[i], probabilities, rtol=1e-9)
            assert level.reached[i] == reached
            assert level.alignments[i] == alignments
        assert np.flatnonzero(table.asked[i]).tolist() == sorted(
            expected[-1][2] - set(problem.landmarks.tolist())
        )
    assert table.asked.max(initial=0) <= 1, "a pair was asked for twice"


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.6, 0.8, 0.95, 1.0, 2.0])
def test_an_answer_is_what_all_levels_say_at_its_threshold(problem, threshold):
    """So thresholds can be tried on what all levels said once."""
    cascade = replace(problem.cascade, threshold=threshold)
    everyone, _ = problem.scores()
    raw, number, alignments = followed(cascade.level_answers(everyone), threshold)
    query, table = problem.some(slice(None))
    answers = answered(cascade, query)
    stages = np.array([0, *(level.stage for level in cascade.levels)])
    np.testing.assert_array_equal(answers.stage, stages[number])
    np.testing.assert_array_equal(answers.alignments, alignments)
    np.testing.assert_array_equal(table.asked.sum(axis=1), alignments)
    calibrated = softmax(np.log(np.maximum(raw, 1e-12)) / cascade.temperature, axis=1)
    np.testing.assert_allclose(answers.probabilities, calibrated, rtol=1e-12)
    top = answers.probabilities.max(axis=1)
    np.testing.assert_array_equal(answers.rejected, top < cascade.reject_threshold)
    for i, level in enumerate(number):
        _, _, asked, _ = problem.every_level[i][level]
        label = answers.probabilities[i].argmax()
        own = [j for j in asked if problem.cascade.records.classes[j] == label]
        if not own:
            assert answers.nearest[i] == -1
            assert np.isnan(answers.nearest_score[i])
        else:
            said = problem.evidence(i)
            assert said[answers.nearest[i]] == pytest.approx(max(said[j] for j in own))
            assert answers.nearest_score[i] == problem.S[i, answers.nearest[i]]


def test_what_has_no_relative_asks_nothing(problem):
    """What was named before stays; nothing changes for the others."""
    query, table = problem.some(slice(None))
    free, alone = answered(problem.cascade, query), np.arange(len(query)) % 3 == 1
    assert (free.alignments[alone] > 0).any() or not problem.cascade.levels
    table.asked[:] = 0
    before = Answers.of_first(softmax(query.decisions, axis=1), 0.5)
    before.reason[:] = np.where(alone, "no relative", before.reason)
    before.nearest[alone] = 7
    found = problem.cascade.answer(query, before)
    assert not table.asked[alone].any()
    assert (found.reason[alone] == "no relative").all()
    assert (found.nearest[alone] == 7).all()
    for name in ("stage", "alignments"):
        assert not getattr(found, name)[alone].any()
    for name in ("probabilities", "reason", "stage", "alignments", "nearest"):
        np.testing.assert_array_equal(getattr(found, name)[~alone], getattr(free, name)[~alone])


def test_a_level_that_is_not_reached_says_what_was_said_before():
    p, q = np.array([[0.6, 0.4], [0.9, 0.1]]), np.array([[0.2, 0.8], [0.9, 0.1]])
    levels = [
        LevelAnswers(p, np.array([0, 0]), np.array([True, True])),
        LevelAnswers(q, np.array([7, 0]), np.array([True, False])),
    ]
    for threshold, number, alignments in ((0.5, 0, 0), (0.6, 0, 0), (0.7, 1, 7), (2.0, 1, 7)):
        found, answered, asked = followed(levels, threshold)
        assert found.tolist() == [[p, q][number][0].tolist(), p[1].tolist()]
        assert answered.tolist() == [number, 0]
        assert asked.tolist() == [alignments, 0]
    assert levels[0].probabilities is not found
