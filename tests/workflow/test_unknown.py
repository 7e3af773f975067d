"""Classes held out as unknown: nothing that is learned depends on them."""

import re

import numpy as np
import pytest

from kreinflow.commands.main import main
from small_inputs import (
    configuration,
    families,
    fasta_source,
    write_fasta,
    write_folds,
    write_vectors,
)
from workflow.conftest import Workflow, fold_model, read

CLASSES = ("a", "b", "c", "d", "e")
UNKNOWN = ["d", "b"]
MADE = [
    {"name": "log", "selector": "meb", "transform": "log", "learner": "ikfd"},
    {"name": "log-sketched", "selector": "sketched", "transform": "log", "learner": "svc"},
    {"name": "lifted", "selector": "meb", "transform": "log", "learner": "ikfd"}
    | {"views": {"words": [1, 2], "vectors": True}, "lift": {"inducing": 12}},
    {"name": "asks", "selector": "meb", "transform": "log", "learner": "ikfd"}
    | {"cascade": {"alignments": 40}},
]
VERSIONS = ("plain", "lacking")
LEARNED = [
    "model.safetensors",
    "candidates.tsv",
    "columns/scores.npy",
    *(
        f"{stage}/{selector}/{fold}.{ending}"
        for selector in ("meb", "sketched")
        for fold in ("r0f0", "all")
        for stage, ending in (
            ("landmarks", "tsv"),
            ("factors", "spectrum.tsv"),
            ("models", "safetensors"),
            ("models", "tsv"),
            ("predictions", "tsv.gz"),
            ("cascade", "tsv"),
        )
    ),
]
"""What models are made of, they themselves, and what they say of the known."""


def write_inputs(data):
    """Sequences and vectors with the unknown ones and without them: the data sets of both."""
    rng = np.random.default_rng(19)
    records = families(21, classes=CLASSES, each=8)
    records = [records[i] for i in rng.permutation(len(records))]
    left = [record for record in records if record[1] not in UNKNOWN]
    ids, labels, _ = zip(*records, strict=True)
    tested = {id for id, *_ in left[2::3]}
    write_vectors(data / "plain.tsv", ids, labels=labels, noise=0.05)
    header, *lines = (data / "plain.tsv").read_text().splitlines(keepends=True)
    kept = [line for line, label in zip(lines, labels, strict=True) if label not in UNKNOWN]
    (data / "lacking.tsv").write_text("".join([header, *kept]))
    datasets = {}
    for version, shown in (("plain", records), ("lacking", left)):
        write_fasta(data / f"{version}.fasta", shown)
        # The table of folds may name those that are held out.
        write_folds(data / f"folds.{version}.tsv", [id for id, *_ in shown], tested)
        datasets[version] = {
            "source": fasta_source(f"{version}.fasta"),
            "folds": {"method": "table", "table": f"folds.{version}.tsv"},
            "vectors": f"{version}.tsv",
        }
    datasets["plain"]["unknown"] = UNKNOWN
    return datasets


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    data = folder / "data"
    data.mkdir()
    config = configuration({}) | {"data": str(data), "datasets": write_inputs(data)}
    config["selectors"]["sketched"] = {
        "method": "leverage",
        "transform": "raw",
        "budget": 9,
        "sketch": 10,
    }
    config |= {"recipes": MADE, "unknown": {"false_alarms": 0.2}}
    workflow = Workflow(folder, config)
    assert main(["check", str(folder / "config.yaml")]) == 0
    wanted = [f"results/{version}/{name}" for version in VERSIONS for name in LEARNED]
    workflow.run("--", *wanted, "results/plain/unknown/summary.tsv")
    return workflow


def test_what_is_learned_is_the_same_without_them(run):
    results = run.folder / "results"
    for name in LEARNED:
        ours, theirs = ((results / version / name).read_bytes() for version in VERSIONS)
        assert ours == theirs, name


def test_they_are_aligned_with_the_landmarks_and_with_records_that_are_asked(run):
    folder = run.folder / "results" / "plain"
    records = read(folder / "unknown" / "records.tsv")
    assert sorted(records["label"].unique()) == sorted(UNKNOWN)
    landmarks = read(folder / "columns" / "landmarks.tsv")
    assert np.load(folder / "unknown" / "scores.npy").shape == (16, len(landmarks))
    log = (folder / "logs" / "unknown_scores.log").read_text()
    assert f"aligned={16 * len(landmarks)}, self_scores=16, reused=0" in log
    log = (folder / "logs" / "unknown.log").read_text()
    (pairs,) = re.findall(
        "([0-9,]+) pairs of records were aligned because they were asked for", log
    )
    assert 0 < int(pairs.replace(",", "")) < 16 * 24, "24 records are not unknown"


@pytest.mark.parametrize("recipe", ["log", "lifted", "asks"])
def test_the_predictions_are_those_of_classify(run, tmp_path, recipe):
    """The records held out, classified as new ones by the model of a fold."""
    folder, data = run.folder / "results" / "plain", run.folder / "data"
    model = fold_model(folder, "meb", recipe)
    model.save(tmp_path / "fold.safetensors")
    new, out = str(data / "plain.fasta"), str(tmp_path / "out.tsv")
    vectors = ["--vectors", str(data / "plain.tsv")] if model.classifier.looks_at_vectors else []
    assert bool(vectors) == (recipe == "lifted")
    assert main(["classify", str(tmp_path / "fold.safetensors"), new, "-o", out, *vectors]) == 0
    ours = read(folder / "unknown" / "predictions.tsv.gz").fillna({"reason": ""})
    ours = ours[ours["recipe"] == recipe]
    theirs = read(out).set_index("id").loc[ours["id"]].fillna({"reason": ""})
    assert len(ours) == 16
    assert set(ours["predicted"]) <= {"a", "c", "e"}
    assert ours["unknown_p"].between(0, 1, inclusive="right").all()
    for name, other in (("predicted", "label"), ("unknown_p", "p_value")):
        assert ours[name].tolist() == theirs[other].tolist()
    for name in ("probability", "reject", "reason"):
        assert ours[name].tolist() == theirs[name].tolist()
