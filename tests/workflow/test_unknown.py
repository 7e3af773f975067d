"""Classes held out as unknown: nothing that is learned depends on them."""

import re

import numpy as np
import pytest

from kreinflow.commands.main import main
from small_inputs import (
    configuration,
    families,
    fasta_source,
    matrix_of,
    matrix_source,
    points,
    write_fasta,
    write_folds,
    write_matrix,
    write_vectors,
)
from workflow.conftest import Workflow, fold_model, read

CLASSES = ("a", "b", "c", "d", "e")
UNKNOWN = ["d", "b"]
MADE = [
    {"name": "log", "selector": "meb", "transform": "log", "learner": "ikfd"},
    {"name": "log-sketched", "selector": "sketched", "transform": "log", "learner": "svc"},
    {"name": "raw", "selector": "meb", "transform": "raw", "learner": "ikfd"},
    {"name": "lifted", "selector": "meb", "transform": "log", "learner": "ikfd"}
    | {"views": {"words": [1, 2], "vectors": True}, "lift": {"inducing": 12}},
    {"name": "asks", "selector": "meb", "transform": "log", "learner": "ikfd"}
    | {"cascade": {"alignments": 40}},
]
VERSIONS = ("plain", "lacking")
SELECTORS = {"sequences": ("meb", "sketched"), "matrix": ("meb",)}


def learned(kind):
    """What models are made of, they themselves, and what they say of the known."""
    return [
        "model.safetensors",
        "candidates.tsv",
        "columns/scores.npy",
        *(
            f"{stage}/{selector}/{fold}.{ending}"
            for selector in SELECTORS[kind]
            for fold in ("r0f0", "all")
            for stage, ending in (
                ("landmarks", "tsv"),
                ("factors", "safetensors"),
                ("models", "safetensors"),
                ("models", "tsv"),
                ("predictions", "tsv.gz"),
                ("cascade", "tsv"),
            )
        ),
    ]


def write_inputs(data):
    """Sequences with the unknown ones and without them; so a matrix."""
    rng = np.random.default_rng(19)
    records = families(21, classes=CLASSES, each=8)
    records = [records[i] for i in rng.permutation(len(records))]
    ids = [id for id, _, _ in records]
    X, labels = points(22, classes=CLASSES, each=8)
    held = {"sequences": [r[1] in UNKNOWN for r in records], "matrix": np.isin(labels, UNKNOWN)}
    # The table of folds may name those that are held out.
    data.mkdir()
    for kind in SELECTORS:
        known = np.cumsum(~np.array(held[kind]))
        tested = {id for id, n in zip(ids, known, strict=True) if n % 3 == 0}
        write_folds(data / f"{kind}.plain.tsv", ids, tested)
        left = [id for id, out in zip(ids, held[kind], strict=True) if not out]
        write_folds(data / f"{kind}.lacking.tsv", left, tested)
    labels_of = [label for _, label, _ in records]
    write_vectors(data / "plain.tsv", ids, labels=labels_of, noise=0.05)
    header, *lines = (data / "plain.tsv").read_text().splitlines(keepends=True)
    pairs = [*zip(lines, ids, held["sequences"], strict=True)]
    left = [line for line, _, out in pairs if not out]
    (data / "lacking.tsv").write_text("".join([header, *left]))
    for version in VERSIONS:
        lacking = version == "lacking"
        out = held["sequences"]
        write_fasta(
            data / f"{version}.fasta",
            [
                (id, label, residues)
                for (id, label, residues), unknown in zip(records, out, strict=True)
                if not (unknown and lacking)
            ],
        )
        shown = np.flatnonzero(~held["matrix"] if lacking else np.ones(len(X), dtype=bool))
        names = [ids[i] for i in shown]
        matrix = matrix_of("dissimilarity", X[shown], X[shown])
        write_matrix(data / f"{version}.csv", matrix, names)
        (data / f"{version}.txt").write_text("".join(f"{labels[i]}\n" for i in shown))
    return {
        f"{kind}-{version}": {
            "source": fasta_source(f"{version}.fasta")
            if kind == "sequences"
            else matrix_source("dissimilarity", f"{version}.csv", f"{version}.txt"),
            "folds": {
                "method": "table",
                "table": f"{kind}.{version}.tsv",
            },
            "recipes": ["log", "log-sketched", "lifted", "asks"]
            if kind == "sequences"
            else ["raw"],
            **({"vectors": f"{version}.tsv"} if kind == "sequences" else {}),
            **({} if version == "lacking" else {"unknown": UNKNOWN}),
        }
        for kind in SELECTORS
        for version in VERSIONS
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    datasets = write_inputs(folder / "data")
    config = configuration({}, "raw") | {"data": str(folder / "data"), "datasets": datasets}
    config["selectors"]["sketched"] = {
        "method": "leverage",
        "transform": "raw",
        "budget": 9,
        "sketch": 10,
    }
    config |= {"recipes": MADE, "unknown": {"false_alarms": 0.2}}
    workflow = Workflow(folder, config)
    assert main(["check", str(folder / "config.yaml")]) == 0
    workflow.run(
        "--",
        *(
            f"results/{kind}-{version}/{name}"
            for kind in SELECTORS
            for version in VERSIONS
            for name in learned(kind)
        ),
        *(f"results/{name}/unknown/summary.tsv" for name in datasets if "lacking" not in name),
    )
    return workflow


@pytest.mark.parametrize("kind", list(SELECTORS))
def test_what_is_learned_is_the_same_without_them(run, kind):
    results = run.folder / "results"
    for name in learned(kind):
        ours, *others = (
            (results / f"{kind}-{version}" / name).read_bytes() for version in VERSIONS
        )
        assert others == len(others) * [ours], name


def test_they_are_aligned_with_the_landmarks_and_with_records_that_are_asked(run):
    folder = run.folder / "results" / "sequences-plain"
    records = read(folder / "unknown" / "records.tsv")
    assert sorted(records["label"].unique()) == sorted(UNKNOWN)
    landmarks = read(folder / "columns" / "landmarks.tsv")
    assert np.load(folder / "unknown" / "scores.npy").shape == (16, len(landmarks))
    log = (folder / "logs" / "unknown_scores.log").read_text()
    assert f"aligned={16 * len(landmarks)}, self_scores=16, reused=0" in log
    log = (folder / "logs" / "unknown.log").read_text()
    (pairs,) = re.findall("([0-9,]+) pairs were aligned because they were asked for", log)
    assert 0 < int(pairs.replace(",", "")) < 16 * 24, "24 records are not unknown"


@pytest.mark.parametrize("recipe", ["log", "lifted", "asks"])
def test_the_predictions_are_those_of_classify(run, tmp_path, recipe):
    """The records held out, classified as new ones by the model of a fold."""
    folder, data = run.folder / "results" / "sequences-plain", run.folder / "data"
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
