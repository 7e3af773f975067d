"""A table of pairs as the data: the answers of a function with the same scores."""

import gzip

import numpy as np
import pytest

from kreinflow.classify.model_file import Model
from kreinflow.commands.main import main
from own_scores import pairs_of, result, shared
from small_inputs import configuration, families
from workflow.conftest import Workflow, read

RECORDS = families(8, classes="abcd", each=16, changed=0.45)
IDS, LABELS, TEXTS = zip(*RECORDS, strict=True)
NEW = [(f"new{id}", label, f"{text[9:]}{text[:3]}") for id, label, text in RECORDS[::7]]
CODE = """
from pathlib import Path
HERE = Path(__file__).parent
SCORES = {}
for line in (HERE / "every.tsv").read_text().splitlines():
    a, b, score = line.split()
    SCORES[a, b] = SCORES[b, a] = float(score)

def score(a, b):
    return [[SCORES[x, y] for y in b] for x in a]
"""


def inclusion(a, b):
    A, B = ([pairs_of(text) for text in side] for side in (a, b))
    return np.array([[len(x & y) / len(x) for y in B] for x in A])


def write(path, rows, columns, S, least=0.0, m8=False):
    """Write the scores of ids with ids that are above the least."""
    more = ["0"] * 9 if m8 else []
    lines = [
        "\t".join([a, b, *more, repr(float(S[i, j]))])
        for i, a in enumerate(rows)
        for j, b in enumerate(columns)
        if S[i, j] > least
    ]
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    data = folder / "data"
    data.mkdir()
    rows = "".join(f"{id},{id},{label}\n" for id, label in zip(IDS, LABELS, strict=True))
    (data / "ids.csv").write_text(f"id,object,label\n{rows}")
    S = shared(TEXTS, TEXTS) + 0.01  # each pair has a line
    write(data / "every.tsv", IDS, IDS, S)
    (data / "by_pairs.py").write_text(CODE)
    few, of_few = IDS[::2], TEXTS[::2]
    write(data / "hits.m8.gz", IDS, few, shared(TEXTS, of_few), 0.2, m8=True)
    both = inclusion(TEXTS, of_few) + 0.01, inclusion(of_few, TEXTS) + 0.01
    write(data / "few.tsv", IDS, few, both[0])
    write(data / "back.tsv", few, IDS, both[1])
    with (data / "few.tsv").open("a") as file:
        file.write("\n# the other way round\n" + (data / "back.tsv").read_text())
    labels = {"table": "ids.csv"}
    source = {"type": "pairs", "pairs": "every.tsv", "labels": labels}
    config = configuration(source, transform="raw", unknown={"false_alarms": 0.1})
    config["data"] = str(data)
    config["selectors"]["few"] = {"method": "uniform", "budget": 9}
    config["learners"]["epcvm"] = {"method": "ny_epcvm"}
    one = {"transform": "raw", "selector": "few", "learner": "nearest"}
    config["recipes"] = [
        one | {"name": "asks", "learner": "ikfd", "cascade": {"alignments": 20}},
        one | {"name": "balls", "selector": "meb"},
        one | {"name": "directed", "learner": "epcvm"},
    ]
    config["datasets"]["mine"] |= {"recipes": ["asks", "balls"], "final": "asks"}
    score = {"function": "by_pairs:score"}
    by_function = {"type": "objects", "objects": "ids.csv", "score": score, "labels": labels}
    config["datasets"]["function"] = config["datasets"]["mine"] | {"source": by_function}
    more = {"folds": {"k": 2}, "recipes": ["balls"]}
    hits = source | {"pairs": "hits.m8.gz", "missing": 0, "self": 1}
    config["datasets"]["hits"] = more | {"source": hits}
    directed = source | {"pairs": "few.tsv", "kind": "asymmetric", "self": 1.01}
    config["datasets"]["directed"] = more | {"source": directed, "recipes": ["directed"]}
    run = Workflow(folder, config)
    columns = [f"results/{name}/columns/scores.npy" for name in ("hits", "directed")]
    evaluated = [f"results/{name}/evaluation/summary.tsv" for name in ("mine", "function")]
    run.run("--", "results/mine/model.safetensors", *columns, *evaluated)
    return run


def test_answers_are_those_of_a_function_with_the_same_scores(run):
    for path in ("columns/scores.npy", "columns/self_scores.npy", "evaluation/predictions.tsv.gz"):
        found = [result(run, name, path).read_bytes() for name in ("mine", "function")]
        assert found[0] == found[1]
    scores, union = (np.load(result(run, "mine", "columns", "scores.npy")), "landmarks.tsv")
    rows = read(result(run, "mine", "columns", union))["row"]
    expected = shared(TEXTS, [TEXTS[row] for row in rows]) + 0.01
    np.testing.assert_array_equal(scores, expected)
    summary = read(result(run, "mine", "evaluation", "summary.tsv"))
    assert summary["accuracy_mean"].max() > 0.8


def test_landmarks_are_ids_with_a_column_and_missing_scores_as_stated(run):
    for dataset in ("hits", "directed"):
        union = read(result(run, dataset, "columns", "landmarks.tsv"))["row"]
        assert set(union % 2) == {0}
        texts = [TEXTS[row] for row in union]
        expected = shared(TEXTS, texts)
        expected[expected <= 0.2] = 0
        if dataset == "directed":
            expected = np.hstack([inclusion(TEXTS, texts), inclusion(texts, TEXTS).T]) + 0.01
        scores = np.load(result(run, dataset, "columns", "scores.npy"))
        np.testing.assert_array_equal(scores, expected)
        assert (expected == 0).any() == (dataset == "hits")


def test_new_objects_are_rows_of_a_table(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(run.folder / "data")
    path = result(run, "mine", "model.safetensors")
    model = Model.load(path)
    ids, texts = [id for id, _, _ in NEW], [text for _, _, text in NEW]
    write(tmp_path / "new.tsv", ids, IDS, shared(texts, TEXTS) + 0.01)
    command = [str(path), str(tmp_path / "new.tsv")]
    assert main(["classify", *command, "-o", str(tmp_path / "out.tsv")]) == 0
    out = read(tmp_path / "out.tsv").set_index("id")
    assert out.index.tolist() == ids
    assert (out["label"] == [label for _, label, _ in NEW]).mean() > 0.8
    assert out["nearest_record"].notna().any()
    assert main(["explain", *command, "--id", ids[0]]) == 0
    assert ids[0] in capsys.readouterr().out
    columns = [IDS.index(id) for id in model.landmark_ids[1:]]
    write(tmp_path / "new.tsv", ids, [IDS[i] for i in columns], shared(texts, TEXTS)[:, columns])
    assert main(["classify", *command, "-o", str(tmp_path / "out.tsv")]) == 2
    said = capsys.readouterr().err
    assert f"no line for {ids[0]} with {model.landmark_ids[0]}" in said


def test_a_model_of_pairs_learns_more(run, tmp_path):
    path, ids = result(run, "mine", "model.safetensors"), [id for id, _, _ in NEW]
    texts = [text for _, _, text in NEW]
    everyone = shared(texts, [*TEXTS, *texts]) + 0.01
    write(tmp_path / "new.tsv", ids, [*IDS, *ids], everyone)
    rows = "".join(f"{id},{label}\n" for id, label, _ in NEW)
    (tmp_path / "labels.csv").write_text(f"id,label\n{rows}")
    command = [
        "update",
        str(path),
        str(tmp_path / "new.tsv"),
        "-o",
        str(tmp_path / "2.safetensors"),
    ]
    assert main([*command, "--labels", str(tmp_path / "labels.csv")]) == 0
    assert Model.load(tmp_path / "2.safetensors").about["records"] == len(IDS) + len(ids)


def test_the_check_counts_pairs_and_runs_nothing(run, capsys):
    assert main(["check", str(run.folder / "config.yaml")]) == 0
    said = capsys.readouterr().out
    assert "mine: about" in said
    assert "pairs to ask for" in said
    assert "the table" not in said
