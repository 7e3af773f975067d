"""What views, lifts, corrections and learners say of each other."""

import contextlib

import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.cross_references import check_references
from registries import one_recipe
from small_inputs import BY_HEADER, configuration, fasta_source, write_input


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"lift": {"width": 0}}, "width: 0 is not more than 0"),
        ({"lift": {"kernel": "rbf"}}, "kernel: 'rbf' is none of gaussian, linear"),
        ({"lift": {}, "correction": "flip"}, "'it': a lift has no negative eigenvalues"),
        ({"lift": {}, "rank": 5}, "'it': a lift keeps all of its inducing points. Leave out rank"),
        ({"views": {"words": [5]}}, "5 is not at most 4"),
        ({"views": {"words": [1]}, "correction": "clip"}, "a lift has no negative eigenvalues"),
        ({"cascade": {"loss": 1}}, "cascade.loss: 1 is not less than 1 .*0.01 for one point"),
        ({"cascade": {"records": "none"}}, "cascade.records: 'none' is none of model, apart"),
        (
            {"cascade": {"loss": 0.01, "alignments": 40}},
            "'it': cascade: loss and alignments are two ways to choose one threshold. ",
        ),
    ],
)
def test_views_lifts_and_cascades_that_cannot_be_are_refused(more, message):
    content = one_recipe()
    content["recipes"][0] |= more
    with pytest.raises(InputError, match=message):
        complete_configuration(content)


@pytest.mark.parametrize(
    ("transform", "selector", "wanted", "refused"),
    [
        ("log", {"budget": 12}, 12, True),
        ("log", {"budget": 12}, 13, False),
        ("raw", {"budget": 12}, 12, False),
        ("log", {"budget": {"most": 12}}, 12, False),  # how many that are, the data say
        ("log", {"budget": 12, "method": "meb", "grow": False}, 5, False),  # so many at most
    ],
)
def test_a_first_stage_that_takes_more_alignments_than_are_stated_is_refused(
    transform, selector, wanted, refused
):
    selector = {"method": "uniform", **selector}
    content = one_recipe(selector, transform=transform, cascade={"alignments": wanted})
    with pytest.raises(InputError, match="'it'") if refused else contextlib.nullcontext():
        complete_configuration(content)


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        ({}, {"cascade": None}),
        ({"cascade": None}, {"cascade": None}),
        ({"cascade": {}}, {"cascade": {"loss": 0.005, "records": "model"}}),
        ({"cascade": {"loss": 0}}, {"cascade": {"loss": 0, "records": "model"}}),
        (
            {"cascade": {"alignments": 40, "records": "apart"}},
            {"cascade": {"alignments": 40, "records": "apart"}},
        ),
    ],
)
def test_a_cascade_has_a_loss_unless_alignments_are_stated(given, complete):
    content = one_recipe()
    content["recipes"][0] |= given
    config = complete_configuration(content)
    (recipe,) = config["recipes"]
    assert {"cascade": recipe["cascade"]} == complete
    assert complete_configuration(config) == config  # as the report prints it


def test_learners_that_cannot_learn_siblings_are_refused_by_the_name_of_their_recipe():
    content = one_recipe(learner={"method": "ikqd"})
    config = complete_configuration(content)
    ((name, dataset),) = config["datasets"].items()
    for learn in ("leaves", "inner"):
        dataset["levels"] = {"separator": ".", "back_off": 0.95, "learn": learn}
        check_references(config, "config")
    dataset["levels"]["learn"] = "siblings"
    message = f"^config: datasets.{name}.recipes: recipe 'it': the learner ikqd cannot learn"
    with pytest.raises(InputError, match=message):
        check_references(config, "config")


SEVERAL = {"pattern": "family=(.*);", "multiple": "all"}


@pytest.mark.parametrize(
    ("more", "recipe", "learner", "message"),
    [
        ({}, {}, {}, None),
        (
            {},
            {},
            {"method": "nearest_landmark"},
            "'one': the learner nearest_landmark cannot",
        ),
        ({}, {}, {"method": "ikqd"}, "recipe 'one': the learner ikqd cannot .* Use one of cvm, "),
        ({}, {"cascade": {}}, {}, "recipe 'one' has a cascade, which tells classes apart, but rec"),
        (
            {"unknown": ["a"]},
            {},
            {},
            r"mine.unknown: records with several labels \(labels.multiple: all\) cannot have it",
        ),
        ({"levels": {}}, {}, {}, None),
        (
            {"levels": {"learn": "siblings"}},
            {},
            {},
            "mine.levels.learn: several labels of a record",
        ),
        (
            {"levels": {"separator": "; "}},
            {},
            {},
            "mine.levels.separator: ';' stands between the lab",
        ),
    ],
)
def test_what_takes_records_for_ones_of_one_label(tmp_path, more, recipe, learner, message):
    write_input(tmp_path)
    content = configuration(fasta_source(labels=SEVERAL), recipe=recipe)
    content["datasets"]["mine"] |= more
    content["learners"]["ikfd"] = learner or {"method": "sf_lsm"}
    if message is None:
        complete_configuration(content)
        return
    with pytest.raises(InputError, match=message):
        complete_configuration(content)
    content["datasets"]["mine"]["source"]["labels"] = BY_HEADER
    complete_configuration(content)
