"""The report reads what its own run left, whatever else is in the folder."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from flipped_bits import count_refused
from kreinflow.base.errors import InputError
from kreinflow.files.atomic import write_text
from kreinflow.files.json_files import read_json, write_json
from kreinflow.files.tables import checksums_of, write_listed, write_table
from kreinflow.fitting.factors import FACTOR_COLUMNS
from kreinflow.report import reading
from kreinflow.report.reading import CURVE_COLUMNS, DatasetResults, read_curves, read_folds
from kreinflow.report.texts import CAPTIONS, FIGURES
from report import made_up
from report.made_up import config, dataset_report, levels_of, settings, unknown_tables
from small_inputs import model_of

EVALUATION = (
    *("models", "summary", "comparison", "per_class", "confusion"),
    *("coverage", "errors", "accepted", "rejected", "best_hit", "identity"),
)


def results(folder, **own):
    """The results in a folder, of these settings."""
    return DatasetResults(folder, "demo", config() | {"datasets": {"demo": settings() | own}})


def place(repeat, fold):
    return "all" if repeat < 0 else f"r{repeat}f{fold}"


def write_folds(folder, table):
    keys = ["selector", "repeat", "fold"]
    for (selector, *fold), part in table.groupby(keys):
        write_table(folder / selector / f"{place(*fold)}.tsv", part.drop(columns=keys))


def write_curves(folder, tables):
    """Write the curves of each model, those of the final ones empty."""
    keys = ["selector", "repeat", "fold"]
    curves = tables["curves"]
    for selector, *fold in tables["models"][keys].drop_duplicates().itertuples(index=False):
        own = (curves[keys] == [selector, *fold]).all(axis=1)
        path = folder / selector / f"{place(*fold)}.tsv"
        write_table(path, curves.loc[own, [*CURVE_COLUMNS]])


def write_made(folder, listing, made):
    """Write tables by their names, and the list of their checksums."""
    write_listed(folder / listing, {folder / f"{n}.tsv": table for n, table in made.items()})


def write_results(folder, tables):
    """Write what the page reads of a data set, and what it reads of others."""
    write_made(folder / "evaluation", "checksums.json", {name: tables[name] for name in EVALUATION})
    for name in ("landmarks", "factors"):
        write_folds(folder / name, tables[name])
    write_curves(folder / "cascade", tables)
    write_table(folder / "times.tsv", tables["times"])
    write_json(folder / "dataset" / "summary.json", {"statistics": tables["statistics"]})
    write_json(folder / "columns" / "alignments.json", tables["alignments"])
    write_json(folder / "map.json", tables["landmark_map"])
    # The last is of an earlier config.
    for name, agreed in (("class_scores.0", 3_500), ("columns.0", 500), ("columns.1", 9)):
        write_json(folder / "alignment" / f"{name}.json", {"agreed": agreed, "blocks": 1})
    write_made(folder / "evaluation", "levels.json", levels_of(tables))
    write_made(folder / "unknown", "checksums.json", unknown_tables(tables))
    for name in CAPTIONS:
        write_text(folder / "figures" / f"{name}.svg", f"<svg>{name}</svg>")
    model, *_ = model_of(folder)
    model.save(folder / "model.safetensors")


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("asked", [False, True], ids=["plain", "unknown, unlabelled and levels"])
def test_what_the_page_says_is_read_from_the_files_of_the_run(request, tmp_path, asked, several):
    tables = request.getfixturevalue("tables_of_several" if several else "tables")
    expected, folder = dataset_report(tables), tmp_path / "demo"
    write_results(folder, tables)
    own = {}
    if asked:
        own = {"unknown": ["new"], "levels": made_up.LEVELS_ASKED}
        own |= {"source": settings()["source"] | {"unmatched": "classify"}}
        line = {"label": "01", "reject": "no", "landmark_score": 0.5, "problem": ""}
        write_table(folder / "classified" / "unlabelled.tsv", pd.DataFrame([line]))
    found = results(tmp_path, **own)
    blocks = ["more", "than", "the run had"]
    plan = SimpleNamespace(blocks=lambda stage: blocks, column_stages=["columns"])
    vars(found)["plan"] = plan
    for name in ("statistics", "alignments", "agreed", "landmark_map", "final_recipe", "several"):
        assert getattr(found, name) == getattr(expected, name)
    pairs = [(found[name], expected[name]) for name in EVALUATION]
    pairs += [(getattr(found, n), getattr(expected, n)) for n in ("times", "landmarks", "factors")]
    for one, other in pairs:
        assert set(one.columns) == set(other.columns)
        keys = [key for key in ("recipe", "selector", "repeat", "fold") if key in other]
        rows = (set(t[keys].astype(str).itertuples(index=False)) for t in (one, other))
        assert (first := next(rows)) or several  # which has no best hit
        assert first <= next(rows)  # of factors those that a recipe learns from
    assert found.curves.empty
    assert (found.cascade, found.thresholds) == (None, {})
    # Nothing is unknown, and no level answered, where records have several labels.
    assert set(found.figures) == set(CAPTIONS if asked and not several else FIGURES)
    assert found.figures["alignments"] == "<svg>alignments</svg>"
    write_text(folder / "figures" / "alignments.svg", "<svg>alignments</svh>")
    with pytest.raises(InputError, match=r"alignments\.svg: damaged \(mismatched tag"):
        results(tmp_path, **own).figures  # noqa: B018
    assert (found.unknown is not None) == (found.unlabelled is not None) == asked
    if asked:
        for name, table in levels_of(tables).items():
            assert found[name].astype(str).equals(table.astype(str).mask(table.isna(), ""))
        for name, table in unknown_tables(tables).items():
            assert found.unknown[name]["recipe"].tolist() == table["recipe"].tolist()
        assert found.unlabelled["class"].tolist() == ["01"]


def test_predictions_of_the_sequences_without_a_label_are_counted(tmp_path):
    rows = [("<b>", "no", 0.4), ("<b>", "yes", 0.1), ("<b>", "no", 0.3), ("01", "yes", 0.2)]
    table = pd.DataFrame(rows, columns=["label", "reject", "landmark_score"]).assign(problem="")
    table.loc[4] = ["", "", np.nan, "has no residues"]

    def counted(written):
        write_table(tmp_path / "demo" / "classified" / "unlabelled.tsv", written)
        return results(tmp_path, source={"unmatched": "classify"}).unlabelled

    counts = counted(table)
    found = counts[["class", "records", "rejected"]].to_numpy().tolist()
    assert found == [["<b>", 3, 1], ["", 1, 0], ["01", 1, 1]]
    np.testing.assert_allclose(counts["landmark_score"], [0.3, np.nan, 0.2])
    assert counted(table[3:4])["class"].tolist() == ["01"]  # labels stay what they are
    assert counted(table[:0]).empty


def test_the_spectrum_is_that_of_the_final_models_kernel(tables, tmp_path):
    rows = [("log", "none", 1, 4.0), ("raw", "none", 1, 3.0), ("log", "flip", 1, 2.0)]
    table = pd.DataFrame(rows, columns=["transform", "correction", "index", "eigenvalue"])
    for selector in ("meb", "kmeans", "uniform"):
        for fold in ("r0f0", "r0f1", "r0f2", "all"):
            path = tmp_path / "demo" / "factors" / selector / f"{fold}.spectrum.tsv"
            write_table(path, table.assign(rank_wanted="misfit"))

    def spectrum(**changes):
        data = results(tmp_path)
        data.tables["models"] = tables["models"]
        final = {"selector": "meb", "transform": "raw", "rank_wanted": "misfit"}
        data.landmark_map = final | {"spectrum": [9.0, -1]} | changes
        return data.spectrum

    assert spectrum()["eigenvalue"].tolist() == [3.0] * 3
    assert spectrum()["fold"].tolist() == [0, 1, 2]
    assert set(spectrum()["selector"]) == {"meb"}
    # Nothing learns from a factor of this kernel: the eigenvalues are those of the map.
    for other in ({"transform": "evalue"}, {"rank_wanted": "5"}):
        assert spectrum(**other)["eigenvalue"].tolist() == [9.0, -1.0]
        assert spectrum(**other)["correction"].tolist() == ["none", "none"]


def test_the_cascade_is_read_from_the_model(tmp_path):
    for machines, likeliest in ((None, None), ("some", 3)):
        data = results(tmp_path)
        cascade = SimpleNamespace(steps=(10, 20), threshold=0.9, machines=machines, likeliest=3)
        vars(data)["_classifier"] = SimpleNamespace(cascade=cascade)
        found = {"steps": [10, 20], "threshold": 0.9, "likeliest": likeliest}
        assert data.cascade == found


@pytest.fixture
def readers(tables, asked, tmp_path):
    """A path of each table that the page or a figure reads, and what reads it."""
    folder = tmp_path / "demo"
    write_results(folder, tables | {"curves": asked["curves"]})
    points = [("a0", "NA", False, 0.5, -1.5), ("a1", "NA", True, 1e-17, 2.0)]
    points = {folder / "map.tsv": pd.DataFrame(points, columns=reading.POINT_COLUMNS)}
    write_listed(folder / "map.json", points, tables["landmark_map"])

    def property_of(name):
        return lambda path: getattr(results(tmp_path, unknown=["new"]), name)

    found = {
        f"evaluation/{name}": lambda path: results(tmp_path)[path.stem]
        for name in (*EVALUATION[:5], *levels_of(tables))
    }
    found |= {f"unknown/{name}": property_of("unknown") for name in ("summary", "families")}
    found |= {"times": property_of("times"), "map": property_of("points")}
    found["landmarks/meb/r0f1"] = lambda path: read_folds([path], reading.LANDMARK_COLUMNS)
    found["factors/meb/r0f1"] = lambda path: read_folds([path], FACTOR_COLUMNS)
    found["cascade/meb/r0f1"] = lambda path: read_curves([path])
    return {folder / f"{name}.tsv": read for name, read in found.items()}


def listing_of(path):
    """The file that lists the checksum of a table, if one does."""
    found = [p for p in path.parent.glob("*.json") if f'"{path.name}"' in p.read_text()]
    return found[0] if found else None


def listed_again(path):
    """Give a changed table its new checksum, as no damage would."""
    if listing := listing_of(path):
        content = read_json(listing)
        content["checksums"] |= checksums_of([path])
        write_json(listing, content)


def test_tables_that_people_quote_are_whole_or_refused(readers):
    listed = [path for path in readers if listing_of(path)]
    assert {"models", "summary", "confusion", "levels", "families", "map"} <= {
        path.stem for path in listed
    }
    for path in listed:
        read, size = readers[path], 8 * path.stat().st_size
        assert count_refused(path, read, flips=20) == min(20, size), path
        whole = path.read_bytes()
        path.write_bytes(whole + whole.splitlines(keepends=True)[-1])  # a line too many
        with pytest.raises(InputError, match=rf"{path}: damaged .* in {listing_of(path).name}\."):
            read(path)
        path.write_bytes(whole)
        listing = listing_of(path)
        kept = listing.read_bytes()
        others = read_json(listing)["checksums"]
        write_json(listing, {"checksums": {k: v for k, v in others.items() if k != path.name}})
        with pytest.raises(InputError, match=f"{path}: .* does not match its checksum"):
            read(path)
        listing.unlink()
        with pytest.raises(InputError, match=f"{listing}: cannot be read"):
            read(path)
        listing.write_bytes(kept)


def test_a_measure_that_is_none_and_a_missing_column_are_refused_by_name(readers):
    for path, read in readers.items():
        read(path)
        whole = path.read_text()
        lines = whole.splitlines()
        head, cells = lines[0].split("\t"), lines[1].split("\t")
        last = max(place for place, name in enumerate(head) if name not in reading._TEXT)
        cells[last] += "x"
        path.write_text("\n".join([lines[0], "\t".join(cells), *lines[2:], ""]))
        listed_again(path)
        with pytest.raises(InputError, match=f"{path}: .*x' in column .* is no number. Delete it"):
            read(path)
        known = head.index("class" if "landmarks/" in str(path) else head[0])
        head[known] += "x"
        path.write_text("\n".join(["\t".join(head), *lines[1:], ""]))
        listed_again(path)
        with pytest.raises(InputError, match=f"{path}: column .* is missing. Delete it"):
            read(path)
        path.write_text(whole)
        listed_again(path)


def test_flips_of_single_bits_in_these_tables_are_read_or_refused(readers):
    for path, read in readers.items():
        assert count_refused(path, read, flips=30) >= 3, path


def test_folds_of_an_earlier_config_are_left_out(tmp_path):
    for name in ("meb.r0f0/r0f0", "meb.r0f0/r0f1", "meb.r0f0/all", "meb/r0f0"):
        table = pd.DataFrame([(1, "NA", "", "")], columns=["row", *reading.LANDMARK_COLUMNS])
        write_table(tmp_path / "demo" / "landmarks" / f"{name}.tsv", table)
    data = results(tmp_path)
    places = {"repeat": [0, 0, -1, -1], "fold": [0, 0, -1, -1]}
    data.tables["models"] = pd.DataFrame({"selector": "meb.r0f0"} | places)
    found = data.landmarks[["selector", "fold", "class"]].to_numpy().tolist()
    assert found == [["meb.r0f0", 0, "NA"], ["meb.r0f0", -1, "NA"]]


def test_curves_of_all_folds_are_read_as_they_were_and_damaged_ones_are_refused(asked, tmp_path):
    write_curves(tmp_path, asked)
    found = read_curves(sorted(tmp_path.glob("*/*.tsv")))
    keys = ["recipe", "repeat", "fold", "threshold"]
    one, other = (t.sort_values(keys, ignore_index=True) for t in (found, asked["curves"]))
    assert len(one) == 2 * 3 * 6
    pd.testing.assert_frame_equal(one[[*other]], other, check_dtype=False)
    nothing = read_curves([tmp_path / "meb" / "all.tsv"])
    assert nothing.empty
    assert {*CURVE_COLUMNS, "selector"} <= {*nothing}
    path = tmp_path / "meb" / "r0f0.tsv"
    table = pd.read_csv(path, sep="\t")
    for damaged in (table[:-1], table[1:], table.assign(chosen="no"), table.assign(chosen="yes")):
        write_table(path, damaged)
        with pytest.raises(InputError, match=re.escape(f"{path}: damaged, or of another run.")):
            read_curves([path])
