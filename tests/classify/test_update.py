"""Updates: the new fit is that of training on all records, and few pairs are aligned for it."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fitting.trainings import LEARNERS
from kreinflow.alignment import backends
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.classify.classification import classify_file
from kreinflow.classify.learned_file import Learned
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options
from kreinflow.classify.new_records import read_new
from kreinflow.classify.update import update, update_text
from kreinflow.fitting import pipeline
from kreinflow.fitting.run import objects_of
from sequence_pairs import Counting
from small_inputs import (
    configuration,
    families,
    fasta_source,
    learned_of,
    points,
    trained_recipe,
    vectors_source,
    write_fasta,
    write_labels,
    write_vectors,
)

CLASSES = ("b", "d", "a", "c")  # the last one comes with the update, and is in the middle
NAMES = ("pooled", "sf-lsm", "pcvm", "lsm", "nearest")
LIFTED = {"views": {"words": [1, 2]}, "lift": {"kernel": "gaussian", "inducing": 20}}


def old_and_new(seed=3, each=16, old=11, changed=0.68):
    """Of each class but the last some records are old; the last class is new."""
    everyone = families(seed, CLASSES, each=each, changed=changed)
    known = [r for r in everyone if r[1] != "c" and int(r[0][1:]) < old]
    return known, [r for r in everyone if r not in known]


def config_of(learner, recipe=None, **more):
    source = fasta_source(labels={"pattern": "family=([^;]+);"})
    return configuration(source, learner=learner, recipe=recipe, **more) | {"learners": LEARNERS}


def trained_on(folder, records, config):
    write_fasta(folder / "x.fasta", records)
    return trained_recipe(config, folder)


def updated_of(folder, it, new, learned=None, model=None, **more):
    fasta = write_fasta(folder / "new.fasta", new)
    labels = write_labels(folder / "new.tsv", new)
    model, learned = model or it.model, learned or learned_of(it)
    return update(model, learned, read_new(model, learned, fasta, labels), **more)


def probabilities(model, learned):
    """Of all training records, by their ids."""
    rows = learned.dataset.rows
    scores = np.asarray(learned.scores)[rows]
    lengths = learned.dataset.lengths[rows].astype(float)
    objects = objects_of(learned.dataset).take(rows)
    query = Query(scores, learned.self_scores[rows], lengths, objects)
    found = model.classifier.predict_proba(query)
    return dict(zip(learned.dataset.ids, found, strict=True))


def assert_alike(done, whole):
    """The first stages say the same of all training records."""
    ours = probabilities(done.model, done.learned)
    for id, expected in probabilities(whole.model, learned_of(whole)).items():
        np.testing.assert_allclose(ours[id], expected, atol=1e-8, rtol=0)


def given(folder, ids):
    """What a config says of landmarks that are given."""
    (folder / "given.tsv").write_text("id\n" + "".join(f"{id}\n" for id in ids))
    return {"selectors": {"meb": {"method": "given", "table": "given.tsv"}}, "data": str(folder)}


def with_given(folder, records, config, ids):
    """The recipe trained on all records with these landmarks."""
    return trained_on(folder, records, config | given(folder, ids))


@pytest.mark.parametrize(
    ("learner", "recipe"),
    [*((name, None) for name in NAMES), ("sf-lsm", LIFTED), ("pooled", {"correction": "flip"})],
)
def test_an_update_is_the_training_on_all_records_with_these_landmarks(tmp_path, learner, recipe):
    old, new = old_and_new()
    config = config_of(learner, recipe)
    it = trained_on(tmp_path, old, config)
    done = updated_of(tmp_path, it, new)
    assert done.new_classes == ("c",)
    assert done.model.classifier.classes == ("a", "b", "c", "d")
    assert done.model.landmark_ids[: len(it.rows)] == it.model.landmark_ids
    assert 1 <= done.landmarks <= 3
    whole = with_given(tmp_path, [*old, *new], config, done.model.landmark_ids)
    assert whole.model.landmark_ids == done.model.landmark_ids
    assert whole.model.classifier.classes == done.model.classifier.classes
    assert_alike(done, whole)
    np.testing.assert_array_equal(done.learned.held_out, whole.trained.held_out)
    assert done.model.classifier.reject_threshold == pytest.approx(
        whole.model.classifier.reject_threshold, abs=1e-8
    )
    said, wanted = (it.model.about["training"] for it in (done, whole))
    for name in ("inner_accuracy", "hyper_parameters"):
        assert said[name] == wanted[name]


PATHS = {"b": "one.b", "d": "two.d.x", "a": "two.d.y", "c": "two.c"}


def as_paths(some):
    return [(id, PATHS[label], residues) for id, label, residues in some]


@pytest.mark.parametrize("learn", ["leaves", "siblings", "inner"])
def test_levels_are_those_of_a_training_on_all_records(tmp_path, learn):
    old, new = map(as_paths, old_and_new())
    levels = {"separator": ".", "back_off": 0.9, "learn": learn}
    config = config_of("sf-lsm", levels=levels)
    it = trained_on(tmp_path, old, config)
    dashed = [(id, f" {label} .-" if label == "two.c" else label, s) for id, label, s in new]
    done = updated_of(tmp_path, it, dashed)
    names = ["name", *"uvw"]
    in_columns = pd.DataFrame([[id, *label.split(".")] for id, label, _ in new], columns=names)
    in_columns.to_csv(tmp_path / "c.tsv", sep="\t", index=False)
    settings = {**learned_of(it).settings, "columns": ["name", [*"uvw"]]}
    learned = replace(learned_of(it), settings=settings)
    read = read_new(it.model, learned, tmp_path / "new.fasta", tmp_path / "c.tsv")
    assert read.labels == [label for _, label, _ in new]
    assert done.new_classes == ("two.c",)
    decided = it.model.classifier.decision.kind
    assert learn == "inner" or decided == {"leaves": "linear", "siblings": "siblings"}[learn]
    assert done.model.classifier.decision.kind == decided
    as_it = {"siblings": "siblings", "linear": "leaves"}[decided]
    config = config_of("sf-lsm", levels={**levels, "learn": as_it})
    whole = with_given(tmp_path, [*old, *new], config, done.model.landmark_ids)
    ours, theirs = done.model.classifier, whole.model.classifier
    assert ours.classes == theirs.classes
    assert (ours.levels.separator, ours.levels.back_off) == (".", 0.9)
    assert ours.levels.tree.nodes == theirs.levels.tree.nodes
    np.testing.assert_allclose(ours.levels.thresholds, theirs.levels.thresholds, atol=1e-8)
    assert_alike(done, whole)


SMALL = {"b0": "one.b.rare", "b1": "one.b.scarce", "d0": "two.e"}


@pytest.fixture(scope="module")
def rolled(tmp_path_factory):
    """A model that learned records of small classes at parents, and new records by class."""
    old, new = map(as_paths, old_and_new())
    old = [(id, SMALL.get(id, label), s) for id, label, s in old]
    config = config_of("sf-lsm", levels={"separator": ".", "back_off": 0.9, "learn": "siblings"})
    it = trained_on(tmp_path_factory.mktemp("rolled"), old, config)
    by_class = {label: [r for r in new if r[1] == label] for label in PATHS.values()}
    return it, old, by_class


def labelled(records, label, n):
    return [(id, label, s) for id, _, s in records[:n]]


def test_classes_at_parents_are_those_of_a_training_on_all_records(rolled, tmp_path):
    it, old, new = rolled
    classes = ("one.b", "two", "two.d.x", "two.d.y")
    assert it.model.classifier.classes == classes
    learned = dict(zip(it.dataset.ids, it.dataset.joined_labels, strict=True))
    # Two of one.b.* are at one.b, where the others of one.b are too; one of two.e is at two.
    assert [learned[id] for id in ("b0", "b1", "b2", "d0")] == ["one.b", "one.b", "one.b", "two"]
    more = [
        *labelled(new["one.b"], "one.b.other", 1),  # one.b is known
        *labelled(new["two.d.x"][:3], "two.d.z.1", 1),  # nothing is nearer than two
        *labelled(new["two.c"][:3], "two.c.1", 2),
        *labelled(new["two.c"][3:], "two.c.2", 1),  # two.c is none, and has but one
    ]
    done = updated_of(tmp_path, it, more)
    assert done.new_classes == ("two.c.1",)
    after = dict(zip(done.learned.dataset.ids, done.learned.dataset.joined_labels, strict=True))
    expected = ["one.b", "two", "two.c.1", "two.c.1", "two"]
    assert [after[id] for id, *_ in more] == expected
    assert {id: after[id] for id in learned} == learned
    paths = dict(zip(done.learned.dataset.ids, done.learned.dataset.paths, strict=True))
    assert paths == {id: label for id, label, _ in [*old, *more]}
    assert "\n3 records of them learned at a parent; 0 old records with" in update_text(done)
    config = config_of("sf-lsm", levels={"separator": ".", "back_off": 0.9, "learn": "siblings"})
    whole = with_given(tmp_path, [*old, *more], config, done.model.landmark_ids)
    assert whole.model.classifier.classes == done.model.classifier.classes
    ours, theirs = (model.classifier.levels for model in (done.model, whole.model))
    np.testing.assert_allclose(ours.thresholds, theirs.thresholds, atol=1e-8)
    assert_alike(done, whole)


def test_a_record_alone_below_a_known_part_is_learned_at_that_part(rolled, tmp_path):
    it, _, new = rolled
    done = updated_of(tmp_path, it, labelled(new["two.c"], "one.c.1", 1))
    assert done.new_classes == ("one",)
    assert (done.learned.dataset.joined_labels[-1], done.landmarks) == ("one", 1)


def test_what_was_learned_at_a_parent_stays_there(rolled, tmp_path):
    it, _, new = rolled
    done = updated_of(tmp_path, it, labelled(new["one.b"], "one.b.rare", 3))
    assert done.new_classes == ("one.b.rare",)
    after = dict(zip(done.learned.dataset.ids, done.learned.dataset.joined_labels, strict=True))
    assert after["b0"] == "one.b"
    assert "0 records of them learned at a parent; 1 old record with" in update_text(done)
    model, learned = tmp_path / "m.safetensors", tmp_path / "m.learned.safetensors"
    done.model.save(model)
    done.learned.save(learned, model)
    again = Learned.load(learned, Model.load(model), model)
    assert again.dataset.paths == done.learned.dataset.paths


def test_the_same_sequence_with_a_label_of_the_same_way_is_learned_where_it_is(rolled, tmp_path):
    it, old, new = rolled
    (sequence,) = (s for id, _, s in old if id == "b0")
    (other,) = (s for id, _, s in old if id == "d5")  # of two.d.x
    done = updated_of(tmp_path, it, [("n1", "one.b.other", sequence), *new["one.b"][:1]])
    assert (
        dict(zip(done.learned.dataset.ids, done.learned.dataset.joined_labels, strict=True))["n1"]
        == "one.b"
    )
    with pytest.raises(InputError, match="d5: learned before, with an object that a new record"):
        updated_of(tmp_path, it, [("n1", "two.c", other), ("n2", "two.c", other[::-1])])
    with pytest.raises(InputError, match=r"2 records can be learned at no node: d5, n1\."):
        updated_of(tmp_path, it, [("n1", "one.b", other)])
    with pytest.raises(
        InputError, match=r"1 record can be learned at no node: n1\. .* fewer than 2 rec"
    ):
        updated_of(tmp_path, it, [("n1", "three.x", "WWWWWWWWWWHHHHHHHHHHWWWWWWWWW")])


@pytest.mark.parametrize("cascade", [None, {"loss": 0.1}])
def test_a_model_that_knows_strangers_learns_a_new_class(tmp_path, cascade):
    """It was strange before, and is asked now; what strangers are told by stays as it was."""
    everyone = families(11, "abcd", each=60, changed=0.5)
    old = [r for r in everyone if r[1] != "c" and int(r[0][1:]) < 40]
    new = [r for r in everyone if r[1] == "c" and int(r[0][1:]) < 40]
    asked = [(f"t{id}", label, s) for id, label, s in everyone if int(id[1:]) >= 40]
    config = config_of("sf-lsm", {"cascade": cascade}, unknown={"false_alarms": 0.05})
    it = trained_on(tmp_path, old, config)
    model, learned = it.model, learned_of(it)
    path = write_fasta(tmp_path / "t.fasta", asked)
    strange = np.array([label == "c" for _, label, _ in asked])
    table = classify_file(model, path)
    assert (table["reject"][strange] == "yes").all()
    for number in (1, 2):
        done = updated_of(tmp_path, it, new if number == 1 else asked[:3], learned, model)
        model, learned = done.model, done.learned
        model.save(tmp_path / "two.safetensors")
        model = Model.load(tmp_path / "two.safetensors")
        before, after = it.model.classifier.relatives, model.classifier.relatives
        assert after.null == before.null
        cascade = it.model.classifier.cascade
        assert after.sure_threshold == (None if cascade is None else before.sure_threshold)
        for name, values in vars(before.strangeness).items():
            np.testing.assert_array_equal(getattr(after.strangeness, name), values)
        near, same = (of.classifier.calibration.near for of in (it.model, model))
        assert same.closeness.tolist() == near.closeness.tolist()
        assert same.conformity.tolist() == near.conformity.tolist()
        told = it.model.classifier.about["unknown"] | {"before_update": 1}
        assert model.classifier.about["unknown"] == told
        table = classify_file(model, path)
        assert (table["label"][strange] == "c").mean() > 0.8
        assert (table["reject"][strange] == "no").mean() > 0.8
        assert (table["reject"][~strange] == "no").mean() > 0.8


def test_levels_of_a_cascade_stay_those_of_whole_answers(tmp_path):
    """The new class is deeper than all others, so nothing is promised at its last level."""
    old, new = old_and_new(11, 30, 22, 0.75)
    new = [(id, f"{label}.p.q" if label == "two.c" else label, s) for id, label, s in as_paths(new)]
    levels = {"separator": ".", "back_off": 0.6}
    config = config_of("sf-lsm", {"cascade": {"loss": 0.1}}, levels=levels)
    it = trained_on(tmp_path, as_paths(old), config)
    done = updated_of(tmp_path, it, new)
    done.model.save(tmp_path / "two.safetensors")
    models = it.model, Model.load(tmp_path / "two.safetensors")
    before, after = (model.classifier.levels for model in models)
    np.testing.assert_array_equal(after.thresholds[:3], before.thresholds)
    assert after.thresholds[3] > 1
    assert "two.c.p" in after.tree.nodes


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model of few records, and new ones."""
    old, new = old_and_new(each=12, old=8)
    return trained_on(tmp_path_factory.mktemp("small"), old, config_of("sf-lsm")), old, new


def test_few_pairs_are_aligned(small, tmp_path, monkeypatch):
    """New records with the landmarks, the new class inside, all with its landmarks."""
    it, old, new = small
    counting = Counting()
    monkeypatch.setattr("kreinflow.sequences.scores.self_scores", counting.self_scores)
    done = updated_of(tmp_path, it, new, backend=counting)
    text = {id: residues.encode() for id, _, residues in [*old, *new]}
    landmarks = set(it.model.landmarks)
    added = {text[id] for id in done.model.landmark_ids[len(it.rows) :]}
    assert len(added) == done.landmarks > 0
    of_class = {text[id] for id, label, _ in new if label == "c"}
    for one, other in counting.pairs:
        ends = {one, other}
        assert one == other or ends & (landmarks | added) or ends <= of_class
    n, m, k = len(new), len(it.rows), len(added)
    expected = n + n * m + len(of_class) ** 2 + (len(old) + n) * k
    assert done.alignments == counting.pairs.total() == expected


def test_the_order_of_adding_does_not_matter(small, tmp_path):
    it, _, new = small
    known, fresh = ([r for r in new if (r[1] == "c") == is_new] for is_new in (False, True))
    found = []
    for parts in ([known, fresh], [fresh, known], [[*fresh, *known]], [known[::-1], fresh]):
        model, learned = it.model, learned_of(it)
        for part in parts:
            done = updated_of(tmp_path, it, part, learned, model)
            model, learned = done.model, done.learned
        found.append((probabilities(model, learned), model))
        assert [entry["records"] for entry in model.about["updates"]] == list(map(len, parts))
    first, model = found[0]
    for other, again in found[1:]:
        assert sorted(again.landmark_ids) == sorted(model.landmark_ids)
        ours = [other[id] for id in first]
        np.testing.assert_allclose(ours, [*first.values()], atol=1e-8, rtol=0)


def test_threads_backend_and_little_memory_change_no_byte(small, tmp_path):
    it, _, new = small
    found = set()
    for threads, backend, memory in ((1, "parasail", 2048), (3, "auto", 2048), (1, "auto", 0.001)):
        given = {"threads": threads, "backend": backends.backend_named(backend)}
        with limited(1, memory):
            done = updated_of(tmp_path, it, new, **given)
            assert isinstance(done.learned.scores, np.memmap) == (memory < 1)
        done.model.save(tmp_path / "m")
        done.learned.save(tmp_path / "l", tmp_path / "m")
        found.add((tmp_path / "m").read_bytes() + (tmp_path / "l").read_bytes())
    assert len(found) == 1


def test_identical_sequences_join_their_row(small, tmp_path):
    it, old, _ = small
    again = [(f"again{id}", label, residues) for id, label, residues in old[:3]]
    counting = Counting()
    done = updated_of(tmp_path, it, [*again, ("twice", *again[0][1:])], backend=counting)
    assert len(done.learned.dataset.payload) == len(it.dataset.payload)
    assert done.learned.dataset.rows[-4:].tolist() == [0, 1, 2, 0]
    assert done.alignments == counting.pairs.total() == 0


def test_near_identical_records_share_an_inner_fold(tmp_path, monkeypatch):
    """With grouped folds the groups are made again, of old and new records together."""
    old, _ = old_and_new()
    config = config_of("pooled", folds={"k": 2, "method": "grouped", "identity": 0.8})
    it = trained_on(tmp_path, old, config)
    new = [(f"near{id}", label, "MK" + residues[:-2]) for id, label, residues in old]
    groups, inner = [], pipeline.inner_partition

    def recording(part, *more):
        groups.append(part.groups)
        return inner(part, *more)

    monkeypatch.setattr(pipeline, "inner_partition", recording)
    updated_of(tmp_path, it, new)
    assert groups[0][: len(old)].tolist() == groups[0][len(old) :].tolist()
    assert len(set(groups[0])) > len(old) / 2


def test_what_changed_is_told(small, tmp_path):
    it, old, new = small
    done = updated_of(tmp_path, it, new)
    table, text = done.changes, update_text(done)
    assert table[["id", "label"]].to_numpy().tolist() == [[*r[:2]] for r in [*old, *new]]
    assert table["added"].tolist() == ["no"] * len(old) + ["yes"] * len(new)
    held = [("abd"[code] if code >= 0 else "") for code in it.trained.held_out]
    assert table["before"].tolist() == held + [""] * len(new)
    accuracy = np.mean(table["after"][: len(old)] == table["label"][: len(old)])
    assert f"{len(new)} records added, of 1 new class (c) with {done.landmarks} landmark" in text
    assert f"accuracy {it.trained.figures['inner_accuracy']:.4f} before, {accuracy:.4f} aft" in text
    changed = int((table["before"] != table["after"])[: len(old)].sum())
    assert f"labels {changed} otherwise" in text


def test_bad_records_get_one_message(small, tmp_path):
    it, old, new = small
    residues, known = new[0][2], old[0][2]
    for bad, message in (
        ([(old[0][0], "a", residues)], "are those of records that the"),
        ([("n", "a", known)], "are the same sequence with the labels "),
        (
            [("n", "x", residues), ("o", "x", residues)],
            "the class 'x' is new and has 1 record without identical ones. It needs at least 2",
        ),
        ([("n", "a", "MK1V")], "residue 3 is '1', which the substitution matrix"),
        ([("n", "a\u200b", "MKVLA")], "has a control character"),
    ):
        fasta = write_fasta(tmp_path / "new.fasta", bad)
        labels = write_labels(tmp_path / "l.tsv", {id: (id, *more) for id, *more in bad}.values())
        with pytest.raises(InputError, match=re.escape(message)):
            update(it.model, learned_of(it), read_new(it.model, learned_of(it), fasta, labels))


def test_a_model_that_looks_at_vectors(tmp_path):
    old, new = old_and_new()
    everyone = [*old, *new]
    table = write_vectors(
        tmp_path / "v.tsv", [r[0] for r in everyone], labels=[r[1] for r in everyone]
    )
    recipe = {**LIFTED, "views": {"words": [1, 2], "vectors": True}}
    it = trained_on(tmp_path, old, config_of("sf-lsm", recipe, vectors="v.tsv"))
    fasta, labels = write_fasta(tmp_path / "new.fasta", new), write_labels(tmp_path / "n.tsv", new)
    learned = learned_of(it)
    with pytest.raises(InputError, match="looks at vectors of 4 numbers"):
        read_new(it.model, learned, fasta, labels)
    done = update(it.model, learned, read_new(it.model, learned, fasta, labels, table))
    config = config_of("sf-lsm", recipe, vectors="v.tsv")
    whole = with_given(tmp_path, everyone, config, done.model.landmark_ids)
    assert_alike(done, whole)
    one_less = pd.read_csv(table, sep="\t").iloc[:-1]
    one_less.to_csv(tmp_path / "less.tsv", sep="\t", index=False)
    with pytest.raises(InputError, match="has no vector for 1 of the"):
        read_new(it.model, learned, fasta, labels, tmp_path / "less.tsv")
    none = learned_of(trained_on(tmp_path, old, config_of("sf-lsm")))
    with pytest.raises(InputError, match="looks at no vectors"):
        read_new(it.model, none, fasta, labels, table)


@pytest.mark.parametrize("kernel", ["gaussian", "multiquadric", "edit_distance"])
def test_models_of_vectors_and_strings(tmp_path, kernel):
    old, new = old_and_new()
    objects, names = [r[2] for r in [*old, *new]], [r[1] for r in [*old, *new]]
    n, ending = len(old), "txt"
    if kernel != "edit_distance":
        X, names = points(4, each=16)
        order = np.random.default_rng(0).permutation(len(X))
        objects, names, n, ending = X[order], [names[i] for i in order], 30, "npy"

    def written(name, some):
        labels = write_labels(tmp_path / f"{name}.tsv", [(f"o{i}", names[i], "") for i in some])
        path = tmp_path / f"{name}.{ending}"
        if ending == "txt":
            path.write_text("".join(f"{objects[i]}\n" for i in some))
        else:
            np.save(path, objects[some])
        return path, labels

    def config_for(name, some):
        path, labels = written(name, some)
        source = {**vectors_source(path.name, {"name": kernel}), "labels": {"table": labels.name}}
        return configuration(source, "raw", "sf-lsm") | {"learners": LEARNERS}

    it = trained_recipe(config_for("x", np.arange(n)), tmp_path)
    it.model.save(tmp_path / "m.safetensors")
    learned_of(it).save(tmp_path / "l.safetensors", tmp_path / "m.safetensors")
    learned = Learned.load(tmp_path / "l.safetensors", it.model, tmp_path / "m.safetensors")
    new = read_new(it.model, learned, *written("new", np.arange(n, len(names))))
    done = update(it.model, learned, new)
    config = config_for("all", np.arange(len(names)))
    config |= given(tmp_path, done.model.landmark_ids)
    assert_alike(done, trained_recipe(config, tmp_path))
    assert done.alignments == 0


@pytest.mark.parametrize(
    "recipe",
    [
        {"cascade": {"loss": 0.1}},
        {"cascade": {"alignments": 40}, "views": {"words": [1, 2]}, "lift": {"kernel": "gaussian"}},
        {"cascade": {"loss": 0.1, "records": "apart"}},
    ],
    ids=["scores", "lifted", "apart"],
)
def test_new_records_join_a_cascade_and_its_levels_stay(tmp_path, recipe):
    old, new = old_and_new(12, 30, 22, 0.75)
    config = config_of("sf-lsm", recipe)
    it = trained_on(tmp_path, old, config)
    before = it.model.classifier.cascade
    assert before.levels
    assert before.machines is not None or "alignments" in recipe["cascade"]
    counting = Counting()
    done = updated_of(tmp_path, it, new, backend=counting)
    after = done.model.classifier.cascade
    stay = ("steps", "threshold", "temperature", "reject_threshold", "likeliest", "about")
    assert all(getattr(after, name) == getattr(before, name) for name in stay)
    promises = [model.classifier.about["promise"] for model in (it.model, done.model)]
    assert promises[0] == promises[1]
    known = {residues.encode() for _, _, residues in old}
    added = {s for s in done.model.landmarks if s not in it.model.landmarks}
    of_landmarks = set(it.model.landmarks) | added
    for one, other in counting.pairs:
        assert not {one, other} <= known, "old records were aligned with each other"
        assert {one, other} & of_landmarks or not {one, other} & known
    ids = tuple(id for id, _, _ in [*old, *new])
    assert done.model.record_ids == ids
    classes = np.array(done.model.classifier.classes)
    assert classes[after.records.classes].tolist() == [label for _, label, _ in [*old, *new]]
    # A new class has no records that were held out: it shares those of the others.
    sets, ours = it.model.classifier.calibration, done.model.classifier.calibration
    np.testing.assert_array_equal(ours.conformity, sets.conformity)
    np.testing.assert_array_equal(ours.wrong, sets.wrong)
    assert ours.near.closeness.tolist() == sets.near.closeness.tolist()
    assert ours.counts.tolist() == [*sets.counts[:2], 0, sets.counts[2]]
    limits, pooled = ours.limits(0.9), ours.pooled(0.9)
    assert pooled[2]
    assert len(set(limits[pooled])) == 1
    kept = ~pooled[[0, 1, 3]]
    np.testing.assert_array_equal(limits[[0, 1, 3]][kept], sets.limits(0.9)[kept])
    # The first stage and the index are those of a training on all records.
    first = config_of("sf-lsm", {**recipe, "cascade": None})
    whole = with_given(tmp_path, [*old, *new], first, done.model.landmark_ids)
    assert_alike(done, whole)
    scale = it.model.classifier.temperature / whole.model.classifier.temperature
    np.testing.assert_allclose(after.weights[0], before.weights[0] * [scale, 1, 1])
    # It comes back from its file. If all go up, a record that it knows finds itself.
    cascade = replace(after, threshold=2.0)
    asking = replace(done.model, classifier=done.model.classifier.with_parts(cascade=cascade))
    asking.save(tmp_path / "two.safetensors")
    write_fasta(tmp_path / "all.fasta", [*old, *new])
    apart = [tmp_path / "all.fasta"] if done.model.record_digests else []
    again = Model.load(tmp_path / "two.safetensors", apart)
    of_sets = Options(confidence=0.9, errors=0.2)
    table = classify_file(again, write_fasta(tmp_path / "n.fasta", new), of_sets)
    own = [label in text.split(";") for (_, label, _), text in zip(new, table["set"], strict=True)]
    assert np.mean(own) > 0.8
    right = table["label"] == [label for _, label, _ in new]
    own = np.flatnonzero(right & (table["nearest_record"] != ""))
    assert len(own) > 2
    assert table["nearest_record"][own].tolist() == [new[i][0] for i in own]
    assert (table["record_identity"][own] == 1.0).all()
