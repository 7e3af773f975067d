"""The report reads what its own run left, whatever else is in the folder."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.artifacts import write_json, write_table, write_text
from kreinflow.report.reading import (
    CAPTIONS,
    _trained,
    read_dataset_report,
    read_folds,
    read_unlabelled,
)
from report.made_up import dataset_report, unknown_tables
from small_inputs import model_of


def test_folds_of_an_earlier_config_are_left_out(tmp_path):
    for name in ("meb.r0f0/r0f0", "meb.r0f0/r0f1", "meb.r0f0/all", "meb/r0f0"):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("row\tclass\n1\tNA\n")
    models = pd.DataFrame(
        {"selector": "meb.r0f0", "repeat": [0, 0, -1, -1], "fold": [0, 0, -1, -1]}
    )
    assert _trained(models) == ["meb.r0f0/r0f0.tsv", "meb.r0f0/all.tsv"]
    table = read_folds((tmp_path / name for name in _trained(models)), ["class"])
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


@pytest.mark.parametrize("asked", [False, True], ids=["plain", "unknown and unlabelled"])
def test_what_the_page_says_is_read_from_the_files_of_the_run(tables, tmp_path, asked):
    expected = dataset_report(tables)
    folder = tmp_path / "demo"
    for name in ("models", "summary", "comparison", "per_class"):
        write_table(folder / "evaluation" / f"{name}.tsv", tables[name])
    for name in ("landmarks", "factors"):
        keys = ["selector", "repeat", "fold"]
        for (selector, repeat, fold), part in tables[name].groupby(keys):
            place = "all" if repeat < 0 else f"r{repeat}f{fold}"
            write_table(folder / name / selector / f"{place}.tsv", part.drop(columns=keys))
    write_table(folder / "times.tsv", tables["times"])
    write_json(folder / "dataset" / "summary.json", {"statistics": tables["statistics"]})
    write_json(folder / "columns" / "alignments.json", tables["alignments"])
    write_json(folder / "map.json", tables["landmark_map"])
    for name in CAPTIONS:
        if asked or name != "unknown":
            write_text(folder / "figures" / f"{name}.svg", f"<svg>{name}</svg>")
    model, *_ = model_of(tmp_path)
    model.about["training"]["recipe"] = expected.final_recipe
    model.save(folder / "model.safetensors")
    settings = expected.settings | {"unknown": []}
    if asked:
        settings |= {"unknown": ["new"], "source": settings["source"] | {"unmatched": "classify"}}
        summary, families, _ = unknown_tables(tables)
        write_table(folder / "unknown" / "summary.tsv", summary)
        write_table(folder / "unknown" / "families.tsv", families)
        line = {"label": "01", "reject": "no", "landmark_score": 0.5, "problem": ""}
        write_table(folder / "classified" / "unlabelled.tsv", pd.DataFrame([line]))
    found = read_dataset_report(folder, "demo", settings)
    assert (found.name, found.settings) == ("demo", settings)
    for name in ("statistics", "alignments", "landmark_map", "final_recipe"):
        assert getattr(found, name) == getattr(expected, name)
    for name in ("models", "summary", "comparison", "per_class", "times", "landmarks", "factors"):
        one, other = getattr(found, name), getattr(expected, name)
        assert set(one.columns) == set(other.columns)
        keys = [key for key in ("recipe", "selector", "repeat", "fold") if key in other]
        rows = (sorted(t[keys].astype(str).itertuples(index=False)) for t in (one, other))
        assert next(rows) == next(rows)
        assert len(one) > 0
    assert set(found.figures) == set(CAPTIONS) - (set() if asked else {"unknown"})
    assert found.figures["alignments"] == "<svg>alignments</svg>"
    assert (found.unknown is not None) == (found.unlabelled is not None) == asked
    if asked:
        assert list(found.unknown) == ["summary", "families"]
        for name, table in (("summary", summary), ("families", families)):
            assert found.unknown[name]["recipe"].tolist() == table["recipe"].tolist()
        assert found.unlabelled["class"].tolist() == ["01"]
