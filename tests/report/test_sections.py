"""Sections that not all data sets have, and what the tables say of single cases."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.answering.answers import unsure
from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import sections
from kreinflow.report.rejecting import SURENESS, Threshold
from kreinflow.report.tables import best_recipe
from report.made_up import config, report_page, settings


def test_an_automatic_choice_has_a_section_with_the_runners_up(tables):
    inner = dict(
        zip(tables["models"]["recipe"].unique(), [0.91, 0.97, 0.96] + 6 * [0.9], strict=True)
    )
    models = tables["models"].assign(inner_accuracy=tables["models"]["recipe"].map(inner))
    # In one fold another recipe is ahead.
    swapped = (models["fold"] == 0) & (models["recipe"] == "ikfd-pooled-meb-normalised")
    models.loc[swapped, "inner_accuracy"] = 0.98
    whole = config() | {"auto": {"alignments": 5_000_000}}
    _, page = report_page(tables, whole, models=models, final_recipe="ikfd-pooled-meb")
    assert "data-1-automatic" in page.ids
    text = page.all_text
    assert "9 recipes were compared in the first training part, with 132 fits; " in text
    # Four recipes with 9 ridges on 3 inner folds, five with nothing to choose, each once on all.
    assert "not behind there (9) in 3 more (the other outer folds', and all data)" in text
    assert "with 528 fits in all" in text
    assert "It was chosen (prefer: accuracy)" in text
    assert "limited by 5,000,000 alignments" in text
    assert "decided there; it holds records that the other folds test" in text
    section = text[text.index("Recipes by their accuracy on the inner folds") :]
    places = [
        section.index(row)
        for row in (
            "ikfd-pooled-meb 97.00 % 0.200 2 of 3",
            "ikfd-pooled-meb-normalised 96.00 % 0.200 1 of 3",
            "ikfd-meb 91.00 % 0.200 0 of 3",
        )
    ]
    assert places == sorted(places)


def test_what_the_other_preference_would_choose_is_told_where_it_is_another(tables):
    models = tables["models"]
    cost = models["alignments_per_query"].mask(models["recipe"] == "pcvm-uniform", 3)
    models = models.assign(alignments_per_query=cost)
    whole = config() | {"auto": {"alignments": 5_000_000}}

    def text_of(final, asked=None, prefer="accuracy"):
        own = settings() | {"final": asked}
        page = report_page(
            tables, whole | {"prefer": prefer}, models=models, final_recipe=final, settings=own
        )
        return page[1].all_text

    assert "With prefer: cheap it would be pcvm-uniform." in text_of("ikfd-meb")
    assert "With prefer: accuracy it would be ikfd-meb." in text_of("pcvm-uniform", prefer="cheap")
    asked = text_of("svc-meb", asked="svc-meb")
    for text in (text_of("pcvm-uniform"), asked):
        assert "it would be" not in text
    assert "The final model is of the recipe that the config names (shaded)." in asked
    assert "It was chosen" not in asked


def test_the_page_tells_what_each_view_is_worth(tables):
    own = (models := tables["models"])["recipe"] == "ikfd-pooled-meb"
    fold = models["fold"].clip(lower=0)
    lost = "scores=0.1 words=" + (0.02 + 0.01 * fold).astype(str)
    width = "ridge=0.01 width_scores=1 width_words=" + fold.map({0: "3", 1: "inf", 2: "3"})
    models = models.assign(
        views=lost.where(own, ""), hyper_parameters=width.where(own, models["hyper_parameters"])
    )
    _, page = report_page(tables, models=models)
    text = page.all_text
    mean = 100 * (0.02 + 0.01 * fold[own]).mean()
    assert "ikfd-pooled-meb scores 10.0 1" in text
    assert f"ikfd-pooled-meb words {mean:.1f} 3, left out" in text
    assert "What each view is worth" not in report_page(tables)[1].all_text
    damaged = models["hyper_parameters"].str.replace("=", "\x1d")
    report_page(tables, models=models.assign(hyper_parameters=damaged))


def test_recipes_that_did_not_go_on_after_the_race_are_not_counted_as_fitted(tables):
    models = tables["models"]
    behind = models["recipe"].isin(["ikfd-meb", "ikfd-pooled-meb"])
    models = models[~behind | ((models["fold"] == 0) & (models["repeat"] == 0))]
    whole = config() | {"auto": {"alignments": 5_000_000}, "prefer": "cheap"}
    _, page = report_page(tables, whole, models=models, final_recipe="pcvm-meb")
    text = page.all_text
    assert "not behind there (7) in 3 more" in text
    assert "has the fewest alignments of those" in text
    section = text[text.index("Recipes by their accuracy on the inner folds") :]
    assert "ikfd-meb 95.00 %" not in section


def test_a_model_that_promises_nothing_rejects_all(tables):
    models = tables["models"].assign(reject_threshold=NOTHING_ACCEPTED)
    text = report_page(tables, models=models)[1].all_text
    assert "The final model rejects all predictions (asked for: at most 1 % errors" in text
    assert "In 3 folds" in text
    assert " and the final model, no threshold can promise" in text
    assert "What will be accepted? nothing The final model rejects all" in text
    models = tables["models"].assign(reject_threshold=0.99951)  # 1.000 would read as all
    text = report_page(tables, models=models)[1].all_text
    assert "rejects predictions with a probability below 0.9995 (" in text
    assert "overwhelming" not in text


def test_a_model_that_knows_overwhelming_hits_rejects_by_them():
    def of(sureness, probability=0.4):
        about = {} if sureness is None else {SURENESS: sureness}
        return Threshold({"reject_threshold": probability}, about)

    below = "predictions with a probability below"
    assert of(None).rejects() == f"{below} 0.4"
    assert of(None).told() == "Threshold of the final model: 0.4."
    assert of(0.25).rejects() == f"{below} 0.5, unless an overwhelming hit speaks for them"
    assert of(0.25).told() == "Threshold of the final model: 0.5, or an overwhelming hit."
    assert of(0.75).rejects() == (
        "predictions that no overwhelming hit speaks for, and others with a probability below 0.5"
    )
    assert of(0.75).told() == "The final model asks for an overwhelming hit."
    # The probability alone may accept nothing where hits are accepted.
    for probability, sureness, nothing in (
        (NOTHING_ACCEPTED, None, True),
        (NOTHING_ACCEPTED, 0.75, False),
        (NOTHING_ACCEPTED, NOTHING_ACCEPTED, True),
    ):
        assert of(sureness, probability).nothing == nothing
    assert of(NOTHING_ACCEPTED, NOTHING_ACCEPTED).rejects() == "all predictions"


@pytest.mark.parametrize("sureness", [0.3, 0.7])
def test_what_is_said_of_the_threshold_is_what_the_model_does(sureness):
    told = Threshold({"reject_threshold": 0.4}, {SURENESS: sureness})
    for probability in (0.1, 0.39, 0.41, 0.59, 0.61, 0.99):
        for hit in (0, 1):
            rejected = bool(unsure(np.array([(hit + probability) / 2]), sureness)[0])
            needed = told.probability - hit
            assert rejected == (probability < needed)


def test_the_page_tells_overwhelming_hits(tables):
    strangers = {"calibrating": 900, "false_alarms": 0.01, "would_be_found": 0.8, "left_out": 300}
    text = report_page(tables, strangers=strangers | {SURENESS: 0.25})[1].all_text
    assert "below 0.5, unless an overwhelming hit speaks for them (asked for: at most 1 %" in text
    assert "docs/guide.md says what an overwhelming hit is" in text


def test_verdicts_come_from_the_test_of_records(tables):
    compared = tables["comparison"].assign(p_folds_holm=0.5)
    shown = sections.comparison(compared, tables["summary"], {}, "scores")
    rows = {row[0]: dict(zip(shown.head, row, strict=True)) for row in shown.rows}
    verdicts = set()
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
    assert verdicts == {"best", "worse", "not distinguishable", "honest figure"}


def test_the_calibration_error_stands_beside_that_of_perfect_probabilities(tables):
    shown = sections.comparison(tables["comparison"], tables["summary"], {}, "scores")
    place = shown.head.index("calibration error (if perfect)")
    figures = tables["summary"].set_index("recipe")
    for row in shown.rows:
        own = figures.loc[row[0]]
        found, perfect = own["calibration_error"], own["calibration_error_perfect"]
        assert row[place] == f"{found:.3f} ({perfect:.3f})"


def test_the_page_counts_the_sequences_without_a_label(tables):
    rows = [("<b>", 3, 1, 0.3), ("", 1, 0, np.nan), ("01", 1, 1, 0.2)]
    counts = pd.DataFrame(rows, columns=["class", "records", "rejected", "landmark_score"])
    text = report_page(tables, unlabelled=counts)[1].all_text
    assert "5 sequences have no label; 2 of them are rejected" in text
    assert "and 1 could not be classified" in text
    assert "<b> 3 1 0.300 01 1 1 0.200" in text
    text = report_page(tables, unlabelled=counts[:0])[1].all_text
    assert "0 sequences have no label; 0 of them are rejected." in text


def test_it_says_how_many_objects_the_map_shows():
    whole = {"distinct": 140, "landmarks": 32, "shown_objects": 108, "shown_landmarks": 32}
    said = sections.shown_on_the_map(whole)
    assert said == "It shows all 32 landmarks and all 108 other objects."
    said = sections.shown_on_the_map(whole | {"distinct": 10_000, "shown_objects": 2000})
    assert "all 32 landmarks and 2,000 of 9,968 other objects. They were chosen by a hash" in said


def test_landmarks_are_told_of_the_fits_of_folds_and_of_the_final_model():
    place = {"repeat": [0, 0, 0, -1], "fold": [0, 0, 1, -1], "selector": "meb"}
    own = pd.DataFrame(place | {"class": list("abab"), "radius": 0.8, "reached": True})
    own.loc[2, "reached"] = False
    assert sections.landmarks(own).rows == [
        ("fits of the outer folds", "meb", "1.5 (1 to 2)", "1.5 (1 to 2)", "1", "2 of 3"),
        ("final model", "meb", "1", "1", "1", "1 of 1"),
    ]


def test_what_is_accepted_has_a_table(tables):
    accepted = tables["accepted"].set_index("recipe").loc["svc-meb"]
    rows = dict(sections.rejecting(tables["accepted"], "svc-meb").rows)
    assert rows["accepted"].startswith(f"{100 * accepted['accepted_mean']:.2f} ± ")
    wrong = rows["wrong among the accepted of all folds"]
    assert wrong == f"{100 * accepted['wrong_of_accepted']:.2f} %"
    told = [name for name in rows if name.startswith("rejected: ")]
    assert told == ["rejected: unsure", "rejected: unknown", "rejected: no relative"]
    whole = sum(float(rows[name].split(" ")[0]) for name in ["accepted", *told])
    assert abs(whole - 100) < 0.05
    assert sections.rejecting(tables["accepted"][:0], "svc-meb") is None


def test_classes_tell_what_is_rejected_of_them(tables):
    one = tables["rejected"]
    one = one[one["recipe"] == "svc-meb"].set_index("class")["rejected"]
    made = tables["per_class"]
    shown = sections.per_class(made, "svc-meb", tables["rejected"])
    place = shown.head.index("rejected, %")
    assert {row[0]: row[place] for row in shown.rows} == {
        label: f"{100 * share:.2f}" for label, share in one.items()
    }
    assert one.nunique() > 1
    without = sections.per_class(made, "svc-meb", tables["rejected"][:0])
    assert without.head == [name for name in shown.head if name != "rejected, %"]
    text = report_page(tables, settings=settings() | {"final": "svc-meb"})[1].all_text
    assert " ".join(shown.rows[0]) in text


def test_the_page_counts_the_labels_of_records_that_may_have_several():
    several = {
        "several": True,
        "labels_per_record": {"1": 60, "2": 30, "4": 10},
        "labels_removed": {"count": 3, "examples": ["x", "y", "z"]},
    }
    found = dict(sections.labels_per_record(several))
    assert found == {
        "labels of a record, mean": "1.60",
        "labels of a record, most": "4",
        "records with several labels": "40",
        "labels removed: too few records have or lack them": "3",
    }
