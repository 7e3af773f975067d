"""The target ``compare``: what it makes, and that our row is that of the run."""

import copy

import numpy as np
import pytest

from kreinflow.artifacts import read_table
from kreinflow.competitors.methods import COMPETITORS


def test_each_method_meets_both_kinds_of_folds(workflow, small_config):
    run = workflow(small_config)
    jobs = run.jobs("compare")
    assert jobs["run_competitor"] == len(COMPETITORS) * 2 * 2  # kinds, folds
    assert jobs["measure_ours"] == 2 * 2
    assert jobs["read_dataset"] == 2
    assert jobs["assign_folds"] == jobs["assign_homology_folds"] == 1
    assert jobs["write_comparison_page"] == jobs["tabulate_comparison"] == 1
    config = copy.deepcopy(small_config)
    config["datasets"]["small"]["folds"] |= {"method": "grouped", "identity": 0.4}
    run.configure(config)
    jobs = run.jobs("compare")
    assert jobs["assign_folds"] == 2  # the run's own, and random ones
    assert jobs["assign_homology_folds"] == 1


def test_our_row_is_the_inner_choice_of_the_run(workflow, small_config, reference):
    run = workflow(small_config)
    run.start_from(reference)
    assert run.jobs() == {}
    before = (run.folder / "results/small/columns/alignments.json").read_bytes()
    wanted = [f"results/small/compare/{name}/r0f1.tsv" for name in ("kreinflow", "smith_waterman")]
    done = run.run("--", *wanted)
    assert "measure_ours" in done.stdout + done.stderr
    ours, neighbour = (
        read_table(run.folder / path, ["accuracy", "reason"], ["reason", "version"]).iloc[0]
        for path in wanted
    )
    metrics = read_table(
        run.folder / "results/small/evaluation/metrics.tsv", ["recipe", "accuracy"], ["recipe"]
    )
    (honest,) = metrics[(metrics["recipe"] == "inner choice") & (metrics["fold"] == 1)].to_dict(
        "records"
    )
    assert ours["accuracy"] == honest["accuracy"]
    assert ours["macro_f1"] == pytest.approx(honest["macro_f1"], abs=1e-12)
    assert ours["records"] == neighbour["records"] == honest["records"]
    assert neighbour["reason"] == ""
    assert neighbour["alignments_per_query"] > ours["alignments_per_query"]
    seconds = [
        row[name] for row in (ours, neighbour) for name in ("train_seconds", "query_seconds")
    ]
    assert np.isfinite(seconds).all()
    # Nothing of the run has changed by it.
    assert run.jobs() == {}
    assert (run.folder / "results/small/columns/alignments.json").read_bytes() == before
