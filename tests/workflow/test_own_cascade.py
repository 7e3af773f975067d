"""Cascades and unknown objects over a score of the user's: what they ask, and what they answer."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from kreinflow.alignment.segments import asked_for
from kreinflow.answering.query_and_answers import NEAREST, Query
from kreinflow.classify.model_file import PROBED, Model
from kreinflow.classify.new_objects import Options, score_new
from kreinflow.commands.main import main
from kreinflow.fitting.fold_models import load_fold_model
from own_scores import asked_of, result, shared, write_texts
from small_inputs import configuration, families
from workflow.conftest import Workflow, read

RECORDS = families(8, classes="abcd", each=22, changed=0.5)
TEXTS = {id: text for id, _, text in RECORDS}
APART = """

def apart(a, b):
    return 1 - shared(a, b)


def far(a, b):
    return np.array([[np.sqrt(((x - y) ** 2).sum()) for y in b] for x in a])
"""


def config_of(data):
    """Texts by a similarity, by a dissimilarity with a class held out, and arrays."""
    source = write_texts(data, RECORDS)
    # A module of its own name, and no other here: another test imports one called own.
    (data / "own.py").rename(data / "ours.py")
    with (data / "ours.py").open("a") as file:
        file.write(APART)
    source["score"] = {"function": "ours:shared"}
    config = configuration(source, transform="raw", unknown={"false_alarms": 0.1})
    config["data"] = str(data)
    config["selectors"]["few"] = {"method": "uniform", "budget": 8}
    recipe = {"transform": "raw", "selector": "few", "learner": "ikfd"}
    config["recipes"] = [
        recipe | {"name": "asks", "cascade": {"loss": 0.05}},
        recipe | {"name": "near", "learner": "nearest", "cascade": {"alignments": 24}},
        recipe | {"name": "first"},
        recipe | {"name": "looks", "cascade": {"alignments": 24}, "views": {"vectors": True}},
    ]
    config["datasets"]["mine"] |= {"recipes": ["asks", "first"], "final": "asks"}
    score = {"function": "ours:apart", "kind": "dissimilarity"}
    more = {"folds": {"k": 2}, "recipes": ["near"], "source": source | {"score": score}}
    X = np.random.default_rng(3).normal(size=(60, 3)) + 1.5 * (np.arange(60) % 3)[:, None]
    np.save(data / "x.npy", X)
    (data / "y.txt").write_text("\n".join("abc"[i % 3] for i in range(60)))
    arrays = {"objects": "x.npy", "labels": {"lines": "y.txt"}}
    arrays["score"] = score | {"function": "ours:far"}
    config["datasets"]["apart"] = more | {"unknown": ["d"]}
    config["datasets"]["arrays"] = more | {"source": source | arrays, "recipes": ["looks"]}
    config["datasets"]["arrays"]["vectors"] = "v.tsv"
    rows = [f"{number}\t{x[0]}\t{x[1]}\n" for number, x in enumerate(X, 1)]
    (data / "v.tsv").write_text("id\tone\ttwo\n" + "".join(rows))
    return config


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "data").mkdir()
    run = Workflow(folder, config_of(folder / "data"))
    run.run()
    return run


def test_the_function_is_asked_as_often_as_the_logs_say(run):
    told, again = Counter(), 0
    for dataset in ("mine", "apart"):
        for path in result(run, dataset, "logs").glob("*.log"):
            for pairs, twice in re.findall(r"asked for ([\d,]+) pairs, (\d+) of", path.read_text()):
                told[path.name.split(".")[0]] += int(pairs.replace(",", ""))
                again += int(twice)
        held = re.findall(
            r"aligned=(\d+).*agreed=(\d+)",
            "".join(p.read_text() for p in result(run, dataset, "logs").glob("unknown_s*.log")),
        )
        for aligned, twice in held:  # a dissimilarity is not asked for an object alone
            told["held out"] += int(aligned) + int(twice)
            again += int(twice)
    asked = asked_of(run)
    assert min(told["model"], told["unknown"], told["held out"]) > 0
    assert len(asked) == told.total()
    # Of the two functions each pair is asked for once, but for those that are checked.
    n = len(RECORDS)
    assert len(asked) - again <= 2 * n * (n - 1) / 2 + n
    text = result(run, "report.html").read_text()
    assert "Cascades looked at" in text
    counts = re.findall(r"one score: ([\d,]+) in all\.", text)
    apart, _, mine = (int(count.replace(",", "")) for count in counts)
    assert mine + apart == len(asked)
    assert "A query is compared with" in text
    assert "arsinh" in text


@pytest.mark.parametrize(
    ("dataset", "recipe", "kind"), [("mine", "asks", "similarity"), ("apart", "near", "apart")]
)
def test_predictions_are_those_of_a_loop_over_the_full_matrix(run, dataset, recipe, kind):
    texts = read(result(run, dataset, "dataset", "distinct.tsv"))["sequence"].tolist()
    S = shared(texts, texts) if kind == "similarity" else (1 - shared(texts, texts)) ** 2
    if kind == "apart":
        np.fill_diagonal(S, 0.0)
    records = read(result(run, dataset, "dataset", "records.tsv")).set_index("id")
    table = read(result(run, dataset, "predictions", "few", "r0f0.tsv.gz"))
    table = table[table["recipe"] == recipe]
    rows = records.loc[table["id"], "row"].to_numpy()
    model = load_fold_model(result(run, dataset, "models", "few", "r0f0.safetensors"), recipe)
    landmarks = read(result(run, dataset, "landmarks", "few", "r0f0.tsv"))["row"].to_numpy()
    cascade, k = model.cascade, len(model.classes)
    assert cascade.steps
    none, asked_rows = np.zeros(1), cascade.records.rows
    known = [i for i, row in enumerate(asked_rows) if row in landmarks]
    unit = np.median(np.abs(S[np.ix_(landmarks, landmarks)][~np.eye(len(landmarks), dtype=bool)]))
    sign, answered = 1 if kind == "similarity" else -1, Counter()
    for row, (_, told) in zip(rows, table.iterrows(), strict=True):
        query = Query(S[[row]][:, landmarks], none, none)
        f, u = model.decision_function(query)[0], model.landmark_rows(query)
        near = cascade.records.index.nearest(u, None, len(asked_rows))[0]
        p, stage = softmax(cascade.weights[0][0] * f), 0
        for level, weights in zip(cascade.levels, cascade.weights[1:], strict=True):
            if p.max() >= cascade.threshold:
                break
            features, votes = np.zeros((k, 6)), np.zeros(k)
            if level.stage == NEAREST:
                around = [*near[: level.asks], *known]
                features[:, 0] = f
                for c in range(k):
                    own = sorted({i for i in around if cascade.records.classes[i] == c})
                    said = np.arcsinh(sign * S[row, asked_rows[own]] / unit)
                    features[c, 3:5] = (said.max(), said.mean()) if own else (0.0, 0.0)
                    features[c, 5] = len(own) / level.asks
            else:
                votes, any_machine = votes_of(cascade, p, S[row, asked_rows], u[0])
                if not any_machine:
                    break
                features = np.stack([np.log(np.maximum(p, 1e-12)), votes], axis=1)
            p, stage = softmax(features @ weights), level.stage
        answered[stage] += 1
        p = softmax(np.log(np.maximum(p, 1e-12)) / cascade.temperature)
        np.testing.assert_allclose([told[f"p_{c}"] for c in model.classes], p, atol=1e-9)
    assert answered[NEAREST] > 0


def votes_of(cascade, p, scores, landmarks):
    """The sums of tanh of the machines of the likeliest classes, and whether there is one."""
    likeliest = set(np.argsort(-p, kind="stable")[: cascade.likeliest].tolist())
    machines, votes, start, found = cascade.machines, np.zeros(len(p)), 0, False
    for number, (a, b) in enumerate(machines.pairs.tolist()):
        own = np.flatnonzero(np.isin(cascade.records.classes, (a, b)))
        weights = machines.pair_member_weights[start : start + len(own)]
        start += len(own)
        if {a, b} <= likeliest:
            g = scores[own] @ weights + landmarks @ machines.pair_landmark_weights[number]
            g = np.tanh(g + machines.pair_intercepts[number])
            votes[a], votes[b], found = votes[a] + g, votes[b] - g, True
    return votes, found


def test_bytes_do_not_depend_on_cores_nor_on_a_kill(run, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    killed = Workflow(tmp_path, config_of(data))
    killed.run("--", "results/mine/columns/scores.npy")
    (data / "slow").touch()
    done = killed.run("--", "results/mine/models/few/all.safetensors", check=False)
    assert done.returncode == 1
    assert list(result(killed, "mine", "scores").glob("*/pairs/segment_*"))
    (data / "slow").unlink()
    wanted = "results/mine/model.safetensors", "results/mine/predictions/few/r0f0.tsv.gz"
    killed.run("--", *wanted, cores="1")
    names = "model.safetensors", "r0f0.tsv.gz", "r0f0.tsv", "r0f0.safetensors"
    killed.assert_same(run, *names)


def test_the_check_tells_pairs_and_scores_of_a_new_object(run, capsys):
    assert main(["check", str(run.folder / "config.yaml")]) == 0
    said, err = capsys.readouterr()
    assert "nothing is tested" not in err
    (pairs, more), *_ = re.findall(
        r"mine: about ([\d,]+) pairs to ask for, ([\d,]+) of them by", said
    )
    pairs, more = (int(count.replace(",", "")) for count in (pairs, more))
    n = len(RECORDS)
    assert pairs <= n * (n + 1) / 2 + 100
    store = json.loads(result(run, "mine", "columns", "alignments.json").read_text())
    told = asked_for(result(run, "mine", "scores", store["store"][:16]), store["store"])
    assert 0.6 < told["pairs"] / pairs < 1.6
    assert 0.6 < (told["pairs"] - store["aligned"]) / more < 1.6
    assert "mine: a new object takes about 8 scores (asks), and up to" in said
    assert re.search(r"pairs an hour, so they take \d+ minutes? on one core", said)


def test_new_objects_are_answered_as_the_records_of_a_fold(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(run.folder / "data")
    path, new = result(run, "mine", "model.safetensors"), tmp_path / "new.csv"
    new.write_text("id,object\n" + "".join(f"{id},{t}\n" for id, _, t in RECORDS[::7]))
    more = ["--evidence", str(tmp_path / "evidence.tsv"), "--confidence", "0.9"]
    command = ["classify", str(path), str(new), "--score", "ours:shared", *more]
    before = len(asked_of(run))
    assert main([*command, "-o", str(tmp_path / "one.tsv"), "--threads", "1"]) == 0
    table = read(tmp_path / "one.tsv").set_index("id")
    model = Model.load(path)
    evidence = read(tmp_path / "evidence.tsv")
    more = int(re.search(r"(\d+) more alignments", capsys.readouterr().err)[1])
    pairs = min(PROBED, len(model.landmark_ids)) + table["alignments"].sum() + more
    assert len(asked_of(run)) - before == pairs
    # What the model says if a dense matrix answers.
    ids, everyone = list(model.record_ids), [TEXTS[id] for id in model.record_ids]
    S = shared([TEXTS[id] for id in table.index], everyone)
    columns = [ids.index(id) for id in model.landmark_ids]
    none = np.zeros(len(table))
    dense = Query(
        S[:, columns], none, none, ask=lambda q, r: np.where(r >= 0, S[q[:, None], r], np.nan)
    )
    answers = model.classifier.answer(dense)
    np.testing.assert_array_equal(table["probability"], answers.probabilities.max(axis=1))
    named = [ids[i] if i >= 0 else "" for i in answers.nearest]
    assert table["nearest_record"].fillna("").tolist() == named
    np.testing.assert_array_equal(table["p_value"], answers.p_value)
    assert table["beyond"].isna().all()  # it rests on seeds
    score = pd.DataFrame(S, table.index, ids)
    told = zip(evidence["query"], evidence["member"], evidence["score"], strict=True)
    assert all(s == score.loc[a, b] for a, b, s in told)
    assert set(evidence["kind"]) == {"record", "landmark"}
    assert main(["explain", str(path), str(new), "--id", "a0", "--score", "ours:shared"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^ +1 +a0 +a +1 ", said, re.MULTILINE)  # itself, the nearest record
    assert "scores in all" in said
    assert main(["inspect", str(path)]) == 0
    assert "name own_score" in capsys.readouterr().out


def test_strange_objects_are_unknown(run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.folder / "data")
    (tmp_path / "odd.csv").write_text(
        "id,object\n" + "".join(f"o{i},{'Z' * 20}{i}\n" for i in range(3))
    )
    command = ["classify", str(result(run, "mine", "model.safetensors")), str(tmp_path / "odd.csv")]
    assert main([*command, "--score", "ours:shared", "-o", str(tmp_path / "odd.tsv")]) == 0
    table = read(tmp_path / "odd.tsv")
    assert table["reason"].tolist() == ["unknown"] * 3
    assert table["p_value"].max() <= 0.1
    own = read(result(run, "mine", "evaluation", "predictions.tsv.gz"))
    own = own[own["recipe"] == "asks"]
    assert (own["reason"] == "unknown").mean() < 0.25
    held = read(result(run, "apart", "unknown", "predictions.tsv.gz"))
    assert len(held) == 2 * 22
    assert held["unknown_p"].notna().all()


def test_arrays_are_in_the_model_file(run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.folder / "data")
    model = Model.load(result(run, "arrays", "model.safetensors"))
    X = np.load(run.folder / "data" / "x.npy")
    np.testing.assert_array_equal(model.record_objects[0], X[int(model.record_ids[0]) - 1])
    assert not model.lacks_records
    again = tmp_path / "again.safetensors"
    model.save(again)
    assert again.read_bytes() == result(run, "arrays", "model.safetensors").read_bytes()
    command = [
        "classify",
        str(again),
        "x.npy",
        "--score",
        "ours:far",
        "-o",
        str(tmp_path / "x.tsv"),
    ]
    assert main([*command, "--vectors", "v.tsv"]) == 0
    table = read(tmp_path / "x.tsv")
    assert (table["stage"] != "first").any()
    assert (table["label"] == list("abc" * 20)).mean() > 0.7


def test_vectors_join_the_scores_of_a_function(run, tmp_path, monkeypatch):
    """By the id of an object; others change its answer, and none is one message."""
    monkeypatch.chdir(run.folder / "data")
    head, *rows = (run.folder / "data" / "v.tsv").read_text().splitlines()
    ids, values = zip(*(row.split("\t", 1) for row in rows), strict=True)
    tables = {}
    for name, order in (("own", np.arange(60)), ("turned", np.arange(60)[::-1])):
        lines = [f"{ids[i]}\t{values[j]}" for i, j in enumerate(order)]
        np.random.default_rng(1).shuffle(lines)
        (tmp_path / f"{name}.tsv").write_text("\n".join([head, *lines]))
        command = ["classify", str(result(run, "arrays", "model.safetensors")), "x.npy"]
        command += ["--score", "ours:far", "--vectors", str(tmp_path / f"{name}.tsv")]
        assert main([*command, "-o", str(tmp_path / "out.tsv")]) == 0
        tables[name] = read(tmp_path / "out.tsv")["probability"]
    model = Model.load(result(run, "arrays", "model.safetensors")).asking("ours:far")
    assert set(model.classifier.lift.rates) == {"scores", "vectors"}
    assert np.abs(tables["own"] - tables["turned"]).max() > 0.05
    (tmp_path / "own.tsv").write_text("\n".join([head, *rows[1:]]))
    (batch,) = score_new(model, Path("x.npy"), Options(vectors=tmp_path / "own.tsv"))
    assert batch.faults == {0: f"has no vector in {tmp_path}/own.tsv. Add it."}


def test_an_update_keeps_the_cascade_and_asks_new_records(run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.folder / "data")
    model = result(run, "mine", "model.safetensors")
    fresh = [r for r in families(8, classes="abcd", each=25, changed=0.5) if r[0] not in TEXTS]
    lines = [f"{id},{text},{label}\n" for id, label, text in fresh]
    (tmp_path / "more.csv").write_text("id,object,label\n" + "".join(lines))
    command = ["update", str(model), str(tmp_path / "more.csv"), "--score", "ours:shared"]
    updated = tmp_path / "updated.safetensors"
    command += ["--labels", str(tmp_path / "more.csv"), "-o", str(updated)]
    assert main(command) == 0
    old, new = Model.load(model), Model.load(updated)
    assert new.classifier.cascade.threshold == old.classifier.cascade.threshold
    assert len(new.record_ids) == len(old.record_ids) + len(fresh)
    texts = dict(zip(new.record_ids, new.record_objects, strict=True))
    assert all(texts[id] == text for id, _, text in fresh)
    command = ["classify", str(updated), str(tmp_path / "more.csv"), "--score", "ours:shared"]
    assert main([*command, "-o", str(tmp_path / "out.tsv")]) == 0
    table = read(tmp_path / "out.tsv")
    assert set(table.loc[table["stage"] == "nearest", "nearest_record"]) & {r[0] for r in fresh}
