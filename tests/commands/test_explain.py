"""``kreinflow explain``: what speaks for an answer, and what carried its decision."""

import pandas as pd


def test_the_evidence_its_alignments_and_the_first_landmarks(run, trained, tmp_path):
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
    own = table[table["class"] == "b"].sort_values("score", ascending=False, kind="stable")
    begin = lines.index("nearest members of b (predicted)") + 2
    assert [line.split()[0] for line in lines[begin : begin + 2]] == own["landmark"].tolist()[:2]
    assert "\nb3 and {}: score {:.0f}, ".format(*own[["landmark", "score"]].values[0]) in out
    assert out.count(" columns identical (") == 2


def test_a_lifted_decision_names_training_records(run, lifted):
    asked = "--id", "b3", "--vectors", lifted.vectors
    code, out, err = run("explain", lifted.path, lifted.fasta, *asked)
    assert (code, err) == (0, "")
    assert f"from {len(lifted.model.inducing_ids)} training records + " in out
