"""Explanations of cascades: their terms are the log odds, their records those that were asked."""

from dataclasses import replace

import numpy as np
import pytest

from answering.cascades import candidates, cascade_model
from kreinflow.answering.cascade import FEATURES
from kreinflow.answering.query_and_answers import NOBODY, STAGES
from kreinflow.classify.explanation import INTERCEPT, explain
from kreinflow.classify.explanation_text import explanation_text
from kreinflow.classify.new_objects import score_new
from plain_seeds import plain_nearest
from sequence_pairs import rectangle

PAIRS = [(0, 1), (0, 2), (1, 2)]


def asking_model(folder, threshold=2.0, pairs=PAIRS):
    """A model with a cascade over all its training records, all scores, and the records' file."""
    more = {"steps": (3, 14), "pairs": pairs, "threshold": threshold}
    model, dataset = cascade_model(folder, seed=5, changed=0.55, **more)
    rows = np.arange(len(dataset.sequences))
    return model, rectangle(dataset.sequences, rows, rows, model.scheme), folder / "x.fasta"


def with_other(model, **changes):
    """The model with another cascade."""
    cascade = replace(model.classifier.cascade, **changes)
    return replace(model, classifier=model.classifier.with_parts(cascade=cascade))


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """A model that asks at all levels, all scores, and the file of its records."""
    return asking_model(tmp_path_factory.mktemp("asking"))


def tables(found):
    """The tables that the cascade tells, by their names."""
    return {name: own.table for name, own in found.told["cascade"].sections.items()}


def answered(model, S, path):
    """The answers of a model for its own records."""
    (batch,) = score_new(model, path)
    places = np.arange(len(S))

    def ask(queries, records):
        return np.where(records >= 0, S[places[queries][:, None], records], NOBODY)

    return batch, model.classifier.answer(replace(batch, ask=ask))


@pytest.mark.parametrize("threshold", [0.0, 0.6, 2.0])
def test_the_terms_of_each_level_add_up_to_its_log_odds(asking, threshold):
    model, S, path = asking
    model = with_other(model, threshold=threshold)
    batch, answers = answered(model, S, path)
    weights = model.classifier.cascade.weights
    before = len(model.landmark_ids) + 1  # that with itself
    for row in (0, 12, 13, 25):
        found = explain(model, path, batch.ids[row])
        order = np.argsort(-answers.probabilities[row], kind="stable")
        assert found.labels == tuple(model.classifier.classes[code] for code in order[:2])
        assert found.probabilities == tuple(answers.probabilities[row, order[:2]])
        assert found.rejected == answers.rejected[row]
        it = tables(found)
        levels, terms = it["levels"], it["terms"]
        assert levels["alignments"].iloc[-1] - before == answers.alignments[row]
        assert levels["stage"].iloc[-1] == STAGES[answers.stage[row]]
        # It went up where its largest probability was below the threshold, and nowhere else.
        largest = levels["largest"].to_numpy()
        assert (largest[:-1] < threshold).all()
        assert largest[-1] >= threshold or len(largest) == 4
        for level in levels.itertuples():
            own = terms[(terms["stage"] == level.stage) & (terms["asked"] == level.asked)]
            own = own.head(len(FEATURES[STAGES.index(level.stage)]))
            log_odds = np.log(level.probability / level.runner_up_probability)
            assert own["contribution"].sum() == pytest.approx(log_odds, rel=1e-9, abs=1e-12)
            assert own["weight"].tolist() == list(weights[level.Index])
            np.testing.assert_allclose(
                own["contribution"],
                own["weight"] * (own["value"] - own["runner_up_value"]),
                rtol=1e-14,
            )
        # The features of a level are those of the one before, and the answer is the last one's.
        first = terms.iloc[0]
        assert (first["value"], first["runner_up_value"]) == found.decisions
        total = np.log(level.probability / level.runner_up_probability)
        said = np.log(found.probabilities[0] / found.probabilities[1])
        assert total / model.classifier.cascade.temperature == pytest.approx(
            said, rel=1e-9, abs=1e-12
        )


def test_the_records_are_the_nearest_and_say_what_was_aligned(asking):
    model, S, path = asking
    records = model.classifier.cascade.records
    (batch,) = score_new(model, path)
    row = batch.ids.index("b3")
    whole = explain(model, path, "b3")
    found = tables(whole)
    u = model.classifier.landmark_rows(batch)
    words = records.index.words.features(records.index.objects.sequences).toarray()
    distances = 3.0 * ((u[row].astype(np.float32) - records.index.scores) ** 2).sum(axis=1)
    distances += ((words[row] - words) ** 2).sum(axis=1)
    sequences = records.index.objects.sequences
    ((by_seeds, scores),) = plain_nearest(records.seeds, sequences[row : row + 1], sequences)
    near = candidates(by_seeds, np.argsort(distances, kind="stable").tolist())[:14]
    landmarks = {*records.landmarks.tolist()} - {-1}
    near += sorted(landmarks - {*near})
    assert len(near) > 14
    table = found["records"]
    assert table["rank"].tolist() == list(range(1, len(near) + 1))
    assert table["record"].tolist() == [batch.ids[place] for place in near]
    assert table["class"].tolist() == [batch.ids[place][0] for place in near]
    assert table["score"].tolist() == S[row, near].tolist()
    constants = model.classifier.cascade.evidence.constants
    E = constants["K"] * 60 * 60 * np.exp(-constants["lambda"] * S[row, near])
    np.testing.assert_allclose(table["evalue"], E, rtol=1e-12)
    np.testing.assert_allclose(table["evidence"], np.log1p(np.maximum(0, -np.log(E))), rtol=1e-9)
    # What the logit sees of these records.
    terms = found["terms"][found["terms"]["asked"] == 14].set_index("feature")
    for label, column in zip(whole.labels, ("value", "runner_up_value"), strict=True):
        own = table[table["class"] == label]
        assert terms.loc["share", column] == len(own) / 14
        of_seeds = [scores[j] for j in by_seeds if batch.ids[j][0] == label]
        assert terms.loc["best_seeds", column] == pytest.approx(np.log(1 + of_seeds[0]), rel=1e-12)
        first = [batch.ids[j][0] for j in by_seeds[:10]]
        assert terms.loc["share_of_seeds", column] == pytest.approx(first.count(label) / 10)
        assert terms.loc["best_evidence", column] == max(own["evidence"], default=0)
        mean = own["evidence"].sum() / max(1, len(own))
        assert terms.loc["mean_evidence", column] == pytest.approx(mean, rel=1e-12)


def test_the_machines_that_voted(asking):
    model, _, path = asking
    whole = explain(model, path, "c4")
    found = tables(whole)
    machines, terms = found["machines"], found["terms"]
    assert len(machines) == 3
    np.testing.assert_allclose(machines["vote"], np.tanh(machines["decision"]))
    votes = terms[terms["feature"] == "votes"].iloc[0]
    for label, column in zip(whole.labels, ("value", "runner_up_value"), strict=True):
        for_it = machines.loc[machines["class"] == label, "vote"].sum()
        against = machines.loc[machines["against"] == label, "vote"].sum()
        assert votes[column] == pytest.approx(for_it - against, rel=1e-12)


def test_a_text_tells_all_stages(asking):
    model, _, path = asking
    found = explain(model, path, "b3")
    lines = explanation_text(found, 2).splitlines()
    cost = tables(found)["levels"]["alignments"].iloc[-1]
    assert lines[1] == f"answered by the stage pairs, with {cost} alignments in all"
    assert "nearest records that were asked, then the other landmarks" in lines
    for part in ("log odds at the stage nearest 3: ", "log odds at the stage pairs: "):
        assert sum(line.startswith(part) for line in lines) == 1
    assert f"... and {len(tables(found)['records']) - 2} more" in lines
    assert any(line.split()[:1] == [INTERCEPT] for line in lines)


def test_where_no_machine_votes_the_level_before_answers(tmp_path):
    model, _, path = asking_model(tmp_path, pairs=[(0, 1)])
    model = with_other(model, likeliest=2)
    stages = {id: explain(model, path, id) for id in ("a0", "c1", "c4")}
    without = [it for it in stages.values() if "c" in it.labels]
    assert without
    for it in without:
        assert tables(it)["terms"]["stage"].iloc[-1] == "nearest"
        assert "machines" not in tables(it)
        assert "answered by the stage nearest 14" in explanation_text(it, 2)
