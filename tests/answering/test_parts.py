"""Parts of a model: what stands in the registry answers, is asked for records, and comes back."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from answering.cascades import cascade_model
from kreinflow.answering.classifier import PARTS, LandmarkClassifier
from kreinflow.answering.parts import ModelPart, Section, Told
from kreinflow.answering.query_and_answers import REASONS, Query
from kreinflow.classify.explanation import explain
from kreinflow.classify.explanation_text import explanation_text
from kreinflow.classify.inspection import describe_model
from kreinflow.files.state import Array, Number, Part
from kreinflow.fitting import training
from small_inputs import configuration, trained_recipe, write_input


@dataclass(frozen=True, eq=False)
class LeastMargin(ModelPart):
    """A toy part: what is ahead of the runner-up by too little is unsure."""

    margin: float
    weights: np.ndarray

    state: ClassVar = {"margin": Number("f"), "weights": Array("f", "c")}

    def answer(self, query, before):
        first, second = np.sort(before.probabilities * self.weights, axis=1)[:, :-3:-1].T
        reason = np.where(first - second < self.margin, REASONS[1], before.reason)
        return replace(before, reason=reason)

    def explained(self, it):
        return Told([f"at least {self.margin:.3g} ahead"], {"weights": Section(["its weights"])})

    def inspected(self, about):
        return {"margin": {"margin": self.margin}}


def fit_margin(first, classifier, held):
    """Learn the toy part: the margin that half of the records have when they are held out."""
    top = np.sort(held.probabilities, axis=1)
    margin = float(np.quantile(top[:, -1] - top[:, -2], 0.5))
    part = LeastMargin(margin, np.ones(len(classifier.classes)))
    return classifier.with_parts(margin=part), held


@pytest.fixture
def registered(monkeypatch):
    """The toy part in the registries."""
    monkeypatch.setitem(PARTS, "margin", LeastMargin)
    state = {**LandmarkClassifier.state, "margin": Part(LeastMargin, "margin_")}
    monkeypatch.setattr(LandmarkClassifier, "state", state)
    monkeypatch.setattr(training, "PART_FITS", (*training.PART_FITS, fit_margin))


def test_a_part_is_learned_answers_and_comes_back(registered, tmp_path):
    it = trained_recipe(configuration(write_input(tmp_path, changed=0.7)), tmp_path)
    model = it.model.classifier
    assert list(model.parts) == ["calibration", "margin"]
    plain, margin = model.with_parts(margin=None), model.parts["margin"].margin
    landmarks = it.training.landmarks
    scores = np.array(landmarks.scores)
    scores[1::2] = np.random.default_rng(0).integers(0, 60, scores[1::2].shape)
    query = Query(scores, landmarks.self_scores, landmarks.lengths)
    before, found = plain.answer(query), model.answer(query)
    p = np.sort(before.probabilities, axis=1)
    close = p[:, -1] - p[:, -2] < margin
    assert 0 < close.sum() < len(query)
    np.testing.assert_array_equal(found.rejected, before.rejected | close)
    assert describe_model(it.model)["margin"] == {"margin": margin}
    told = explanation_text(explain(it.model, tmp_path / "x.fasta", "a1"), 3).splitlines()
    assert told[1] == f"at least {margin:.3g} ahead"
    assert told[-1] == "its weights"
    header, arrays = model.to_parts()
    again = LandmarkClassifier.from_parts(header, arrays)
    assert again.parts["margin"].margin == margin
    np.testing.assert_array_equal(again.parts["margin"].weights, model.parts["margin"].weights)


def test_parts_answer_in_the_order_of_the_registry(registered, tmp_path):
    model, _ = cascade_model(tmp_path)
    classifier = model.classifier
    toy = LeastMargin(0.3, np.ones(len(classifier.classes)))
    both = replace(classifier, parts={}).with_parts(margin=toy, cascade=classifier.cascade)
    assert list(both.parts) == ["cascade", "margin"]
    assert both.records is classifier.records
    assert both.with_parts(cascade=None).records is None
    rng = np.random.default_rng(1)
    scores = rng.integers(20, 60, (12, classifier.n_landmarks))
    table = rng.integers(20, 60, (12, len(classifier.records)))
    query = Query(
        scores, np.full(12, 90.0), np.full(12, 30.0), ask=lambda i, j: table[i[:, None], j]
    )
    query = replace(query, objects=classifier.records.index.objects.take(np.arange(12)))
    last, whole = both.answer(query), replace(both, parts={"cascade": classifier.cascade})
    before = whole.answer(query)
    np.testing.assert_array_equal(last.probabilities, before.probabilities)
    np.testing.assert_array_equal(last.alignments, before.alignments)
    assert (last.rejected >= before.rejected).all()
