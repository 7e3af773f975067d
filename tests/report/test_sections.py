"""Sections that not all data sets have, and what the tables say of single cases."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import recipes, sections
from kreinflow.report.tables import best_recipe, laid_out
from report.made_up import (
    LEVELS_ASKED,
    config,
    dataset_report,
    levels_of,
    report_page,
    settings,
    unknown_tables,
)

AUTO = config() | {"auto": {"alignments": 5_000_000}}
RULE = {"off": False, "tried": 200, "known_rejected": 0.035, "shuffled": 200}
RULE |= {"shuffled_accepted": 0.015, "near": -1.5, "far": -1.25}
TEST = {"false_alarms": 0.01, "calibrating": 1500, "would_be_found": 0.8125, "left_out": 300}
SIZES = {"<i>odd</i>": 30, "new": 1200}
ALARMS = config() | {"unknown": {"false_alarms": 0.01}}
NAMED = {"settings": settings() | {"final": "svc-meb"}, "final_recipe": "svc-meb"}


def text_of(tables, whole=None, **changes):
    return report_page(tables, whole, **changes)[1].all_text


def test_an_automatic_choice_has_a_section_with_the_runners_up(tables):
    inner = {"ikfd-meb": 0.91, "ikfd-pooled-meb": 0.97, "ikfd-pooled-meb-normalised": 0.96}
    accuracies = tables["models"]["recipe"].map(inner).fillna(0.9)
    models = tables["models"].assign(inner_accuracy=accuracies)
    # In one fold another recipe is ahead.
    swapped = (models["fold"] == 0) & (accuracies == 0.96)
    models.loc[swapped, "inner_accuracy"] = 0.98
    text = text_of(tables, AUTO, models=models, final_recipe="ikfd-pooled-meb")
    assert "9 recipes were compared in the first training part; " in text
    assert "not behind there (9) in 3 more (the other outer folds', and all data)" in text
    assert "It was chosen (prefer: accuracy)" in text
    assert "limited by 5,000,000 alignments" in text
    rows = (
        "ikfd-pooled-meb 97.00 % 0.200 2 of 3",
        "ikfd-pooled-meb-normalised 96.00 % 0.200 1 of 3",
        "ikfd-meb 91.00 % 0.200 0 of 3",
    )
    assert re.search(".*".join(rows), text)


@pytest.mark.parametrize("prefer", ["accuracy", "cheap"])
def test_the_choice_tells_of_the_worst_inner_fold_if_groups_are_held_out(tables, prefer):
    told = {"accuracy": "the best worst inner fold", "cheap": "not clearly behind the best recipe"}
    for sizes, whole in (("", AUTO), ("11 9", AUTO), ("11 9", config())):
        models = tables["models"].assign(inner_sizes=sizes)
        changes = {"models": models, "final_recipe": "ikfd-pooled-meb"}
        text = text_of(tables, whole | {"prefer": prefer}, **changes)
        assert text.count(told[prefer]) == (0 if sizes == "" else 3), "glance, choice, methods"
        behind = sizes != "" and "auto" in whole and prefer == "cheap"
        assert ("not clearly behind it in their own worst inner fold (prefer: ch" in text) == behind


def test_the_page_tells_what_each_view_is_worth(tables):
    own = (models := tables["models"])["recipe"] == "ikfd-pooled-meb"
    fold = models["fold"].clip(lower=0)
    lost = [json.dumps({"scores": 0.1, "words": 0.02 + 0.01 * k}) for k in fold]
    width = {0: 3.0, 1: float("inf"), 2: 3.0}
    choice = {"ridge": 0.01, "width_scores": 1.0}
    chosen = [json.dumps(choice | {"width_words": width[k]}) for k in fold]
    models = models.assign(
        views=np.where(own, lost, ""),
        hyper_parameters=np.where(own, chosen, models["hyper_parameters"]),
    )
    text = text_of(tables, models=models)
    mean = 100 * (0.02 + 0.01 * fold[own]).mean()
    assert "ikfd-pooled-meb scores 10.0 1" in text
    assert f"ikfd-pooled-meb words {mean:.1f} 3, left out" in text
    assert "ridge=0.01 width_scores=1 width_words=3, ridge=0.01 width_scores=1 width_w" in text


def test_verdicts_come_from_the_test_of_records(tables):
    compared = tables["comparison"].assign(p_folds_holm=0.5)
    shown = recipes.comparison(dataset_report(tables, comparison=compared))
    rows = {row[0]: dict(zip(shown.head, row, strict=True)) for row in shown.rows}
    figures, verdicts = tables["summary"].set_index("recipe"), set()
    for row in compared.to_dict("records"):
        own = rows[row["recipe"]]
        verdicts.add(own["verdict"])
        if row["p_records_holm"] <= 0.05:
            assert own["verdict"] == "worse"
            assert own["t-test, p (Holm)"] == "0.500"
            assert own["95 % interval"] == f"{100 * row['low']:+.2f} to {100 * row['high']:+.2f}"
        elif row["recipe"] in (best_recipe(compared), INNER_CHOICE):
            assert own["95 % interval"] == own["p (Holm)"] == ""
        else:
            assert own["verdict"] == "not distinguishable"
        figure = figures.loc[row["recipe"]]
        found, perfect = figure["calibration_error"], figure["calibration_error_perfect"]
        assert own["calibration error (if perfect)"] == f"{found:.3f} ({perfect:.3f})"
    assert verdicts == {"best", "worse", "not distinguishable", "honest figure"}


def test_the_page_counts_the_sequences_without_a_label(tables):
    rows = [("<b>", 3, 1, 0.3), ("", 1, 0, np.nan), ("01", 1, 1, 0.2)]
    counts = pd.DataFrame(rows, columns=["class", "records", "rejected", "landmark_score"])
    text = text_of(tables, unlabelled=counts)
    assert "5 sequences have no label; 2 of them are rejected" in text
    assert "and 1 could not be classified" in text
    assert "<b> 3 1 0.300 01 1 1 0.200" in text
    text = text_of(tables, unlabelled=counts[:0])
    assert "0 sequences have no label; 0 of them are rejected." in text


def test_what_is_accepted_and_what_is_rejected_of_each_class_has_a_table(tables):
    accepted = tables["accepted"].set_index("recipe").loc["svc-meb"]
    rows = dict(sections.rejecting(dataset_report(tables, **NAMED)).rows)
    assert rows["accepted"].startswith(f"{100 * accepted['accepted_mean']:.2f} ± ")
    wrong = rows["wrong among the accepted of all folds"]
    assert wrong == f"{100 * accepted['wrong_of_accepted']:.2f} %"
    for reason, name in AS.items():
        shown = rows[f"rejected: {reason}"]
        assert shown.startswith(f"{100 * accepted[f'{name}_mean']:.2f} ± ")
    one = tables["rejected"]
    one = one[one["recipe"] == "svc-meb"].set_index("class")["rejected"]
    shown = sections.per_class(dataset_report(tables, **NAMED))
    place = shown.head.index("rejected, %")
    told = {label: f"{100 * share:.2f}" for label, share in one.items()}
    assert {row[0]: row[place] for row in shown.rows} == told
    assert one.nunique() > 1


def test_a_column_that_a_layout_names_wrongly_is_no_column_that_may_be_missing(tables):
    with pytest.raises(KeyError, match="recall"):
        laid_out(tables["per_class"].drop(columns="recall"), "per_class", what="class")


def test_the_page_has_the_tree_with_its_figures(tables):
    levels = levels_of(tables)
    asked = settings() | {"levels": LEVELS_ASKED}
    text = text_of(tables, levels=levels, settings=asked)
    assert "paths with 3 levels, separated by “.”" in text
    assert "at least 95.00 %" in text
    nodes = levels["nodes"][levels["nodes"]["recipe"] == INNER_CHOICE].set_index("node")
    for path in ("1", "1.2", "1.2.1"):
        row = nodes.loc[path]
        figures = [f"{100 * row[name]:.2f}" for name in ("precision", "recall", "answered")]
        assert "".join([path, f"{row['records']:,.0f}", *figures]) in "".join(text.split())


def test_sets_and_errors_have_what_was_measured(tables):
    coverage, best = tables["coverage"], best_recipe(tables["comparison"])
    own = {"settings": settings() | {"final": best}, "final_recipe": best}
    found = sections.sets(dataset_report(tables, **own))
    table = found["recipes"]
    shown = [f"{what} at {level} %" for level in (90, 95, 99) for what in ("held", "labels")]
    assert list(table.head) == ["recipe", *shown]
    whole = coverage[coverage["class"] == ""].set_index(["recipe", "confidence"])
    assert [row[0] for row in table.rows] == list(dict.fromkeys(coverage["recipe"]))
    for row in table.rows:
        assert row[1] == f"{100 * whole.loc[(row[0], 0.9), 'coverage']:.2f} %"
        assert float(row[6]) == pytest.approx(whole.loc[(row[0], 0.99), "size"], abs=0.01)
    assert [table.rows[i][0] for i in table.marked] == [best]
    of_all = whole.loc[best, "coverage"]
    told = [(f"{100 * level:g} %", f"{100 * held:.2f}") for level, held in of_all.items()]
    assert [row[:2] for row in found["coverage"].rows] == told
    classes = coverage[(coverage["recipe"] == best) & (coverage["confidence"] == 0.95)]
    of_class = classes[classes["class"] != ""]
    expected = {
        (row["class"], f"{row['records']:,}", f"{100 * row['coverage']:.2f} %")
        for row in of_class.to_dict("records")
    }
    assert {(row[0], row[1], row[4]) for row in found["classes"].rows} == expected
    assert len(found["accepted"].rows) == len(tables["errors"])
    mine = [row[1:] for row in found["accepted"].rows if row[0] == best]
    assert mine[0][0] == "1 %"
    assert [tuple(row) for row in found["errors"].rows] == mine


def test_few_records_have_no_sets(tables):
    said = "There are no sets: they take at least 9 records"
    assert said in text_of(tables, coverage=tables["coverage"][:0])


def section_of(tables, held_out=None, strangers=None, whole=None):
    statistics = tables["statistics"] | ({"unknown": SIZES} if held_out else {})
    changes = {"unknown": held_out, "strangers": strangers or {}, "statistics": statistics}
    return report_page(tables, whole, **changes)[1].sections()["data-1-unknown"]


def test_the_page_tells_how_many_of_the_unknown_were_rejected(tables):
    held_out = unknown_tables(tables)
    text = section_of(tables, held_out)
    counted = tables["statistics"] | {"unknown": SIZES}
    assert ("records held out as unknown", "1,230") in sections.counts(counted).rows
    assert "1,230 records of 2 classes were held out" in text
    # The inner folds chose the recipe, so these are the figures of the inner choice.
    share = 1 + list(held_out["summary"]["recipe"]).index(INNER_CHOICE)
    for part in (
        f"{30 + share}.00 ± 0.50 % of the unknown were rejected, beside {share}.00",
        f"{share / 10:.2f} ± 0.50 % of the other known ones were wrong",
        f"The AUROC is {0.5 + share / 100:.3f}",
        f"<i>odd</i> 30 {30 + share}.00 % {tables['classes'][0]} 90.00 %",
    ):
        assert part in text
    assert "no relative" not in text
    held_out["summary"].loc[0, ["known_error_mean", "known_error_sd"]] = np.nan
    shown = sections.unknown(dataset_report(tables, unknown=held_out))["held"]
    assert shown["recipes"].rows[0][2] == ""  # all were rejected
    assert shown["recipes"].rows[1][2].endswith(" %")
    (place,) = shown["recipes"].marked
    assert shown["recipes"].rows[place][0] == INNER_CHOICE
    assert shown["reasons"] is None


def test_what_a_level_takes_is_told_with_what_it_costs(tables):
    rows = [
        {"left_out": 1300, "likeness": 0.25, "answered_before": 0.9, "answered": 0.875},
        {"left_out": 12, "likeness": None, "answered_before": 0.5, "answered": 0.0},
    ]
    text = section_of(tables, None, TEST | {"overclassification": 0.05, "levels": rows}, ALARMS)
    assert "what 95 % of the training records do not reach" in text
    assert "at most 5 % of the sequences of an unknown node" in text
    assert "1 1,300 0.250 90.00 87.50 2 12 none 50.00 0.00" in text
    assert "of an unknown node" not in section_of(tables, None, TEST, ALARMS)


def test_with_p_values_the_reasons_are_told_beside_what_was_asked_for(tables):
    held_out = unknown_tables(tables)
    text = section_of(tables, held_out, TEST | {"no_relative": RULE}, ALARMS)
    place = list(held_out["summary"]["recipe"]).index(INNER_CHOICE)
    row = held_out["summary"].iloc[place]
    strange, alone = (
        f"{100 * row[f'known_{AS[reason]}_mean']:.2f} ± 0.50 %"
        for reason in ("unknown", "no relative")
    )
    assert "At most 1 % of the known were to be rejected as unknown; " in text
    assert f"{strange} were in fact, and {alone} because they have no relative" in text
    assert f"<i>odd</i> 30 {31 + place}.00 % 10.00 % 5.00 % {1 + place}.00 %" in text
    assert f"The models expected to find {61 + place}.00 % of the unknown." in text
    reasons = sections.unknown(dataset_report(tables, ALARMS, unknown=held_out))["held"]["reasons"]
    assert list(reasons.head) == ["reason", "known", "unknown"]
    for reason, *found in reasons.rows:
        means = [row[f"{side}_{AS[reason]}_mean"] for side in ("known", "unknown")]
        assert found == [f"{100 * mean:.2f} ± 0.50 %" for mean in means]
    held_out["summary"]["would_be_found"] = np.nan
    assert "The models expected" not in section_of(tables, held_out, TEST, ALARMS)


def test_landmarks_are_told_of_the_fits_of_folds_and_of_the_final_model():
    place = {"repeat": [0, 0, 0, -1], "fold": [0, 0, 1, -1], "selector": "meb"}
    reached = [True, True, False, True]
    own = pd.DataFrame(place | {"class": list("abab"), "radius": 0.8, "reached": reached})
    assert sections.landmarks(own).rows == [
        ("fits of the outer folds", "meb", "1.5 (1 to 2)", "1.5 (1 to 2)", "1", "2 of 3"),
        ("final model", "meb", "1", "1", "1", "1 of 1"),
    ]
