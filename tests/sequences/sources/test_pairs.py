"""A table of pairs as the data: ids, labels, and which ids may be landmarks."""

from itertools import pairwise

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, given_landmarks, list_candidates
from kreinflow.sequences.dataset import read_dataset, write_dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import partition_of
from kreinflow.sequences.scores import scores_in_memory, transforms_of
from kreinflow.sequences.sources.registry import make_source
from small_inputs import configuration

IDS = [f"o{i:02}" for i in range(24)]
LANDMARKS = IDS[::3]
CHAIN = [f"{a}\t{b}\t1\n" for a, b in pairwise(IDS)]


def write(folder, lines=None):
    pairs = [(a, b) for a in IDS for b in LANDMARKS if a != b]
    lines = lines or [f"{a}\t{b}\t{(int(a[1:]) * int(b[1:])) % 7}\n" for a, b in pairs]
    (folder / "pairs.tsv").write_text("".join(lines))
    rows = "".join(f"{id},{'xyz'[i // 8]}\n" for i, id in enumerate(IDS))
    (folder / "labels.csv").write_text(f"id,label\n{rows}")
    return {"type": "pairs", "pairs": "pairs.tsv", "self": 9, "labels": {"table": "labels.csv"}}


def completed(source):
    return complete_configuration(configuration(source, transform="raw"))


def load(source, folder):
    made = make_source(completed(source)["datasets"]["mine"]["source"], folder)
    made.check()
    return made.load(None, 1)


def test_ids_are_objects_and_those_with_a_column_may_be_landmarks(tmp_path):
    dataset = load(write(tmp_path), tmp_path)
    assert (dataset.ids, dataset.kind, dataset.payload.free) == (tuple(IDS), "similarity", False)
    complete = [id in LANDMARKS for id in IDS]
    assert dataset.payload.complete.tolist() == complete
    write_dataset(tmp_path / "kept", dataset)
    again = read_dataset(tmp_path / "kept")
    assert again.payload.complete.tolist() == complete
    assert again.payload.kernel.digest == dataset.payload.kernel.digest
    assert again.payload.objects.tolist() == IDS


def test_ids_without_a_line_are_told_where_their_scores_are_stated(tmp_path):
    told = load(write(tmp_path, CHAIN[2:]) | {"missing": 0}, tmp_path).statistics
    assert told["without_line"] == "o00, o01"
    assert "without_line" not in load(write(tmp_path), tmp_path).statistics


def test_no_selector_looks_at_a_column_that_is_not_there(tmp_path):
    dataset = load(write(tmp_path), tmp_path)
    settings = {"method": "stratified", "k": 2, "repeats": 1, "table": None, "column": None}
    partition = partition_of(assign_folds(settings, dataset, 1, tmp_path, {}), dataset)
    scores, own = scores_in_memory(dataset), np.flatnonzero(dataset.payload.complete)
    chosen = list_candidates(dataset, partition, 1, 5, 6)
    assert set(np.concatenate([*chosen.values()])) <= set(own)
    config = completed(write(tmp_path))
    for least, method, more in (
        (4, "uniform", {"budget": 4}),
        (6, "uniform", {"budget": {"share": 0.25}}),  # of all objects
        (8, "uniform", {"budget": {"most": 20}}),
        (3, "meb", {"transform": "raw"}),
        (4, "kmeans", {"transform": "raw", "budget": 4}),
        (8, "all", {}),
    ):
        config["selectors"]["mine"] = {"method": method, **more}
        selector = make_selector(complete_configuration(config)["selectors"]["mine"])
        stage = LandmarkStage(dataset, scores, transforms_of(["raw"], {}, None), 1)
        rows = stage.select(selector)["row"]
        assert set(rows) <= set(own)
        assert len(rows) >= least
    table = {"table": "few.tsv"}
    (tmp_path / "few.tsv").write_text("id\no00\no03\n")
    assert given_landmarks(dataset, table, tmp_path).tolist() == [0, 3]
    (tmp_path / "few.tsv").write_text("id\no00\no01\n")
    with pytest.raises(InputError, match=r"few.tsv: 1 ids lack scores with others: o01\."):
        given_landmarks(dataset, table, tmp_path)


@pytest.mark.parametrize(
    ("change", "lines", "message"),
    [
        ({}, ["o00\to01\t1\n", "o00\tx\t2\n"], "labels.csv: no label for 1 of 3 ids: x"),
        ({}, ["o00\to01\t1\n"], r"pairs\.tsv: has no line of o02, o03, .* which have labels"),
        ({}, CHAIN, "fewer than two ids have a score with all others.*missing"),
        ({"missing": 0}, ["o00\to01\t1\n"], "fewer than two ids stand first and second in"),
        ({"self": None}, None, r"no line for o00 with itself\. Add it, or .* 'self'"),
        ({"missing": "best"}, None, "missing: 'best' is not a number, worst or null"),
        ({"kind": "distance"}, None, "'distance' is none of similarity"),
        ({"pairs": "none.tsv"}, None, r"none\.tsv: no such file"),
        ({"labels": {}}, None, "source.labels: give exactly one of table"),
    ],
)
def test_what_is_wrong_has_one_message(change, lines, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, lines) | change, tmp_path)


def test_hits_of_a_search_are_complete_where_a_missing_score_is_stated(tmp_path):
    lines = [f"{a}\t{b}\t1\n" for i, a in enumerate(IDS) for b in LANDMARKS[i % 3 :: 2] if a != b]
    with pytest.raises(InputError, match="fewer than two ids have a score with all others"):
        load(write(tmp_path, lines), tmp_path)
    dataset = load(write(tmp_path, lines) | {"missing": "worst"}, tmp_path)
    assert dataset.payload.complete.tolist() == [id in LANDMARKS for id in IDS]
    assert dataset.payload.kernel.settings["missing"] == 1
