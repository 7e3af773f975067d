"""The target ``compare``: what it makes, and that our row is that of the run."""

import numpy as np
import pytest

from kreinflow.compare.competitor import TESTS_NOTHING
from kreinflow.compare.methods import COMPETITORS, OURS
from kreinflow.files.tables import read_table
from small_inputs import configuration, families, fasta_source, write_fasta


def test_a_kind_of_folds_that_tests_nothing_does_not_end_the_run(workflow):
    """Two families of one cluster each, all of which the homology-aware folds learn from."""
    run = workflow(configuration(fasta_source(), data="data"))
    records = families(1, classes=("a", "b"), each=12, changed=0.2)
    write_fasta(run.folder / "data" / "x.fasta", records)
    folder = run.folder / "results" / "mine+homology-aware"
    ours = folder / "compare" / OURS / "r0f1.tsv"
    run.run("--", str(ours.relative_to(run.folder)))
    jobs = run.jobs("compare")
    assert jobs["run_competitor"] == len(COMPETITORS) * 2 * 2  # kinds, folds
    assert jobs["measure_ours"] == 2 * 2 - 1
    assert jobs["evaluate"] == jobs["write_comparison"] == 1
    assert set(read_table(folder / "folds.tsv", ["fold"])["fold"]) == {-1}
    (row,) = read_table(ours, ["reason"]).to_dict("records")
    assert (row["method"], row["records"], row["reason"]) == (OURS, 0, TESTS_NOTHING)
    for name in ("metrics", "summary", "comparison"):
        assert read_table(folder / "evaluation" / f"{name}.tsv", ["recipe"]).empty


def test_our_row_is_the_inner_choice_of_the_run(finished):
    before = (finished.folder / "results/small/columns/alignments.json").read_bytes()
    names = ("kreinflow", "smith_waterman", "words")
    wanted = [f"results/small/compare/{name}/r0f1.tsv" for name in names]
    done = finished.run("--", *wanted)
    assert "measure_ours" in done.stdout + done.stderr
    ours, neighbour, words = (
        read_table(finished.folder / path, ["accuracy", "reason"], ["reason", "version"]).iloc[0]
        for path in wanted
    )
    metrics = read_table(
        finished.folder / "results/small/evaluation/metrics.tsv", ["recipe", "accuracy"], ["recipe"]
    )
    (honest,) = metrics[(metrics["recipe"] == "inner choice") & (metrics["fold"] == 1)].to_dict(
        "records"
    )
    assert ours["accuracy"] == honest["accuracy"]
    assert ours["macro_f1"] == pytest.approx(honest["macro_f1"], abs=1e-12)
    assert ours["records"] == neighbour["records"] == honest["records"]
    assert neighbour["reason"] == words["reason"] == ""
    assert neighbour["alignments_per_query"] > ours["alignments_per_query"]
    assert words["alignments_per_query"] == 0
    seconds = [
        row[name] for row in (ours, neighbour) for name in ("train_seconds", "query_seconds")
    ]
    assert np.isfinite(seconds).all()
    # Nothing of the run has changed by it.
    assert finished.jobs() == {}
    assert (finished.folder / "results/small/columns/alignments.json").read_bytes() == before
