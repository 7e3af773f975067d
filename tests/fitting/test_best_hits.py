"""The best hit of each tested record, against a naive search of dense score matrices."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from data_sets import dataset_of, load
from kreinflow.alignment.traceback import aligned_identity
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.config.configuration import complete_configuration
from kreinflow.fitting import best_hits as hits
from kreinflow.fitting.best_hits import HIT_COLUMNS
from kreinflow.fitting.factors import make_factors
from kreinflow.fitting.predictions import FoldRecords
from kreinflow.fitting.run import Run
from kreinflow.krein.landmark_kernel import landmark_kernel
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Matrix
from kreinflow.sequences.scores import MatrixScores, transforms_of
from sequence_pairs import parasail_scores, scheme_of
from small_inputs import configuration, families, fasta_source, training_on, write_fasta

FEW = {"method": "uniform", "budget": 4}
FOLD = "r0f1"


def dense(sequences, scheme):
    """All scores with all, by parasail."""
    rows = np.arange(len(sequences))
    left, right = (side.ravel() for side in np.meshgrid(rows, rows, indexing="ij"))
    return np.asarray(parasail_scores(sequences, left, right, scheme)).reshape(len(rows), -1)


def best(scores, own, row, others, digests, classes):
    """The class of the best of some rows, by a loop over them."""
    found = None
    for other in others:
        product = own[row] * own[other]
        normalised = scores[row, other] / np.sqrt(product) if product > 0 else 0.0
        key = scores[row, other], normalised
        if found is None or key > found[0] or (key == found[0] and digests[other] < found[1]):
            found = key, digests[other], classes[other]
    return found[2]


def folded(dataset, scores, folds=3, union=None):
    """The run of a data set and all its scores, whose records are tested in turn."""
    partition = Partition(dataset.rows, (dataset.rows % folds)[None])
    union = np.arange(len(dataset.digests)) if union is None else union
    columns = scores[:, union]
    if dataset.kind == "asymmetric":
        columns = np.hstack([columns, scores[union].T])
    return Run(dataset, partition, columns, union, np.diag(scores).astype(float))


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """Short sequences of few letters, so that many scores are equal, and these scores."""
    folder = tmp_path_factory.mktemp("alike")
    records = families(3, each=14, length=11, letters="ARND", changed=0.5)
    write_fasta(folder / "x.fasta", records)
    dataset, scheme = load(fasta_source(), folder), scheme_of()
    return dataset, dense(dataset.sequences, scheme)


def test_of_all_records_it_is_the_best_of_a_dense_matrix(alike):
    dataset, scores = alike
    run, own = folded(dataset, scores), np.diag(scores)
    tied = unlike = 0
    for fold in run.partition.names:
        table = run.hits(fold, scheme_of()).table()
        assert tuple(table) == HIT_COLUMNS
        training = np.unique(dataset.rows[run.partition.training(fold)])
        assert set(table["hit_among"]) == set(table["hit_of"]) == {len(training)}
        rows = dataset.rows[run.partition.testing(fold)]
        for row, hit, identity in zip(rows, table["hit"], table["hit_identity"], strict=True):
            nearest = best(scores, own, row, training, dataset.digests, range(len(scores)))
            assert hit == dataset.row_labels[nearest]
            pair = dataset.sequences[row], dataset.sequences[nearest]
            assert identity == aligned_identity(*pair, scheme_of())
            first = training[scores[row, training] == scores[row, training].max()]
            tied += len(first) > 1
            unlike += dataset.row_labels[first[0]] != hit
    assert tied > 5
    assert unlike > 0, "the order of equal ones decides"


@pytest.mark.parametrize("kind", ["similarity", "asymmetric", "squared_dissimilarity"])
def test_of_a_matrix_it_is_the_nearest(kind):
    rng = np.random.default_rng(2)
    values = rng.integers(0, 30, (24, 24)).astype(float)  # some are equal
    if kind != "asymmetric":
        values = values + values.T
    np.fill_diagonal(values, 0 if "dis" in kind else rng.integers(40, 60, 24))
    run = folded(dataset_of(np.arange(24) % 2, Matrix(values, kind=kind)), values)
    own, near = np.diag(values), -values if "dis" in kind else values
    for fold in run.partition.names:
        training = np.flatnonzero(run.partition.training(fold))
        table = run.hits(fold).table()
        labels, digests = run.dataset.row_labels, run.dataset.digests
        expected = [
            best(near, own, row, training, digests, labels)
            for row in np.flatnonzero(run.partition.testing(fold))
        ]
        assert table["hit"].tolist() == expected
        assert set(table["hit_among"]) == {len(training)}
        assert table["hit_identity"].isna().all()


def test_the_same_object_in_two_classes_is_a_hit_and_one_record():
    """The rows 0, 1 and 2 of the matrix hold one object; the first is tested."""
    values = np.full((6, 6), 1.0) + 9 * np.eye(6)
    values[:3, :3] = 10.0
    dataset = dataset_of(np.array([0, 1, 0, 1, 0, 1]), Matrix(values, kind="similarity"))
    dataset = replace(dataset, digests=("7",) * 3 + dataset.digests[3:])
    partition = Partition(np.arange(6), np.array([[0, 1, 1, 1, 1, 1]]))
    run = replace(folded(dataset, values), partition=partition)
    table = run.hits("r0f0").table()
    told = table[["hit", "hit_among", "hit_of"]].to_numpy().tolist()
    assert told == [["x", 4, 4]], "five training records, two of them alike"
    without = replace(run, partition=Partition(np.arange(6), np.array([[0, 1, 0, 1, 1, 1]])))
    table = without.hits("r0f0").table()
    assert table["hit"].tolist() == ["y", "y"], "what is tested tells no label of its own"


def test_of_some_columns_alone_there_is_none(alike):
    dataset, scores = alike
    training = folded(dataset, scores).training_part(FOLD).rows
    for dropped in (1, len(training) - 2):
        union = np.setdiff1d(np.arange(len(scores)), training[:dropped])
        run = folded(dataset, scores, union=union)
        table = run.hits(FOLD, scheme_of()).table()
        assert len(table) == run.partition.testing(FOLD).sum()
        assert (table["hit"] == "").all()
        assert table[["hit_among", "hit_of", "hit_identity"]].isna().all(axis=None)
        assert run.hits("all").table().empty


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """A recipe with a cascade and relatives, trained on the training part of a fold."""
    folder = tmp_path_factory.mktemp("asking")
    records = families(7, each=12, changed=0.6)
    records += [(f"{id}-again", label, residues) for id, label, residues in records[::2]]
    write_fasta(folder / "x.fasta", records)
    recipe = {"cascade": {"loss": 0}}
    config = configuration(fasta_source(), recipe=recipe, selectors={"meb": FEW})
    config = complete_configuration(config | {"unknown": {"false_alarms": 0.2}})
    dataset, scheme = load(fasta_source(), folder), scheme_of()
    scores = dense(dataset.sequences, scheme)
    run = folded(dataset, scores)
    transforms = transforms_of(["log", "raw"], config["transforms"], scheme)
    training = run.partition.training(FOLD)
    given = dataset, MatrixScores(scores), transforms, config["seed"], training, FOLD
    stage, selector = LandmarkStage(*given), config["selectors"]["meb"]
    table = stage.select(make_selector(selector))
    it = training_on(table, stage, selector, run.partition, config, scheme=scheme)
    (entry,) = make_factors(it.landmarks, it.part, transforms, [config["recipes"][0]])
    kernel = landmark_kernel(it.landmarks, it.part, transforms["log"])
    learner = config["learners"]["ikfd"]
    trained = it.train(config["recipes"][0], learner, entry.corrected["none"], kernel)
    assert trained.classifier.cascade.steps
    assert trained.classifier.relatives is not None
    assert np.isin(it.landmarks.rows, dataset.rows[36:]).any(), "a landmark stands there twice"
    others = [np.flatnonzero(part)[:5] for part in (training, ~training)]  # of other folds
    union = np.union1d(it.landmarks.rows, dataset.rows[np.concatenate(others)])
    run = folded(dataset, scores, union=union)
    return SimpleNamespace(
        run=run, landmarks=it.landmarks, classifier=trained.classifier, scores=scores, scheme=scheme
    )


class Counted(ScoreCache):
    """Scores that are asked for, and which pairs were."""

    def __init__(self, asked):
        self._asked, self.pairs = asked, set()

    def __call__(self, rows, others):
        for row, own in zip(rows.tolist(), others.tolist(), strict=True):
            self.pairs |= {(row, other) for other in own if other >= 0}
        return self._asked(rows, others)


WAYS = {"both": (), "cascade": ("relatives",), "relatives": ("cascade",)}


@pytest.mark.parametrize("together", [1 << 17, 5])
@pytest.mark.parametrize("way", list(WAYS))
def test_of_a_recipe_that_asks_it_is_the_best_of_those_asked(asking, way, together, monkeypatch):
    monkeypatch.setattr(hits, "_TOGETHER", together)
    run, dataset, scores = asking.run, asking.run.dataset, asking.scores
    classifier = asking.classifier.with_parts(**dict.fromkeys(WAYS[way]))
    if way == "relatives":  # which ask for the records that the first stage is unsure of
        first = FoldRecords(run, asking.landmarks, FOLD, classifier).predictions("it")
        unsure = float(first.filter(regex="^p_").max(axis=1).median()) / 2
        rule = replace(classifier.relatives, null=None, strangeness=None, sure_threshold=unsure)
        classifier = classifier.with_parts(relatives=rule)
    aligned = run.pair_scores(asking.scheme, "auto", 1)
    every = np.arange(len(dataset.digests))
    aligned(every, np.tile(every, (len(every), 1)))  # another recipe of the job asked for all
    counted = Counted(aligned)
    tested = FoldRecords(run, asking.landmarks, FOLD, classifier, counted, asking.scheme)
    if classifier.cascade is not None:
        tested.curve()
    table = tested.predictions("it")
    rows, training = dataset.rows[run.partition.testing(FOLD)], run.training_part(FOLD).rows
    asked, own = [], np.diag(scores)
    columns = set(run.union.tolist()) & set(training.tolist())
    assert set(run.union.tolist()) > columns > set(asking.landmarks.rows.tolist())
    for row, told in zip(rows.tolist(), table.to_dict("records"), strict=True):
        others = {other for one, other in counted.pairs if one == row}
        asked.append(len(others))
        if not others:
            assert told["hit"] == ""
            assert pd.isna([told["hit_among"], told["hit_identity"]]).all()
            continue
        others |= columns
        assert others <= set(training.tolist())
        nearest = best(scores, own, row, sorted(others), dataset.digests, range(len(scores)))
        assert told["hit"] == dataset.row_labels[nearest]
        pair = dataset.sequences[row], dataset.sequences[nearest]
        assert told["hit_identity"] == aligned_identity(*pair, asking.scheme)
        assert (told["hit_among"], told["hit_of"]) == (len(others), len(np.unique(training)))
    if way == "relatives":
        assert 0 < asked.count(0) < len(asked), "some have asked nobody"
    else:
        assert min(asked) > 0, "all levels are asked on outer folds"
