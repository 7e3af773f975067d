"""The report reads the folds of its own run, whatever else is in the folder."""

import pandas as pd

from kreinflow.report.tables import _trained, read_folds


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
