"""Warnings about a run: each trouble is named, with what to do about it."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.fitting.reject_threshold import NOTHING_ACCEPTED
from kreinflow.report.warnings import broken_promises, warnings_of
from report.made_up import config, dataset_report, report_page, run_tables, settings

PLACE = {"repeat": [0, 0, -1], "fold": [0, 1, -1], "recipe": "svc-meb"}
NO_SETS = pd.DataFrame(columns=["recipe", "class", "errors"])


def sound(tables, whole=None, **changes):
    """Results in which nothing is wrong; ``changes`` are columns of their tables."""
    whole = whole or config()
    whole["selectors"]["kept"] = {"method": "given"}
    models = {"converged": "True", "unlearned_classes": 0, "unlearned_names": ""}
    models |= {"singular_classes": 0, "groups_held_out": "True", "reject_threshold": 0.99}
    landmarks = {"selector": "meb", "class": "a", "reached": True}
    parts = {"own_models": models, "own_landmarks": landmarks, "own_factors": {"misfit": 0.5}}
    for name, columns in parts.items():
        parts[name] = pd.DataFrame(columns | PLACE | changes.pop(name, {}))
    statistics = {"class_sizes": {"a": 10, "b": 200}} | changes.pop("statistics", {})
    parts |= {"coverage": NO_SETS, "errors": NO_SETS, "statistics": statistics}
    return dataset_report(tables, whole, final_recipe="svc-meb", **(parts | changes))


def test_nothing_to_say_of_a_sound_run(tables):
    assert warnings_of(sound(tables)) == []
    none = {"other_strand": {"count": 0, "examples": []}}
    assert warnings_of(sound(tables, statistics=none)) == []


@pytest.mark.parametrize(
    ("part", "column", "value", "said"),
    [
        ("own_factors", "misfit", 0.51, "misfit up to 0.51"),
        ("own_models", "converged", "False", "Training stopped before it converged"),
        ("own_models", "unlearned_classes", 1, "Nothing was learned of some classes"),
        ("own_models", "singular_classes", 2, "covariance of Ny-iKFD is singular, in 1 fold, so a"),
        ("own_models", "groups_held_out", "False", "too few groups for inner folds to hold out"),
        ("own_models", "reject_threshold", NOTHING_ACCEPTED, "It takes at least 230 records"),
        ("own_landmarks", "reached", False, "did not come to cover all members of a"),
    ],
)
def test_trouble_is_named_with_what_to_do(tables, part, column, value, said):
    fine = getattr(sound(tables), part)[column].tolist()[1:]
    (text,) = warnings_of(sound(tables, **{part: {column: [value, *fine]}}))
    assert said in text
    assert "in 1 fold" in text.lower()
    assert "final model" not in text
    assert any(word in text for word in ("Take", "Raise", "Collect", "Use", "Give", "try"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"unlearned_classes": [1, 0, 2], "unlearned_names": ["'01'", "", "'01', 'b'"]},
            "of some classes ('01'; '01', 'b'), in 1 fold and the final model:",
        ),
        ({"reject_threshold": NOTHING_ACCEPTED}, "In 2 folds and the final model, no threshold"),
        ({"converged": False}, "in 2 folds and the final model"),
        (
            {"converged": False, "recipe": ["other", "svc-meb", "svc-meb"]},
            "in 2 folds (1 by another recipe, which the inner folds chose there) and the final mod",
        ),
    ],
)
def test_folds_and_the_final_model_are_told_apart(tables, changes, said):
    (text,) = warnings_of(sound(tables, own_models=changes))
    assert said in text
    assert "other," not in text


def test_a_coverage_promises_nothing_so_none_is_missed(tables):
    whole = config() | {"reject_error": None, "reject_coverage": 0.9}
    nothing = {"reject_threshold": NOTHING_ACCEPTED}
    assert warnings_of(sound(tables, whole, own_models=nothing)) == []


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            {"class_sizes": {"Kinase": 20, "globin": 20, "kinase": 20}},
            "upper and lower case only: Kinase and kinase. ",
        ),
        (
            {"class_sizes": {f"c{i}": i + 1 for i in range(12)}},
            "c0 (1), c1 (2), c2 (3), c3 (4), c4 (5) and 4 more",
        ),
        (
            {"class_sizes": {f"c{i}": i + 1 for i in range(5)} | {"large": 50}},
            "c0 (1), c1 (2), c2 (3), c3 (4), c4 (5). Their own",
        ),
        (
            {"other_strand": {"count": 7, "examples": list("abcdefg")}},
            "7 records look like the other strand of their class: a, b, c, d, e and 2 more.",
        ),
    ],
)
def test_what_the_statistics_tell(tables, part, said):
    (text,) = warnings_of(sound(tables, statistics=part))
    assert said in text


def test_a_loss_that_is_broken_says_what_was_stated_and_what_to_do():
    asked = run_tables(n_classes=4, n_folds=3, n=160, cascades=2)

    def told(curves, own):
        return report_page(asked, config(cascades=2), curves=curves, settings=own)[1].all_text

    calm = told(asked["curves"], settings())
    assert "points of accuracy on the outer folds against asking all" not in calm
    curves = asked["curves"].assign(right=asked["curves"]["records"])
    curves.loc[curves["chosen"] == "yes", "right"] -= 20
    said = (
        f"The cascade lost {100 * 60 / 160:.2f} points of accuracy on the outer folds against "
        "asking all records of its levels, and 0.1 were stated"
    )
    text = told(curves, settings())
    assert said in text
    assert "State a smaller loss, or use more records." in text
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
    assert [text[:15] for text in broken_promises(dataset_report(tables, **own))] == [
        "sets of 95 % ho",
        "sets of 99 % ho",
    ]
    coverage.loc[of_best, "coverage"] = 0.84
    mine = errors["recipe"] == "svc-meb"
    errors.loc[mine, "wrong_mean"], errors["wrong_sd"] = 0.08, np.float64(0.002)
    page = report_page(tables, **own)[1].all_text
    assert "Not kept , by more than chance: sets of 90 % hold the true label in 84.00 %;" in page
    assert "; where 5 % errors were asked for, 8.00 % are wrong." in page
    assert "where 10 % errors" not in page
