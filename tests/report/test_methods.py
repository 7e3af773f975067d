import pytest

from kreinflow.base.references import REFERENCES
from kreinflow.fitting.fit_cascade import LIKELIEST, SAMPLE, STEPS
from kreinflow.report.methods import cite, methods_text, others_text
from report.made_up import RECIPES, config, settings


def text_of(data_set, whole=None):
    """What is said of the final model, pcvm-meb if it is there, and of the other recipes."""
    final = "pcvm-meb" if "pcvm-meb" in data_set["recipes"] else data_set["recipes"][-1]
    parts = (methods_text, others_text)
    return " ".join(text for part in parts for text in part(data_set, whole or config(), final))


def test_methods_are_those_of_the_final_model_and_the_comparison_has_the_others():
    whole = config(cascades=1)
    whole["recipes"][7]["lift"] = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
    whole["recipes"][7]["views"] = {"words": [1, 2], "vectors": False}
    own = " ".join(methods_text(settings(), whole, "pcvm-meb"))
    others = " ".join(others_text(settings(), whole, "pcvm-meb"))
    for part in ("Ny-PCVM", "minimum enclosing ball", "Smith-Waterman", "(log)"):
        assert part in own
    assert "8 other recipes were measured on the same folds" in own
    assert "those of the recipe that the inner folds of each training part chose" in own
    for part in ("k-means++", "Ny-iKFD", "flip", "cascade", "Their kernel is", "(normalised)"):
        assert part in others
        assert part not in own
    assert "Ny-PCVM" in others  # of pcvm-uniform
    assert "Smith-Waterman" not in others
    named = settings() | {"final": "pcvm-meb", "recipes": ["pcvm-meb", "svc-meb"]}
    text = " ".join(methods_text(named, whole, "pcvm-meb"))
    assert "1 other recipe was measured on the same folds" in text
    assert "of the recipe that the inner folds" not in text
    alone = settings() | {"recipes": ["pcvm-meb"]}
    assert others_text(alone, whole, "pcvm-meb") == []
    assert "McNemar" not in " ".join(methods_text(alone, whole, "pcvm-meb"))


def test_it_tells_what_ran():
    text = text_of(settings())
    for part in (
        "Smith-Waterman",
        "matrix BLOSUM62",
        "11 + (n - 1) 1",
        "with a = 20",
        "minimum enclosing ball",
        "k-means++",
        "uniformly at random, as many as meb took",
        "Ny-iKFD",
        "Ny-PCVM",
        "no ridge",
        "a ridge chosen on inner folds",
        "corrections compared with none: flip",
        "10 stratified folds;",
        f"by exact bounds that hold at all thresholds together {cite('angelopoulos2021')}) came",
        "The final model is pcvm-meb, the recipe with the best accuracy on the inner folds of all",
    ):
        assert part in text
    assert "LG model" not in text
    assert "Dissimilarities" not in text


def test_it_tells_of_cascades():
    whole = config(cascades=2)
    whole["recipes"][2]["cascade"] = {"loss": None, "alignments": 40, "records": "model"}
    whole["recipes"][1]["name"] = "<b>"
    data_set = settings() | {"recipes": ["ikfd-meb", "<b>", RECIPES[2][0], "pcvm-meb"]}
    text = text_of(data_set, whole)
    for part in (
        f"while its largest probability is below a threshold {cite('viola2001')}",
        f"weights that all classes share {cite('mcfadden1974')}",
        f"First come the nearest records, {STEPS[0]} of them and then more and more, by the scores",
        f"members of the {LIKELIEST} likeliest classes where the first stage confuses them",
        f"chosen on at most {SAMPLE:,} records of the inner folds: of ikfd-meb and &lt;b&gt; the "
        "levels that are best if all are asked, and the lowest threshold that loses at most 0.1 "
        f"points against this in expectation, by conformal risk control {cite('angelopoulos2024')}",
        f"of {RECIPES[2][0]} the best accuracy with at most 40 alignments of a query on average.",
    ):
        assert part in text
    for part in ("cascade", cite("viola2001"), cite("mcfadden1974")):
        assert part not in text_of(settings())
    assert "cascade" not in text_of(settings() | {"recipes": ["pcvm-meb"]}, whole)


def test_it_tells_what_of_a_tree_was_learned():
    plain = text_of(settings())
    assert "temperature of the probabilities" in plain
    for learn, said in (
        ("leaves", ""),
        ("siblings", ", for the children of each node "),
        ("inner", ", for the children of each node or the classes, as inner folds prefer "),
    ):
        levels = {"separator": ".", "back_off": 0.95, "learn": learn}
        text = text_of(settings() | {"recipes": ["ikfd-meb"], "levels": levels})
        assert "one for each node at which classes part, " in text
        link = f'href="#reference-{list(REFERENCES).index("koller1997") + 1}"'
        assert (link in text) == (learn != "leaves")
        assert said in text


def test_it_tells_how_the_recipe_was_chosen():
    cheap = text_of(settings(), config() | {"prefer": "cheap"})
    rule = "the recipe with the fewest {} per query of those within one standard error of the best"
    assert f"pcvm-meb, {rule.format('alignments')} accuracy on the inner folds of all" in cheap
    matrix = settings() | {"source": {"type": "matrix", "kind": "similarity"}}
    assert rule.format("scores") in text_of(matrix, config() | {"prefer": "cheap"})
    alone = settings() | {"recipes": ["pcvm-meb"]}
    assert "pcvm-meb, the only recipe, trained" in text_of(alone, config() | {"prefer": "cheap"})
    for text in (cheap, text_of(settings())):
        assert "behind" not in text  # no race


def test_it_tells_of_the_race_of_auto():
    whole = config() | {"auto": {"alignments": 5_000_000}}
    behind = "by more than two standard errors"
    text = text_of(settings(), whole)
    assert f"those that its inner folds showed to be behind the best {behind} were fitted" in text
    cheap = text_of(settings(), whole | {"prefer": "cheap"})
    assert f"{behind}, or no standard error ahead of one that needs fewer alignments, were" in cheap
    matrix = settings() | {"source": {"type": "matrix", "kind": "similarity"}}
    assert "ahead of one that needs fewer scores, were" in text_of(
        matrix, whole | {"prefer": "cheap"}
    )
    assert "behind" not in text_of(settings() | {"recipes": ["pcvm-meb"]}, whole)


def test_it_tells_what_the_threshold_was_chosen_for():
    whole = config() | {"reject_error": None, "reject_coverage": 0.95}
    assert "at most 1 % errors among accepted predictions with 90 % confidence" in text_of(
        settings()
    )
    assert cite("angelopoulos2021") not in text_of(settings(), whole)
    assert "reject threshold (95 % of the predictions accepted) came" in text_of(settings(), whole)


def test_it_tells_what_aligned():
    text = text_of(settings())
    lanes = f"aligned many at once, each in a lane of a vector register {cite('rognes2011')}, or"
    assert f"{lanes} with parasail {cite('daily2016')} where that is faster" in text
    assert "A job that aligns scores some of its pairs, drawn at random, with parasail too" in text
    alone = config() | {"alignment": {"backend": "parasail"}}
    other = settings()
    other["scoring"]["mode"] = "global"  # which only parasail can do
    for text in (text_of(settings(), alone), text_of(other)):
        assert f"Sequences were aligned with parasail {cite('daily2016')}: " in text
        assert "with parasail too" not in text
        assert cite("rognes2011") not in text


def test_it_does_not_tell_what_did_not_run():
    only = settings() | {"recipes": ["ikfd-meb"], "final": "ikfd-meb"}
    text = text_of(only)
    for part in ("PCVM", "k-means", "uniform", "flip", "t-test", "support vector", "normalised)"):
        assert part not in text
    assert "as the config asks" in text
    assert "Eigenvalues were not corrected" in text


def test_simulated_families_and_repeats():
    data_set = settings(repeats=3) | {"source": {"type": "simulated"}}
    assert f"LG model {cite('le2008')}" in text_of(data_set)
    assert "drawn 3 times" in text_of(data_set)


def test_vectors_strings_and_generated_data():
    vectors = settings() | {"source": {"type": "vectors", "kernel": {"name": "elm"}}}
    text = text_of(vectors)
    assert "The data are given vectors, compared by the extreme learning machine kernel " in text
    assert cite("frenay2011") in text
    assert "parasail" not in text
    assert "Dissimilarities were centred" not in text
    strings = settings() | {"source": {"type": "vectors", "kernel": {"name": "edit_distance"}}}
    assert "given strings, compared by squared edit distances." in text_of(strings)
    assert "Dissimilarities were centred" in text_of(strings)
    source = {
        "type": "generated",
        "generator": {"name": "ball", "objects": 600},
        "kernel": {"name": "ball"},
    }
    text = text_of(settings() | {"source": source})
    assert "The data are 600 balls of radius 1 or 2 in a box of side 100, compared by" in text
    assert f"between the surfaces of balls {cite('duin2010')}." in text


@pytest.mark.parametrize(("kind", "centred"), [("similarity", False), ("dissimilarity", True)])
def test_a_matrix_is_not_aligned(kind, centred):
    text = text_of(settings() | {"source": {"type": "matrix", "kind": kind}})
    assert f"given {kind} matrix" in text
    assert "parasail" not in text
    assert ("Dissimilarities were centred" in text) == centred


def test_an_asymmetric_matrix_has_singular_values():
    text = text_of(settings() | {"source": {"type": "matrix", "kind": "asymmetric"}})
    assert "given asymmetric matrix of similarities of rows with columns." in text
    assert f"its singular value decomposition {cite('schleif2015epcvm')}, keeping" in text
    assert "as many singular values of the landmark matrix as reproduce" in text
    assert "igenvalue corrections" not in text


def test_coordinates_of_the_landmarks_are_no_eigenvalue_correction():
    whole = config()
    for recipe in whole["recipes"]:
        recipe["correction"] = "none"
    whole["recipes"][0]["correction"] = "landmark_mds"
    text = text_of(settings(), whole)
    assert "Eigenvalues were not corrected. Other coordinates were the baseline Landmark" in text
    whole["recipes"][1]["correction"] = "clip"
    text = text_of(settings(), whole)
    assert "corrections compared with none: clip. Other coordinates were the baseline L" in text
    for recipe in whole["recipes"]:
        recipe["correction"] = "flip"
    assert "Eigenvalues were corrected: flip." in text_of(settings(), whole)


def lifted(*recipes):
    """A config whose first recipes have views and a lift."""
    whole = config()
    for recipe, (views, lift) in zip(whole["recipes"], recipes, strict=False):
        recipe["views"] = {"words": None, "vectors": False} | views
        recipe["lift"] = {"kernel": "gaussian", "width": "inner", "inducing": 4000} | lift
    return whole


def test_views_and_a_lift():
    text = text_of(settings(), lifted(({"words": [1, 2, 3]}, {})))
    assert f"To ikfd-meb the scores with the landmarks are features {cite('liao2002')}" in text
    words = "square roots of the shares of words of 1, 2 and 3 residues "
    assert f"need no alignment: {words}{cite('leslie2002', 'jebara2003')}. Their kernel" in text
    assert "Their kernel is a product of Gaussians, one of the scores and one of each view" in text
    assert f"as a subset of regressors {cite('quinonero2005')}: by its values with at most" in text
    assert "at most 4,000 training records, shared by the classes" in text
    assert "chosen for each view by ridge regression on inner folds" in text
    assert f"widths that were chosen without its records {cite('cawley2010')}" in text
    assert "vectors" not in text
    assert "the sum of the linear kernels" not in text
    assert "approximated by its indefinite Nyström factor" in text  # of the other recipes


def test_several_views_and_lifts():
    given = {"kernel": "linear", "width": 2.0, "inducing": 500}
    text = text_of(
        settings(), lifted(({"words": [2]}, given), ({"vectors": True}, given | {"width": 1}))
    )
    assert "To ikfd-meb and ikfd-pooled-meb the scores" in text
    assert "words of 2 residues" in text
    assert "and the vectors that the user gave. Their kernel is the sum of the linear" in text
    assert "were 2 and 1. A view may be left out." in text
    assert "ridge regression" not in text
    assert cite("cawley2010") not in text


def test_lifted_recipes_alone_have_no_indefinite_factor():
    whole = lifted(*[({}, {})] * 9)
    text = text_of(settings(), whole)
    assert "Nyström" not in text
    assert "igenvalue" not in text
    assert "are features" in text
    assert "beside views" not in text
    assert (
        "Nothing was learned from a factor of the kernel. The landmark map has one of its" in text
    )


def test_only_recipes_whose_learner_needs_a_factor_are_told_of_it():
    """A correction and a rank of a recipe that looks at the scores alone say nothing."""
    whole = config()
    for recipe in whole["recipes"]:
        if recipe["learner"] in ("nearest", "svc"):
            recipe |= {"correction": "clip", "rank": 7}
    text = text_of(settings(), whole)
    assert "approximated by its indefinite Nyström factor" in text
    assert "clip" not in text
    assert "rank 7" not in text
    assert "a factor of its own" not in text
    few = settings() | {"recipes": ["nearest-meb", "svc-meb"]}
    text = text_of(few, whole)
    assert "Nyström" not in text
    assert "igenvalue" not in text
    assert (
        "Nothing was learned from a factor of the kernel. The landmark map has one of its" in text
    )
    text = text_of(few | {"source": {"type": "matrix", "kind": "dissimilarity"}}, whole)
    assert "Dissimilarities were centred" in text


def test_a_budget_of_a_matrix_is_told_in_scores():
    whole = config()
    whole["selectors"]["kmeans"]["budget"] = {"most": 4000, "alignments": 270_000_000}
    assert "at most what 270,000,000 alignments pay for" in text_of(settings(), whole)
    matrix = settings() | {"source": {"type": "matrix", "kind": "similarity"}}
    text = text_of(matrix, whole)
    assert "at most what 270,000,000 scores pay for in all folds together" in text
    assert "alignments" not in text


def test_recipes_without_a_lift_say_nothing_of_it():
    for key in ("leslie2002", "liao2002", "quinonero2005"):
        assert cite(key) not in text_of(settings())


def test_grouped_folds():
    data_set = settings()
    data_set["folds"] = {"method": "grouped", "k": 5, "repeats": 1, "identity": 0.9}
    text = text_of(data_set)
    assert "at least 90 % identity together" in text
    assert (
        f"with one sign for all records of a group that shares a fold {cite('canay2017')}" in text
    )
    assert "takes these groups as independent" in text


def test_folds_of_records_with_several_labels():
    data_set = settings()
    data_set["source"]["labels"] = {"table": "l.tsv", "multiple": "all"}
    said = f"have their share of each label by iterative stratification {cite('sechidis2011')}."
    assert f"Folds and inner folds {said}" in text_of(data_set)
    data_set["folds"] |= {"method": "grouped", "column": "organism"}
    assert f". Inner folds {said}" in text_of(data_set)
    assert "iterative stratification" not in text_of(settings())


def test_what_each_test_asks():
    text = text_of(settings())
    assert f"by McNemar's exact test {cite('mcnemar1947')}. It asks whether the models that" in text
    assert "takes distinct records as independent" in text
    assert f"corrected resampled t-test over folds {cite('nadeau2003')}. It asks whether" in text
    assert "The best recipe was found on the same records." in text
    assert cite("canay2017") not in text
    assert "McNemar" not in text_of(settings() | {"recipes": ["ikfd-meb"]})


def test_names_from_the_config_are_escaped():
    data_set = settings()
    data_set["scoring"]["matrix"] = "<script>&"
    text = text_of(data_set)
    assert "<script>" not in text
    assert "&lt;script&gt;&amp;" in text


def test_citations_lead_to_the_list():
    keys = list(REFERENCES)
    for number, key in enumerate(keys, 1):
        assert f'href="#reference-{number}"' in cite(key)
    assert cite(keys[3], keys[0]).index("reference-1") < cite(keys[3], keys[0]).index("reference-4")
