"""``kreinflow explain``: the landmarks that carried a decision."""

import pandas as pd
import pytest


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
