"""The report reads what its own run left, whatever else is in the folder."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from flipped_bits import count_refused
from kreinflow.base.errors import InputError
from kreinflow.files.atomic import write_text
from kreinflow.files.json_files import write_json
from kreinflow.files.tables import write_table
from kreinflow.fitting.factor_file import FACTOR_COLUMNS
from kreinflow.report.reading import (
    _TEXT,
    CAPTIONS,
    CURVE_COLUMNS,
    LANDMARK_COLUMNS,
    POINT_COLUMNS,
    _cascade,
    _trained,
    read_curves,
    read_dataset_report,
    read_folds,
    read_points,
    read_spectra,
    read_tables,
    read_times,
    read_unlabelled,
)
from report.made_up import (
    LEVELS_ASKED,
    dataset_report,
    levels_of,
    run_tables,
    unknown_tables,
)
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


def test_the_spectrum_is_that_of_the_final_models_kernel(tmp_path):
    for selector in ("meb", "kmeans"):
        rows = [("log", "none", 1, 4.0), ("raw", "none", 1, 3.0), ("log", "flip", 1, 2.0)]
        table = pd.DataFrame(rows, columns=["transform", "correction", "index", "eigenvalue"])
        for fold in ("r0f0", "all"):
            path = tmp_path / selector / f"{fold}.spectrum.tsv"
            write_table(path, table.assign(rank_wanted="misfit"))
    paths = sorted(tmp_path.glob("*/*.tsv"))
    final = {"selector": "meb", "transform": "raw", "rank_wanted": "misfit", "spectrum": [9.0, -1]}
    (row,) = read_spectra(paths, final).to_dict("records")
    assert (row["selector"], row["transform"], row["fold"]) == ("meb", "raw", 0)
    # Nothing learns from a factor of this kernel: the eigenvalues are those of the map.
    for other in ({"transform": "evalue"}, {"rank_wanted": "5"}):
        assert read_spectra(paths, final | other)["eigenvalue"].tolist() == [9.0, -1.0]
    assert read_spectra([], final)["correction"].tolist() == ["none", "none"]


def write_results(folder, tables, final_recipe):
    """Write what the page reads of a data set, and return what the jobs that align wrote."""
    for name in (
        *("models", "summary", "comparison", "per_class"),
        *("coverage", "errors", "accepted", "rejected", "best_hit"),
    ):
        write_table(folder / "evaluation" / f"{name}.tsv", tables[name])
    for name in ("landmarks", "factors"):
        keys = ["selector", "repeat", "fold"]
        for (selector, repeat, fold), part in tables[name].groupby(keys):
            place = "all" if repeat < 0 else f"r{repeat}f{fold}"
            write_table(folder / name / selector / f"{place}.tsv", part.drop(columns=keys))
    write_curves(folder / "cascade", tables)
    write_table(folder / "times.tsv", tables["times"])
    write_json(folder / "dataset" / "summary.json", {"statistics": tables["statistics"]})
    write_json(folder / "columns" / "alignments.json", tables["alignments"])
    write_json(folder / "map.json", tables["landmark_map"])
    blocks = [
        folder / "alignment" / f"{name}.0.json" for name in ("class_scores", "columns", "old")
    ]
    for path, agreed in zip(blocks, ({"agreed": 3_500}, {"agreed": 500}, {}), strict=True):
        write_json(path, {"block": 0} | agreed)
    write_json(folder / "alignment" / "columns.1.json", {"agreed": 9})  # of an earlier config
    for name in CAPTIONS:
        write_text(folder / "figures" / f"{name}.svg", f"<svg>{name}</svg>")
    model, *_ = model_of(folder)
    model.about["training"]["recipe"] = final_recipe
    model.save(folder / "model.safetensors")
    return blocks


@pytest.mark.parametrize("asked", [False, True], ids=["plain", "unknown, unlabelled and levels"])
def test_what_the_page_says_is_read_from_the_files_of_the_run(tables, tmp_path, asked):
    expected = dataset_report(tables)
    folder = tmp_path / "demo"
    blocks = write_results(folder, tables, expected.final_recipe)
    if not asked:
        for name in ("unknown", "levels"):
            (folder / "figures" / f"{name}.svg").unlink()
    settings = expected.settings | {"unknown": []}
    if asked:
        settings |= {"unknown": ["new"], "source": settings["source"] | {"unmatched": "classify"}}
        settings |= {"levels": LEVELS_ASKED}
        by_level = levels_of(tables)
        for name, table in by_level.items():
            write_table(folder / "evaluation" / f"{name}.tsv", table)
        summary, families, _ = unknown_tables(tables)
        write_table(folder / "unknown" / "summary.tsv", summary)
        write_table(folder / "unknown" / "families.tsv", families)
        line = {"label": "01", "reject": "no", "landmark_score": 0.5, "problem": ""}
        write_table(folder / "classified" / "unlabelled.tsv", pd.DataFrame([line]))
    factors = sorted(folder.glob("factors/*/*.tsv"))
    found = read_dataset_report(folder, "demo", settings, blocks, factors)
    assert (found.name, found.settings) == ("demo", settings)
    for name in ("statistics", "alignments", "agreed", "landmark_map", "final_recipe"):
        assert getattr(found, name) == getattr(expected, name)
    evaluated = (
        *("models", "summary", "comparison", "per_class"),
        *("coverage", "errors", "accepted", "rejected", "best_hit"),
    )
    for name in (*evaluated, "times", "landmarks", "factors"):
        one, other = getattr(found, name), getattr(expected, name)
        assert set(one.columns) == set(other.columns)
        keys = [key for key in ("recipe", "selector", "repeat", "fold") if key in other]
        rows = (sorted(t[keys].astype(str).itertuples(index=False)) for t in (one, other))
        assert next(rows) == next(rows)
        assert len(one) > 0
    assert found.curves.empty
    assert found.cascade is None
    assert set(found.figures) == set(CAPTIONS) - (set() if asked else {"unknown", "levels"})
    assert found.figures["alignments"] == "<svg>alignments</svg>"
    assert (found.unknown is not None) == (found.unlabelled is not None) == asked
    assert (found.levels is not None) == asked
    assert (found.several, found.thresholds) == (False, None)
    if asked:
        for name, table in by_level.items():
            assert found.levels[name].astype(str).equals(read_back(table))
        assert list(found.unknown) == ["summary", "families"]
        for name, table in (("summary", summary), ("families", families)):
            assert found.unknown[name]["recipe"].tolist() == table["recipe"].tolist()
        assert found.unlabelled["class"].tolist() == ["01"]


def read_back(table):
    """What a table is when it was written: empty cells are text."""
    text = table.astype(str)
    return text.mask(table.isna(), "")


def write_curves(folder, tables):
    """Write the curves of each model, those of the final ones empty."""
    keys = ["selector", "repeat", "fold"]
    for selector, repeat, fold in tables["models"][keys].drop_duplicates().itertuples(index=False):
        place = "all" if repeat < 0 else f"r{repeat}f{fold}"
        curves = tables["curves"]
        own = (curves["selector"] == selector) & (curves["repeat"] == repeat)
        own &= curves["fold"] == fold
        write_table(folder / selector / f"{place}.tsv", curves.loc[own, [*CURVE_COLUMNS]])


@pytest.fixture(scope="module")
def asked():
    return run_tables(n_classes=3, n_folds=2, n=80, cascades=2)


def test_curves_of_all_folds_are_read_as_they_were(asked, tmp_path):
    write_curves(tmp_path, asked)
    found = read_curves(sorted(tmp_path.glob("*/*.tsv")))
    keys = ["recipe", "repeat", "fold", "threshold"]
    one, other = (t.sort_values(keys, ignore_index=True) for t in (found, asked["curves"]))
    assert len(one) == 2 * 2 * 6
    pd.testing.assert_frame_equal(one[[*other]], other, check_dtype=False)
    nothing = read_curves([tmp_path / "meb" / "all.tsv"])
    assert nothing.empty
    assert {*CURVE_COLUMNS, "selector"} <= {*nothing}


@pytest.mark.parametrize(
    "damage",
    [
        lambda t: t[:-1],
        lambda t: t[1:],
        lambda t: t.assign(chosen="no"),
        lambda t: t.assign(chosen="yes"),
        lambda t: t.assign(chosen=t["chosen"].replace("no", "n")),
        lambda t: t.assign(fold=1),
        lambda t: t.assign(right=t["records"] + 1),
        lambda t: t.assign(right=t["right"] + 0.5),
        lambda t: t.assign(alignments=np.nan),
        lambda t: t.assign(alignments=-t["alignments"]),
        lambda t: t.assign(records=range(90, 90 + len(t))),
        lambda t: t.assign(threshold=t["threshold"].replace(0.5, 3.0)),
    ],
)
def test_a_damaged_curve_is_refused(asked, tmp_path, damage):
    write_curves(tmp_path, asked)
    path = tmp_path / "meb" / "r0f0.tsv"
    table = pd.read_csv(path, sep="\t")
    write_table(path, damage(table))
    message = re.escape(f"{path}: damaged, or of another run. Delete it and run again.")
    with pytest.raises(InputError, match=message):
        read_curves([path])


def test_results_without_curves_say_which_file_is_missing(tmp_path):
    with pytest.raises(InputError, match=r"cascade/meb/r0f0.tsv: cannot be read"):
        read_curves([tmp_path / "cascade" / "meb" / "r0f0.tsv"])


def test_whom_a_model_asks_is_read_from_it():
    def model(cascade):
        return SimpleNamespace(classifier=SimpleNamespace(cascade=cascade))

    cascade = SimpleNamespace(steps=(10, 20), threshold=0.9, machines=None, likeliest=3)
    found = {"steps": [10, 20], "threshold": 0.9, "likeliest": None}
    assert _cascade(model(cascade)) == found
    cascade.machines = "some"
    assert _cascade(model(cascade)) == found | {"likeliest": 3}
    assert _cascade(model(None)) is None


@pytest.fixture
def readers(tables, asked, tmp_path):
    """A path of each table that the page or a figure reads, and what reads it."""
    fold = {name: tables[name].drop(columns=["selector", "repeat", "fold"]) for name in FOLD_TABLES}
    points = [("a0", "NA", False, 0.5, -1.5), ("a1", "01", True, 1e-17, 2.0)]
    written = {
        **{f"evaluation/{name}": (tables[name], _one) for name in EVALUATION},
        **{
            f"unknown/{name}": (table, _one)
            for name, table in zip(UNKNOWN, unknown_tables(tables), strict=True)
        },
        **{f"evaluation/{name}": (table, _one) for name, table in levels_of(tables).items()},
        **{
            f"{name}/meb/r0f1": (fold[name][:9], lambda p, c=columns: read_folds([p], c))
            for name, columns in FOLD_TABLES.items()
        },
        "cascade/meb/r0f1": (
            asked["curves"].loc[asked["curves"]["fold"] == 1, [*CURVE_COLUMNS]],
            lambda p: read_curves([p]),
        ),
        "times": (tables["times"], read_times),
        "map": (
            pd.DataFrame(points, columns=POINT_COLUMNS),
            lambda p: read_points(p, ["01", "NA"]),
        ),
    }
    for name, (table, _) in written.items():
        write_table(tmp_path / f"{name}.tsv", table)
    return {tmp_path / f"{name}.tsv": reader for name, (_, reader) in written.items()}


def _one(path):
    return read_tables([path])


EVALUATION = ("models", "summary", "comparison", "per_class", "confusion")
UNKNOWN = ("summary", "families", "curve")
FOLD_TABLES = {"landmarks": LANDMARK_COLUMNS, "factors": FACTOR_COLUMNS}


def test_a_measure_that_is_none_and_a_missing_column_are_refused_by_name(readers):
    for path, read in readers.items():
        read(path)
        lines = path.read_text().splitlines()
        head, cells = lines[0].split("\t"), lines[1].split("\t")
        last = max(place for place, name in enumerate(head) if name not in _TEXT)
        cells[last] += "x"
        path.write_text("\n".join([lines[0], "\t".join(cells), *lines[2:], ""]))
        with pytest.raises(InputError, match=f"{path}: .*x' in column .* is no number. Delete it"):
            read(path)
        known = head.index("class" if "landmarks/" in str(path) else head[0])
        head[known] += "x"
        path.write_text("\n".join(["\t".join(head), *lines[1:], ""]))
        with pytest.raises(InputError, match=f"{path}: column .* is missing. Delete it"):
            read(path)


def test_a_point_of_no_class_is_refused(tmp_path):
    path = tmp_path / "map.tsv"
    write_table(path, pd.DataFrame([("a0", "NA", False, 0.5, 1.0)], columns=POINT_COLUMNS))
    with pytest.raises(InputError, match="map.tsv: no class is called 'NA'. Delete it"):
        read_points(path, ["N"])


@pytest.mark.parametrize("column", ["true", "predicted"])
def test_a_class_that_does_not_exist_is_no_row_of_the_confusions(tmp_path, column):
    (tmp_path / "evaluation").mkdir()
    path = tmp_path / "evaluation" / "confusion.tsv"
    row = {"recipe": "r", "true": "A", "predicted": "B", "count": 3}
    write_table(path, pd.DataFrame([row]))
    assert len(read_tables([path], ["A", "B"])["confusion"]) == 1
    write_table(path, pd.DataFrame([row | {column: "Q"}]))
    with pytest.raises(InputError, match=re.escape(f"{path}: no class is called 'Q'. Delete it")):
        read_tables([path], ["A", "B"])


def test_flips_of_single_bits_in_these_tables_are_read_or_refused(readers):
    for path, read in readers.items():
        assert count_refused(path, read, flips=30) >= 3, path
