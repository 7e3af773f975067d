"""A score of the user's: asked for landmark columns alone, once, after a kill too."""

import json
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kreinflow.alignment.segments import read_segment
from kreinflow.base.errors import InputError
from kreinflow.classify.model_file import PROBED, Model
from kreinflow.commands.main import main
from kreinflow.sequences.asking import CHECKED
from own_scores import asked_of, pairs_of, result, shared, write_texts
from small_inputs import configuration, families
from workflow.conftest import Workflow, read

RECORDS = families(8, each=14, changed=0.3)
TEXTS = {id: text for id, _, text in RECORDS}
PROGRAM = """
import sys
A, B = ([line.strip() for line in open(name)] for name in sys.argv[1:])
for a in A:
    for b in B:
        x, y = set(zip(a, a[1:])), set(zip(b, b[1:]))
        if x & y:
            print(a, b, 2 * len(x & y) / (len(x) + len(y)), sep="\\t")
"""


def directed(a, b):
    A, B = ([pairs_of(text) for text in side] for side in (a, b))
    return np.array([[len(x & y) / len(x) for y in B] for x in A])


def config_of(data, blocks=1):
    source = write_texts(data, RECORDS)
    config = configuration(source, transform="raw") | {"data": str(data)}
    config["alignment"]["blocks"] = blocks
    config["selectors"]["uniform"] = {"method": "uniform", "budget": 8}
    config["learners"]["epcvm"] = {"method": "ny_epcvm"}
    config["recipes"] += [
        {"name": "two", "transform": "raw", "selector": "uniform", "learner": "epcvm"}
    ]
    config["datasets"]["mine"]["recipes"] = ["one"]  # the others have two
    return config


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run over a symmetric score, and one with a direction; new objects as well."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "data").mkdir()
    config = config_of(folder / "data", blocks=2)
    mine = config["datasets"]["mine"]
    mine["source"]["score"] |= {"batch": 5}
    score = {"function": "own:directed", "kind": "asymmetric", "self": 1}
    for name, records in (("files", RECORDS), ("new", RECORDS[::5])):
        (folder / "data" / name).mkdir()
        for id, _, text in records:
            (folder / "data" / name / f"{id}.txt").write_text(text)
    there = {"source": mine["source"] | {"score": score}, "folds": {"k": 2}, "recipes": ["two"]}
    there["source"] |= {"objects": "files"}
    (folder / "data" / "program.py").write_text(PROGRAM)
    command = f"{sys.executable} {folder}/data/program.py {{a}} {{b}}"
    score = {"command": command, "missing": 0, "self": 1}
    by_program = there | {"source": mine["source"] | {"score": score}}
    config["datasets"] |= {"directed": there, "program": by_program}
    config["classify"] = {"again": {"dataset": "mine", "input": "new.csv"}}
    new = "".join(f"{id},{text}\n" for id, _, text in RECORDS[::5])
    (folder / "data" / "new.csv").write_text(f"id,object\n{new}")
    run = Workflow(folder, config)
    run.run()
    return run


def account(run, dataset="mine"):
    return json.loads(result(run, dataset, "columns", "alignments.json").read_text())


def checked(run, dataset="mine"):
    paths = result(run, dataset, "alignment").glob("*.json")
    return sum(json.loads(path.read_text())["agreed"] for path in paths)


def columns_of(run, dataset):
    union = read(result(run, dataset, "columns", "landmarks.tsv"))["row"]
    texts = [TEXTS[id] for id in read(result(run, dataset, "dataset", "records.tsv"))["id"]]
    scores = np.load(result(run, dataset, "columns", "scores.npy"))
    return scores, texts, [texts[row] for row in union]


def test_the_function_is_asked_as_often_as_the_counter_says(run):
    told, again = account(run), checked(run)
    assert 0 < again <= 4 * 2 * CHECKED  # two blocks of two stages
    # Once more by the classification: the probe, and each new object with each landmark.
    model = Model.load(result(run, "mine", "model.safetensors"))
    m, new = len(model.landmark_ids), len(RECORDS[::5])
    asked = asked_of(run)
    assert len(asked) == told["aligned"] + told["self_scores"] + again + min(PROBED, m) + new * m
    n, union = len(RECORDS), told["landmarks_of_all_folds"]
    assert told["self_scores"] == n
    assert told["aligned"] <= n * union + 14 * n  # at most all members of a class with each other
    logs = "".join(path.read_text() for path in result(run, "mine", "logs").glob("c*s.?.log"))
    assert logs.count("own:shared was asked for") == 4
    page = result(run, "report.html").read_text()
    assert f"The run asked for {told['aligned']:,} pairs" in page
    in_all = told["aligned"] + told["self_scores"] + again
    assert (
        f"and {again} pairs again, to see that a pair always has one score: {in_all:,} in all"
        in page
    )
    assert "compared by the similarity of the function own:shared, version 1" in page
    assert "new.csv --score own:shared" in page


def test_columns_are_what_the_function_says(run):
    scores, texts, landmarks = columns_of(run, "mine")
    np.testing.assert_array_equal(scores, shared(texts, landmarks))
    assert np.load(result(run, "mine", "columns", "self_scores.npy")).tolist() == [1.0] * 42
    scores, texts, landmarks = columns_of(run, "directed")
    both = np.hstack([directed(texts, landmarks), directed(landmarks, texts).T])
    np.testing.assert_array_equal(scores, both)
    told = account(run, "directed")
    n, m = len(texts), len(landmarks)
    assert told["aligned"] == 2 * (n * m - m * m) + m * (m - 1)
    assert (told["self_scores"], told["full_matrix"]) == (0, n * (n - 1))
    for dataset in ("mine", "directed"):
        summary = read(result(run, dataset, "evaluation", "summary.tsv"))
        assert summary["accuracy_mean"].min() > 0.8


def test_after_a_kill_nothing_that_was_kept_is_asked_again(tmp_path, run):
    data = tmp_path / "data"
    data.mkdir()
    config = config_of(data)
    config["datasets"]["mine"]["source"]["score"] |= {"batch": 5}
    killed, wanted = Workflow(tmp_path, config), ("--", "results/mine/columns/scores.npy")
    (data / "slow").touch()
    done = killed.run(*wanted, check=False)
    assert done.returncode == 1
    kept = 0
    for path in result(killed, "mine", "scores").rglob("*.safetensors"):
        arrays = read_segment(path, path.parents[1].name + account(run)["store"][16:])
        kept += np.count_nonzero(~np.isnan(arrays["scores"])) + arrays["self_scores"].size
    before = asked_of(killed)
    assert 0 < kept < len(before)
    killed.run(*wanted, cores="1")
    told = account(killed)
    asked = asked_of(killed)
    jobs = sorted(result(killed, "mine", "alignment").glob("*.json"))
    again = sum(json.loads(path.read_text())["agreed"] for path in jobs)
    assert len(asked) - len(before) <= told["aligned"] + told["self_scores"] - kept + again
    # What is asked more than once was checked, or in flight when the process was killed.
    twice = sum(n - 1 for n in Counter(frozenset(line.split()) for line in asked).values())
    assert twice <= 3 * 2 * CHECKED + len(before) - kept
    killed.assert_same(run, "scores.npy", "self_scores.npy", "alignments.json")


def classify(run, *arguments):
    model, new = result(run, "mine", "model.safetensors"), run.folder / "data" / "new.csv"
    return main(["classify", str(model), str(new), *arguments])


def test_new_objects_are_classified_if_the_user_names_the_function(run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.folder / "data")
    assert classify(run, "--score", "own:shared", "-o", str(tmp_path / "new.tsv")) == 0
    found = (tmp_path / "new.tsv").read_bytes()
    assert found == result(run, "mine", "classified", "again.tsv").read_bytes()
    table = read(tmp_path / "new.tsv").set_index("id")
    labels = pd.Series({id: label for id, label, _ in RECORDS})
    assert (table["label"] == labels[table.index]).mean() > 0.8


def test_new_files_are_those_of_a_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.folder / "data")
    model, out = result(run, "directed", "model.safetensors"), tmp_path / "out.tsv"
    assert main(["classify", str(model), "new", "--score", "own:directed", "-o", str(out)]) == 0
    table = read(out)
    assert table["id"].tolist() == sorted(id for id, _, _ in RECORDS[::5])
    labels = {id: label for id, label, _ in RECORDS}
    assert (table["label"] == table["id"].map(labels)).mean() > 0.8


def test_a_model_file_runs_nothing_by_itself(run, capsys, monkeypatch):
    monkeypatch.chdir(run.folder / "data")
    before = asked_of(run)
    assert classify(run) == 2
    assert "Say that it may be asked: --score own:shared" in capsys.readouterr().err
    assert classify(run, "--score", "own:directed") == 2
    said = capsys.readouterr().err
    assert "--score own:directed: the model was trained with the function own:shared" in said
    assert asked_of(run) == before
    model = Model.load(result(run, "directed", "model.safetensors"))
    assert (model.kernel["function"], model.asked) == ("own:directed", None)


def test_another_version_of_the_function_is_refused(run, tmp_path):
    model = Model.load(result(run, "mine", "model.safetensors"))
    other = tmp_path / "own_other.py"
    other.write_text("def f(a, b):\n    return [[0.5] * len(b)] * len(a)\n")
    named = replace(model, kernel=dict(model.kernel) | {"function": "own_other:f"})
    message = r"own_other:f: the score of the landmarks \w+ and .* Give the code of that version"
    with pytest.raises(InputError, match=message):
        named.asking("own_other:f", [tmp_path])


def test_explanation_and_update_ask_too(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(run.folder / "data")
    model, data = result(run, "mine", "model.safetensors"), run.folder / "data"
    new = str(data / "new.csv")
    assert main(["explain", str(model), new, "--id", "a0", "--score", "own:shared"]) == 0
    assert "a0" in capsys.readouterr().out
    more = families(8, each=17, changed=0.3)
    fresh = [record for record in more if record[0] not in TEXTS]
    lines = [f"{id},{text},{label}\n" for id, label, text in fresh]
    (tmp_path / "more.csv").write_text("id,object,label\n" + "".join(lines))
    updated = tmp_path / "updated.safetensors"
    command = ["update", str(model), str(tmp_path / "more.csv"), "-o", str(updated)]
    command += ["--labels", str(tmp_path / "more.csv")]
    assert main(command) == 2
    assert "--score own:shared" in capsys.readouterr().err
    before = len(asked_of(run))
    assert main([*command, "--score", "own:shared"]) == 0
    loaded = Model.load(updated)
    m = len(loaded.landmark_ids)
    asked = len(asked_of(run)) - before
    assert asked == min(PROBED, m) + len(fresh) * (m + 1) + 2 * CHECKED
    assert loaded.asking("own:shared", [data]).asked is not None
    assert loaded.about["records"] == len(RECORDS) + len(fresh)


def test_the_check_asks_for_a_sample(run, capsys):
    folder = run.folder
    before = len(asked_of(run))
    assert main(["check", str(folder / "config.yaml")]) == 0
    said = capsys.readouterr().out
    assert "pairs to ask for" in said
    assert "the function own:shared takes" in said
    assert len(asked_of(run)) - before < 2000


def test_a_program_gives_the_scores_that_its_function_gives(run, tmp_path, capsys):
    program, texts, landmarks = columns_of(run, "program")
    np.testing.assert_array_equal(program, shared(texts, landmarks))
    model, new = result(run, "program", "model.safetensors"), run.folder / "data" / "new.csv"
    assert main(["classify", str(model), str(new), "-o", str(tmp_path / "out.tsv")]) == 2
    assert "which no file may start" in capsys.readouterr().err
    arguments = ["--score", Model.load(model).kernel["command"], "-o", str(tmp_path / "out.tsv")]
    assert main(["classify", str(model), str(new), *arguments]) == 0
    labels = [label for _, label, _ in RECORDS[::5]]
    assert (read(tmp_path / "out.tsv")["label"] == labels).mean() > 0.8
