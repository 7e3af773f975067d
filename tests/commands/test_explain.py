"""``kreinflow explain``: what speaks for an answer, and what carried its decision."""

import pandas as pd

from answering.cascades import cascade_model


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
    own = table.iloc[:-1].sort_values("score", ascending=False, kind="stable")
    of_b, of_other = own[own["class"] == "b"], own[own["class"] != "b"]
    begin = lines.index("nearest members of b (predicted)") + 2
    assert [line.split()[0] for line in lines[begin : begin + 2]] == of_b["landmark"].tolist()[:2]
    runner_up = lines[begin + 3].removeprefix("nearest members of ").removesuffix(" (runner-up)")
    assert runner_up in set(of_other["class"])
    assert begin < next(i for i, line in enumerate(lines) if line.startswith("decision for "))
    of_other = of_other[of_other["class"] == runner_up]
    for landmark, score in pd.concat([of_b[:1], of_other[:1]])[["landmark", "score"]].values:
        assert out.count(f"b3 and {landmark}: score {score:.0f}, ") == 1
    assert out.count(" columns identical (") == 2


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
    begin = out.splitlines().index("nearest members of b (predicted)")
    assert out.splitlines()[begin + 2].split()[0] == "b3"
    assert "\nb3 and b3: score " in out
    assert out.count(" columns identical (") == 1
    code, table, err = run("explain", path, fasta, "--id", "b3", "-o", "-")
    assert (code, table.splitlines()[0].split("\t")[0]) == (0, "landmark")
    assert "answered by the stage pairs" in err
