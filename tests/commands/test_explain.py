"""``kreinflow explain``: the landmarks that carried a decision."""

import pandas as pd
import pytest

from models.cascades import cascade_model


def test_the_first_landmarks_and_their_alignments(run, trained, tmp_path):
    code, out, err = run(
        *("explain", trained.path, trained.fasta, "--id", "b3", "--show", 2, "--alignment"),
        *("-o", tmp_path / "table.tsv"),
    )
    assert (code, err) == (0, "")
    m, table = len(trained.model.landmark_ids), pd.read_csv(tmp_path / "table.tsv", sep="\t")
    assert len(table) == m + 1
    lines = out.splitlines()
    assert lines[0].startswith("b3: b, probability ")
    assert f"... and {m - 2} more" in lines
    for landmark, score in table[["landmark", "score"]].head(2).itertuples(index=False):
        assert out.count(f"b3 and {landmark}: score {score:.0f}, ") == 1
    assert out.count(" columns identical (") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--id", "b3", "--show", 0), "--show 0: give at least 1"),
        (("--id", "b3", "--threads", 0), "--threads 0: give at least 1"),
        (("--id", "b3", "-o", "."), "-o .: is a folder"),
    ],
)
def test_what_explain_needs(refused, trained, options, message):
    assert message in refused("explain", trained.path, trained.fasta, *options)


def test_a_lifted_decision_names_training_records(run, lifted, tmp_path):
    code, out, err = run(
        *("explain", lifted.path, lifted.fasta, "--id", "b3", "--show", 2, "--alignment"),
        *("--vectors", lifted.vectors, "-o", tmp_path / "table.tsv"),
    )
    assert (code, err) == (0, "")
    table = pd.read_csv(tmp_path / "table.tsv", sep="\t")
    assert table["record"].tolist()[-1] == "(intercept)"
    assert sorted(table["record"][:-1]) == sorted(lifted.model.inducing_ids)
    views = [column for column in table if column.startswith("near_")]
    assert views == ["near_scores", "near_words", "near_vectors"]
    assert f"from {len(table) - 1} training records + " in out
    assert out.count(" columns identical (") == 2


def test_a_cascade_names_the_records_that_it_asked(run, tmp_path):
    model, _ = cascade_model(tmp_path, threshold=2.0)
    path, fasta = tmp_path / "model.safetensors", tmp_path / "x.fasta"
    model.save(path)
    code, out, err = run("explain", path, fasta, "--id", "b3", "--show", 1, "--alignment")
    assert (code, err) == (0, "")
    assert "\nanswered by the stage pairs, with " in out
    assert "\nnearest record of b: b3, score " in out
    assert "\nb3 and b3: score " in out
    assert out.count(" columns identical (") in (1, 2)  # the first landmark may be the record
    code, table, err = run("explain", path, fasta, "--id", "b3", "-o", "-")
    assert (code, table.splitlines()[0].split("\t")[0]) == (0, "landmark")
    assert "answered by the stage pairs" in err
