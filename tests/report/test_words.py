"""The first screen, what to do next, and the methods paragraph."""

import re

import numpy as np
import pandas as pd
import pytest

from kreinflow.alignment.transforms import NAMES
from kreinflow.answering.query_and_answers import unsure
from kreinflow.base.references import REFERENCES
from kreinflow.config.part_costs import million_hours, query_seconds
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.reject_threshold import NOTHING_ACCEPTED
from kreinflow.learners.registry import LEARNERS
from kreinflow.report.methods import in_words, methods_text
from kreinflow.report.names import short
from kreinflow.report.page import render_text
from kreinflow.report.threshold import Threshold
from kreinflow.report.words import cards, cheaper_alike, next_steps, whole_search
from report.made_up import config, dataset_report, settings

FINAL = {"landmarks": 32, "alignments_per_query": 33.0, "reject_threshold": 0.4}
FINAL["promised_error"] = 0.01
NEVER = FINAL | {"reject_threshold": NOTHING_ACCEPTED, "promised_error": ""}
NAMED = settings() | {"final": "svc-meb"}


def named(tables, whole=None, **changes):
    """The report of a data set whose config names the recipe of the final model."""
    changes = {"settings": NAMED, "final_recipe": "svc-meb", "final": FINAL} | changes
    return dataset_report(tables, whole, **changes)


def answers(data):
    return [(card.figure, card.line) for card in cards(data)]


def best_hit(**values):
    row = {"recipe": "svc-meb", "records": 160, "among": 106.7, "of": 106.7}
    row |= {"whole": "True", "accuracy": 0.9, "hit_accuracy": 0.85, "difference": 0.05}
    return pd.DataFrame([row | {"low": 0.01, "high": 0.09, "p": 0.02} | values])


def accepted(**values):
    row = {"recipe": "svc-meb", "folds": 3, "alignments_mean": np.nan, "wrong_of_accepted": 0.004}
    row["accepted_records"] = 250
    row |= dict.fromkeys(("as_unsure_mean", "as_unknown_mean", "as_no_relative_mean"), 0.0)
    return pd.DataFrame([row | values])


def test_the_figure_to_quote_is_that_of_the_named_recipe_or_of_the_inner_choice(tables):
    summary = tables["summary"].set_index("recipe")
    for data, recipe in ((named(tables), "svc-meb"), (dataset_report(tables), INNER_CHOICE)):
        own = summary.loc[recipe]
        figure, line = answers(data)[0]
        assert figure == f"{100 * own['accuracy_mean']:.2f} ± {100 * own['accuracy_sd']:.2f} %"
        assert line.startswith("accuracy on 3 outer folds")
        assert "the figure to quote" in line


def test_what_the_final_model_alone_rejects_is_told(tables):
    """Without p-values the models of outer folds have no rule for what has no relative."""
    rule, own = {"off": False, "known_rejected": 0.01, "tried": 200}, accepted(accepted_mean=1.0)
    data = named(tables, accepted=own, strangers={"no_relative": rule})
    figure, line = answers(data)[1]
    assert figure == "99.0 %"
    assert "Rejected: no relative 1.0 % (0.1 to 3.6), of 200 training records. In bra" in line
    assert "0.4 % (0.0 to 2.2) of these are wrong." in line
    assert "and more where it may have no relative" in answers(data)[3][1]
    for about in ({"no_relative": rule | {"off": True}}, {"no_relative": rule, "calibrating": 90}):
        told = answers(named(tables, accepted=own, strangers=about))
        assert told[1][0] == "100.0 %"
        assert "None was rejected." in told[1][1]
        assert "and more where" not in told[3][1]


def test_a_model_that_accepts_nothing_is_told_so_whatever_the_folds_accepted(tables):
    own = accepted(accepted_mean=0.969, wrong_of_accepted=0.024, as_unsure_mean=0.031)
    data = named(tables, accepted=own, final=NEVER)
    assert answers(data)[1] == (
        "nothing",
        "The final model rejects all: no threshold keeps what was asked for. The models of the "
        "outer folds accept 96.9 % of the records of known classes; 2.4 % (0.9 to 5.2) of these "
        "are wrong.",
    )
    rule = {"off": False, "known_rejected": 0.5, "tried": 200}  # of the final model alone
    ruled = named(tables, accepted=own, final=NEVER, strangers={"no_relative": rule})
    assert answers(ruled)[1] == answers(data)[1]
    advice = "All new records will be rejected. Use more records, raise reject_error, or give"
    assert any(step.text.startswith(advice) for step in next_steps(data))
    assert not any("rejected" in step.text for step in next_steps(named(tables, accepted=own)))
    hits = named(tables, accepted=own, final=NEVER, strangers={"sureness": 0.75})
    assert answers(hits)[1][0] == "96.9 %"


def test_what_is_promised_is_told_and_more_than_was_asked_for_with_the_reason(tables):
    for promised, said in (
        (0.01, "Promised: at most 1.0 % wrong (90 % confidence). Rejected"),
        (
            0.2345,
            "at most 23.4 % wrong (90 % confidence). The 1 % asked for leave less than a tenth",
        ),
        ("", "2.0 % (0.7 to 4.6) of these are wrong. Rejected"),
    ):
        own = accepted(accepted_mean=0.5, wrong_of_accepted=0.02, as_unsure_mean=0.5)
        data = named(tables, accepted=own, final=FINAL | {"promised_error": promised})
        line = answers(data)[1][1]
        (step,) = (step.text for step in next_steps(data) if "rejected" in step.text)
        assert step.startswith("About half of") == (promised == 0.2345)
        assert said in line
        assert ("accepts the surest half" in line) == (promised == 0.2345)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((60, 40, 20, 200), "60 predictions whose best hit has at most 30 % identity, 70.00 %"),
        ((30, 20, 20, 200), "70 predictions whose best hit has at most 50 % identity, 78.57 %"),
        ((30, 10, 9, 200), None),
        ((300, 40, 20, 200), None),
    ],
)
def test_what_has_no_near_relative_is_told_on_the_first_screen(tables, counts, said):
    """If there are some, and the figure to quote is not of these."""
    edges = zip((0.0, 0.3, 0.4, 0.5), (0.3, 0.4, 0.5, 0.6), (0.7, 0.8, 0.9, 1.0), strict=True)
    rows = [(*bin, n) for bin, n in zip(edges, counts, strict=True)]
    identity = pd.DataFrame(rows, columns=["low", "high", "accuracy", "records"])
    line = answers(named(tables, identity=identity.assign(recipe="svc-meb")))[0][1]
    assert ("best hit has" in line) == (said is not None)
    assert said is None or f"Of the {said} are right: that is nearer" in line


def test_of_two_classes_the_ranking_is_told_on_the_first_screen(tables):
    row = {"recipe": "svc-meb", "class": "toxic", "share": 0.25, "auc_mean": 0.91234}
    row |= {"average_precision_mean": 0.5678, "enrichment_mean": 3.21}
    assert "AUC" not in answers(named(tables))[0][1]
    alone = {"ranking": pd.DataFrame([row]), "identity": tables["identity"][:0]}
    assert answers(named(tables, **alone))[0][1].endswith(
        "This is the figure to quote. AUC 0.912. Of toxic, ranked by its probability: average "
        "precision 0.568 (chance 0.250), and 3.2 times as many as by chance among the first tenth."
    )


@pytest.mark.parametrize("sureness", [0.3, 0.7])
def test_what_is_said_of_the_threshold_is_what_the_model_does(sureness):
    told = Threshold(sureness, hits=True)
    for probability in (0.1, 0.39, 0.41, 0.59, 0.61, 0.99):
        for hit in (0, 1):
            rejected = bool(unsure(np.array([(hit + probability) / 2]), sureness)[0])
            assert rejected == (probability < told.probability - hit)


@pytest.mark.parametrize(
    ("difference", "p", "verdict"),
    [(0.05, 0.05, "better"), (0.05, 0.06, "not significant"), (-0.05, 0.02, "worse")],
)
def test_whether_it_is_better_than_the_best_hit(tables, difference, p, verdict):
    data = named(tables, best_hit=best_hit(difference=difference, p=p))
    figure, line = answers(data)[2]
    assert figure == f"{100 * difference:+.1f} points, {verdict}"
    assert f"right in 85.0 %. 95 % interval: +1.0 to +9.0 points; exact test: p = {p:.3f}" in line


def test_a_hit_of_some_records_is_told_as_such_and_compare_is_advised(tables):
    data = named(tables, best_hit=best_hit(among=40, whole="False"))
    some = "among 40 of 107 training records, those that were aligned in this run, which is right"
    assert some in answers(data)[2][1]
    assert not whole_search(data)
    # One record of many was compared with fewer: rounded, the means are equal.
    nearly = named(tables, best_hit=best_hit(among=106.6, whole="False"))
    assert not whole_search(nearly)
    assert "among all" not in answers(nearly)[2][1]
    assert whole_search(named(tables, best_hit=best_hit()))
    nothing = named(tables, best_hit=best_hit()[:0])
    assert "“kreinflow compare” runs BLAST" in answers(nothing)[2][1]
    for found, advised in ((data, True), (nothing, True), (named(tables), False)):
        commands = [step.command for step in next_steps(found)]
        assert ("kreinflow compare CONFIG.yaml" in commands) == advised


def test_new_objects_are_given_as_the_source_has_them(tables):
    labels = {"table": "l.csv", "id_column": "id"}
    score = {"score": {"function": "own:f"}, "files": False, "object_column": "object"}
    for source, expected in (
        ({"type": "objects", "objects": "o.csv", **score}, "new.csv --score own:f -o"),
        ({"type": "pairs", "pairs": "p.m8", "kind": "similarity", "self": 1}, "new.m8 -o"),
    ):
        source |= {"labels": labels, "missing": None, "score_column": None}
        found = next_steps(named(tables, settings=settings() | {"source": source}))
        assert expected in found[0].command


def test_the_cost_is_that_on_outer_folds_with_the_landmarks_of_the_final_model(tables):
    models, own = tables["models"].copy(), tables["accepted"].copy()
    svc = models["recipe"] == "svc-meb"
    for fold, landmarks in ((0, 27), (1, 28), (2, 32), (-1, 32)):
        models.loc[svc & (models["fold"] == fold), "landmarks"] = landmarks
    # 29 landmarks on the mean, the sequence itself, and 20.4 training records
    own["alignments_mean"] = np.where(own["recipe"] == "svc-meb", 50.4, 900.0)
    figure, line = answers(named(tables, models=models, accepted=own))[3]
    assert figure == "53 alignments"
    assert line.startswith("on the mean, instead of 140 with all distinct records. About ")
    seconds = query_seconds(53.4, 270, 270, asked=20.4, searched=70)
    assert f" {1000 * seconds:.2g} ms on one core, {million_hours(seconds):.2g} core" in line
    # Figures of choosing may be those of dearer recipes; the cost is that of the model one has.
    chosen = dataset_report(tables, models=models, accepted=own, final_recipe="svc-meb")
    assert answers(chosen)[3] == (figure, line)
    for unknown in (own.assign(alignments_mean=""), tables["accepted"]):
        assert answers(named(tables, models=models, accepted=unknown))[3][0] == "33 alignments"


def test_the_cost_is_that_of_the_backend_and_mode(tables):
    slow = f"{million_hours(query_seconds(33, 270, 270, by_parasail=True)):.2g} core hours"
    assert slow not in answers(named(tables))[3][1]
    alone = config() | {"alignment": {"backend": "parasail"}}
    assert slow in answers(named(tables, alone))[3][1]
    along = NAMED | {"scoring": NAMED["scoring"] | {"mode": "global"}}
    assert slow in answers(named(tables, settings=along))[3][1]


def test_commands_have_the_path_of_the_model_and_what_it_needs(tables):
    def commands(whole=None, **changes):
        found = next_steps(named(tables, whole, **changes))
        return [step.command for step in found if step.command]

    model = "out/demo/model.safetensors"
    assert commands(config() | {"results": "out"}) == [
        f"kreinflow classify {model} new.fasta -o predictions.tsv",
        f"kreinflow explain {model} new.fasta --id ID",
        f"kreinflow update {model} more.fasta --labels more.tsv -o updated.safetensors",
    ]
    recipe = {"views": {"vectors": True}, "cascade": {"records": "apart"}}
    beside = "new.fasta --vectors new.tsv --records training.fasta"
    assert all(beside in command for command in commands(recipe=recipe)[:2])
    by_column = NAMED | {"folds": NAMED["folds"] | {"method": "grouped", "column": "genus"}}
    assert not any("update" in command for command in commands(settings=by_column))


def test_a_cheaper_recipe_that_is_alike_is_told_without_its_name(tables):
    compared = pd.DataFrame({"recipe": list("abcd"), "best": [True, False, False, False]})
    compared["indistinguishable"] = [False, True, False, False]
    costs = {"a": 100.0, "b": 50.0, "c": 1.0, "d": 60.0}
    for final, told in (("a", True), ("b", False), ("d", False), ("unmeasured", False)):
        assert cheaper_alike(compared, costs, final) == told  # less by a tenth is little
    models = tables["models"]
    own = models["alignments_per_query"].mask(models["recipe"] == "svc-meb", 1000.0)
    found = next_steps(named(tables, models=models.assign(alignments_per_query=own)))
    assert [s.section for s in found if s.section] == ["comparison"]


def test_models_of_the_inner_choice_are_those_that_were_chosen(tables):
    models = tables["models"].copy()
    ahead = (models["fold"] == 1) & (models["recipe"] == "pcvm-uniform")
    models.loc[ahead, "inner_accuracy"] = 0.99
    data = dataset_report(tables, models=models)
    chosen = {0: "ikfd-meb", 1: "pcvm-uniform", 2: "ikfd-meb", -1: "ikfd-meb"}
    assert dict(zip(data.own_models["fold"], data.own_models["recipe"], strict=True)) == chosen
    selectors = {fold: "uniform" if fold == 1 else "meb" for fold in chosen}
    for own in (data.own_landmarks, data.own_factors):
        assert dict(own[["fold", "recipe"]].drop_duplicates().to_numpy()) == chosen
        assert own.groupby("fold")["selector"].first().to_dict() == selectors
    assert set(data.own_factors["transform"]) == {"log"}
    assert len(data.own_factors) == 4
    assert set(named(tables).own_models["recipe"]) == {"svc-meb"}
    # Models that look at scores alone or at a lift have no factor.
    assert named(tables).own_factors.empty
    whole = config()
    whole["recipes"][0]["lift"] = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
    assert dataset_report(tables, whole).own_factors.empty


def test_all_learners_and_transforms_have_words(tables):
    for transform in NAMES:
        for method in LEARNERS:
            whole = config() | {"learners": {"it": {"method": method}}}
            recipe = whole["recipes"][0] | {"learner": "it", "transform": transform}
            text = " ".join(in_words(dataset_report(tables, whole, recipe=recipe)))
            assert f"(transform {transform})" in text


def test_the_plain_text_has_the_first_screen_and_a_short_one_what_to_look_at(tables):
    text = render_text([named(tables), dataset_report(tables)])
    assert text.count("== ") == 2
    assert max(map(len, text.splitlines())) < 100 or "kreinflow update" in text
    figure = answers(named(tables))[0][0]
    for part in (short(text), text):
        assert f"How good is it?                 {figure}\n" in part
        assert "This is the figure to quote." in " ".join(part.split())
    assert "kreinflow classify results/" in text
    assert "kreinflow classify" not in short(text)
    assert len(short(text)) < len(text) / 2


def text_of(tables, whole=None, final_recipe="pcvm-meb", recipe=None, **own):
    """The methods of a model, whose recipe and settings differ from the made-up ones in parts."""
    whole = whole or config()
    changes = {"final_recipe": final_recipe, "settings": settings() | own}
    if recipe:
        known = {r["name"]: r for r in whole["recipes"]}
        changes["recipe"] = known[final_recipe] | recipe
    if own.get("source") is SEVERAL:
        changes["statistics"] = tables["statistics"] | {"several": True}
    return methods_text(dataset_report(tables, whole, **changes))


SOURCE = settings()["source"]
LIFT = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
WORDS = {"words": [1, 2, 3], "vectors": True}
MATRIX = {"type": "matrix", "kind": "similarity"}
SEVERAL = SOURCE | {"labels": {"table": "l.tsv", "multiple": "all"}}
LEVELS = {"separator": ".", "back_off": 0.95, "learn": "leaves", "small": "drop"}
BALLS = {"generator": {"name": "ball", "objects": 600}, "kernel": {"name": "ball"}}
GROUPED = {"method": "grouped", "k": 5, "repeats": 1, "identity": 0.9}
CASCADE = "viola2001 mcfadden1974"
CITED = {
    "the model alone": ({}, "rognes2011 daily2016 mcnemar1947 nadeau2003 angelopoulos2021"),
    "a cascade by loss": ({"recipe": {"cascade": {"loss": 0.001}}}, f"{CASCADE} angelopoulos2024"),
    "a cascade by alignments": (
        {"recipe": {"cascade": {"loss": None, "alignments": 40}}},
        CASCADE,
    ),
    "a coverage": ({"reject_error": None, "reject_coverage": 0.95}, "guo2017"),
    "parasail": ({"alignment": {"backend": "parasail"}}, "daily2016"),
    "global": ({"scoring": settings()["scoring"] | {"mode": "global"}}, "daily2016"),
    "simulated families": ({"source": {"type": "simulated"}}, "le2008"),
    "vectors": ({"source": {"type": "vectors", "kernel": {"name": "elm"}}}, "frenay2011"),
    "balls": ({"source": {"type": "generated"} | BALLS}, "duin2010"),
    "dissimilarities": ({"source": MATRIX | {"kind": "dissimilarity"}}, "gisbrecht2015 oglic2019"),
    "an asymmetric matrix": ({"source": MATRIX | {"kind": "asymmetric"}}, "schleif2015epcvm"),
    "a lift": (
        {"recipe": {"views": WORDS, "lift": LIFT}},
        "liao2002 leslie2002 jebara2003 quinonero2005 cawley2010",
    ),
    "a lift alone": ({"recipe": {"lift": LIFT | {"width": 2.0}}}, "liao2002 quinonero2005"),
    "grouped folds": ({"folds": GROUPED}, "canay2017"),
    "several labels": ({"source": SEVERAL}, "tsoumakas2007 platt1999 zhang2014 sechidis2011"),
    "levels": ({"levels": LEVELS}, "kiritchenko2006 bokulich2018"),
    "siblings": (
        {"levels": LEVELS | {"learn": "siblings"}},
        "kiritchenko2006 bokulich2018 koller1997",
    ),
}
"""Settings, and what their methods rest on; where it is named here, no other case may cite it."""
ALWAYS = "guo2017 gisbrecht2015 oglic2019 mcnemar1947 nadeau2003 rognes2011 daily2016"
RARE = {key for _, keys in CITED.values() for key in keys.split()} - {*ALWAYS.split()}
COVERED = {"angelopoulos2021"}  # of all that state an error


@pytest.mark.parametrize("case", CITED)
def test_it_cites_what_ran_and_not_what_did_not(tables, case):
    changes, keys = CITED[case]
    own = {key: changes[key] for key in ("source", "scoring", "folds", "levels") if key in changes}
    made = config() | {key: value for key, value in changes.items() if key not in own}
    made["recipes"][0] |= made.pop("recipe", {})
    statistics = tables["statistics"] | {"several": own.get("source") is SEVERAL}
    parts = {"settings": settings() | own, "statistics": statistics}
    text = methods_text(dataset_report(tables, made, **parts))
    numbers = (re.findall(r"#reference-(\d+)", part) for part in re.findall(r"\[<.*?>\]", text))
    cited = {list(REFERENCES)[int(number) - 1] for part in numbers for number in part}
    assert {*keys.split()} <= cited
    assert cited & RARE <= {*keys.split()} | COVERED
    assert ("coverage" in case or "several" in case) == ("angelopoulos2021" not in cited)
    assert not {"nan", "None", "{", "}"} & set(text.split())
