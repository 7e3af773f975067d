"""One model throughout: Comparison alone names other recipes than that of the final model."""

import re

import pytest

from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.page import render_text
from report.made_up import (
    FINAL_CASCADE,
    LEVELS_ASKED,
    config,
    dataset_report,
    levels_of,
    report_page,
    settings,
    unknown_tables,
)

OTHERS_ALLOWED = ("comparison", "automatic", "config")
RULE = {"off": False, "tried": 200, "known_rejected": 0.035, "shuffled": 200}
RULE |= {"shuffled_accepted": 0.015, "near": -1.5, "far": -1.25}
LIFT = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
MATRIX = {"source": {"type": "matrix", "kind": "dissimilarity"}}
STRANGERS = {"false_alarms": 0.01, "calibrating": 1500, "would_be_found": 0.8, "left_out": 300}


def named(text, recipe):
    """Whether a text names a recipe, and not one whose name has more at its ends."""
    return re.search(rf"(?<![\w-]){re.escape(recipe)}(?![\w-])", text) is not None


def strangers_to(page, final, recipes):
    """Sections, and recipes but the final one that they name where they may not."""
    sections = page.sections().items()
    asked = {name: text for name, text in sections if not name.endswith(OTHERS_ALLOWED)}
    others = [recipe for recipe in recipes if recipe != final]
    return {(name, other) for name in asked for other in others if named(asked[name], other)}


def with_unknown(tables):
    statistics = tables["statistics"] | {"unknown": {"<i>odd</i>": 30, "new": 30}}
    unknown = unknown_tables(tables)
    return {"unknown": unknown, "strangers": STRANGERS, "statistics": statistics}


def cases(tables, tables_of_several, asked):
    def case(final="svc-meb", made=tables, whole=None, **changes):
        return made, whole or config(), {"final_recipe": final} | changes

    one = tables | {
        name: tables[name][tables[name]["recipe"] == "svc-meb"]
        for name in ("summary", "per_class", "coverage", "errors", "accepted", "best_hit", "models")
    }
    alone = tables["comparison"]["recipe"] == "svc-meb"
    one["comparison"] = tables["comparison"][alone].assign(best=True)
    named = settings() | {"final": "svc-meb"}
    lifted = config()
    lifted["recipes"][0] |= {"lift": LIFT, "views": {"words": [1, 2], "vectors": True}}
    nothing = tables["models"].assign(reject_threshold=NOTHING_ACCEPTED)
    scores = {"aligned": 0, "store": None, "scheme": None}
    read = {"lengths": {}, "substitutions": {}, "files": {}}
    auto = config() | {"auto": {"alignments": 5_000_000}, "prefer": "cheap"}
    alarms = config() | {"unknown": {"false_alarms": 0.01}}
    return {
        "final named": case(settings=named),
        "inner choice": case("pcvm-meb"),
        "automatic": case("pcvm-uniform", whole=auto),
        "one recipe": case(made=one, settings=settings() | {"recipes": ["svc-meb"]}),
        "several labels": case("ikfd-pooled-meb", tables_of_several),
        "cascades": case("ikfd-pooled-meb", asked, config(cascades=2), cascade=FINAL_CASCADE),
        "levels": case(levels=levels_of(tables), settings=named | {"levels": LEVELS_ASKED}),
        "matrix": case(
            settings=named | MATRIX,
            alignments=tables["alignments"] | scores,
            statistics=tables["statistics"] | read,
        ),
        "lift": case("ikfd-meb", whole=lifted),
        "nothing accepted": case("ikfd-meb", models=nothing),
        "strangers": case("ikfd-meb", strangers={"no_relative": RULE, "sureness": 0.25}),
        "no rule": case("ikfd-meb", strangers={"no_relative": RULE | {"off": True}}),
        "unknown": case(whole=alarms, settings=named, **with_unknown(tables)),
    }


@pytest.fixture(scope="module")
def pages(tables, tables_of_several, asked):
    found = {}
    for name, (made, whole, changes) in cases(tables, tables_of_several, asked).items():
        data = dataset_report(made, **changes)
        _, page = report_page(made, whole, **changes)
        found[name] = (page, data, [recipe["name"] for recipe in whole["recipes"]])
    return found


OWN = {"levels": "levels", "unknown": "unknown", "strangers": "unknown", "no rule": "unknown"}
SOME = {"levels", "unknown", "automatic"}


@pytest.mark.parametrize(
    "case",
    [
        *("final named", "inner choice", "automatic", "one recipe", "several labels", "cascades"),
        *("levels", "unknown", "matrix", "lift", "nothing accepted", "strangers", "no rule"),
    ],
)
def test_all_is_of_one_model_and_each_section_stands_only_where_it_applies(pages, case):
    """No section but the comparison names another recipe, and each says what to look for."""
    page, data, recipes = pages[case]
    assert strangers_to(page, data.final_recipe, recipes) == set()
    sections = page.sections()
    for name, text in sections.items():
        if name.startswith("data-1-") and not name.endswith(("glance", "appendix", "automatic")):
            assert "What to look for: " in text, name
        assert not {"nan", "inf"} & set(text.split()), name
    there = {name for name in SOME if f"data-1-{name}" in sections}
    assert there == {OWN.get(case, case)} & SOME
    assert render_text([data]).count("?") >= 4
    assert f"The final model is {data.final_recipe} ," in sections["data-1-glance"]
    other = "pcvm-meb" if data.final_recipe != "pcvm-meb" else "svc-meb"
    assert named(sections["data-1-comparison"], other) == (case != "one recipe")


def test_classes_have_the_figures_of_the_inner_choice_or_of_the_recipe_that_was_named(
    tables, pages
):
    for case, measured in (("inner choice", INNER_CHOICE), ("final named", "svc-meb")):
        own = tables["per_class"][tables["per_class"]["recipe"] == measured]
        text = pages[case][0].sections()["data-1-classes"]
        for row in own.itertuples():
            assert f"{100 * row.precision:.2f} {100 * row.recall:.2f}" in text
        assert pages[case][1].measured == measured
