"""The page where records may have several labels."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import figures as look
from kreinflow.report import several
from kreinflow.report.figures import probabilities
from kreinflow.report.figures.dataset import dataset_figures
from kreinflow.report.methods import cite, methods_text
from kreinflow.report.reading import CAPTIONS, _thresholds, read_dataset_report, read_tables
from report.made_up import Page, config, dataset_report, report_page, settings
from report.test_reading import write_results


@pytest.fixture(scope="module")
def figures(tables_of_several):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return dataset_figures(tables_of_several)


@pytest.fixture(scope="module")
def page(tables_of_several, figures):
    return report_page(tables_of_several, figures=figures)


def test_captions_that_differ_are_of_figures():
    assert set(several.CAPTIONS) < set(CAPTIONS)


def test_the_page_tells_measures_of_labels(tables_of_several, page):
    html, read = page
    text = read.all_text
    row = tables_of_several["summary"].set_index("recipe").loc[INNER_CHOICE]
    f1 = f"{100 * row['micro_f1_mean']:.2f} ± {100 * row['micro_f1_sd']:.2f} %"
    assert f"Micro F1: {f1}. Quote these figures" in text
    for part in (
        "of the records have all their labels right, and no other.",
        "The others get no label and are rejected. Each label has its own threshold.",
        "With several labels to a record there is no best hit to compare with.",
        "micro average precision macro average precision Hamming loss log loss calibration error",
        f"{row['hamming_loss_mean']:.4f}",
        "rejects records none of whose labels reaches its threshold (asked for: the largest F1",
        "The class of a record with several labels is the rarest of them here.",
        "A row need not sum to one.",
        "gives new objects all labels that reach their threshold",
        "records that are given a label with 80 % have it in 80 of 100 cases",
    ):
        assert part in text, part
    for part in (
        "MCC",
        "Brier",
        "balanced accuracy",
        "temperature",
        "reject below",
        "rejects new objects",
    ):
        assert part not in text, part
    assert "nan" not in text.lower().split()
    for caption in several.CAPTIONS.values():
        assert caption in text
        assert html.count(caption) >= 1


def test_each_label_has_a_row_with_chance_and_its_threshold(tables_of_several, page):
    own = tables_of_several["per_class"]
    own = own[own["recipe"] == INNER_CHOICE]
    rejected = tables_of_several["rejected"]
    rejected = rejected[rejected["recipe"] == INNER_CHOICE].set_index("class")["rejected"]
    assert rejected.nunique() > 1
    for row in own.itertuples():
        label = row._2  # the column is called class
        measures = (row.precision, row.recall, row.f1, row.average_precision, row.support / 160)
        cells = " ".join(f"{100 * value:.2f}" for value in measures)
        error = f"{row.calibration_error:.3f} ({row.calibration_error_perfect:.3f})"
        share = f"{100 * rejected[label]:.2f}"
        assert f"{label} {cells} {error} {share} {row.support:.0f} 0.375" in page[1].all_text


def test_a_model_without_thresholds_has_empty_cells(tables_of_several):
    made, nothing = (tables_of_several[name] for name in ("per_class", "rejected"))
    table = several.per_label(made, "ikfd-meb", 160, None, nothing[:0])
    assert "rejected, %" not in table.head
    assert {row[-1] for row in table.rows} == {""}
    assert len(table.rows) == 4


def test_a_page_of_one_label_says_nothing_of_several(tables):
    text = report_page(tables)[1].all_text
    for part in ("several labels", "micro", "Hamming", "all their labels"):
        assert part not in text


def test_the_page_has_both_kinds_side_by_side(tables, tables_of_several, figures):
    from kreinflow.report.page import render_report

    parts = [dataset_report(tables, "one"), dataset_report(tables_of_several, "two")]
    text = Page(render_report(parts, config(), {"python": "3.11"})).checked().all_text
    for part in ("MCC", "Hamming loss", CAPTIONS["reject"], several.CAPTIONS["reject"]):
        assert part in text


def test_the_same_page_again_and_from_written_tables(tables_of_several, figures, page):
    empty = {
        name: tables_of_several[name].astype(object).where(tables_of_several[name].notna(), "")
        for name in ("comparison", "models", "landmarks", "per_class")
    }
    assert report_page(tables_of_several, figures=figures, **empty)[0] == page[0]
    written = dataset_figures(tables_of_several | empty)
    assert written == figures == dataset_figures(tables_of_several)


def test_methods_tell_how_labels_were_learned():
    many_labels = settings()
    many_labels["source"]["labels"] = {"table": "l.tsv", "multiple": "all"}
    one, many = (
        " ".join(methods_text(own, config(), "pcvm-meb")) for own in (settings(), many_labels)
    )
    for part in (
        f"Each label was learned against the rest {cite('tsoumakas2007')}",
        f"the calibration of each label {cite('platt1999')} and its threshold (the largest F1",
        f"measures that count labels one by one {cite('zhang2014')}",
    ):
        assert part in many
        assert part not in one
    for part in ("temperature", cite("angelopoulos2021"), "reject threshold"):
        assert part in one
        assert part not in many


def test_axes_name_labels_and_no_label_given_is_drawn(tables_of_several):
    curve, accepted = tables_of_several["reject_curve"], tables_of_several["accepted"]
    assert len(accepted) > 0
    given = INNER_CHOICE, accepted, 0.5, True
    (axes,) = probabilities.reject_figure(curve, *given).axes
    assert not axes.texts
    assert axes.get_xlabel() == "labels given and kept, the most certain first"
    above, below = probabilities.calibration_figure(
        tables_of_several["calibration"], INNER_CHOICE, several=True
    ).axes
    assert above.get_ylabel() == "records that have it (boxes: 95 % ranges)"
    assert below.get_xlabel() == "probability given to the label"
    drawn = sum(bar.get_height() for bar in below.patches)
    assert drawn == 160 * 4  # a probability for each record and label
    nothing = probabilities.reject_figure(curve[:0], *given)
    assert look.figure_svg(nothing)


def test_what_the_page_says_is_read_from_the_files_of_the_run(tables_of_several, tmp_path):
    folder = tmp_path / "demo"
    blocks = write_results(folder, tables_of_several, "ikfd-meb")
    factors = sorted(folder.glob("factors/*/*.tsv"))
    read = read_dataset_report(folder, "demo", settings() | {"unknown": []}, blocks, factors)
    assert read.several
    for name in ("summary", "per_class"):
        assert list(getattr(read, name).columns) == list(tables_of_several[name].columns)
    path = folder / "evaluation" / "per_class.tsv"
    assert len(read_tables([path], several=True)["per_class"]) == len(read.per_class)
    lines = path.read_text().replace("average_precision", "other")
    path.write_text(lines)
    with pytest.raises(InputError, match=re.escape(f"{path}: column 'average_precision' is miss")):
        read_tables([path], several=True)


def test_thresholds_are_those_of_the_final_model():
    thresholds = np.array([0.25, 0.5])
    classifier = SimpleNamespace(classes=("a", "b"), several=SimpleNamespace(thresholds=thresholds))
    assert _thresholds(SimpleNamespace(classifier=classifier)) == {"a": 0.25, "b": 0.5}
    classifier.several = None
    assert _thresholds(SimpleNamespace(classifier=classifier)) is None


def test_a_label_without_records_has_no_average_precision(tables_of_several):
    table = tables_of_several["per_class"].copy()
    table.loc[table["class"] == "NA", ["average_precision", "support"]] = [np.nan, 0]
    rejected = tables_of_several["rejected"]
    rejected = rejected[rejected["class"] != "NA"]
    found = several.per_label(table, "ikfd-meb", 160, None, rejected)
    (row,) = (row for row in found.rows if row[0] == "NA")
    assert row[4:6] == ("", "0.00")
    assert row[found.head.index("rejected, %")] == ""
