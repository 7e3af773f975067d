"""The page where records may have several labels."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import sections
from kreinflow.report.figures import figure_svg, probabilities
from kreinflow.report.texts import CAPTIONS, SEVERAL_CAPTIONS
from report.made_up import dataset_report, figures_of, report_page

OTHERS = [text for name, text in SEVERAL_CAPTIONS.items() if text != CAPTIONS[name]]


@pytest.fixture(scope="module")
def figures(tables_of_several):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return figures_of(tables_of_several)


@pytest.fixture(scope="module")
def page(tables_of_several, figures):
    return report_page(tables_of_several, figures=figures)


def test_the_page_tells_measures_of_labels(tables_of_several, page):
    html, read = page
    text = read.all_text
    row = tables_of_several["summary"].set_index("recipe").loc[INNER_CHOICE]
    f1 = f"{100 * row['micro_f1_mean']:.2f} ± {100 * row['micro_f1_sd']:.2f} %"
    assert f"Micro F1: {f1}." in text
    assert f"{row['hamming_loss_mean']:.4f}" in text
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
    assert len(OTHERS) == 5
    for caption in OTHERS:
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


def test_axes_name_labels_and_no_label_given_is_drawn(tables_of_several):
    data = dataset_report(tables_of_several)
    assert len(data.own("accepted")) > 0
    (axes,) = probabilities.reject_figure(data).axes
    assert not axes.texts
    assert axes.get_xlabel() == "labels given and kept, the most certain first"
    above, below = probabilities.calibration_figure(data).axes
    assert above.get_ylabel() == "records that have it (boxes: 95 % ranges)"
    assert below.get_xlabel() == "probability given to the label"
    drawn = sum(bar.get_height() for bar in below.patches)
    assert drawn == 160 * 4  # a probability for each record and label
    data.tables["reject_curve"] = data["reject_curve"][:0]
    assert figure_svg(probabilities.reject_figure(data))


def test_thresholds_are_those_of_the_final_model(tables):
    several = SimpleNamespace(thresholds=np.array([0.25, 0.5]))
    for given, found in ((several, {"a": 0.25, "b": 0.5}), (None, {})):
        data = dataset_report(tables)
        vars(data).pop("thresholds")
        vars(data)["_classifier"] = SimpleNamespace(classes=("a", "b"), several=given)
        assert data.thresholds == found


def test_a_label_without_records_has_no_average_precision(tables_of_several):
    table = tables_of_several["per_class"].copy()
    table.loc[table["class"] == "NA", ["average_precision", "support"]] = [np.nan, 0]
    rejected = tables_of_several["rejected"]
    rejected = rejected[rejected["class"] != "NA"]
    found = sections.per_class(
        dataset_report(tables_of_several, per_class=table, rejected=rejected)
    )
    (row,) = (row for row in found.rows if row[0] == "NA")
    assert row[4:6] == ("", "0.00")
    assert row[found.head.index("rejected, %")] == ""
