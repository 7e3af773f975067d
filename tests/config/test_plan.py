"""What a run makes of a data set: the names of selectors, transforms, folds, files and jobs."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.plan import DatasetPlan

LEARNERS = {"ikfd": {"method": "ny_ikfd"}, "nearest": {"method": "nearest_landmark"}}
SELECTORS = {
    "balls": {"method": "meb", "transform": "sqrt", "candidates": 7},
    "lender": {"method": "meb", "transform": "log", "candidates": 12},
    "sketched": {"method": "leverage", "transform": "log", "sketch": 40, "budget": 9},
    "drawn": {"method": "uniform", "budget": "lender"},
}


def recipe(name, selector, transform="log", learner="ikfd"):
    return {"name": name, "selector": selector, "transform": transform, "learner": learner}


def plan(*recipes, source=None, **dataset):
    source = source or {"type": "simulated", "families": 3, "sequences": 60}
    dataset = {"source": source, "folds": {"k": 2}, **dataset}
    config = {
        "results": "out/",
        "alignment": {"blocks": 2},
        "datasets": {"mine": dataset, "other": {"source": {"type": "simulated"}}},
        "selectors": SELECTORS,
        "learners": LEARNERS,
        "recipes": list(recipes),
        "classify": {"new": {"dataset": "mine", "input": "new.fasta"}},
    }
    return DatasetPlan(complete_configuration(config), "mine")


def test_a_lender_of_a_number_is_used_but_not_trained():
    found = plan(recipe("one", "drawn"), recipe("two", "balls", "raw"))
    assert found.trained_selectors == ["drawn", "balls"]
    assert list(found.selectors) == ["drawn", "balls", "lender"]
    assert found.transforms == ["log", "raw", "sqrt"]
    assert found.of_folds("models", "tsv", "r0f1") == [
        "out/mine/models/drawn/r0f1.tsv",
        "out/mine/models/balls/r0f1.tsv",
    ]
    assert "out/mine/landmarks/lender/all.tsv" in found.of_folds("landmarks", "tsv", lenders=True)

    one, two, three = recipe("one", "balls"), recipe("two", "drawn"), recipe("three", "balls")
    found = plan(one, two, three, recipes=["three", "one"])
    assert [r["name"] for r in found.recipes()] == ["three", "one"]
    assert [r["name"] for r in found.recipes("balls")] == ["three", "one"]
    assert found.recipes("drawn") == []
    assert found.selectors.keys() == {"balls"}


@pytest.mark.parametrize(
    ("selectors", "candidates", "sketch"),
    [(["balls", "drawn"], 12, 0), (["sketched"], 0, 40), (["balls", "sketched"], 7, 40)],
)
def test_most_candidates_count(selectors, candidates, sketch):
    found = plan(*(recipe(name, name) for name in selectors))
    assert found.most_wanted("candidates") == candidates
    assert found.most_wanted("sketch") == sketch
    assert len(found.blocks("class_scores")) == 2 * found.source.aligned


def test_folds_end_with_all(tmp_path):
    found = plan(recipe("one", "balls"), folds={"k": 2, "repeats": 2})
    assert found.folds == ["r0f0", "r0f1", "r1f0", "r1f1", "all"]
    table = tmp_path / "folds.tsv"
    missing = plan(recipe("one", "balls"), folds={"method": "table", "table": str(table)})
    with pytest.raises(InputError, match=r"folds\.tsv: no such file"):
        _ = missing.folds
    table.write_text("id\tfold\na\tx\nb\ttrain\nc\ty\nd\tz\n")
    assert missing.folds == ["r0f0", "r0f1", "r0f2", "all"]


def test_what_is_classified_is_the_data_sets_own(tmp_path):
    found = plan(recipe("one", "balls"))
    assert found.classified == ["out/mine/classified/new.tsv"]
    source = {
        "type": "fasta",
        "fasta": "x.fasta",
        "labels": {"table": "x.tsv"},
        "unmatched": "classify",
    }
    found = plan(recipe("one", "balls"), source=source)
    assert found.classified == [
        "out/mine/classified/unlabelled.tsv",
        "out/mine/classified/new.tsv",
    ]
    assert DatasetPlan(found.config, "other").classified == []


def test_vectors_are_read_with_the_data_set_and_classified_with():
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"pattern": "(.)"}}
    plain = plan(recipe("one", "balls"), source=source)
    found = plan(
        recipe("one", "balls"),
        source=source | {"unmatched": "classify"},
        vectors="v.tsv",
        unknown=["a"],
    )
    assert (plain.vectors, found.vectors) == ([], ["v.tsv"])
    assert plain.files_read(learned_alone=False)[0] == "read_dataset"
    name, files = found.files_read(learned_alone=False)
    assert name == "read_dataset_and_view_unlabelled_unknown"
    assert (files["view"], files["unknown_view"]) == (
        "dataset/view.npy",
        "unknown/dataset/view.npy",
    )
    assert found.request("unlabelled")["vectors"] == ["v.tsv"]
    assert found.request("new")["vectors"] == []
    assert found.parts("unlabelled") == found.parts("new") == []


def test_jobs_that_are_timed():
    found = plan(recipe("one", "drawn"), unknown=["family01"])
    jobs = found.timed_jobs()
    assert len(jobs) == len(set(jobs))
    assert [job for job in jobs if job.startswith(("class_scores", "columns"))] == [
        *("class_scores.0", "class_scores.1", "columns.0", "columns.1", "columns"),
    ]
    assert {"landmarks.all", "model.drawn.r0f1", "unknown", "classify.new"} <= set(jobs)
    assert "model.lender.all" not in jobs
    assert "unlabelled" not in jobs
    found.config["classify"]["new"]["parts"] = 2
    home = "out/mine/classified/new"
    assert found.parts("new") == [f"{home}/1-of-2.tsv", f"{home}/2-of-2.tsv"]
    assert set(found.timed_jobs()) - set(jobs) == {"classify.new/1-of-2", "classify.new/2-of-2"}


def test_small_files_take_few_jobs(tmp_path):
    """Of all that the user gives, packed files counted four times; a score of one's own is slow."""
    fasta, labels, vectors = (tmp_path / name for name in ("x.fasta", "x.tsv", "v.tsv.gz"))
    source = {"type": "fasta", "fasta": str(fasta), "labels": {"table": str(labels)}}

    def found(size, **more):
        fasta.write_bytes(b"A" * size)
        return plan(recipe("one", "drawn"), recipe("two", "balls"), **{"source": source, **more})

    labels.write_bytes(b"a" * 1_000)
    vectors.write_bytes(b"v" * 1_000)
    few = found(498_999)
    assert few.in_few_jobs
    timed = few.timed_jobs()
    assert [job for job in timed if job.startswith(("landmarks", "model"))] == [
        *("landmarks", "model.r0f0-all"),
    ]
    assert {few.landmark_job("r0f0"), few.model_job("drawn", "all")} < set(timed)
    assert len(few.blocks("columns")) == 1 < len(found(499_000).blocks("columns"))
    assert not found(499_000).in_few_jobs
    assert not found(498_999, vectors=str(vectors)).in_few_jobs
    assert found(494_999, vectors=str(vectors)).in_few_jobs
    large = found(4_998_999)
    assert (large.landmark_job("r0f0"), large.model_job("drawn", "all")) == (
        *("landmarks", "model.drawn.all"),
    )
    assert found(4_999_000).landmark_job("r0f0") == "landmarks.r0f0"
    nine = found(1_000, folds={"k": 3, "repeats": 3})
    assert nine.fold_sets == [[f"r{r}f{f}" for f in range(3)] for r in range(3)] + [["all"]]
    assert nine.model_job("drawn", "r1f1") == "model.r1f0-r1f2"
    assert nine.model_job("drawn", "all") == "model.all"
    raced = found(1_000)
    raced.config |= {"auto": {}}
    assert raced.fold_sets == [["r0f0"], ["r0f1", "all"]], "the others wait for the race of one"
    assert found(499_000).fold_sets == [["r0f0"], ["r0f1"], ["all"]]
    slow = found(494_999)
    slow.source = SimpleNamespace(files=lambda: [fasta], downloads=dict, asked={})
    assert not slow.in_few_jobs
    assert not plan(recipe("one", "drawn")).in_few_jobs  # nothing tells how many are simulated


def test_behind_a_race_a_fold_is_one_job_and_its_first_fold_waits_for_the_fewest_landmarks():
    def found(**more):
        made = plan(recipe("one", "drawn"), recipe("two", "balls"))
        made.config |= {"auto": {}} | more
        return made

    named = plan(recipe("one", "drawn"), recipe("two", "balls"))
    assert not named.stops
    assert [*named.column_stages] == ["columns"]
    assert named.race("r0f1") == named.race("r0f0", "balls") == []
    accurate = found()
    assert not accurate.stops, "with prefer: accuracy a lower loss may still win"
    assert [*accurate.column_stages] == ["race_columns", "columns"]
    jobs = [accurate.model_job("balls", fold) for fold in ("r0f0", "r0f1", "all")]
    assert jobs == ["model.balls.r0f0", "model.r0f1", "model.all"]
    cheap = found(prefer="cheap")
    assert cheap.stops
    assert {*jobs, *cheap.column_stages, "stop", "race"} < set(cheap.timed_jobs())
    assert [Path(cheap.columns(*of)).name for of in (("r0f0", "drawn"), ("r0f0", "balls"))] == [
        *("first_columns", "race_columns"),
    ]
    assert {cheap.columns("r0f1"), cheap.columns("all", "drawn")} == {f"{cheap.folder}/columns"}
    (first,) = cheap.column_stages["first_columns"]
    assert first.endswith("landmarks/drawn/r0f0.tsv")
    assert cheap.race("r0f0", "balls") == [f"{cheap.folder}/stop.tsv"]
    assert cheap.race("r0f0", "drawn") == []
    assert cheap.race("r0f1", "balls") == cheap.race("all") == [f"{cheap.folder}/race.tsv"]
    with_levels = found(prefer="cheap")
    with_levels.settings["levels"] = {"separator": ";"}
    assert [*with_levels.column_stages] == ["race_columns", "columns"]
    assert with_levels.race("r0f0", "balls") == []
    assert not with_levels.stops, "so check does not say that a run may stop"
    small = found(prefer="cheap")
    small.file_bytes = 1000
    assert [*small.column_stages] == ["columns"]
    small.settings["levels"] = {"separator": ";"}
    assert small.stops
    cheap.settings["final"] = "two"
    assert not cheap.stops


@pytest.mark.parametrize(("learn", "times"), [("leaves", 1), ("siblings", 1), ("inner", 2)])
def test_learners_of_a_tree_are_counted_with_all_that_inner_folds_try(learn, times):
    found = plan(recipe("one", "balls"))
    found.config["learners"]["ikfd"]["ridge"] = "inner"
    (own,) = map(found.learner, found.recipes("balls"))
    found.settings["levels"] = {"learn": learn}
    (again,) = map(found.learner, found.recipes("balls"))
    assert len(again.choices()) == times * len(own.choices()) > 1
    for name in ("method", "by_tiles", "needs_factor", "settings"):
        assert getattr(again, name) == getattr(own, name)
