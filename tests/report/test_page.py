import base64
import hashlib
import re
import subprocess
import sys

import numpy as np
import pytest

from kreinflow.config.query_costs import million_hours, query_seconds
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.page import render_report
from kreinflow.report.tables import best_recipe
from kreinflow.report.texts import CAPTIONS, FIGURES
from report.made_up import (
    FINAL_CASCADE,
    RECIPES,
    VERSIONS,
    Page,
    config,
    dataset_report,
    figures_of,
    report_page,
    run_tables,
    settings,
)

RULE = {"off": False, "tried": 200, "known_rejected": 0.01, "shuffled": 200}
RULE |= {"shuffled_accepted": 0.0}
TOLD = {"false_alarms": 0.01, "would_be_found": 0.8, "left_out": 300}


@pytest.fixture(scope="module")
def html(tables):
    return report_page(tables)[0]


def text_of(tables, **changes):
    return report_page(tables, **changes)[1].all_text


def test_the_page_is_written_without_matplotlib():
    said = "import sys, kreinflow.report.page; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_two_data_sets_with_unique_ids_and_links_that_lead_somewhere(tables):
    figures = figures_of(tables)
    parts = [dataset_report(tables, name=name, figures=figures) for name in ("one", "two")]
    page = Page(render_report(parts, config(), VERSIONS)).checked()
    assert {"data-1", "data-2"} <= set(page.ids)


def test_all_sections_and_figures_are_there(html):
    page = Page(html)
    headings = {attrs.get("id") for tag, attrs in page.elements if tag in ("h2", "h3")}
    order = "glance classes confusion reject sets calibration alignments input landmarks comparison"
    appendix = ("spectrum", "map", "times")
    names = [*order.split(), "methods", "appendix", *appendix]
    assert [name for name in page.ids if name.startswith("data-1-")] == [
        f"data-1-{name}" for name in names
    ]
    assert {"versions", "config", "references"} <= headings
    sections = page.sections()
    for name in names[1:-4] + list(appendix):
        assert " What to look for: " in sections[f"data-1-{name}"], name
    images = [attrs for tag, attrs in page.elements if tag == "img"]
    captions = [CAPTIONS[name] for name in FIGURES if name != "map"]
    assert sorted(image["alt"] for image in images) == sorted(captions)
    assert all("width:" in image["style"] for image in images)
    for name in ("automatic", "unknown", "levels", "unlabelled"):
        assert f"data-1-{name}" not in page.ids


def test_nothing_is_loaded_from_anywhere(html):
    page = Page(html).checked()
    assert "@import" not in html
    assert "url(" not in html.replace("url(#", "")
    (policy,) = [a["content"] for _, a in page.elements if "http-equiv" in a]
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.split("; ")[0] == "default-src 'none'"
    assert policy.endswith(f"script-src 'sha256-{digest}'")


def test_hostile_labels_are_text(tables):
    label, recipe = "<b>&\"'", "<img src=x onerror=alert(1)>"
    whole = config()
    whole["recipes"][0]["name"] = recipe
    html, page = report_page(
        tables,
        whole,
        name=label,
        statistics=tables["statistics"] | {"class_sizes": {label: 3, "b": 40}},
        per_class=tables["per_class"].replace({"class": {tables["classes"][0]: label}}),
        final_recipe=recipe,
    )
    assert not any(tag == "b" and "onerror" in str(attrs) for tag, attrs in page.elements)
    assert '<b>&"' not in html
    for text in (label, recipe, "<i>bad</i>"):  # the last is an id that was dropped
        assert text in page.all_text


def test_it_tells_the_winner_from_the_honest_figure(tables, html):
    text = Page(html).all_text
    assert f"{best_recipe(tables['comparison'])} has the best mean accuracy" in text
    assert "slightly optimistic" in text
    inner = tables["summary"].set_index("recipe").loc["inner choice"]
    shown = f"{100 * inner['accuracy_mean']:.2f} ± {100 * inner['accuracy_sd']:.2f} %"
    assert f"“inner choice” is the honest figure, {shown}" in text
    assert "The final model is ikfd-meb , the recipe with the best accuracy on the inner" in text
    alike = tables["comparison"].loc[tables["comparison"]["indistinguishable"], "recipe"]
    assert len(alike) > 0
    assert f"Not distinguishable from it in this run: {', '.join(alike)}. That does not" in text


def test_it_tells_what_the_final_model_was_chosen_by(tables):
    cheap = config() | {"prefer": "cheap"}
    rule = "the recipe with the fewest alignments per query of those within one standard error of"
    text = report_page(tables, cheap)[1].all_text
    assert f"The final model is ikfd-meb , {rule} the best accuracy on the inner folds of" in text
    assert "the recipe with the best accuracy" not in text
    asked = settings() | {"final": "ikfd-meb"}
    text = report_page(tables, cheap, settings=asked)[1].all_text
    assert "The final model is ikfd-meb , as the config asks, trained on all data" in text
    assert rule not in text


def test_the_map_of_a_lifted_model_is_that_of_its_scores(tables, html):
    whole = config()
    whole["recipes"][0]["lift"] = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
    whole["recipes"][0]["views"] = {"words": [1, 2], "vectors": False}
    alone = "the kernel of the final model's scores alone; its views and lift are not in it"
    text = report_page(tables, whole)[1].all_text
    assert alone in text
    assert "of the final model's kernel" not in text
    assert "The axes are the two dimensions of this kernel with the largest eigenvalues" in text
    assert alone not in Page(html).all_text
    assert "of the final model's kernel" in Page(html).all_text


def test_without_a_factor_to_learn_from_its_misfit_alarms_nobody(tables, html):
    alarm = "above 0.5 the approximation is poor"
    factor = tables["factors"].iloc[0].to_dict()
    own = {"selector": "meb", "transform": "log", "rank_wanted": "misfit", "factor": factor}
    text = text_of(
        tables,
        factors=tables["factors"][:0],
        landmark_map=tables["landmark_map"] | own,
        models=tables["models"].assign(converged=True),
        landmarks=tables["landmarks"].assign(reached=True),
        statistics=tables["statistics"] | {"class_sizes": {"a": 80, "b": 80}, "dropped": {}},
    )
    assert alarm not in text
    assert "The final model does not learn from a factor." in text
    assert "No warnings: training converged" in text
    assert alarm in Page(html).all_text
    assert "The final model does not learn from a factor." not in Page(html).all_text


def test_the_cost_at_a_glance_is_that_of_the_final_model(tables, html):
    models = tables["models"]
    final = models[(models["repeat"] < 0) & (models["recipe"] == "ikfd-meb")].iloc[0]
    cost = round(final["alignments_per_query"])
    glance = Page(html).sections()["data-1-glance"]
    assert (
        f"What does a query cost? {cost} alignments instead of 140 with all distinct records."
        in glance
    )
    length = tables["statistics"]["lengths"]["mean"]
    seconds = query_seconds(cost, length, length)
    assert f"{million_hours(seconds):.2g} core hours for a million queries" in glance
    assert f"{1000 * seconds:.2g} ms on one core" in glance


@pytest.mark.parametrize("cascade", [None, FINAL_CASCADE])
def test_the_nearest_training_records_are_told_where_unknown_objects_are(tables, cascade):
    nearest = "A sequence that may be unknown is aligned with its nearest training records too."
    off = {"no_relative": RULE | {"off": True}}
    for told, asks in (
        ({"calibrating": 900, **TOLD}, True),
        ({"no_relative": RULE}, True),
        (off, False),
        ({}, False),
    ):
        _, page = report_page(tables, strangers=told, cascade=cascade)
        for name in ("glance", "alignments", "landmarks"):
            assert (nearest in page.sections()[f"data-1-{name}"]) == asks, (name, told)
        landmarks = page.sections()["data-1-landmarks"]
        assert ("compared with the landmarks only." in landmarks) == (not asks)
        left_out = "without those by which unknown objects are told"
        assert (left_out in page.sections()["data-1-comparison"]) == asks


def test_where_the_number_of_alignments_comes_from(tables):
    page = report_page(tables, cascade=FINAL_CASCADE)[1].sections()
    assert "The number of alignments is the mean on the inner folds." in page["data-1-alignments"]
    accepted = tables["accepted"].assign(alignments_mean=60.0)
    page = report_page(tables, cascade=FINAL_CASCADE, accepted=accepted)[1].sections()
    assert "is the mean of the test records on the outer folds" in page["data-1-alignments"]
    assert "inner folds" not in page["data-1-alignments"]


def test_numbers_of_the_tables_are_there(tables, html):
    text = Page(html).all_text
    for part in ("700,000 pairs, for all", "illegal residues", "U -> C", "ab" * 32, "BLOSUM62"):
        assert part in text
    row = tables["per_class"].iloc[0]
    assert f"{100 * row['recall']:.2f}" in text
    assert "reject_error: 0.01" in text


def test_warnings_are_prominent(tables, html):
    assert "Look at this first" in html
    assert "3 records of classes that are smaller than min_class_size (such as x1, x2, x3)" in html
    calm, _ = report_page(
        tables,
        models=tables["models"].assign(converged=True),
        factors=tables["factors"].assign(misfit=0.1),
        landmarks=tables["landmarks"].assign(reached=True),
        statistics=tables["statistics"] | {"class_sizes": {"a": 80, "b": 80}, "dropped": {}},
    )
    assert "Look at this first" not in calm
    assert "No warnings" in calm


def test_same_bytes_again_and_from_written_tables(tables, html):
    assert report_page(tables)[0] == html
    empty = {
        name: tables[name].astype(object).where(tables[name].notna(), "")
        for name in ("comparison", "models", "landmarks")
    }
    assert report_page(tables, **empty)[0] == html


def test_times_can_be_taken_out(tables, html):
    def without_times(text):
        return re.sub('<section class="times">.*?</section>', "", text, flags=re.DOTALL)

    slower = tables["times"].assign(seconds=tables["times"]["seconds"] * 2, host="another")
    other, _ = report_page(tables, times=slower, agreed=17)  # after an interruption
    assert other != html
    assert without_times(other) == without_times(html)


def test_it_tells_what_aligned_and_how_many_pairs_agreed_with_parasail(tables):
    text = text_of(tables)
    assert "The run aligned 700,000 pairs, for all folds and recipes together, and" in text
    assert "jobs that align: auto. These jobs had parasail score some of their pairs too" in text
    assert "4,000 pairs were scored so, and all agreed." in text
    assert "There were none: the store had all scores." in text_of(tables, agreed=0)
    alone = config() | {"alignment": {"backend": "parasail"}}
    text = report_page(tables, alone)[1].all_text
    assert "jobs that align: parasail." in text
    assert "agreed" not in text
    scheme = tables["alignments"]["scheme"] | {"mode": "semiglobal"}
    assert "agreed" not in text_of(tables, alignments=tables["alignments"] | {"scheme": scheme})


def test_pairs_by_which_unknown_objects_are_told_are_not_among_those_of_the_run(tables):
    left_out = "Pairs by which unknown objects are told are not counted."
    assert left_out in text_of(tables, strangers={"calibrating": 900, **TOLD})
    assert left_out not in text_of(tables)


def test_the_cascade_of_the_final_recipe_is_told_apart_from_the_inner_choice():
    tables = run_tables(n_classes=3, n_folds=2, n=60, cascades=1)
    text = report_page(tables, config(cascades=1), final_recipe="ikfd-meb")[1].all_text
    assert "The cascade of the final recipe on the outer folds: accuracy in %" in text


def test_jobs_of_more_than_one_kind_of_processor_are_told(tables, html):
    assert "OPENBLAS_CORETYPE" not in html
    times = tables["times"].copy()
    times.loc[0, ["host", "cpu_kernel"]] = ["node2", "SkylakeX"]
    text = text_of(tables, times=times)
    assert "OPENBLAS_CORETYPE" in text
    assert "node2" in text


def test_one_fold_has_a_test_of_records_alone(tables):
    comparison = tables["comparison"].assign(
        folds=1, p_folds=np.nan, p_folds_holm=np.nan, accuracy_sd=np.nan
    )
    summary = tables["summary"].assign(folds=1)
    for name in summary.columns[summary.columns.str.endswith("_sd")]:
        summary[name] = np.nan
    text = text_of(tables, comparison=comparison, summary=summary)
    assert "measured on the same 1 fold." in text
    assert "Not distinguishable from it in this run: " in text
    assert "nan" not in text.lower().split()


def test_recipes_without_all_folds_are_not_the_best_and_not_tested():
    """The best of them would be the best, had it the accuracy of its first fold in all."""
    whole = run_tables(n_classes=4, n_folds=3, n=160)
    dropped = (best_recipe(whole["comparison"]), "svc-meb")
    tables = run_tables(n_classes=4, n_folds=3, n=160, dropped=dropped)
    figures = figures_of(tables)
    text = text_of(tables, figures=figures, final_recipe="ikfd-pooled-meb")
    best = best_recipe(tables["comparison"])
    assert best not in dropped
    assert f"{best} has the best mean accuracy" in text
    assert "on the same 3 folds" in text
    assert "Recipes that were not measured on all folds are not tested" in text
    for name in dropped:
        assert f"{name} measured on 1 of 3 folds" in text
        assert f">{name}<" not in figures["alignments"]
    assert set(tables["comparison"]["recipe"].iloc[-2:]) == set(dropped)
    assert "nan" not in text.lower().split()


def test_where_all_others_were_dropped_nothing_was_tested():
    dropped = [recipe[0] for recipe in RECIPES if recipe[0] != "ikfd-pooled-meb"]
    tables = run_tables(n_classes=4, n_folds=3, n=160, dropped=dropped)
    text = text_of(tables, figures=figures_of(tables))
    assert "ikfd-pooled-meb has the best mean accuracy" in text
    assert "No other recipe was measured on all folds, so none was tested." in text


def test_a_matrix(tables):
    text = text_of(
        tables,
        settings=settings() | {"source": {"type": "matrix", "kind": "dissimilarity"}},
        alignments=tables["alignments"] | {"aligned": 0, "store": None, "scheme": None},
        statistics=tables["statistics"] | {"lengths": {}, "substitutions": {}, "files": {}},
    )
    assert "nothing was aligned" in text
    assert "scores per query" in text


def test_small_with_sixty_classes():
    tables = run_tables(n_classes=60, n_folds=3, n=600)
    html, _ = report_page(tables, figures=figures_of(tables))
    assert len(html.encode()) < 3_000_000


def test_of_many_recipes_that_are_alike_only_the_number_is_told():
    tables = run_tables(n_classes=3, n_folds=2, n=60, n_recipes=11)
    comparison = tables["comparison"]
    others = ~comparison["best"] & (comparison["recipe"] != INNER_CHOICE)
    one = comparison.index[others][-1]
    comparison = comparison.assign(indistinguishable=others)
    assert "in this run: all others. That" in text_of(tables, comparison=comparison)
    comparison.loc[one, "indistinguishable"] = False
    text = text_of(tables, comparison=comparison)
    assert "in this run: 9 of the 10 others, named so in the table. That" in text
