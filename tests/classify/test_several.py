"""Models of several labels: what classify, explain and inspect say of all labels of an object."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from chimeras import chimeras, model_of_several
from kreinflow.base.errors import InputError
from kreinflow.classify.classification import (
    COLUMNS,
    LABELS_COLUMNS,
    classify_batches,
    classify_file,
    write_tables,
)
from kreinflow.classify.explanation import explain
from kreinflow.classify.explanation_text import explanation_text
from kreinflow.classify.new_objects import Options
from small_inputs import families, write_fasta

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("several")


@pytest.fixture(scope="module")
def it(folder):
    return model_of_several(folder)


def with_threshold(model, code, threshold):
    """A model whose threshold of one label is another."""
    several = model.classifier.several
    thresholds = several.thresholds.copy()
    thresholds[code] = threshold
    changed = replace(several, thresholds=thresholds)
    return replace(model, classifier=replace(model.classifier, several=changed))


def test_all_labels_above_their_thresholds_are_listed_the_likeliest_first(it, folder):
    table = classify_file(it.model, folder / "x.fasta", Options(threads=2))
    at = COLUMNS.index("problem")
    assert tuple(table.columns) == (*COLUMNS[:at], *LABELS_COLUMNS, *COLUMNS[at:])
    _, memberships = chimeras()
    thresholds = it.model.classifier.several.thresholds
    for row, p, own in zip(table.to_dict("records"), it.probabilities, memberships, strict=True):
        expected = sorted(zip(-p, "abc", strict=True))
        expected = [(label, -q) for q, label in expected if -q >= thresholds["abc".index(label)]]
        assert row["labels"] == ";".join(label for label, _ in expected)
        assert row["label_probabilities"] == ";".join(str(float(q)) for _, q in expected)
        assert [float(q) for q in row["label_probabilities"].split(";")] == [q for _, q in expected]
        assert (row["label"], row["probability"]) == ("abc"[p.argmax()], p.max())
        assert row["reject"] == ("no" if expected else "yes")
        assert set(row["labels"].split(";")) == {"abc"[code] for code in np.flatnonzero(own)}


def test_an_object_without_any_label_is_rejected_and_its_row_is_whole(it, folder):
    strangers = families(99, classes=("x",), each=4, length=200)
    bad = ("bad", "x", "AC1")
    path = write_fasta(folder / "strangers.fasta", [*strangers, bad])
    model = it.model
    for code in range(3):
        model = with_threshold(model, code, 0.999)
    pieces = []
    counts = write_tables(classify_batches(model, path, Options(on_fault=print)), pieces.append)
    (folder / "out.tsv").write_text("".join(pieces))
    table = pd.read_csv(folder / "out.tsv", sep="\t", dtype=str, keep_default_na=False)
    assert table["labels"].tolist() == [""] * 5
    assert table["label_probabilities"].tolist() == [""] * 5
    assert table["reject"].tolist() == ["yes"] * 4 + [""]
    assert table["problem"].iloc[4] != ""
    assert (counts["records"], counts["rejected"], counts["fault"]) == (5, 4, 1)


def test_the_explanation_names_all_labels(it, folder):
    found = explain(it.model, folder / "x.fasta", "r50")
    assert list(found.several) == ["b", "c"]
    assert found.labels == ("b", "c")
    assert tuple(found.several.values()) == found.probabilities
    first, second, *_ = explanation_text(found, 3).splitlines()
    b, c = (f"{p:.6g}" for p in found.probabilities)
    assert first == f"r50: b ({b}), c ({c})"
    assert second == f"likeliest: b, probability {b}; runner-up c, {c}; not rejected"
    none = it.model
    for code in range(3):
        none = with_threshold(none, code, 0.9999)
    found = explain(none, folder / "x.fasta", "r50")
    assert found.several == {}
    assert found.rejected
    assert explanation_text(found, 3).startswith("r50: no label reaches its threshold\n")
    # The terms are those of the two decisions, which the labels' lines turn into probabilities.
    several = it.model.classifier.several
    code = it.model.classifier.classes.index("b")
    f = found.table["contribution"].sum()
    assert f == pytest.approx(found.decisions[0])
    logit = several.slopes[code] * f + several.intercepts[code]
    assert 1 / (1 + np.exp(-logit)) == pytest.approx(found.probabilities[0])


@pytest.mark.parametrize("asked", [{"confidence": 0.8}, {"errors": 0.2}])
def test_sets_and_the_control_of_errors_are_for_one_label_each(it, folder, asked):
    with pytest.raises(InputError, match="as those of several labels"):
        classify_file(it.model, folder / "x.fasta", Options(**asked))
