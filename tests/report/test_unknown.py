"""The section of unknown objects: what the final model tells, and classes that were held out."""

import numpy as np
import pytest

from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.tables import best_recipe
from kreinflow.report.unknown import unknown
from report.made_up import config, report_page, unknown_tables

RULE = {
    "off": False,
    "tried": 200,
    "known_rejected": 0.035,
    "shuffled": 200,
    "shuffled_accepted": 0.015,
    "near": -1.5,
    "far": -1.25,
}
TEST = {"false_alarms": 0.01, "calibrating": 1500, "would_be_found": 0.8125, "left_out": 300}
SIZES = {"<i>odd</i>": 30, "new": 1200}


@pytest.fixture
def held_out(tables):
    summary, families, _ = unknown_tables(tables)
    return {"summary": summary, "families": families}


def page_of(tables, held_out=None, strangers=None, whole=None):
    statistics = tables["statistics"] | ({"unknown": SIZES} if held_out else {})
    changes = {"unknown": held_out, "strangers": strangers or {}, "statistics": statistics}
    return report_page(tables, whole, **changes)[1]


def section_of(page):
    return page.sections()["data-1-unknown"]


def test_the_page_tells_how_many_of_the_unknown_were_rejected(tables, held_out):
    page = page_of(tables, held_out)
    assert "data-1-unknown" in page.ids
    assert "records held out as unknown 1,230" in page.all_text
    text = section_of(page)
    assert "1,230 records of 2 classes were held out" in text
    # The inner folds chose the recipe, so these are the figures of the inner choice.
    share = 1 + list(held_out["summary"]["recipe"]).index(INNER_CHOICE)
    assert f"{30 + share}.00 ± 0.50 % of the unknown were rejected, beside {share}.00" in text
    assert f"{share / 10:.2f} ± 0.50 % of the other known ones were wrong" in text
    assert f"The AUROC is {0.5 + share / 100:.3f}" in text
    assert "These are the figures of the inner choice on the outer folds." in text
    assert (
        "at most 1 % errors among accepted predictions with 90 % confidence on inner folds, without"
        in text
    )
    assert f"<i>odd</i> 30 {30 + share}.00 % {tables['classes'][0]} 90.00 %" in text
    assert "The probability says which class is likeliest" in text
    assert "% would be found" not in text
    assert "no relative" not in text


def test_where_all_are_rejected_no_share_of_errors_is_made_up(tables, held_out):
    held_out["summary"].loc[0, ["known_error_mean", "known_error_sd"]] = np.nan
    best = best_recipe(tables["comparison"])
    shown = unknown({}, held_out, {"new": 60}, best, None)["held"]
    assert shown["recipes"].rows[0][2] == ""
    assert shown["recipes"].rows[1][2].endswith(" %")
    (place,) = shown["recipes"].marked
    assert shown["recipes"].rows[place][0] == best
    assert shown["reasons"] is None


def test_with_p_values_the_reasons_are_told_beside_what_was_asked_for(tables, held_out):
    best = INNER_CHOICE
    whole = config() | {"unknown": {"false_alarms": 0.01}}
    text = section_of(page_of(tables, held_out, TEST | {"no_relative": RULE}, whole))
    place = list(held_out["summary"]["recipe"]).index(best)
    row = held_out["summary"].iloc[place]
    strange, alone = (
        f"{100 * row[f'known_{AS[reason]}_mean']:.2f} ± 0.50 %"
        for reason in ("unknown", "no relative")
    )
    assert "At most 1 % of the known were to be rejected as unknown; " in text
    assert f"{strange} were in fact, and {alone} because they have no relative" in text
    assert f"<i>odd</i> 30 {31 + place}.00 % 10.00 % 5.00 % {1 + place}.00 %" in text
    assert "They were compared with the landmarks, and with training records as well" in text
    assert f"The models expected to find {61 + place}.00 % of the unknown." in text
    held = unknown(TEST, held_out, SIZES, best, 0.01)["held"]
    assert list(held["reasons"].head) == ["reason", "known", "unknown"]
    for reason, *found in held["reasons"].rows:
        means = [row[f"{side}_{AS[reason]}_mean"] for side in ("known", "unknown")]
        assert found == [f"{100 * mean:.2f} ± 0.50 %" for mean in means]
    held_out["summary"]["would_be_found"] = np.nan
    assert unknown(TEST, held_out, SIZES, best, 0.01)["held"]["expected"] is None


def test_a_final_model_tells_what_it_does_with_strangers(tables):
    text = section_of(page_of(tables, strangers={"no_relative": RULE}))
    assert "Of 200 training records 3.50 % would be rejected by that" in text
    assert "Of 200 shuffled training records the final model would accept 3 " in text
    assert "whether objects of no known class are rejected" in text
    assert "held out" not in text
    assert "p-value" not in text


def test_a_rule_that_is_off_says_why(tables):
    rule = RULE | {"off": True, "known_rejected": 0.83, "shuffled_accepted": 0.5}
    text = section_of(page_of(tables, strangers={"no_relative": rule}))
    assert "The final model does not ask whether a sequence has a relative." in text
    assert "83.00 % have no better alignments" in text
    assert "the final model would accept 100 " in text


@pytest.mark.parametrize(("share", "low"), [(0.08, True), (0.8125, False)])
def test_what_would_be_found_is_told_and_why_it_is_little(tables, share, low):
    told = TEST | {"would_be_found": share, "no_relative": RULE}
    text = section_of(page_of(tables, strangers=told))
    assert "p-values come from 1,500 training records" in text
    assert "With 300 of them their class was left out in turn" in text
    assert f"{100 * share:.2f} % would be found" in text
    assert ("the relatives are as strange as strangers" in text) == low


def test_too_few_records_reject_nothing_as_unknown(tables):
    text = section_of(page_of(tables, strangers=TEST | {"calibrating": 98}))
    assert "1 % false alarms take at least 99 records" in text
    assert "and there are 98" in text
    assert "would be found" not in text
    text = section_of(page_of(tables, strangers=TEST | {"calibrating": 99}))
    assert "would be found" in text


def test_without_anything_known_of_strangers_there_is_no_section(tables):
    assert unknown({}, None, {}, "any", 0.01) is None
    assert "data-1-unknown" not in page_of(tables).ids
