"""What learning reads of a run."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fitting.runs import landmark_table, run_of
from kreinflow.alignment.backends import align_pair_lists, compare_with_parasail
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.files.arrays import write_array
from kreinflow.fitting import run as models_run
from kreinflow.fitting.run import open_run
from small_inputs import configuration, trained_recipe, write_input


@pytest.fixture
def kept(tmp_path):
    """A trained recipe, the files of its run, and all scores with the union of the landmarks."""
    it = trained_recipe(configuration(write_input(tmp_path)), tmp_path)
    return it, *run_of(it, tmp_path)


def with_few_columns(files):
    """The run with two of its columns, and the rows that have none."""
    run = open_run(files)
    run = replace(run, union=run.union[:2], scores=np.asarray(run.scores[:, :2]))
    return run, np.setdiff1d(np.arange(len(run.scores)), run.union)


def test_the_run_has_what_its_files_have(kept):
    it, files, scores, union = kept
    run = open_run(files)
    assert run.dataset.ids == it.dataset.ids
    np.testing.assert_array_equal(run.union, union)
    landmarks = run.landmarks(landmark_table(it))
    np.testing.assert_array_equal(np.asarray(landmarks.scores[:]), scores[:, it.rows])
    np.testing.assert_array_equal(landmarks.self_scores, np.diag(scores))
    assert landmarks.self_scores.dtype == np.float64
    classes = [it.dataset.classes[code] for code in landmarks.classes]
    assert classes == landmark_table(it)["class"].tolist()
    training, testing = run.training_part("r0f1"), run.testing_part("r0f1")
    np.testing.assert_array_equal(testing.rows, it.dataset.rows[1::3])
    assert sorted([*training.rows, *testing.rows]) == sorted(it.dataset.rows)


@pytest.mark.parametrize("name", ["columns", "self_scores"])
def test_columns_of_another_union_are_refused(kept, name):
    _, files, *_ = kept
    path = getattr(files, name)
    write_array(path, np.load(path)[..., 1:])
    with pytest.raises(InputError, match="columns are not those of this data set.*union.tsv.*Del"):
        open_run(files)


def test_a_landmark_that_is_not_among_the_columns_is_refused(kept):
    it, files, _, union = kept
    other = np.setdiff1d(np.arange(len(it.dataset.digests)), union)[:1]
    table = pd.DataFrame({"row": other, "class": [it.dataset.row_labels[other[0]]]})
    with pytest.raises(InputError, match="lacks a landmark of this fold. Delete the folder col"):
        open_run(files).landmarks(table)


@pytest.mark.parametrize("backend", ["auto", "parasail"])
def test_what_is_asked_is_aligned_once(kept, backend, monkeypatch):
    it, files, scores, _ = kept
    (run, free), aligned = with_few_columns(files), []

    def counting(packed, rows, others, *more):
        aligned.extend(zip(*np.nonzero(others >= 0), strict=True))
        return align_pair_lists(packed, rows, others, *more)

    monkeypatch.setattr(models_run, "align_pair_lists", counting)
    asked = run.pair_scores(it.model.scheme, backend, 2)
    a, b, c, d, e = free[[3, 8, 10, 12, 5]]
    rows, others = np.array([a, b, a]), np.array([[b, c, -1], [a, a, d], [c, a, e]])
    for _ in range(2):
        found = asked(rows, others)
        expected = scores[rows[:, None], others].astype(float)
        np.testing.assert_array_equal(found, np.where(others >= 0, expected, np.nan))
    assert asked.aligned == len(aligned) == len({(a, b), (a, c), (b, d), (a, a), (a, e)})


def test_what_the_columns_have_is_not_aligned(kept, monkeypatch):
    """Pairs with a landmark in either place, and none with a stranger."""
    it, files, scores, union = kept
    run = open_run(files)
    aligned = []

    def noting(packed, rows, others, *more):
        i, j = np.nonzero(others >= 0)
        aligned.extend(map(frozenset, zip(rows[i].tolist(), others[i, j].tolist(), strict=True)))
        return align_pair_lists(packed, rows, others, *more)

    monkeypatch.setattr(models_run, "align_pair_lists", noting)
    strangers = run.strangers(run.training_part("r0f1"), it.model.scheme, 1)
    asked = run.pair_scores(it.model.scheme, "auto", 1, strangers)
    n = len(scores)
    every = np.arange(n + 3)
    found = asked(every, np.tile(np.append(every, -1), (n + 3, 1)))
    np.testing.assert_array_equal(found[:n, :n], scores)
    np.testing.assert_array_equal(np.isnan(found), np.tile(np.arange(n + 4) == n + 3, (n + 3, 1)))
    known = np.isin(every, union)
    known = (known[:, None] & (every < n)) | (known & (every < n)[:, None])
    pairs = np.argwhere(~known).tolist()
    assert 0 < len(pairs) < known.size
    assert set(aligned) == set(map(frozenset, pairs))
    assert asked.aligned == len(aligned) == len(set(aligned))


def test_a_score_that_parasail_does_not_find_ends_the_job(kept, monkeypatch):
    it, files, *_ = kept
    run, free = with_few_columns(files)

    def wrong(*arguments):
        return align_pair_lists(*arguments) + 1

    monkeypatch.setattr(models_run, "align_pair_lists", wrong)
    asked = run.pair_scores(it.model.scheme, "auto", 1)
    with pytest.raises(KreinflowError, match="by parasail.*Set the alignment backend parasail"):
        asked(free[:5], free[5:10, None])


def test_a_job_checks_a_thousand_pairs_at_most(kept, monkeypatch):
    it, files, *_ = kept
    (run, free), checked = with_few_columns(files), []

    def counting(packed, pairs, *more):
        checked.append(len(pairs[0]))
        compare_with_parasail(packed, pairs, *more)

    monkeypatch.setattr(models_run, "compare_with_parasail", counting)
    monkeypatch.setattr(models_run, "SAMPLE", 7)
    monkeypatch.setattr(models_run, "CHECKED", 0.1)
    asked = run.pair_scores(it.model.scheme, "auto", 1)
    for row in free[:4]:
        asked(np.array([row]), free[None, 4:30])
    assert checked == [3, 3, 1]


def test_landmarks_in_another_order_have_their_own_columns(kept):
    """Also if they are all of the union."""
    it, files, scores, union = kept
    turned = union[::-1]
    labels = [it.dataset.row_labels[row] for row in turned]
    found = open_run(files).landmarks(pd.DataFrame({"row": turned, "class": labels}))
    np.testing.assert_array_equal(np.asarray(found.scores), scores[:, turned])
    np.testing.assert_array_equal(found.rows, it.dataset.first_identical[turned])
