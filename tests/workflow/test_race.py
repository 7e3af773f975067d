"""The race of `auto` in a run: what is not fitted, named, gone on with, and who does not race."""

import copy

import pytest

from workflow.conftest import Workflow, read

pytestmark = pytest.mark.filterwarnings("ignore")

AUTO = {
    "seed": 3,
    "results": "results",
    "inner_folds": 2,
    "alignment": {"blocks": 1, "threads": 2},
    "datasets": {
        "small": {
            "source": {"type": "simulated", "families": 5, "sequences": 110},
            "folds": {"k": 2},
        }
    },
}


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    run = Workflow(tmp_path_factory.mktemp("race"), AUTO)
    run.run()
    return run


def results(run):
    return run.folder / "results" / "small"


def went_on(run):
    race = read(results(run) / "race.tsv")
    return race["recipe"].tolist(), race.loc[race["goes_on"] == "yes", "recipe"].tolist()


def test_recipes_that_are_behind_have_models_of_the_first_part_alone(raced):
    every, kept = went_on(raced)
    assert 0 < len(kept) < len(every)
    models = read(results(raced) / "evaluation" / "models.tsv")
    by_part = models.groupby(["repeat", "fold"])["recipe"].apply(list)
    assert sorted(by_part[0, 0]) == sorted(every)
    assert sorted(by_part[0, 1]) == sorted(by_part[-1, -1]) == sorted(kept)
    predictions = read(results(raced) / "evaluation" / "predictions.tsv.gz")
    places = predictions[["recipe", "fold"]].drop_duplicates()
    assert {*places.loc[places["fold"] == 1, "recipe"]} == {*kept, "inner choice"}
    for path in results(raced).glob("predictions/*/r0f1.tsv.gz"):
        assert set(read(path)["recipe"]) <= set(kept)


def test_recipes_of_the_first_part_alone_are_neither_tested_nor_the_best(raced):
    every, kept = went_on(raced)
    compared = read(results(raced) / "evaluation" / "comparison.tsv").set_index("recipe")
    assert set(compared.index) == {*every, "inner choice"}
    out = compared.loc[sorted(set(every) - set(kept))]
    assert not out["best"].any()
    assert not out["indistinguishable"].any()
    page = (raced.folder / "results" / "report.html").read_text()
    assert "measured on 1 of 2 folds" in page
    assert f"those that were not behind there ({len(kept)}) in 2 more" in " ".join(page.split())


def test_a_second_run_does_nothing_and_a_lost_race_is_run_again_with_the_same_bytes(raced):
    assert raced.jobs() == {}
    before = raced.digests()
    (results(raced) / "race.tsv").unlink()
    raced.run("--", "results/small/race.tsv")
    assert raced.digests() == before


def test_the_recipe_that_is_named_as_final_goes_on(tmp_path, raced):
    config = copy.deepcopy(AUTO)
    config["datasets"]["small"]["final"] = "many-log-sf-lsm"
    assert "many-log-sf-lsm" not in went_on(raced)[1], "it goes on anyway"
    run = Workflow(tmp_path, config)
    run.start_from(raced)
    run.run("--", "results/small/race.tsv")
    assert "many-log-sf-lsm" in went_on(run)[1]
    jobs = run.jobs()
    assert (jobs["train_models"], jobs["choose_final_model"]) == (8, 1)  # of two parts
