"""The model file: what is written is read back, and what is damaged or foreign is refused."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

from answering.cascades import cascade_model, related_model
from flipped_bits import each_flip
from kreinflow.base.errors import InputError
from kreinflow.classify.classification import classify_file
from kreinflow.classify.model_file import Model, final_model
from kreinflow.classify.new_objects import Options
from kreinflow.files.checksums import UNSET, seal
from small_inputs import (
    DNA,
    KINDS,
    configuration,
    families,
    fasta_source,
    lifted_model,
    model_of,
    trained_model,
    write_fasta,
)

TRANSFORMS = ("raw", "normalised", "sqrt", "log", "evalue")
LEARNERS = ("ikfd", "pcvm", "nearest", "svc")


def plain(objects="sequences", **given):
    return lambda folder: model_of(folder, objects, seed=1, **given)[0]


def lifted(kernel="gaussian", learner="ikfd"):
    return lambda folder: lifted_model(folder, kernel=kernel, learner=learner)[0]


MADE = {
    "sequences": plain(),
    "matrix": plain("dissimilarity"),
    "vectors": plain({"name": "gaussian", "width": 2.0}),
    "lifted": lifted(),
    "cascade": lambda folder: cascade_model(folder)[0],
    "cascade and relatives": lambda folder: related_model(folder)[0],
    "apart": lambda folder: cascade_model(folder, apart=True)[0],
    "cascade without words": lambda folder: cascade_model(folder, words=False)[0],
    "relatives": lambda folder: related_model(folder, False)[0],
    **{transform: plain(transform=transform) for transform in TRANSFORMS},
    **{learner: plain(learner=learner) for learner in LEARNERS},
    **{
        f"{kind} {learner}": plain(kind, transform="raw", learner=learner)
        for kind, learner in itertools.product(KINDS, ["ikfd", "nearest"])
    },
    **{name: plain({"name": name}, transform="raw") for name in ("ball", "edit_distance")},
    **{
        " ".join(given): lifted(*given)
        for given in itertools.product(("gaussian", "linear"), LEARNERS)
    },
}


@pytest.mark.parametrize("name", MADE)
def test_a_model_is_always_the_same_bytes_comes_back_and_answers_the_same(tmp_path, name):
    model = MADE[name](tmp_path)
    for again in ("one", "two"):
        model.save(tmp_path / again)
    again = Model.load(tmp_path / "one")
    again.save(tmp_path / "again")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()
    np.testing.assert_array_equal(again.landmarks, model.landmarks)
    for ids in ("record_ids", "inducing_ids", "landmark_ids", "record_digests"):
        assert getattr(again, ids) == getattr(model, ids)
    arrays, _ = parts_of(tmp_path / "one")
    assert sum(name.endswith("index_scores") for name in arrays) <= 1, "records stand twice"
    if name == "apart":
        return
    new = write_fasta(tmp_path / "n.fasta", families(7, each=20, changed=0.6))
    given = [path for path in map(tmp_path.joinpath, ("k.csv", "x.npy", "x.txt")) if path.exists()]
    new, vectors = (given or [new])[0], None
    if model.classifier.lift is not None:
        new, vectors = tmp_path / "x.fasta", tmp_path / "v.tsv"
    table = classify_file(model, new, Options(vectors=vectors))
    pd.testing.assert_frame_equal(classify_file(again, new, Options(vectors=vectors)), table)
    assert again.record_residues == model.record_residues
    if name == "cascade":
        assert set(table["stage"]) == {"first", "nearest", "pairs"}
    if "relatives" in name:
        assert set(table["reason"]) >= {"", "unknown", "no relative"}


SAVED = ("sequences", "matrix", "vectors", "lifted", "cascade", "cascade and relatives", "apart")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of models, by what they compare."""
    paths = {name: tmp_path_factory.mktemp("saved") / "model.safetensors" for name in SAVED}
    for name, path in paths.items():
        MADE[name](path.parent).save(path)
    return paths


def test_records_may_be_apart(tmp_path):
    """They are found again by what they are, whatever file they come in."""
    whole, dataset = cascade_model(tmp_path)
    new = write_fasta(tmp_path / "new.fasta", families(7, each=20, changed=0.6))
    expected = classify_file(whole, new)
    (tmp_path / "apart").mkdir()
    apart, _ = cascade_model(tmp_path / "apart", apart=True)
    path = tmp_path / "model.safetensors"
    apart.save(path)
    arrays, _ = parts_of(path)
    assert "records_index_residues" not in arrays
    assert dataset.sequences[0] not in path.read_bytes()
    alone = Model.load(path)
    assert alone.lacks_records
    plain = replace(whole, classifier=whole.classifier.with_parts(cascade=None), record_ids=())
    table = classify_file(alone, new)
    # What is promised is of the whole cascade.
    assert table["promised_error"].isna().all()
    assert expected["promised_error"].notna().any()
    assert classify_file(plain, new).assign(promised_error=np.nan).equals(table)
    assert set(table["stage"]) == {"first"}
    assert set(table["nearest_record"]) == {""}
    # In two files, in another order, in small letters, under other ids, with strangers.
    records = [(f"x{id}", label, s.lower() + "*") for id, label, s in families(7, changed=0.5)]
    records = [*records[::-1], ("stranger", "a", "MKV")]
    one = write_fasta(tmp_path / "one.fasta", records[::2])
    two = write_fasta(tmp_path / "two.fasta.gz", records[1::2])
    given = Model.load(path, records=[one, two])
    assert classify_file(given, new).equals(expected)
    assert given.record_ids == whole.record_ids
    given.save(tmp_path / "again")
    alone.save(tmp_path / "alone")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert (tmp_path / "alone").read_bytes() == path.read_bytes()
    assert classify_file(alone.with_records(dataset.sequences, "dataset"), new).equals(expected)


@pytest.mark.parametrize("where", ["model", "apart", None])
def test_a_final_model_knows_the_records_of_its_cascade(tmp_path, where):
    """Their ids and digests are those of the data set; the recipe says where they are kept."""
    model, dataset = cascade_model(tmp_path)
    records = model.classifier.cascade.records
    order = np.random.default_rng(0).permutation(30)
    recipe = {"name": "one", "cascade": {"records": where} if where else {}}
    classifier = replace(model.classifier, about={"recipe": recipe})
    shuffled = replace(records, rows=order)  # as those of a training part are
    cascade = replace(classifier.cascade, records=shuffled)
    rows = records.landmarks.tolist()
    made = final_model(
        dataset, classifier.with_parts(cascade=cascade), model.scheme, {}, {}, {}, rows
    )
    assert made.record_ids == tuple(dataset.ids[row] for row in order)
    digests = tuple(dataset.digests[row] for row in order)
    assert made.record_digests == (digests if where == "apart" else ())
    without = classifier.with_parts(cascade=None)
    plain = final_model(dataset, without, model.scheme, {}, {}, {}, rows)
    assert (plain.record_ids, plain.record_digests) == ((), ())


def test_records_that_do_not_fit_the_model(saved, tmp_path):
    records = families(7, changed=0.5)
    some = write_fasta(tmp_path / "some.fasta", [*records[:10], *records[13:]])
    with pytest.raises(InputError, match=r"some.fasta: lacks 3 of the 30 .* b0, b1, b2. Give the"):
        Model.load(saved["apart"], records=[some])
    every = write_fasta(tmp_path / "all.fasta", records)
    for name in ("sequences", "lifted", "matrix", "vectors", "cascade"):
        with pytest.raises(InputError, match=r"--records: the model needs none, .* Leave it out."):
            Model.load(saved[name], records=[every])
    with pytest.raises(InputError, match="none.fasta"):
        Model.load(saved["apart"], records=[tmp_path / "none.fasta"])


def test_what_no_view_looks_at_is_not_in_the_file(tmp_path):
    model, _ = lifted_model(tmp_path)
    lift = replace(model.classifier.lift, rates={"scores": 1.0})
    model = replace(model, classifier=replace(model.classifier, lift=lift))
    model.save(tmp_path / "model")
    arrays, _ = parts_of(tmp_path / "model")
    assert {name for name in arrays if name.startswith("lift_")} == {"lift_scores"}
    Model.load(tmp_path / "model")


def refused(path):
    with pytest.raises(InputError) as caught:
        Model.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_flipped_bit_anywhere_is_refused(saved):
    for path in saved.values():
        for damaged in each_flip(path, every=101):
            said = refused(damaged)
            assert "Copy or train a damaged one again" in said
            assert "Delete" not in said, "it may be anything of the user's"


def test_foreign_files_are_refused(saved, tmp_path):
    path, data = tmp_path / "bad.safetensors", saved["sequences"].read_bytes()
    foreign = safetensors.numpy.save({"weights": np.zeros((2, 2))}, metadata={"format": "pt"})
    huge = (2**62).to_bytes(8, "little") + data[8:]
    for content in (b"", b"GIF89a" * 100, foreign, huge):
        path.write_bytes(content)
        said = refused(path)
        assert "Give a model file that kreinflow wrote." in said
        assert "Delete" not in said, "it may be anything of the user's"
    tampered(saved["matrix"], path, lambda content, _: content.update(header=[]))
    assert "part" in refused(path)
    assert "none.safetensors: no such file" in refused(tmp_path / "none.safetensors")
    assert "Is a directory). Give a model file" in refused(tmp_path)


def parts_of(path):
    with safetensors.safe_open(path, framework="numpy") as file:
        return safetensors.numpy.load_file(path), json.loads(file.metadata()["kreinflow"])


def tampered(path, target, change):
    """Write a copy of a model with changed parts, otherwise a file as it should be."""
    arrays, content = parts_of(path)
    content["checksum"] = UNSET
    change(content, arrays)
    target.write_bytes(safetensors.numpy.save(arrays, metadata={"kreinflow": json.dumps(content)}))
    seal(target)


@pytest.mark.parametrize("name", SAVED)
def test_any_array_of_another_shape_or_type_is_refused(saved, tmp_path, name):
    path, (found, _) = tmp_path / "bad.safetensors", parts_of(saved[name])
    tampered(saved[name], path, lambda *parts: None)
    Model.load(path)  # the copy itself is good
    for array, own in found.items():
        for damaged in (
            own[:-1],
            own[..., None],
            own.astype(np.float16 if own.dtype.kind != "f" else np.int32),
        ):
            changes = {array: damaged}
            tampered(saved[name], path, lambda _, arrays, new=changes: arrays.update(new))
            if own.size:
                refused(path)


@pytest.mark.parametrize("name", ["cascade", "cascade and relatives", "apart"])
def test_a_model_of_before_seeds_says_its_version(saved, tmp_path, name):
    def as_it_was(content, _):
        header = content["header"]
        del header["classifier"]["records"]["seeds"]
        header["about"]["versions"]["kreinflow"] = "0.12.0"

    path = tmp_path / "old.safetensors"
    tampered(saved[name], path, as_it_was)
    assert refused(path) == (
        f"{path}: kreinflow 0.12.0 wrote this model, which asks training records without seeds. "
        "Train it again, or use that version."
    )


def test_the_landmarks_of_a_collapsed_sequence_have_the_first_id(tmp_path):
    records = families(4, letters=DNA, each=6)
    twins = [(f"twin{i}", label, s) for i, (_, label, s) in enumerate(records)]
    write_fasta(tmp_path / "x.fasta", [*records, *twins])
    config = configuration(
        fasta_source(molecule="nucleotide"), scoring={"matrix": "nuc44", "gap_open": 10}
    )
    model, dataset, _ = trained_model(config, tmp_path)
    assert len(dataset.digests) == len(records)
    assert set(model.landmark_ids) <= {r[0] for r in records}
    residues = {i: s.encode() for i, _, s in records}
    assert model.landmarks == tuple(residues[i] for i in model.landmark_ids)
    assert model.molecule == "nucleotide"
