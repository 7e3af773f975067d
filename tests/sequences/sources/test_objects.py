import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.sequences.dataset import read_dataset, write_dataset
from kreinflow.sequences.sources.registry import make_source
from own_scores import write_texts
from small_inputs import configuration, families

RECORDS = [*families(3, each=4), ("twin", "a", families(3, each=4)[0][2])]


def completed(source, **more):
    return complete_configuration(configuration(source, transform="raw", **more))


def load(source, folder):
    settings = completed(source)["datasets"]["mine"]["source"]
    made = make_source(settings, folder)
    made.check()
    return made.load(None, 1)


def test_texts_of_a_table(tmp_path):
    dataset = load(write_texts(tmp_path, RECORDS), tmp_path)
    assert dataset.ids == tuple(id for id, _, _ in RECORDS)
    assert len(dataset.digests) == len(RECORDS) - 1
    assert dataset.payload.objects.tolist() == [text for _, _, text in RECORDS[:-1]]
    assert (dataset.kind, dataset.payload.free, dataset.payload.what) == (
        "similarity",
        False,
        "object",
    )
    write_dataset(tmp_path / "kept", dataset)
    again = read_dataset(tmp_path / "kept")
    assert again.payload.kernel_settings == dataset.payload.kernel_settings
    assert again.payload.objects.tolist() == dataset.payload.objects.tolist()
    assert again.first_ids == [id for id, _, _ in RECORDS[:-1]]


def test_texts_of_several_columns(tmp_path):
    """A record may lack a field; the texts of two that lack another one differ."""
    table = [("r1", "CAV", "CAS"), ("r2", "", "CAV"), ("r3", "CAV", ""), ("r4", "CAS", "CAV")]

    def read(rows, **more):
        text = "".join(f"{id},{one},{two},{'xy'[i % 2]}\n" for i, (id, one, two) in enumerate(rows))
        (tmp_path / "t.csv").write_text(f"id,cdr3a,cdr3b,label\n{text}")
        source = {"type": "objects", "objects": "t.csv", "labels": {"table": "t.csv"}}
        source["score"] = {"function": "own:shared", "kind": "similarity"}
        return load(source | {"object_column": ["cdr3a", "cdr3b"]} | more, tmp_path)

    dataset = read(table)
    assert dataset.ids == ("r1", "r2", "r3", "r4")
    assert dataset.payload.objects.tolist() == ["CAV|CAS", "|CAV", "CAV|", "CAS|CAV"]
    one = read([(id, "", f"CA{id}") for id, *_ in table], object_column=["cdr3b"])
    assert one.payload.objects.tolist() == ["CAr1", "CAr2", "CAr3", "CAr4"]
    for wrong in (("r5", "", ""), ("r5", "CA|V", "CAS")):
        with pytest.raises(InputError, match=r"csv, r5: the columns cdr3a, cdr3b are all empty,"):
            read([*table, wrong])
    with pytest.raises(InputError, match="id 'r1' stands twice"):
        read([*table, table[0]])
    with pytest.raises(InputError, match="column 'light' is missing; it has id, cdr3a"):
        read(table, object_column=["cdr3a", "light"])


def test_lines_files_and_arrays(tmp_path):
    source = write_texts(tmp_path, RECORDS)
    source["labels"] = {"lines": "labels.txt"}
    (tmp_path / "labels.txt").write_text("".join(f"{label}\n" for _, label, _ in RECORDS))
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for _, _, text in RECORDS))
    lines = load(source | {"objects": "texts.txt"}, tmp_path)
    assert lines.ids == tuple(map(str, range(1, len(RECORDS) + 1)))
    (tmp_path / "files").mkdir()
    for number, (_, _, text) in enumerate(RECORDS):
        (tmp_path / "files" / f"f{number:02}.txt").write_text(text)
    files = load(source | {"objects": "files"}, tmp_path)
    assert files.ids == tuple(f"f{number:02}" for number in range(len(RECORDS)))
    assert files.payload.objects[1] == str(tmp_path / "files" / "f01.txt")
    assert len(files.digests) == len(RECORDS) - 1  # two files have one content
    (tmp_path / "list.txt").write_text("\n".join(f"files/{id}.txt" for id in files.ids))
    listed = load(source | {"objects": "list.txt", "files": True}, tmp_path)
    assert listed.payload.objects.tolist() == files.payload.objects.tolist()
    assert listed.digests == files.digests
    X = np.random.default_rng(5).normal(size=(len(RECORDS), 4))
    np.save(tmp_path / "x.npy", X)
    arrays = load(source | {"objects": "x.npy"}, tmp_path)
    np.testing.assert_array_equal(arrays.payload.objects, X)
    assert arrays.payload.kernel_settings["objects"] == "arrays"
    (tmp_path / "files" / "f01.tsv").write_text("x")
    with pytest.raises(InputError, match="several files are called f01 but for their endings"):
        load(source | {"objects": "files"}, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": {}}, "source.score: give exactly one of function"),
        ({"score": {"function": "own"}}, "score.function: 'own' is none. Write package.module"),
        ({"score": {"function": "own:f", "kind": "distance"}}, "'distance' is none of similarity"),
        ({"score": {"function": "own:f", "objects": "texts"}}, "unknown key 'objects'"),
        ({"score": {"function": "own:f", "batch": 0}}, "0 is not at least 1"),
    ],
)
def test_settings_that_are_wrong(change, message, tmp_path):
    with pytest.raises(InputError, match=message):
        completed(write_texts(tmp_path, RECORDS) | change)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("texts.csv", "texts.csv: column 'object' is missing"),
        ("texts.dat", "the ending '.dat' is not one of a table"),
        ("empty", "has no files in it"),
    ],
)
def test_objects_that_cannot_be_read(file, message, tmp_path):
    source = write_texts(tmp_path, RECORDS) | {"objects": file}
    (tmp_path / "empty").mkdir()
    for name in ("texts.csv", "texts.dat"):
        (tmp_path / name).write_text("id,text,label\na,b,c\n")
    with pytest.raises(InputError, match=message):
        load(source, tmp_path)


def test_few_landmarks_are_tried_where_the_score_is_the_users(tmp_path):
    source = write_texts(tmp_path, RECORDS)
    config = {"datasets": {"mine": {"source": source, "folds": {"k": 2}}}}
    done = complete_configuration(config)
    assert {r["selector"] for r in done["recipes"]} == {"own-given-few", "own-given-some"}
    directed = source | {"score": {"function": "own:directed", "kind": "asymmetric"}}
    config = {"datasets": {"mine": {"source": directed, "folds": {"k": 2}}}}
    methods = {s["method"] for s in complete_configuration(config)["selectors"].values()}
    assert methods == {"uniform"}


def test_a_command_has_its_keys_and_reads_no_arrays(tmp_path):
    source = write_texts(tmp_path, RECORDS)
    score = {"command": "program {a} {b}", "reads": "fasta", "missing": 0}
    done = completed(source | {"score": score})["datasets"]["mine"]["source"]
    asked = make_source(done, tmp_path).asked
    assert (asked["name"], asked["command"]) == ("command", "program {a} {b}")
    assert (asked["missing"], asked["objects"], "function" in asked) == (0, "texts", False)
    np.save(tmp_path / "x.npy", np.ones((13, 2)))
    for change, message in (
        ({"objects": "x.npy"}, "score.command: compares no arrays"),
        ({"score": {"command": "program {b}"}}, "score.command: {a} does not stand in it"),
        ({"score": score | {"function": "own:shared"}}, "exactly one of function, command"),
    ):
        with pytest.raises(InputError, match=message):
            completed(source | {"score": score} | change)


@pytest.mark.parametrize(
    ("cascade", "score", "message"),
    [
        (
            {},
            {"kind": "asymmetric"},
            "and a score of your own without a direction are asked",
        ),
        ({"records": "apart"}, {}, "has a cascade with records apart, but only sequences may be"),
        ({"alignments": 30}, {}, None),
        ({}, {"kind": "dissimilarity"}, None),
    ],
)
def test_cascades_over_a_score_of_the_users(cascade, score, message, tmp_path):
    source = write_texts(tmp_path, [("a", "x", "aab"), ("b", "y", "abb")])
    source["score"] |= score
    recipe = {"cascade": cascade, "correction": "none", "learner": "lsm"}
    config = configuration(source, transform="raw", recipe=recipe)
    config["learners"]["lsm"] = {"method": "sf_lsm"}
    config["selectors"]["meb"] = {"method": "uniform", "budget": 2}
    if message is None:
        assert complete_configuration(config)["recipes"][0]["cascade"]["records"] == "model"
        return
    with pytest.raises(InputError, match=message):
        complete_configuration(config)
