"""The first screen: four questions, what to do next, and a recipe in plain words."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.alignment.transforms import NAMES
from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED
from kreinflow.config.query_costs import million_hours, query_seconds
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.learners.registry import LEARNERS
from kreinflow.report.cascades import costs_of
from kreinflow.report.glance import (
    cards,
    cheaper_alike,
    data_line,
    next_steps,
    quoted,
    whole_search,
)
from kreinflow.report.in_words import in_words
from kreinflow.report.names import short
from kreinflow.report.own import own_factors, own_landmarks, own_models
from kreinflow.report.page import render_text
from kreinflow.report.rejecting import SURENESS
from kreinflow.report.tables import best_recipe
from kreinflow.sequences.sources.registry import make_source
from report.made_up import config, dataset_report, settings

FINAL = {"landmarks": 32, "alignments_per_query": 33.0, "reject_threshold": 0.4}
NAMED = settings() | {"final": "svc-meb"}
PLAIN = {"cascade": None, "lift": None}
MATRIX = {"source": {"type": "matrix", "kind": "dissimilarity"}}
STRINGS = {"source": {"type": "vectors", "vectors": "a.txt", "kernel": {"name": "edit_distance"}}}
FASTA = make_source(settings()["source"])


def named(tables, **changes):
    """The report of a data set whose config names the recipe of the final model."""
    changes = {"settings": NAMED, "final_recipe": "svc-meb"} | changes
    return dataset_report(tables, **changes)


def answers(data, final=FINAL, recipe=PLAIN, whole=None):
    found = cards(data, whole or config(), final, recipe)
    return [(card.figure, card.line) for card in found]


def best_hit(tables, **values):
    row = {"recipe": "svc-meb", "records": 160, "among": 106.7, "of": 106.7}
    row |= {"whole": "True", "accuracy": 0.9, "hit_accuracy": 0.85, "difference": 0.05}
    return pd.DataFrame([row | {"low": 0.01, "high": 0.09, "p": 0.02} | values])


def test_the_figure_to_quote_is_that_of_the_named_recipe_or_of_the_inner_choice(tables):
    summary = tables["summary"].set_index("recipe")
    for data, recipe in ((named(tables), "svc-meb"), (dataset_report(tables), INNER_CHOICE)):
        own = summary.loc[recipe]
        figure, line = answers(data)[0]
        assert figure == f"{100 * own['accuracy_mean']:.2f} ± {100 * own['accuracy_sd']:.2f} %"
        assert line.startswith("accuracy on 3 outer folds")
        assert "the figure to quote" in line


def test_a_recipe_without_figures_is_told_as_not_measured(tables):
    summary = tables["summary"][tables["summary"]["recipe"] != "svc-meb"]
    empty = {name: tables[name][:0] for name in ("accepted", "best_hit")}
    found = answers(named(tables, summary=summary, **empty), None)
    assert [figure for figure, _ in found] == ["not measured", *["not known"] * 3]


def test_what_is_accepted_and_why_the_rest_is_rejected(tables):
    own = {
        "recipe": "svc-meb",
        "folds": 3,
        "alignments_mean": np.nan,
        "accepted_mean": 0.54,
        "wrong_mean": 0.3,
    }
    own |= {"wrong_of_accepted": 0.004}  # a fold that accepted one record weighs as one record
    own |= {"as_unsure_mean": 0.41, "as_unknown_mean": 0.05, "as_no_relative_mean": 0.0}
    accepted = pd.DataFrame([own])
    figure, line = answers(named(tables, accepted=accepted))[1]
    assert figure == "54.0 %"
    assert line == (
        "of new records of known classes; 0.4 % of these are wrong. Rejected: unsure 41.0 %, "
        "unknown 5.0 %. Threshold of the final model: 0.4."
    )
    hits = named(tables, accepted=accepted, strangers={SURENESS: 0.25})
    assert answers(hits)[1][1].endswith("final model: 0.5, or an overwhelming hit.")
    untold = accepted.assign(wrong_of_accepted="")
    line = answers(named(tables, accepted=untold))[1][1]
    assert line.startswith("of new records of known classes. Rejected: unsure")


def test_what_the_final_model_alone_rejects_is_told(tables):
    """Without p-values the models of outer folds have no rule for what has no relative."""
    own = {
        "recipe": "svc-meb",
        "folds": 3,
        "alignments_mean": np.nan,
        "accepted_mean": 1.0,
        "wrong_of_accepted": 0.002,
    }
    own |= {"as_unsure_mean": 0.0, "as_unknown_mean": 0.0, "as_no_relative_mean": 0.0}
    rule = {"off": False, "known_rejected": 0.01, "tried": 200}
    accepted = pd.DataFrame([own])
    data = named(tables, accepted=accepted, strangers={"no_relative": rule})
    figure, line = answers(data)[1]
    assert figure == "99.0 %"
    assert "Rejected: no relative 1.0 % (of 200 training records)." in line
    assert "and more where it may have no relative" in answers(data)[3][1]
    for about in ({"no_relative": rule | {"off": True}}, {"no_relative": rule, "calibrating": 90}):
        told = answers(named(tables, accepted=accepted, strangers=about))
        assert told[1][0] == "100.0 %"
        assert "None was rejected." in told[1][1]
        assert "and more where" not in told[3][1]


def test_a_model_that_accepts_nothing_is_told_so_whatever_the_folds_accepted(tables):
    own = {
        "recipe": "svc-meb",
        "folds": 3,
        "alignments_mean": np.nan,
        "accepted_mean": 0.969,
        "wrong_of_accepted": 0.024,
    }
    own |= {"as_unsure_mean": 0.031, "as_unknown_mean": 0.0, "as_no_relative_mean": 0.0}
    never = FINAL | {"reject_threshold": NOTHING_ACCEPTED}
    data = named(tables, accepted=pd.DataFrame([own]))
    assert answers(data, never)[1] == (
        "nothing",
        "The final model rejects all: no threshold keeps what was asked for. The models of the "
        "outer folds accept 96.9 % of the records of known classes; 2.4 % of these are wrong.",
    )
    rule = {"off": False, "known_rejected": 0.5, "tried": 200}  # of the final model alone
    ruled = named(tables, accepted=pd.DataFrame([own]), strangers={"no_relative": rule})
    assert answers(ruled, never)[1] == answers(data, never)[1]
    advice = "All new records will be rejected. Use more records, raise reject_error, or give"
    assert any(step.text.startswith(advice) for step in steps(data, never))
    assert not any("rejected" in step.text for step in steps(data))
    hits = named(tables, accepted=pd.DataFrame([own]), strangers={SURENESS: 0.75})
    assert answers(hits, never)[1][0] == "96.9 %"


@pytest.mark.parametrize(
    ("difference", "p", "verdict"),
    [
        (0.05, 0.02, "+5.0 points, better"),
        (0.05, 0.05, "+5.0 points, better"),
        (0.05, 0.06, "+5.0 points, not significant"),
        (-0.05, 0.06, "-5.0 points, not significant"),
        (-0.05, 0.02, "-5.0 points, worse"),
    ],
)
def test_whether_it_is_better_than_the_best_hit(tables, difference, p, verdict):
    data = named(tables, best_hit=best_hit(tables, difference=difference, p=p))
    figure, line = answers(data)[2]
    assert figure == verdict
    assert line == (
        "against the best Smith-Waterman hit (what BLAST searches for) among all 107 training "
        "records, which is right in 85.0 %. 95 % interval: +1.0 to +9.0 points; exact test: "
        f"p = {p:.3f}."
    )


def test_a_hit_of_some_records_is_told_as_such_and_compare_is_advised(tables):
    data = named(tables, best_hit=best_hit(tables, among=40, whole="False"))
    some = "among 40 of 107 training records, those that were aligned in this run, which is right"
    assert some in answers(data)[2][1]
    assert not whole_search(data)
    # One record of many was compared with fewer: rounded, the means are equal.
    nearly = named(tables, best_hit=best_hit(tables, among=106.6, whole="False"))
    assert not whole_search(nearly)
    assert "among all" not in answers(nearly)[2][1]
    assert whole_search(named(tables, best_hit=best_hit(tables)))
    compare = "kreinflow compare CONFIG.yaml"
    nothing = named(tables, best_hit=best_hit(tables)[:0])
    assert "“kreinflow compare” runs BLAST" in answers(nothing)[2][1]
    for found, advised in ((data, True), (nothing, True), (named(tables), False)):
        assert (compare in [step.command for step in steps(found)]) == advised


def test_a_difference_that_could_not_be_tested_has_no_interval(tables):
    untold = best_hit(tables, low=np.nan, high="", p=np.nan)
    figure, line = answers(named(tables, best_hit=untold))[2]
    assert figure == "+5.0 points, not tested"
    assert line.endswith("training records, which is right in 85.0 %.")
    assert "nan" not in line


def test_a_matrix_has_a_nearest_neighbour_and_no_seconds(tables):
    statistics = tables["statistics"] | {"lengths": {}}
    own = NAMED | MATRIX
    data = named(tables, best_hit=best_hit(tables), settings=own, statistics=statistics)
    assert (
        cards(data, config(), FINAL, PLAIN)[2].question
        == "Is it better than the nearest neighbour here?"
    )
    _, (_, line), (cost, beside) = answers(data)[1:]
    assert line.startswith("against the nearest neighbour among all 107 training records, which")
    assert (cost, beside) == ("33 scores", "instead of 140 with all distinct records.")
    some = best_hit(tables, among=40, whole=False)
    line = answers(named(tables, best_hit=some, settings=own, statistics=statistics))[2][1]
    assert "40 of 107 training records, those that were compared in this run, which" in line
    nothing = named(tables, best_hit=best_hit(tables)[:0], settings=own, statistics=statistics)
    assert "“method: all”" in answers(nothing)[2][1]
    said = [step.command or step.text for step in steps(data)]
    assert said[0].endswith("model.safetensors new.csv -o predictions.tsv")
    assert not any("update" in text or "compare" in text for text in said)


def test_the_cost_is_an_estimate_of_the_mean_length(tables):
    figure, line = answers(named(tables))[3]
    assert figure == "33 alignments"
    seconds = query_seconds(33, 270, 270)
    hours = million_hours(seconds)
    assert line == (
        f"instead of 140 with all distinct records. About {1000 * seconds:.2g} ms on one core, "
        f"{hours:.2g} core hours for a million queries: an estimate, for sequences of 270 residues."
    )
    every = FINAL | {"landmarks": 140}
    assert answers(named(tables), every)[3][1].startswith(
        "with all training records: each is a landmark, so nothing is saved."
    )


def test_the_cost_is_that_on_outer_folds_with_the_landmarks_of_the_final_model(
    tables,
):
    models, accepted = tables["models"].copy(), tables["accepted"].copy()
    svc = models["recipe"] == "svc-meb"
    for fold, landmarks in ((0, 27), (1, 28), (2, 32), (-1, 32)):
        models.loc[svc & (models["fold"] == fold), "landmarks"] = landmarks
    # 29 landmarks on the mean, the sequence itself, and 20.4 training records
    accepted["alignments_mean"] = np.where(accepted["recipe"] == "svc-meb", 50.4, 900.0)
    figure, line = answers(named(tables, models=models, accepted=accepted))[3]
    assert figure == "53 alignments"
    assert line.startswith("on the mean, instead of 140 with all distinct records. About ")
    seconds = query_seconds(53.4, 270, 270, asked=20.4, searched=70)
    assert f" {1000 * seconds:.2g} ms on one core, {million_hours(seconds):.2g} core" in line
    # Figures of choosing may be those of dearer recipes; the cost is that of the model one has.
    chosen = dataset_report(tables, models=models, accepted=accepted, final_recipe="svc-meb")
    assert answers(chosen)[3] == (figure, line)
    for unknown in (accepted.assign(alignments_mean=""), tables["accepted"]):
        assert answers(named(tables, models=models, accepted=unknown))[3][0] == "33 alignments"


def test_the_cost_is_that_of_the_backend_and_mode(tables):
    slow = f"{million_hours(query_seconds(33, 270, 270, by_parasail=True)):.2g} core hours"
    assert slow not in answers(named(tables))[3][1]
    alone = config() | {"alignment": {"backend": "parasail"}}
    assert slow in answers(named(tables), whole=alone)[3][1]
    along = NAMED | {"scoring": NAMED["scoring"] | {"mode": "global"}}
    assert slow in answers(named(tables, settings=along))[3][1]


def test_whose_figures_are_told(tables):
    whole = config()
    data = named(tables)
    text = quoted(data, own_models(data, whole))
    inner = tables["summary"].set_index("recipe").loc[INNER_CHOICE]
    assert text == (
        "The config names this recipe. If you picked it after a look at these very folds, its "
        "figure is optimistic: the best of several looks better than it is. Choosing among all "
        f"recipes by the inner folds gave {100 * inner['accuracy_mean']:.2f} ± "
        f"{100 * inner['accuracy_sd']:.2f} % (Comparison)."
    )
    data = dataset_report(tables)
    assert "in 3 of 3 folds that of the final model" in quoted(data, own_models(data, whole))
    alone = tables["summary"][tables["summary"]["recipe"] == "svc-meb"]
    data = named(tables, summary=alone)
    assert quoted(data, own_models(data, whole)) == ""


def test_landmarks_of_folds_and_of_the_final_model_are_told_apart(tables):
    models = tables["models"].copy()
    models.loc[models["repeat"] >= 0, "landmarks"] = 961
    data = named(tables, models=models)
    own = own_models(data, config())
    text = data_line(data, own, FINAL | {"landmarks": 1201})
    assert text == (
        "160 records, 140 of them distinct, of 4 classes; 961 landmarks in the fits of the outer "
        "folds, 1,201 in the final model."
    )


def steps(data, final=FINAL, whole=None, **recipe):
    costs = costs_of(data.models, data.curves)
    return next_steps(data, whole or config(), final, costs, recipe)


def test_p_values_are_advised_where_there_can_be_any(tables):
    def advised(data, **changes):
        return any("false_alarms" in step.text for step in steps(data, whole=config() | changes))

    def told(mode):
        scoring = NAMED["scoring"] | {"mode": mode}
        return named(tables, settings=NAMED | {"scoring": scoring})

    assert advised(told("local"))
    assert not advised(told("global"))
    assert not advised(told("local"), unknown={"false_alarms": 0.01})
    assert not advised(named(tables, settings=NAMED | MATRIX))


def test_commands_have_the_path_of_the_model_and_what_it_needs(tables):
    found = steps(named(tables), whole=config() | {"results": "out"})
    model = "out/demo/model.safetensors"
    assert [step.command for step in found if step.command] == [
        f"kreinflow classify {model} new.fasta -o predictions.tsv",
        f"kreinflow explain {model} new.fasta --id ID",
        f"kreinflow update {model} more.fasta --labels more.tsv -o updated.safetensors",
    ]
    found = steps(named(tables), views={"vectors": True}, cascade={"records": "apart"})
    beside = "new.fasta --vectors new.tsv --records training.fasta"
    assert all(beside in step.command for step in found[:2])
    vectors = {"source": {"type": "vectors", "vectors": "a.csv", "kernel": {"name": "gaussian"}}}
    for source, ending in ((STRINGS, "txt"), (vectors, "csv")):
        found = steps(named(tables, settings=NAMED | source))
        assert [step.command.split()[3] for step in found if step.command] == [
            *(f"new.{ending}", f"new.{ending}", f"more.{ending}")
        ]
    by_column = NAMED | {"folds": NAMED["folds"] | {"method": "grouped", "column": "genus"}}
    found = steps(named(tables, settings=by_column))
    assert not any("update" in step.command for step in found)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("unsure", "raise reject_error, add records of the classes with a low recall"),
        ("unknown", "ask for a smaller share of false alarms"),
        ("no_relative", "no relative among the training records: add more of their kind"),
    ],
)
def test_much_that_is_rejected_is_told_with_what_to_do(tables, reason, said):
    own = {"recipe": "svc-meb", "accepted_mean": 0.5, "wrong_mean": 0.0}
    own |= dict.fromkeys(("as_unsure_mean", "as_unknown_mean", "as_no_relative_mean"), 0.05)
    accepted = pd.DataFrame([own | {f"as_{reason}_mean": 0.4}])
    texts = [step.text for step in steps(named(tables, accepted=accepted))]
    (text,) = (text for text in texts if "will be rejected" in text)
    assert text.startswith("About half of new records will be rejected.")
    assert said in text
    kept = accepted.assign(accepted_mean=0.81)
    assert not any("will be rejected" in s.text for s in steps(named(tables, accepted=kept)))
    if reason == "unsure":
        assert text.endswith("(Classes) or take a more accurate recipe (Comparison).")
        best = best_recipe(tables["comparison"])
        found = accepted.assign(recipe=best)
        right = tables["per_class"].assign(recall=1.0)
        own = {"settings": settings() | {"final": best}, "final_recipe": best}
        data = named(tables, accepted=found, per_class=right, **own)
        assert any(s.text.endswith("To accept more, raise reject_error.") for s in steps(data))
    more = steps(named(tables, accepted=accepted.assign(accepted_mean=0.25)))
    assert any(s.text.startswith("About 75 % of new records") for s in more)


def test_nothing_saved_is_told_where_all_records_are_landmarks(tables):
    told = "Every training record is a landmark"
    assert any(told in s.text for s in steps(named(tables), FINAL | {"landmarks": 140}))
    assert not any(told in s.text for s in steps(named(tables), FINAL | {"landmarks": 139}))


def test_a_cheaper_recipe_that_is_alike_is_told_without_its_name(tables):
    compared = pd.DataFrame({"recipe": list("abcd"), "best": [True, False, False, False]})
    compared["indistinguishable"] = [False, True, False, False]
    costs = {"a": 100.0, "b": 50.0, "c": 1.0, "d": 60.0}
    assert cheaper_alike(compared, costs, "a")
    assert not cheaper_alike(compared, costs, "b")
    assert not cheaper_alike(compared, costs, "d")  # a tenth less is little
    assert not cheaper_alike(compared, costs, "unmeasured")
    models = tables["models"]
    own = models["alignments_per_query"].mask(models["recipe"] == "svc-meb", 1000.0)
    found = steps(named(tables, models=models.assign(alignments_per_query=own)))
    assert [s.section for s in found if s.section] == ["comparison"]


def test_models_of_the_inner_choice_are_those_that_were_chosen(tables):
    whole, models = config(), tables["models"].copy()
    ahead = (models["fold"] == 1) & (models["recipe"] == "pcvm-uniform")
    models.loc[ahead, "inner_accuracy"] = 0.99
    data = dataset_report(tables, models=models)
    own = own_models(data, whole)
    assert own[["fold", "recipe"]].to_numpy().tolist() == [
        [0, "ikfd-meb"],
        [1, "pcvm-uniform"],
        [2, "ikfd-meb"],
        [-1, "ikfd-meb"],
    ]
    assert set(own_models(named(tables), whole)["recipe"]) == {"svc-meb"}
    landmarks = own_landmarks(tables["landmarks"], own)
    found = landmarks.groupby("fold")["selector"].unique().map(list).to_dict()
    assert found == {-1: ["meb"], 0: ["meb"], 1: ["uniform"], 2: ["meb"]}
    assert set(landmarks.loc[landmarks["fold"] == 1, "recipe"]) == {"pcvm-uniform"}
    factors = own_factors(tables["factors"], own, whole)
    assert factors.sort_values("fold")[["fold", "selector", "transform"]].to_numpy().tolist() == [
        [-1, "meb", "log"],
        [0, "meb", "log"],
        [1, "uniform", "log"],
        [2, "meb", "log"],
    ]


def test_models_that_look_at_scores_alone_or_at_a_lift_have_no_factor(tables):
    whole = config()
    assert own_factors(tables["factors"], own_models(named(tables), whole), whole).empty
    data = dataset_report(tables)
    assert len(own_factors(tables["factors"], own_models(data, whole), whole)) == 4
    whole["recipes"][0]["lift"] = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
    assert own_factors(tables["factors"], own_models(data, whole), whole).empty


def test_a_recipe_in_plain_words():
    whole = config()
    recipe = whole["recipes"][0]
    said = " ".join(in_words(recipe, whole, "24", FASTA))
    assert said == (
        "A query is aligned with 24 landmarks (meb: the support of the minimum enclosing ball of "
        "each class with epsilon = 0.01). The model looks at the logarithm of the normalised score "
        "(transform log), as an indefinite kernel whose eigenvalues stay as they are (correction "
        "none). It decides by a Fisher discriminant on the Krein factor, Ny-iKFD (learner ikfd)."
    )
    assert " ".join(in_words(recipe, whole, "24", FASTA, True)) == (
        f"{said} A sequence that may be unknown is aligned with its nearest training records too."
    )
    lifted = recipe | {"lift": {"kernel": "gaussian"}, "learner": "svc", "correction": "flip"}
    lifted |= {"views": {"words": [1, 2, 3], "vectors": True}, "cascade": {"loss": 0.01}}
    said = " ".join(in_words(lifted, whole, "", FASTA))
    assert "aligned with landmarks (meb" in said
    assert (
        "the logarithm of the normalised score (transform log), the words of 1 to 3 residues and "
        "the vectors that you gave, by a Gaussian kernel (lift)." in said
    )
    assert "It decides by a linear support vector classifier (learner svc)." in said
    assert "it aligns the query with its nearest training records too (cascade)" in said
    flipped = " ".join(in_words(whole["recipes"][3], whole, "9", make_source(MATRIX["source"])))
    assert "compared with 9 landmarks" in flipped
    assert "the scores as they were given, as an indefinite kernel with the correction flip" in (
        flipped
    )
    computed = " ".join(in_words(whole["recipes"][3], whole, "9", make_source(STRINGS["source"])))
    assert "The model looks at the values of the kernel edit_distance, as an indef" in computed


def test_all_learners_and_transforms_have_words():
    for transform in NAMES:
        for method in LEARNERS:
            whole = config() | {"learners": {"it": {"method": method}}}
            recipe = whole["recipes"][0] | {"learner": "it", "transform": transform}
            assert f"(transform {transform})" in " ".join(in_words(recipe, whole, "9", FASTA))


def test_the_plain_text_has_the_first_screen_and_a_short_one_what_to_look_at(tables):
    text = render_text([named(tables), dataset_report(tables)], config())
    assert text.count("== ") == 2
    assert max(map(len, text.splitlines())) < 100 or "kreinflow update" in text
    figure = answers(named(tables))[0][0]
    for part in (short(text), text):
        assert f"How good is it?                 {figure}\n" in part
        assert "This is the figure to quote." in " ".join(part.split())
    assert "kreinflow classify results/" in text
    assert "kreinflow classify" not in short(text)
    assert len(short(text)) < len(text) / 2
