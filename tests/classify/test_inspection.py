"""What a model says of itself, and its landmarks as a file that can be read again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from answering.cascades import cascade_model, related_model
from kreinflow.base.errors import InputError
from kreinflow.classify.inspection import describe_model, description_text, exported_landmarks
from kreinflow.classify.model_file import Model
from kreinflow.fitting.reject_threshold import NOTHING_ACCEPTED
from kreinflow.kernels.registry import make_kernel
from kreinflow.sequences.fasta import read_fasta
from kreinflow.sequences.matrix_files import read_objects
from small_inputs import lifted_model, model_of

OBJECTS = {
    "sequences": ("sequences", ["landmarks", "scheme", "molecule"]),
    "matrix": ("similarity", ["matrix_kind"]),
    "vectors": ({"name": "gaussian"}, ["landmarks", "kernel"]),
    "strings": ({"name": "edit_distance"}, ["landmarks", "kernel"]),
}


def saved_and_loaded(kind, folder):
    model, *_ = model_of(folder, OBJECTS[kind][0])
    model.save(folder / "model.safetensors")
    return Model.load(folder / "model.safetensors")


@pytest.mark.parametrize("kind", OBJECTS)
def test_a_model_is_described(tmp_path, kind):
    model = saved_and_loaded(kind, tmp_path)
    parts = ("landmarks", "scheme", "kernel", "matrix_kind", "molecule")
    assert [part for part in parts if getattr(model, part) is not None] == OBJECTS[kind][1]
    content = describe_model(model)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["objects"] == kind
    assert content["records"] == 30
    assert list(content["classes"]) == ["a", "b", "c"]
    assert sum(content["classes"].values()) == content["landmarks"] == len(model.landmark_ids)
    factor = content["factor"]
    assert factor["positive"] + factor["negative"] + factor["zero"] == 30
    assert 0 < factor["positive"] + factor["negative"] <= factor["rank"]
    assert content["recipe"]["name"] == "one"
    assert content["learner"]["method"] == "ny_ikfd"
    assert content["training"]["reject_threshold"] == content["reject_threshold"]
    assert "numpy" in content["versions"]
    assert (content["scoring"] is None) == (kind != "sequences")
    text = description_text(content)
    lines = {f"objects: {kind}", "classes: 3, with their landmarks", "decision: linear"}
    lines |= {f"  negative: {factor['negative']}", "  error: 0.05", "  confidence: 0.9"}
    assert lines <= set(text.splitlines())
    assert "None" not in text


def test_a_lifted_model_says_its_views_and_what_they_are_worth(tmp_path):
    model, _ = lifted_model(tmp_path, inducing=12)
    model.save(tmp_path / "model.safetensors")
    content = describe_model(Model.load(tmp_path / "model.safetensors"))
    lift = content["lift"]
    rates = model.classifier.lift.rates
    assert lift == {
        "kernel": "gaussian",
        "inducing_points": 12,
        "rates": dict(rates),
        "accuracy_lost_without": model.about["training"]["views"],
        "word_lengths": [1, 2],
        "vector_numbers": 4,
    }
    assert "views" not in content["training"]
    assert "width_words" in content["training"]["hyper_parameters"]


FIRST = ("decision", "best_seeds", "share_of_seeds")
NEAREST = (*FIRST, "best_evidence", "mean_evidence", "share")
FEATURES_OF_LEVELS = FIRST, NEAREST, NEAREST, ("log_probability", "votes")


@pytest.mark.parametrize("apart", [False, True])
def test_a_model_with_a_cascade_says_its_levels_and_whom_it_asks(tmp_path, apart):
    model, dataset = cascade_model(tmp_path, apart=apart)
    path = tmp_path / "model.safetensors"
    model.save(path)
    without = replace(model, classifier=model.classifier.with_parts(cascade=None), record_ids=())
    replace(without, record_digests=()).save(tmp_path / "without")
    more = path.stat().st_size - (tmp_path / "without").stat().st_size
    content = describe_model(Model.load(path))
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    found = content["cascade"]
    assert 0.3 * more < found.pop("bytes") < more
    assert found.pop("evidence")["name"] == "evalue"
    names = ["first", "nearest 2", "nearest 5", "pairs of 3"]
    weights = model.classifier.cascade.weights
    assert found == {
        "asked_for": {"loss": 0.001},
        "levels": names[1:],
        "weights": {
            name: dict(zip(features, own.tolist(), strict=True))
            for name, features, own in zip(names, FEATURES_OF_LEVELS, weights, strict=True)
        },
        "threshold": 0.9,
        "temperature": 1.1,
        "reject_threshold": 0.6,
        "machines": 2,
        "records": 30,
        "residues": "apart" if apart else sum(map(len, dataset.sequences)),
    }
    assert "  levels: nearest 2, nearest 5, pairs of 3\n" in description_text(content)


@pytest.mark.parametrize("whose", ["first stage", "cascade"])
def test_the_promise_of_a_cascade_is_that_of_all_its_levels(tmp_path, whose):
    model, _ = cascade_model(tmp_path)
    first, nothing = model.classifier, {"reject_threshold": NOTHING_ACCEPTED}
    if whose == "cascade":
        first = first.with_parts(cascade=replace(first.cascade, **nothing))
    else:
        first = replace(first, **nothing)
    about = {**first.about, "promise": {"error": None, "curve": []}}
    told = describe_model(replace(model, classifier=replace(first, about=about)))["reject"] or {}
    assert ("promised" in told) == (whose == "cascade")


def test_what_can_be_promised_is_told_share_by_share(tmp_path):
    model = saved_and_loaded("sequences", tmp_path)
    point = {"share": 0.5, "threshold": 0.75, "wrong": 0.08, "at_most": 0.123, "accepted": 0.51}
    about = model.classifier.about | {"promise": {"error": 0.123, "curve": [point]}}
    told = describe_model(replace(model, classifier=replace(model.classifier, about=about)))
    assert told["reject"]["promised"] == 0.123
    text = "8.0 % wrong on inner folds, at most 12.3 %, from 0.75"
    assert told["promises"] == {"accept the surest 50 %": text}
    assert f"promises:\n  accept the surest 50 %: {text}\n" in description_text(told)


def test_what_the_recipe_was_chosen_for_is_told_in_words(tmp_path):
    model = saved_and_loaded("matrix", tmp_path)
    training = dict(model.about["training"])
    plain = describe_model(model)
    assert plain["choice"] is None
    for other, more in (("two", {"with_prefer_accuracy": "two"}), (training["recipe"], {})):
        chosen = training | {"prefer": "cheap", "if_accuracy": other}
        content = describe_model(replace(model, about=dict(model.about) | {"training": chosen}))
        assert content == {**plain, "choice": {"prefer": "cheap", **more}}


def export(model, path):
    content = exported_landmarks(model, str(path))
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_landmarks_are_exported_and_read_again(tmp_path):
    model = saved_and_loaded("sequences", tmp_path)
    export(model, tmp_path / "landmarks.fasta")
    records = list(read_fasta(tmp_path / "landmarks.fasta"))
    assert tuple(r.id for r in records) == model.landmark_ids
    assert tuple(r.residues for r in records) == model.landmarks
    classes = [model.classifier.classes[code] for code in model.classifier.landmark_classes]
    assert [r.header.split(" class=")[1] for r in records] == classes

    model = saved_and_loaded("vectors", tmp_path)
    for name in ("landmarks.npy", "landmarks.csv", "landmarks.tsv"):
        export(model, tmp_path / name)
        read = read_objects(tmp_path / name, make_kernel(model.kernel))
        np.testing.assert_array_equal(read.values, model.landmarks)
        assert read.ids == (None if name.endswith("npy") else model.landmark_ids)
    with pytest.raises(InputError, match=r"landmarks\.fasta: the landmarks are vectors \(2 feat"):
        export(model, tmp_path / "landmarks.fasta")

    model = saved_and_loaded("strings", tmp_path)
    export(model, tmp_path / "landmarks.txt")
    read = read_objects(tmp_path / "landmarks.txt", make_kernel(model.kernel))
    assert read.values.tolist() == model.landmarks.tolist()

    with pytest.raises(InputError, match="a model of a matrix has the ids of its landmarks only"):
        export(saved_and_loaded("matrix", tmp_path), tmp_path / "landmarks.csv")


def test_it_tells_what_is_known_of_unknown_objects(tmp_path):
    model, _ = related_model(tmp_path)
    assert describe_model(model)["unknown"] is None
    shares = {"off": False, "known_rejected": 0.015, "shuffled": 200, "shuffled_accepted": 0.01}
    about = {"false_alarms": 0.05, "calibrating": 60, "would_be_found": 0.83}
    about["no_relative"] = {**shares, "near": np.log(1e4), "far": np.log(1e5)}
    relatives = replace(model.classifier.relatives, needed=np.array([0.25, 0.5, np.inf]))
    classifier = model.classifier.with_parts(relatives=relatives)
    classifier = replace(classifier, about={**classifier.about, "unknown": about})
    content = describe_model(replace(model, classifier=classifier))
    found = content["unknown"]
    assert found["no_relative"].pop("geometric_mean_of_3_best_evalues_at_least") == pytest.approx(
        {"with_10_nearest_records": 1e-4, "with_40_nearest_records": 1e-5}
    )
    assert found.pop("likeness_of_levels") == [0.25, 0.5, None]
    expected = {"records": 30, "reject_threshold_of_sureness": 0.35, **about}
    assert found == {**expected, "no_relative": shares}
    assert "  would be found: 0.83" in description_text(content)


def test_labels_in_braces_are_no_figures():
    text = description_text({"pairs": ["{a", "{b}"], "training": {"views": '{"words": 0.5}'}})
    assert "pairs: {a, {b}\n" in text
    assert "views: words 0.5\n" in text
