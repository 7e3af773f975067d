"""Warnings about a run: each trouble is named, with what to do about it."""

import re

import numpy as np
import pandas as pd
import pytest

from kreinflow.fitting.reject_threshold import NOTHING_ACCEPTED
from kreinflow.report.words import broken_promises, warnings_of
from report.made_up import config, dataset_report, report_page, settings

PLACE = {"repeat": [0, 0, -1], "fold": [0, 1, -1], "recipe": "svc-meb"}
NO_SETS = pd.DataFrame(columns=["recipe", "class", "errors"])


def sound(tables, whole=None, **changes):
    """Results in which nothing is wrong; ``changes`` are columns of their tables."""
    whole = whole or config()
    whole["selectors"]["kept"] = {"method": "given"}
    models = {"converged": "True", "unlearned_classes": 0, "unlearned_names": ""}
    models |= {"singular_classes": 0, "groups_held_out": "True", "reject_threshold": 0.99}
    models["promised_error"] = 0.01
    landmarks = {"selector": "meb", "class": "a", "reached": True}
    parts = {"own_models": models, "own_landmarks": landmarks, "own_factors": {"misfit": 0.5}}
    for name, columns in parts.items():
        parts[name] = pd.DataFrame(columns | PLACE | changes.pop(name, {}))
    statistics = {"class_sizes": {"a": 10, "b": 200}} | changes.pop("statistics", {})
    parts |= {"coverage": NO_SETS, "errors": NO_SETS, "statistics": statistics}
    return dataset_report(tables, whole, final_recipe="svc-meb", **(parts | changes))


UNLEARNED = {"unlearned_classes": [1, 0, 2], "unlearned_names": ["'01'", "", "'01', 'b'"]}
OTHER = {"converged": False, "recipe": ["other", "svc-meb", "svc-meb"]}
CASES = {"class_sizes": {"Kinase": 20, "b": 20, "kinase": 20}}
SMALL = {"class_sizes": {f"c{i}": i + 1 for i in range(12)}}
STRAND = {"other_strand": {"count": 7, "examples": list("abcdefg"), "turned": False}}
TURNED = {"other_strand": STRAND["other_strand"] | {"turned": True}}


@pytest.mark.parametrize(
    ("part", "columns", "said"),
    [
        ("statistics", {"other_strand": {"count": 0, "examples": [], "turned": True}}, []),
        ("own_factors", {"misfit": [0.51, 0.5, 0.5]}, ["misfit up to 0.51", "in 1 fold:"]),
        ("own_models", {"converged": ["False", "True", "True"]}, ["converged, in 1 fold. Raise"]),
        (
            *("own_models", UNLEARNED),
            ["of some classes ('01', 'b'), in 1 fold and the final model:", "try the correction"],
        ),
        ("own_models", {"singular_classes": [2, 0, 0]}, ["is singular, in 1 fold, so a", "Give"]),
        (
            *("own_models", {"groups_held_out": ["False", "True", "True"]}),
            ["too few groups for inner folds to hold out whole ones, in 1 fold", "Use smaller"],
        ),
        (
            *("own_models", {"reject_threshold": NOTHING_ACCEPTED}),
            ["In 2 folds and the final model, no threshold", "It takes at least 230 records"],
        ),
        (
            *("own_models", {"promised_error": [0.01, 0.125, 0.3]}),
            ["keeps the 1 % errors that were asked", "at most 12.5 to 30.0 % is wrong"],
        ),
        (
            *("own_landmarks", {"reached": [False, True, True]}),
            ["did not come to cover all members of a, in 1 fold", "Raise"],
        ),
        (
            *("own_models", OTHER),
            ["in 2 folds (1 by another recipe, which the inner folds chose there) and the fin"],
        ),
        ("statistics", CASES, ["case only: Kinase and kinase. "]),
        ("statistics", SMALL, ["c0 (1), c1 (2), c2 (3), c3 (4), c4 (5) and"]),
        ("statistics", STRAND, ["7 records look like the other strand of those like them: a, b,"]),
        ("statistics", TURNED, ["7 records were turned to the strand of those like them: a, b,"]),
    ],
)
def test_trouble_is_named_with_what_to_do_and_nothing_is_said_of_a_sound_run(
    tables, part, columns, said
):
    texts = warnings_of(sound(tables, **{part: columns}))
    assert len(texts) == bool(said)
    assert all(words in texts[0] for words in said)


def test_classes_that_folds_leave_few_records_are_told(tables):
    assert warnings_of(sound(tables, lost="2 of 80 x (r0f0).")) == ["2 of 80 x (r0f0)."]


def test_a_coverage_promises_nothing_so_none_is_missed(tables):
    whole = config() | {"reject_error": None, "reject_coverage": 0.9}
    nothing = {"reject_threshold": NOTHING_ACCEPTED}
    assert warnings_of(sound(tables, whole, own_models=nothing)) == []


def test_a_loss_that_is_broken_says_what_was_stated_and_what_to_do(asked):
    def told(curves, own):
        return report_page(asked, config(cascades=2), curves=curves, settings=own)[1].all_text

    curves = asked["curves"].assign(right=asked["curves"]["records"])
    curves.loc[curves["chosen"] == "yes", "right"] -= 20
    said = f"The cascade lost {100 * 60 / 160:.2f} points of accuracy on the outer folds against"
    assert re.search(f"{said} .*, and 0.1 were stated", told(curves, settings()))
    # Records of a group are not independent, and how many groups there are is not known here.
    grouped = {"folds": {"method": "grouped", "k": 10, "column": "genus"}}
    assert said not in told(curves, settings() | grouped)


def test_promises_that_are_broken_are_told(tables):
    """By more than chance: a point below what was asked for is not enough."""
    own = {"settings": settings() | {"final": "svc-meb"}, "final_recipe": "svc-meb"}
    coverage, errors = tables["coverage"].copy(), tables["errors"].copy()
    of_best = (coverage["recipe"] == "svc-meb") & (coverage["class"] == "")
    coverage.loc[of_best, "coverage"] = 1.0
    errors["wrong_mean"], errors["wrong_sd"] = 0.0, ""
    own |= {"coverage": coverage, "errors": errors}
    assert broken_promises(dataset_report(tables, **own)) == []
    coverage.loc[of_best, ["coverage", "records"]] = [0.889, 1000]
    found = [text[:12] for text in broken_promises(dataset_report(tables, **own))]
    assert found == ["sets of 95 %", "sets of 99 %"]
    coverage.loc[of_best, "coverage"] = 0.84
    mine = errors["recipe"] == "svc-meb"
    errors.loc[mine, "wrong_mean"], errors["wrong_sd"] = 0.08, np.float64(0.002)
    page = report_page(tables, **own)[1].all_text
    assert "Not kept , by more than chance: sets of 90 % hold the true label in 84.00 %;" in page
    assert "; where 5 % errors were asked for, 8.00 % are wrong." in page
    assert "where 10 % errors" not in page
