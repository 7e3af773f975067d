"""What the models of a fold predict of its records, and of those held out as unknown."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answering.cascades import made_up_relatives
from chimeras import model_of_several
from fitting.runs import fold_records, landmark_table, run_of
from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.label_sets import SET_COLUMNS
from kreinflow.answering.query_and_answers import Query
from kreinflow.evaluation.metrics import COST_COLUMNS, PREDICTION_COLUMNS, REASON_COLUMNS
from kreinflow.fitting import predictions as module
from kreinflow.fitting.best_hits import HIT_COLUMNS
from kreinflow.fitting.predictions import UnknownRecords
from kreinflow.fitting.record_index import row_query
from kreinflow.fitting.run import open_run, pair_scores
from kreinflow.views.objects import Viewed
from kreinflow.views.seeds import SeedIndex
from small_inputs import configuration, trained_recipe, write_input


@pytest.fixture(scope="module")
def asks(tmp_path_factory):
    """A recipe with a cascade that asks, the run of its folds, and all scores with the union."""
    folder = tmp_path_factory.mktemp("asks")
    source = write_input(folder, seed=18, changed=0.7)
    few = {"meb": {"method": "uniform", "budget": 4}}
    config = configuration(source, recipe={"cascade": {"loss": 0}}, selectors=few)
    it = trained_recipe(config, folder)
    it.classifier = it.model.classifier
    files, *more = run_of(it, folder)
    run = open_run(files)
    asked = run.pair_scores(it.model.scheme, "auto", 1)
    climbed = fold_records(it, run, it.classifier, asked).curve()
    it.threshold = float(np.median(climbed.levels[0].probabilities.max(axis=1)))
    cascade = replace(it.classifier.cascade, threshold=it.threshold, reject_threshold=0.9)
    it.classifier = it.classifier.with_parts(cascade=cascade)
    return it, run, asked, *more


def answers(it, scores, rows, threshold=None):
    """What the classifier says of distinct rows, by a table of all scores."""
    cascade, landmarks = it.classifier.cascade, it.rows
    if threshold is not None:
        cascade = replace(cascade, threshold=threshold)

    def ask(queries, records):
        known = cascade.records.rows[records]
        return np.where(records >= 0, scores[rows[queries][:, None], known], -1)

    lengths = it.dataset.lengths.astype(float)[rows]
    classifier = it.classifier.with_parts(cascade=cascade)
    own, objects = np.diag(scores)[rows].astype(float), Viewed(it.dataset.sequences).take(rows)
    return classifier.answer(Query(scores[rows][:, landmarks], own, lengths, objects, ask))


def test_a_fold_predicts_what_it_tests(tmp_path):
    it = trained_recipe(configuration(write_input(tmp_path)), tmp_path)
    run = open_run(run_of(it, tmp_path)[0])
    table = fold_records(it, run, it.model.classifier).predictions("one")
    assert table["id"].tolist() == list(it.dataset.ids[1::3])
    assert set(zip(table["recipe"], table["repeat"], table["fold"], strict=True)) == {("one", 0, 1)}
    labels = np.array(it.dataset.classes)
    assert table["true"].tolist() == labels[it.dataset.labels[1::3]].tolist()
    probabilities = it.probabilities[1::3]
    np.testing.assert_array_equal(table[[f"p_{label}" for label in labels]], probabilities)
    assert table["predicted"].tolist() == labels[probabilities.argmax(axis=1)].tolist()
    sets = it.model.classifier.calibration.sets(probabilities, 0.9)
    assert table["size_90"].tolist() == sets.sum(axis=1).tolist()
    own = sets[np.arange(len(sets)), it.dataset.labels[1::3]]
    assert table["held_90"].tolist() == own.astype(int).tolist()
    p_values = it.model.classifier.calibration.p_values(probabilities.max(axis=1))
    assert table["error_p"].tolist() == p_values.tolist()
    assert table["size_99"].isna().all(), "30 records are too few"
    assert tuple(table.columns[-len(SET_COLUMNS) :]) == SET_COLUMNS
    nothing = fold_records(it, run, it.model.classifier, fold="all").predictions("one")
    assert nothing.empty
    assert list(nothing.columns) == list(table.columns)


def test_a_fold_answers_through_the_cascade(asks, monkeypatch):
    it, run, asked, scores, _ = asks
    climbed = fold_records(it, run, it.classifier, asked).curve()
    table = fold_records(it, run, it.classifier, asked).predictions("one")
    rows = it.dataset.rows[1::3]
    expected = answers(it, scores, rows)
    assert 0 < (expected.stage > 0).sum() < len(rows), "some ask, and others do not"
    probabilities = table[[f"p_{label}" for label in it.dataset.classes]].to_numpy()
    np.testing.assert_array_equal(probabilities, expected.probabilities)
    base = len(it.rows) + 1  # with itself
    np.testing.assert_array_equal(table["alignments"], base + expected.alignments)
    first = fold_records(it, run, it.classifier).predictions("one")
    assert not table.equals(first)
    assert set(first["alignments"]) == {base}
    raw = replace(it.classifier, transform=make_transform("raw"))
    assert set(fold_records(it, run, raw).predictions("one")["alignments"]) == {base - 1}
    monkeypatch.setattr(module, "_ROWS", 3)
    by_parasail = run.pair_scores(it.model.scheme, "parasail", 2)
    in_parts = fold_records(it, run, it.classifier, by_parasail).curve()
    for one, other in zip(climbed.levels, in_parts.levels, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_fold_tells_reasons(asks, monkeypatch):
    it, run, asked, *_ = asks
    relatives = made_up_relatives(it.classifier, it.model.scheme, sure_threshold=0.79)
    classifier, rows = it.classifier.with_parts(relatives=relatives), it.dataset.rows[1::3]
    landmarks = run.landmarks(landmark_table(it))
    ask = asked.of_rows(rows, classifier.records.rows)
    expected = classifier.answer(row_query(landmarks, rows, run.objects, ask))
    assert len(set(expected.reason)) > 1
    for size in (1000, 3):
        monkeypatch.setattr(module, "_ROWS", size)
        table = fold_records(it, run, classifier, asked).predictions("one")
        assert table["reason"].tolist() == expected.reason.tolist()
        np.testing.assert_array_equal(table["unknown_p"], expected.p_value)
        base = len(it.rows) + 1
        np.testing.assert_array_equal(table["alignments"], base + expected.alignments)
        assert table["alignments"].nunique() > 1
    first = fold_records(it, run, it.classifier).predictions("one")
    assert set(first["reason"]) <= {"", "unsure"}
    assert first["unknown_p"].isna().all()


def test_the_curve_of_a_fold_is_what_each_threshold_gives(asks):
    it, run, asked, scores, _ = asks
    climbed = fold_records(it, run, it.classifier, asked).curve()
    rows = it.dataset.rows[1::3]
    truth = run.testing_part("r0f1").labels
    before = asked.aligned
    curve = climbed.table(truth)
    base = len(it.rows) + 1
    for threshold, alignments, records, right, chosen in curve.itertuples(index=False):
        found = answers(it, scores, rows, threshold)
        probabilities, of_each = climbed.at(threshold)
        np.testing.assert_array_equal(probabilities, found.probabilities)
        np.testing.assert_array_equal(of_each, base + found.alignments)
        assert alignments == pytest.approx(of_each.mean())
        assert (records, right) == (len(rows), (probabilities.argmax(axis=1) == truth).sum())
        assert chosen == ("yes" if threshold == it.threshold else "no")
    assert curve["threshold"].is_monotonic_increasing
    assert curve["alignments"].is_monotonic_increasing
    assert curve["threshold"].iloc[[0, -1]].tolist() == [0, 2]
    assert (curve["chosen"] == "yes").sum() == 1
    assert curve["alignments"].iloc[0] == base
    assert asked.aligned == before, "a curve asks for nothing more"
    first = replace(climbed, levels=climbed.levels[:1]).table(truth)
    assert first["threshold"].tolist() == [0, it.threshold, 2], "there is nothing to choose"
    assert set(first["alignments"]) == {base}


def test_a_fold_is_searched_by_seeds_once(asks, monkeypatch):
    """For all levels of the cascade, and for what it answers."""
    it, run, asked, *_ = asks
    tested, looked = fold_records(it, run, it.classifier, asked), []
    search = SeedIndex.nearest

    def counted(index, sequences, q):
        looked.extend(sequences)
        return search(index, sequences, q)

    monkeypatch.setattr(SeedIndex, "nearest", counted)
    monkeypatch.setattr(module, "_ROWS", 3)
    tested.curve()
    tested.predictions("it")
    assert len(looked) == len(tested.records)


def test_unknown_records_are_answered_through_the_cascade(asks, monkeypatch):
    """Here they are some of the data set, and the records of the cascade all of it."""
    it, *_, scores, union = asks
    held = np.array([2, 10, 25])
    rows = np.array([1, 0, 1, 2])
    own = {"length": it.dataset.lengths, "self_score": np.diag(scores)}
    records = pd.DataFrame({"id": list("pqrs"), "label": "new", "row": rows})
    records = records.assign(**{name: of[held][rows] for name, of in own.items()})
    sequences = [it.dataset.sequences[row] for row in [*held, *range(len(scores))]]
    expected = answers(it, scores, held[rows])
    assert (expected.stage > 0).any()
    given = records, scores[held][:, union], union, Viewed(sequences[: len(held)])
    for size in (1000, 3):
        monkeypatch.setattr(module, "_ROWS", size)
        asked = pair_scores(sequences, it.model.scheme, "auto", 1)
        told = UnknownRecords(*given, asked)
        table = told.predict(it.rows, "r0f2", "one", it.classifier)
        labels = np.array(it.dataset.classes)[expected.probabilities.argmax(axis=1)]
        assert table["predicted"].tolist() == labels.tolist()
        assert table[["id", "true", "repeat", "fold"]].to_numpy().tolist() == [
            [id, "new", 0, 2] for id in "pqrs"
        ]
        np.testing.assert_array_equal(table["probability"], expected.probabilities.max(axis=1))
        assert table["reject"].tolist() == np.where(expected.rejected, "yes", "no").tolist()
    assert asked.aligned > 0


@pytest.mark.filterwarnings("ignore:the factor misses")
def test_of_several_labels_a_fold_predicts_them_all(tmp_path):
    it = model_of_several(tmp_path)
    run = replace(open_run(run_of(it, tmp_path)[0]), dataset=it.dataset)
    classifier = it.model.classifier
    table = fold_records(it, run, classifier).predictions("one")
    head = (*PREDICTION_COLUMNS, *REASON_COLUMNS, *COST_COLUMNS, *HIT_COLUMNS)
    assert tuple(table) == (*head, "p_a", "p_b", "p_c")
    probabilities = it.probabilities[1::3]
    np.testing.assert_array_equal(table[["p_a", "p_b", "p_c"]], probabilities)
    for row, p, own in zip(
        table.to_dict("records"), probabilities, it.dataset.memberships[1::3], strict=True
    ):
        assert row["true"] == ";".join("abc"[code] for code in np.flatnonzero(own))
        chosen = p >= classifier.several.thresholds
        assert row["predicted"] == ";".join("abc"[code] for code in np.flatnonzero(chosen))
    assert table["true"].str.contains(";").any()
    assert (table["hit"] == "").all()
    assert table[["hit_among", "hit_of", "hit_identity"]].isna().all(axis=None)
    several = replace(classifier.several, thresholds=np.full(3, 1 - 1e-12))
    none = fold_records(it, run, replace(classifier, several=several)).predictions("one")
    assert (none["predicted"] == "").all()
    assert (none["reason"] == "unsure").all()
    assert ((table["reason"] == "unsure") == (table["predicted"] == "")).all()
