"""The methods paragraph tells what ran, and nothing else."""

import re

import pytest

from kreinflow.base.references import REFERENCES
from kreinflow.report.methods import methods_text
from report.made_up import config, dataset_report, settings


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


LIFT = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
MATRIX = {"type": "matrix", "kind": "similarity"}
SEVERAL = {
    **settings()["source"],
    "labels": {"table": "l.tsv", "multiple": "all"},
}
LEVELS = {"separator": ".", "back_off": 0.95, "learn": "leaves"}
GENERATED = {
    "type": "generated",
    "generator": {"name": "ball", "objects": 600},
    "kernel": {"name": "ball"},
}
BY_PARASAIL = {"alignment": {"backend": "parasail"}}
CASCADE = {"loss": 0.001}
WORDS = {"words": [1, 2, 3], "vectors": True}
CITED = {
    "the model alone": ({}, "guo2017 rognes2011 daily2016 mcnemar1947 nadeau2003 angelopoulos2021"),
    "one recipe": ({"recipes": ["ikfd-meb"], "final_recipe": "ikfd-meb"}, "guo2017"),
    "no factor": ({"final_recipe": "svc-meb"}, "guo2017"),
    "a cascade by loss": (
        {"recipe": {"cascade": CASCADE}},
        "viola2001 mcfadden1974 angelopoulos2024",
    ),
    "a cascade by alignments": (
        {"recipe": {"cascade": {"loss": None, "alignments": 40}}},
        "viola2001 mcfadden1974",
    ),
    "a coverage": ({"reject_error": None, "reject_coverage": 0.95}, "guo2017"),
    "parasail": (BY_PARASAIL, "daily2016"),
    "global": ({"scoring": settings()["scoring"] | {"mode": "global"}}, "daily2016"),
    "simulated families": ({"source": {"type": "simulated"}}, "le2008"),
    "vectors": ({"source": {"type": "vectors", "kernel": {"name": "elm"}}}, "frenay2011"),
    "balls": ({"source": GENERATED}, "duin2010"),
    "dissimilarities": ({"source": MATRIX | {"kind": "dissimilarity"}}, "gisbrecht2015 oglic2019"),
    "an asymmetric matrix": ({"source": MATRIX | {"kind": "asymmetric"}}, "schleif2015epcvm"),
    "a lift": (
        {"recipe": {"views": WORDS, "lift": LIFT}},
        "liao2002 leslie2002 jebara2003 quinonero2005 cawley2010",
    ),
    "a lift alone": (
        {"recipe": {"views": {}, "lift": LIFT | {"width": 2.0}}},
        "liao2002 quinonero2005",
    ),
    "grouped folds": (
        {"folds": {"method": "grouped", "k": 5, "repeats": 1, "identity": 0.9}},
        "canay2017",
    ),
    "several labels": ({"source": SEVERAL}, "tsoumakas2007 platt1999 zhang2014 sechidis2011"),
    "levels": ({"levels": LEVELS, "final_recipe": "ikfd-meb"}, "kiritchenko2006"),
    "siblings": (
        {"levels": LEVELS | {"learn": "siblings"}, "final_recipe": "ikfd-meb"},
        "kiritchenko2006 koller1997",
    ),
    "auto and cheap": ({"auto": {"alignments": 5}, "prefer": "cheap", "source": MATRIX}, ""),
}
"""Settings, and what their methods rest on; where it is named here, no other case may cite it."""
ALWAYS = "guo2017 gisbrecht2015 oglic2019 mcnemar1947 nadeau2003 rognes2011 daily2016"
OF_CONFIG = ("prefer", "auto", "reject_error", "reject_coverage", "alignment")


RARE = {key for _, keys in CITED.values() for key in keys.split()} - {*ALWAYS.split()}
COVERED = {"angelopoulos2021"}  # of all that state an error


@pytest.mark.parametrize("case", CITED)
def test_it_cites_what_ran_and_not_what_did_not(tables, case):
    changes, keys = CITED[case]
    changes = dict(changes)
    whole = config() | {key: changes.pop(key) for key in OF_CONFIG if key in changes}
    text = text_of(tables, whole, **changes)
    cited = {number for part in re.findall(r"\[<.*?>\]", text) for number in numbers_in(part)}
    assert {*keys.split()} <= cited
    assert cited & RARE <= {*keys.split()} | COVERED
    assert ("coverage" in case or "several" in case) == ("angelopoulos2021" not in cited)
    assert not {"nan", "None", "{", "}"} & set(text.split())


def numbers_in(citation):
    return [list(REFERENCES)[int(n) - 1] for n in re.findall(r"#reference-(\d+)", citation)]


def test_names_of_the_user_are_escaped(tables):
    text = text_of(tables, scoring=settings()["scoring"] | {"matrix": "<script>&"})
    assert "&lt;script&gt;&amp;" in text
    assert "<script>" not in text
