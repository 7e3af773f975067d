"""The report reads what its own run left, whatever else is in the folder."""

import numpy as np
import pandas as pd

from kreinflow.artifacts import write_table
from kreinflow.report.reading import _trained, read_folds, read_unlabelled


def test_folds_of_an_earlier_config_are_left_out(tmp_path):
    for name in ("meb.r0f0/r0f0", "meb.r0f0/r0f1", "meb.r0f0/all", "meb/r0f0"):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("row\tclass\n1\tNA\n")
    models = pd.DataFrame(
        {"selector": "meb.r0f0", "repeat": [0, 0, -1, -1], "fold": [0, 0, -1, -1]}
    )
    assert _trained(models) == ["meb.r0f0/r0f0.tsv", "meb.r0f0/all.tsv"]
    table = read_folds(tmp_path / name for name in _trained(models))
    assert table["fold"].tolist() == [0, -1]
    assert set(table["selector"]) == {"meb.r0f0"}
    assert table["class"].tolist() == ["NA", "NA"]


def test_predictions_of_the_sequences_without_a_label_are_counted(tmp_path):
    (tmp_path / "classified").mkdir()
    path = tmp_path / "classified" / "unlabelled.tsv"
    rows = [("<b>", "no", 0.4), ("<b>", "yes", 0.1), ("<b>", "no", 0.3), ("01", "yes", 0.2)]
    table = pd.DataFrame(rows, columns=["label", "reject", "landmark_score"]).assign(problem="")
    table.loc[4] = ["", "", np.nan, "has no residues"]
    write_table(path, table)
    counts = read_unlabelled(tmp_path)
    assert counts.drop(columns="landmark_score").to_numpy().tolist() == [
        ["<b>", 3, 1],
        ["", 1, 0],
        ["01", 1, 1],
    ]
    np.testing.assert_allclose(counts["landmark_score"], [0.3, np.nan, 0.2])
    write_table(path, table[3:4])  # labels that look like numbers stay what they are
    assert read_unlabelled(tmp_path)["class"].tolist() == ["01"]
    write_table(path, table[:0])
    assert read_unlabelled(tmp_path).empty
