"""The tables and the page of the comparison."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kreinflow.compare.competitor import FOLD_COLUMNS, TESTS_NOTHING
from kreinflow.compare.methods import OURS
from kreinflow.compare.page import cost_figure, render_page
from kreinflow.compare.tables import (
    AGAINST_OURS,
    BUDGET_COLUMNS,
    COMPARE_COLUMNS,
    budget_table,
    compare_table,
    fold_table,
)
from report.made_up import Page


def rows(method, accuracies, reason="", **more):
    return [
        pd.DataFrame(
            [
                dict.fromkeys(FOLD_COLUMNS, 1.0)
                | {"method": method, "repeat": 0, "fold": fold, "records": 20}
                | {"accuracy": accuracy, "version": "v", "reason": reason, **more}
            ]
        )
        for fold, accuracy in enumerate(accuracies)
    ]


def compared(parts):
    """The table of these rows, and of predictions that fit them.

    Of each fold a share of the first records is right. Two records of a kind are never tested.
    """
    folds = fold_table(parts)
    predictions, groups = {}, {}
    for kind, table in folds.groupby("folds", sort=False):
        tested = table.loc[table["records"] > 0, "fold"].unique()
        ids = [f"{fold}.{i}" for fold in tested for i in range(20)]
        groups[kind] = pd.Series(range(len(ids) + 2), index=[*ids, "new", "newer"])
        predictions[kind] = pd.DataFrame(
            [
                (row.method, 0, f"{row.fold}.{i}", "a", "a" if i < round(20 * row.accuracy) else "")
                for row in table.itertuples()
                if row.reason == ""
                for i in range(20)
            ],
            columns=["method", "repeat", "id", "true", "predicted"],
        )
    return compare_table(folds, predictions, groups)


def made_up():
    return {
        "random": [
            *rows("diamond", ["", ""], "<b>missing</b>", version=""),
            *reversed(rows("blast", [0.5, 0.7])),
            *rows(OURS, [0.9, 1.0]),
        ],
        "homology-aware": rows("blast", [0.25]),
    }


def test_means_and_deviations_are_those_of_the_folds():
    folds = fold_table(made_up())
    assert folds["method"].tolist()[:4] == [OURS, OURS, "blast", "blast"]
    assert folds["fold"].tolist()[:4] == [0, 1, 0, 1]
    table = compared(made_up())
    assert list(table.columns) == list(COMPARE_COLUMNS)
    assert table["method"].tolist() == [OURS, "blast", "diamond", "blast"]
    assert table["tested_folds"].tolist() == [2, 2, 0, 1]
    np.testing.assert_allclose(table["accuracy_mean"], [0.95, 0.6, np.nan, 0.25])
    np.testing.assert_allclose(table["accuracy_sd"], [0.05 * 2**0.5, 0.1 * 2**0.5, np.nan, np.nan])
    assert table["reason"].tolist() == ["", "", "<b>missing</b>", ""]


def test_the_difference_to_ours_is_tested_with_the_overlap_of_the_training_parts():
    """Against the formula written out, of Nadeau and Bengio, and Holm's steps by hand."""
    parts = {
        "random": [
            *rows(OURS, [0.9, 1.0, 0.8]),
            *rows("blast", [0.8, 0.7, 0.75]),
            *rows("kmer_svm", [0.9, 0.95, 0.85]),
            *rows("diamond", [0.9, 0.9, ""]),
        ]
    }
    parts["random"][-1]["reason"] = "it broke"
    table = compared(parts).set_index("method")
    p = {}
    for method, d in {"blast": [-0.1, -0.3, -0.05], "kmer_svm": [0, -0.05, 0.05]}.items():
        t = np.mean(d) / np.sqrt((1 / 3 + 20 / 42) * np.var(d, ddof=1))
        p[method] = 2 * stats.t.sf(abs(t), 2)
        assert table.loc[method, "difference"] == pytest.approx(np.mean(d), abs=1e-12)
    assert p["blast"] < p["kmer_svm"]
    holm = table["p_folds_holm"]
    assert holm["blast"] == pytest.approx(min(1, 2 * p["blast"]))
    assert holm["kmer_svm"] == pytest.approx(max(2 * p["blast"], p["kmer_svm"]))
    # Of 60 records 9 are right with ours alone; with k-mers one alone either way.
    expected = pytest.approx([2 * stats.binomtest(9, 9).pvalue, 1.0])
    assert table.loc[["blast", "kmer_svm"], "p_records_holm"].tolist() == expected
    assert table.loc["blast", "difference_records"] == pytest.approx(-9 / 60)
    for method in (OURS, "diamond"):  # of some folds alone there is no difference
        assert table.loc[method, list(AGAINST_OURS)].isna().all()


def made_up_choices():
    """Two selectors of two recipes; the inner folds prefer another one in each fold."""
    place = [(recipe, 0, fold) for recipe in ("a", "b", "c", "d") for fold in (0, 1)]
    models = pd.DataFrame(place, columns=["recipe", "repeat", "fold"])
    models["selector"] = ["few"] * 4 + ["many"] * 4
    models["inner_accuracy"] = [0.9, 0.8, 0.8, 0.9, 0.9, 0.9, 0.8, 0.8]
    models["inner_log_loss"] = 0.1
    models["alignments_per_query"] = [10, 12, 10, 12, 50, 50, 50, 50]
    metrics = pd.DataFrame(place, columns=["recipe", "repeat", "fold"])
    metrics["accuracy"] = [0.7, 1.0, 1.0, 0.5, 0.9, 0.8, 1.0, 1.0]
    final = models.iloc[:1].assign(repeat=-1, fold=-1)
    return pd.concat([models, final]), metrics


def made_up_budgets(kind="random", **instead):
    """What each selector gives; ``instead`` are other models or metrics."""
    tables = dict(zip(("models", "metrics"), made_up_choices(), strict=True)) | instead
    return budget_table(kind, **tables, order=["a", "b", "c", "d"])


def test_each_selector_has_the_recipes_that_its_inner_folds_choose():
    table = made_up_budgets()
    assert list(table.columns) == list(BUDGET_COLUMNS)
    assert table["selector"].tolist() == ["few", "many"]
    assert table["recipes"].tolist() == ["a, b", "c"]
    np.testing.assert_allclose(table["alignments_per_query_mean"], [11, 50])
    np.testing.assert_allclose(table["accuracy_mean"], [0.6, 0.85])
    np.testing.assert_allclose(table["accuracy_sd"], [0.1 * 2**0.5, 0.05 * 2**0.5])


def test_folds_that_test_nothing_change_no_mean_and_no_test():
    tested = {
        OURS: rows(OURS, [0.9, 1.0, 0.8]),
        "blast": rows("blast", [0.8, 0.7, 0.75]),
    }
    nothing = [
        part[-1].assign(fold=3, records=0, accuracy="", reason=TESTS_NOTHING, version="")
        for part in tested.values()
    ]
    parts = [table for part in tested.values() for table in part]
    before = compared({"homology-aware": parts})
    after = compared({"homology-aware": [*parts, *nothing]})
    pd.testing.assert_frame_equal(before, after)
    assert after[["p_folds_holm", "p_records_holm"]].notna().any().all()
    models, _ = made_up_choices()
    more = pd.concat([models, models[models["fold"] == 0].assign(fold=2)])
    pd.testing.assert_frame_equal(made_up_budgets(models=more), made_up_budgets())


def test_the_figure_has_a_point_for_each_method_that_ran():
    summary = compared(made_up())
    random = summary[summary["folds"] == "random"].copy()
    random.loc[random["method"] == "blast", "alignments_per_query_mean"] = np.nan
    counted, beside = cost_figure(random, made_up_budgets()).axes
    line, ours = counted.lines
    np.testing.assert_allclose(line.get_xdata(), [11, 50])
    np.testing.assert_allclose(line.get_ydata(), [0.4, 0.15])
    np.testing.assert_allclose(ours.get_ydata(), [0.05])
    (blast,) = beside.lines  # of unknown cost; DIAMOND did not run
    np.testing.assert_allclose(blast.get_ydata(), [0.4])


def test_the_page_shows_each_row_and_escapes_what_it_prints():
    budgets = made_up_budgets().assign(selector="<i>few</i>")
    page = render_page({"a & b": compared(made_up())}, {"a & b": budgets}, 1)
    Page(page).checked()
    assert "a &amp; b" in page
    assert "95.00 ± 7.07" in page
    assert "not run: &lt;b&gt;missing&lt;/b&gt;" in page
    assert "<td>-35.00</td>" in page  # by an exact test of 14 records that differ
    assert "<td>&lt; 0.001</td>" in page
    assert "&lt;i&gt;few&lt;/i&gt;" in page
    assert page.count('class="best"') == 1
    assert page.count("<script") == 1  # sorts tables
    assert page.count("<img") == 2
