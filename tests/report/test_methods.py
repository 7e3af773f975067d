"""The methods paragraph tells what ran, and nothing else."""

import pytest

from kreinflow.base.references import REFERENCES
from kreinflow.fitting.fit_cascade import LIKELIEST, SAMPLE, STEPS
from kreinflow.report.methods import cite, methods_text
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
TOLD = {
    "the model alone": (
        {},
        [
            "Ny-PCVM",
            "minimum enclosing ball",
            "Smith-Waterman",
            "with a = 20",
            "matrix BLOSUM62",
            "11 + (n - 1) 1",
            "10 stratified folds;",
            "Eigenvalues were not corrected.",
            f"exact bounds that hold at all thresholds together {cite('angelopoulos2021')}) came",
            "final model is pcvm-meb, the recipe with the best accuracy on the inner folds of all",
            f"aligned many at once, each in a lane of a vector register {cite('rognes2011')}, or",
            f"with parasail {cite('daily2016')} where that is faster",
            "with parasail too, and",
            "at most 1 % errors among accepted predictions with 90 % confidence",
            "temperature of the probabilities",
            "8 other recipes were measured on the same folds",
            "those of the recipe that the inner folds of each training part chose",
            f"by McNemar's exact test {cite('mcnemar1947')}. It asks whether the models that",
            "takes distinct records as independent",
            "The best recipe was found on the same rec",
            f"corrected resampled t-test over folds {cite('nadeau2003')}. It asks whether",
        ],
        [
            "k-means",
            "Ny-iKFD",
            "flip",
            "cascade",
            "Their kernel is",
            "(normalised)",
            "LG model",
            "Dissimilarities",
            "behind",
            "stratification",
            cite("canay2017"),
            cite("liao2002"),
        ],
    ),
    "one recipe": (
        {"recipes": ["ikfd-meb"], "final_recipe": "ikfd-meb"},
        ["Ny-iKFD", "no ridge", "ikfd-meb, the only recipe, trained"],
        ["McNemar", "t-test", "PCVM", "of the recipe that the inner folds", "other recipe"],
    ),
    "two recipes, one of them named": (
        {"recipes": ["pcvm-meb", "svc-meb"], "final": "pcvm-meb"},
        ["1 other recipe was measured on the same folds", "as the config asks"],
        ["of the recipe that the inner folds", "support vector"],
    ),
    "another selector and learner": (
        {"final_recipe": "ikfd-pooled-kmeans"},
        ["k-means++", "a ridge chosen on inner folds"],
        ["Ny-PCVM"],
    ),
    "as many": ({"final_recipe": "pcvm-uniform"}, ["uniformly at random, as many as meb took"], []),
    "a correction": (
        {"final_recipe": "ikfd-pooled-meb-flip"},
        ["Eigenvalues were corrected: flip."],
        ["not corrected"],
    ),
    "a shift": ({"recipe": {"correction": "shift"}}, ["shift on the span of the factor."], []),
    "a rank": ({"recipe": {"rank": 7}}, ["keeping rank 7."], ["as many eigenvalues"]),
    "other coordinates": (
        {"recipe": {"correction": "landmark_mds"}},
        ["Other coordinates were the baseline Landmark MDS"],
        ["Eigenvalues were"],
    ),
    "no factor": (
        {"final_recipe": "svc-meb", "recipe": {"correction": "clip", "rank": 7}},
        ["Nothing was learned from a factor of the kernel. The landmark map has one of its own."],
        ["Nyström", "igenvalue", "clip", "rank 7"],
    ),
    "a cascade by loss": (
        {"recipe": {"cascade": {"loss": 0.001}}},
        [
            f"while its largest probability is below a threshold {cite('viola2001')}",
            f"weights that all classes share {cite('mcfadden1974')}",
            f"First come the nearest records, {STEPS[0]} of them and then more and more, by the sc",
            f"members of the {LIKELIEST} likeliest classes where the first stage confuses them",
            f"chosen on at most {SAMPLE:,} records of the inner folds: the levels that are best if",
            "0.1 points against this in expectation, by conformal risk control ",
            cite("angelopoulos2024"),
        ],
        ["the best accuracy with at most"],
    ),
    "a cascade by alignments": (
        {"recipe": {"cascade": {"loss": None, "alignments": 40}}},
        ["the best accuracy with at most 40 alignments of a query on average."],
        [cite("angelopoulos2024")],
    ),
    "cheap": (
        {"prefer": "cheap"},
        ["pcvm-meb, the recipe with the fewest alignments per query of those within one standard"],
        ["behind"],
    ),
    "a cheap one for a matrix": (
        {"prefer": "cheap", "source": MATRIX},
        ["the recipe with the fewest scores per query of those within one standard error of the "],
        ["alignments"],
    ),
    "auto": (
        {"auto": {"alignments": 5}},
        ["its inner folds showed to be behind the best by more than two standard errors were fit"],
        [],
    ),
    "auto and cheap": (
        {"auto": {"alignments": 5}, "prefer": "cheap", "source": MATRIX},
        ["two standard errors, or no standard error ahead of one that needs fewer scores, were"],
        [],
    ),
    "a coverage": (
        {"reject_error": None, "reject_coverage": 0.95},
        ["reject threshold (95 % of the predictions accepted) came"],
        [cite("angelopoulos2021")],
    ),
    "parasail": (
        BY_PARASAIL,
        [f"Sequences were aligned with parasail {cite('daily2016')}: "],
        ["with parasail too", cite("rognes2011")],
    ),
    "global": (  # which only parasail can do
        {"scoring": settings()["scoring"] | {"mode": "global"}},
        [f"Sequences were aligned with parasail {cite('daily2016')}: ", "Needleman-Wunsch"],
        ["with parasail too", cite("rognes2011")],
    ),
    "simulated families and repeats": (
        {"source": {"type": "simulated"}, "folds": settings(3)["folds"]},
        [f"LG model {cite('le2008')}", "drawn 3 times"],
        [],
    ),
    "vectors": (
        {"source": {"type": "vectors", "kernel": {"name": "elm"}}},
        [
            "The data are given vectors, compared by the extreme learning machine kernel ",
            cite("frenay2011"),
        ],
        ["parasail", "Dissimilarities were centred"],
    ),
    "strings": (
        {"source": {"type": "vectors", "kernel": {"name": "edit_distance"}}},
        ["given strings, compared by squared edit distances.", "Dissimilarities were centred"],
        [],
    ),
    "balls": (
        {"source": GENERATED},
        [
            "The data are 600 balls of radius 1 or 2 in a box of side 100, compared by",
            f"between the surfaces of balls {cite('duin2010')}.",
        ],
        [],
    ),
    "similarities": ({"source": MATRIX}, ["given similarity matrix"], ["parasail", "centred"]),
    "dissimilarities": (
        {"source": MATRIX | {"kind": "dissimilarity"}, "final_recipe": "svc-meb"},
        ["given dissimilarity matrix", "Dissimilarities were centred"],
        ["parasail"],
    ),
    "an asymmetric matrix": (
        {"source": MATRIX | {"kind": "asymmetric"}},
        [
            "given asymmetric matrix of similarities of rows with columns.",
            f"its singular value decomposition {cite('schleif2015epcvm')}, keeping",
            "as many singular values of the landmark matrix as reproduce",
        ],
        ["igenvalues were"],
    ),
    "a budget of a matrix": (
        {"final_recipe": "ikfd-pooled-kmeans", "source": MATRIX}
        | {"selectors": {"kmeans": {"most": 4000, "alignments": 270_000_000}}},
        ["at most what 270,000,000 scores pay for in all folds together"],
        ["alignments"],
    ),
    "a lift of words": (
        {"recipe": {"views": {"words": [1, 2, 3], "vectors": False}, "lift": LIFT}},
        [
            f"The scores with the landmarks are features {cite('liao2002')}",
            "Their kernel is a pro",
            "need no alignment: square roots of the shares of words of 1, 2 and 3 residues ",
            f"{cite('leslie2002', 'jebara2003')}. Their kernel",
            "at most 4,000 training records,",
            f"as a subset of regressors {cite('quinonero2005')}: by its values with at most",
            "chosen for each view by ridge regression on inner folds",
            f"widths that were chosen without its records {cite('cawley2010')}",
        ],
        ["vectors", "the sum of the linear kernels", "Nyström", "igenvalue"],
    ),
    "a lift of vectors": (
        {
            "recipe": {"views": {"words": [2], "vectors": True}}
            | {"lift": {"kernel": "linear", "width": 2.0, "inducing": 500}}
        },
        [
            "words of 2 residues",
            "and the vectors that the user gave. Their kernel is the sum of",
            "were 2. A view may be left out.",
        ],
        ["ridge regression", cite("cawley2010")],
    ),
    "a lift alone": (
        {"recipe": {"views": {"words": None, "vectors": False}, "lift": LIFT}},
        ["are features"],
        ["beside views"],
    ),
    "grouped folds": (
        {"folds": {"method": "grouped", "k": 5, "repeats": 1, "identity": 0.9}},
        [
            "at least 90 % identity together",
            "takes these groups as independent",
            f"with one sign for all records of a group that shares a fold {cite('canay2017')}",
        ],
        [],
    ),
    "several labels": (
        {"source": SEVERAL},
        [
            f"Each label was learned against the rest {cite('tsoumakas2007')}",
            "Folds and inner fo",
            f"the calibration of each label {cite('platt1999')} and its threshold (the largest F1",
            f"measures that count labels one by one {cite('zhang2014')}",
            f"have their share of each label by iterative stratification {cite('sechidis2011')}.",
        ],
        ["temperature", cite("angelopoulos2021"), "reject threshold"],
    ),
    "several labels in groups": (
        {"source": SEVERAL, "folds": settings()["folds"] | {"method": "grouped", "column": "o"}},
        [". Inner folds have their share of each label"],
        [],
    ),
    "levels": (
        {"levels": LEVELS, "final_recipe": "ikfd-meb"},
        ["one for each node at which classes part, ", cite("kiritchenko2006")],
        [cite("koller1997")],
    ),
    "siblings": (
        {"levels": LEVELS | {"learn": "siblings"}, "final_recipe": "ikfd-meb"},
        [", for the children of each node ", str(cite("koller1997"))[1:-1]],
        [],
    ),
    "siblings, if inner folds prefer them": (
        {"levels": LEVELS | {"learn": "inner"}, "final_recipe": "ikfd-meb"},
        [", for the children of each node or the classes, as inner folds prefer "],
        [],
    ),
    "a name with signs": (
        {"scoring": settings()["scoring"] | {"matrix": "<script>&"}},
        ["&lt;script&gt;&amp;"],
        ["<script>"],
    ),
}
OF_CONFIG = ("prefer", "auto", "reject_error", "reject_coverage", "alignment")


@pytest.mark.parametrize("case", TOLD)
def test_it_tells_what_ran_and_not_what_did_not(tables, case):
    changes, there, absent = TOLD[case]
    changes = dict(changes)
    whole = config() | {key: changes.pop(key) for key in OF_CONFIG if key in changes}
    for name, budget in changes.pop("selectors", {}).items():
        whole["selectors"][name]["budget"] = budget
    text = text_of(tables, whole, **changes)
    for part in there:
        assert part in text, part
    for part in absent:
        assert part not in text, part


def test_citations_lead_to_the_list():
    keys = list(REFERENCES)
    for number, key in enumerate(keys, 1):
        assert f'href="#reference-{number}"' in cite(key)
    assert cite(keys[3], keys[0]).index("reference-1") < cite(keys[3], keys[0]).index("reference-4")
