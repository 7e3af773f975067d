"""The ways into the workflow and out of it: kinds of input, and what must not leak.

What `kreinflow check` and `kreinflow classify` do alone is in tests/commands.
"""

import json
import re

import numpy as np
import pandas as pd
import parasail
import pytest

from kreinflow.classify.model_file import Model
from kreinflow.commands.main import main
from kreinflow.kernels.registry import make_kernel
from small_inputs import (
    DNA,
    PROTEIN,
    configuration,
    families,
    fasta_source,
    matrix_of,
    matrix_source,
    points,
    vectors_source,
    write_fasta,
    write_folds,
    write_labels,
    write_matrix,
)
from workflow.conftest import Workflow, read

DATASETS = ("proteins", "dna", "directed", "vectors")
OTHER_STRAND = str.maketrans("ACGU", "UGCA")
SUBSTITUTIONS = "# match 3, mismatch -2\n   A  C  G  T\nA  3 -2 -2 -2\nC -2  3 -2 -2\n" + (
    "G -2 -2  3 -2\nT -2 -2 -2  3\n"
)
GAUSSIANS = {"name": "difference_of_gaussians", "width": 2.0, "subtracted_width": 9.0}


def write_inputs(data):
    """Write all inputs; return the data sets of the config and what is to be classified."""
    proteins = families(11, classes=("one", "two", "three"), each=12)
    extra = [
        ("twin", "one", proteins[0][2].lower()),
        ("clash1", "one", "MKVLAW" * 8),
        ("clash2", "two", "MKVLAW" * 8),
        *families(12, classes=("rare",), each=3),
    ]
    strangers = [(f"s{i}", "", proteins[i][2][::-1] + "MKV") for i in (0, 5)]
    records = [*proteins, *extra, *strangers]
    write_fasta(data / "proteins.fasta.gz", records, header="{id} of no family")
    write_fasta(data / "strangers.fasta", strangers)
    write_labels(data / "proteins.tsv", [*proteins, *extra])
    tested = {f"{label}{i}" for label in ("one", "two", "three") for i in (3, 6, 9)}
    write_folds(data / "folds.tsv", [r[0] for r in [*proteins, *extra]], tested)
    # Each class has four groups of three near-identical sequences.
    rng = np.random.default_rng(13)
    dna = []
    for label, _, ancestor in families(14, each=4, letters=DNA, length=90, changed=0.35):
        for copy in range(3):
            place = int(rng.integers(90))
            child = ancestor[:place] + "ACGT"[copy] + ancestor[place + 1 :]
            dna.append((f"{label}.{copy}", label[0], child.replace("T", "U")))
    for label in "abc":
        write_fasta(data / "dna" / f"{label}.fna", [r for r in dna if r[1] == label])
    (data / "mine.txt").write_text(SUBSTITUTIONS)
    X, labels = points(16)
    ids = [f"o{i}" for i in range(len(X))]
    (data / "points.txt").write_text("\n".join(labels) + "\n")
    write_folds(data / "halves.tsv", ids, ids[::2])
    write_matrix(data / "directed.csv", matrix_of("asymmetric", X, X), ids)
    write_matrix(data / "vectors.tsv", X, ids, ["height", "width"])
    write_fasta(data / "new.fasta", proteins[::-1])
    write_fasta(data / "new.fasta.gz", proteins[::-1])
    other = (*dna[1][:2], dna[1][2].translate(OTHER_STRAND)[::-1])
    write_fasta(data / "dna.fasta", [dna[0], other])
    return {
        "proteins": {
            "source": fasta_source("proteins.fasta.gz", {"table": "proteins.tsv"})
            | {"unmatched": "classify", "min_class_size": 5},
            "folds": {"method": "table", "table": "folds.tsv"},
            "recipes": ["log"],
        },
        "dna": {
            "source": fasta_source("dna", {"from_file_names": True}, molecule="nucleotide"),
            "scoring": {"matrix": "mine.txt", "gap_open": 5, "gap_extend": 2, "mode": "global"},
            "folds": {"method": "grouped", "k": 2, "identity": 0.9},
            "recipes": ["normalised"],
        },
        "directed": {
            "source": matrix_source("asymmetric", "directed.csv", "points.txt"),
            "folds": {"method": "table", "table": "halves.tsv"},
            "recipes": ["epcvm"],
        },
        "vectors": {
            "source": vectors_source("vectors.tsv", GAUSSIANS, "points.txt"),
            "folds": {"method": "table", "table": "halves.tsv"},
            "recipes": ["raw"],
            "unknown": ["b"],
        },
    }, {
        "again": {"dataset": "proteins", "input": "new.fasta.gz", "parts": 3},
        "strands": {"dataset": "dna", "input": "dna.fasta", "strand": "both"},
        "direction": {"dataset": "directed", "input": "directed.csv", "parts": 2},
        "table": {"dataset": "vectors", "input": "vectors.tsv"},
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run over four data sets, each of another kind of input."""
    folder = tmp_path_factory.mktemp("inputs")
    datasets, requests = write_inputs(folder / "data")
    config = configuration({}) | {
        "data": str(folder / "data"),
        "datasets": datasets,
        "classify": requests,
        "selectors": {
            name: {"method": "meb", "transform": name, "epsilon": 0.1}
            for name in ("log", "normalised", "raw")
        }
        | {"uniform": {"method": "uniform", "budget": 9}},
        "recipes": [
            *(
                {"name": name, "selector": name, "transform": name, "learner": "ikfd"}
                for name in ("log", "normalised", "raw")
            ),
            {"name": "epcvm", "selector": "uniform", "transform": "raw", "learner": "epcvm"}
            | {"correction": "landmark_basis"},
        ],
    }
    config["learners"]["epcvm"] = {"method": "ny_epcvm"}
    workflow = Workflow(folder, config)
    assert main(["check", str(folder / "config.yaml")]) == 0
    workflow.run()
    return workflow


def result(run, *path):
    return run.folder.joinpath("results", *path)


def statistics(run, dataset):
    return json.loads(result(run, dataset, "dataset", "summary.json").read_text())["statistics"]


def test_each_kind_of_input_gives_a_model_and_better_than_chance(run):
    for dataset in DATASETS:
        summary = read(result(run, dataset, "evaluation", "summary.tsv"))
        assert summary["accuracy_mean"].min() > 0.6, dataset
        Model.load(result(run, dataset, "model.safetensors"))
        assert f">{dataset}</h2>" in result(run, "report.html").read_text()


def test_drops_are_counted_in_the_summary_and_in_the_report(run):
    found = statistics(run, "proteins")
    assert found["records_read"] == 44
    assert found["unlabelled"] == 2
    assert found["records_kept"] == 37
    assert found["distinct"] == 36  # twin is one0 in lower case
    page = re.sub(r"\s*<[^>]+>\s*", " ", result(run, "report.html").read_text())
    assert re.search(r"small class\s+3\s+rare0, rare1, rare2", page)
    assert "2 sequences have no label;" in page
    assert "10 records of 1 class were held out" in page
    assert re.search(r"identical sequences with different labels\s+2\s+clash1, clash2", page)


def columns_of(run, dataset):
    """The scores with all landmarks, and the rows of these."""
    union = read(result(run, dataset, "columns", "landmarks.tsv"))["row"]
    return np.load(result(run, dataset, "columns", "scores.npy")), union


def test_scores_are_those_of_the_mode_and_matrix_asked_for(run):
    scores, union = columns_of(run, "dna")
    distinct = read(result(run, "dna", "dataset", "distinct.tsv"))["sequence"]
    matrix = parasail.matrix_create("ACGT", 3, -2)
    for i in (0, 7, 25):
        for column, j in enumerate(union):
            expected = parasail.nw_striped_32(distinct[i], distinct[j], 5, 2, matrix).score
            assert scores[i, column] == expected
    assert scores.min() < 0  # global, as it says


def test_columns_are_the_kernel_of_the_vectors_and_rows_of_a_matrix_against_landmarks(run):
    vectors = pd.read_csv(run.folder / "data" / "vectors.tsv", sep="\t", index_col=0).to_numpy()
    labels = np.array((run.folder / "data" / "points.txt").read_text().split())
    vectors = vectors[labels != "b"]  # which is held out as unknown
    columns, union = columns_of(run, "vectors")
    kernel = make_kernel(GAUSSIANS)
    np.testing.assert_array_equal(columns, kernel.columns(vectors, vectors[union]))
    assert (read(result(run, "vectors", "factors", "raw", "all.tsv"))["negative"] > 0).all()
    account = json.loads(result(run, "vectors", "columns", "alignments.json").read_text())
    assert (account["aligned"], account["scheme"]) == (0, None)
    assert not result(run, "vectors", "scores").exists()
    columns, union = columns_of(run, "directed")
    matrix = pd.read_csv(run.folder / "data" / "directed.csv", index_col=0).to_numpy()
    both = np.hstack([matrix[:, union], matrix[union].T])
    np.testing.assert_array_equal(columns, both)


def test_only_the_test_records_of_the_users_table_are_predicted(run):
    table = read(run.folder / "data" / "folds.tsv")
    tested = set(table.loc[table["fold"] == "test", "id"])
    assert set(read(result(run, "proteins", "evaluation", "predictions.tsv.gz"))["id"]) == tested
    landmarks = read(result(run, "proteins", "landmarks", "log", "r0f0.tsv"))["row"]
    records = read(result(run, "proteins", "dataset", "records.tsv"))
    assert not set(records.loc[records["row"].isin(landmarks), "id"]) & tested


def test_times_have_a_row_for_each_job_but_those_that_show_them(run):
    for dataset in DATASETS:
        times = read(result(run, dataset, "times.tsv")).fillna({"job": ""})
        rows = (times["stage"] + "." + times["job"]).str.rstrip(".")
        home = result(run, dataset, "times")
        jobs = {str(path.relative_to(home).with_suffix("")) for path in home.rglob("*.tsv")}
        assert sorted(rows) == sorted({job for job in jobs if not job.startswith("figures")})
        assert {"map", "columns"} <= jobs
        assert ("classify.unlabelled" in jobs) == (dataset == "proteins")
        assert ("classify.again/3-of-3" in jobs) == (dataset == "proteins")
        assert ("unknown" in jobs) == (dataset == "vectors")


def test_classified_in_the_workflow_as_on_the_command_line(run, tmp_path):
    """By one job, or in parts whose tables are joined and removed."""
    data = run.folder / "data"
    for dataset, name, new in (
        ("proteins", "again", "new.fasta"),
        ("proteins", "unlabelled", "strangers.fasta"),
        ("dna", "strands", "dna.fasta"),
        ("directed", "direction", "directed.csv"),
        ("vectors", "table", "vectors.tsv"),
    ):
        model = result(run, dataset, "model.safetensors")
        out = tmp_path / f"{name}.tsv"
        strand = ["--strand", "both"] if name == "strands" else []
        assert main(["classify", str(model), str(data / new), "-o", str(out), *strand]) == 0
        assert out.read_bytes() == result(run, dataset, "classified", f"{name}.tsv").read_bytes()
    assert [path for path in run.folder.rglob("*-of-*.tsv") if "times" not in path.parts] == []
    assert read(tmp_path / "strands.tsv")["strand"].tolist() == ["+", "-"]
    ids = re.findall(r"^>(\S+)", (data / "new.fasta").read_text(), re.MULTILINE)
    assert read(tmp_path / "again.tsv")["id"].tolist() == ids


def test_changed_tables_and_matrix_files_rerun_what_they_feed(run):
    """Content, not names alone: else results of another substitution matrix would stay."""
    data = run.folder / "data"
    assert run.jobs() == {}
    aligned = ("read_dataset", "align_class_scores", "align_columns", "choose_final_model")
    for name, old, new, again, same in (
        ("mine.txt", " 3", " 4", aligned, "read_matrix"),
        ("vectors.tsv", "o3\t", "o3\t1", ("read_vectors_unknown",), "read_matrix"),
        ("folds.tsv", "one3\ttest", "one3\ttrain", ("assign_folds",), "read_dataset"),
    ):
        before = (data / name).read_text()
        (data / name).write_text(before.replace(old, new))
        jobs = run.jobs()
        (data / name).write_text(before)
        assert {rule: jobs.get(rule) for rule in again} == dict.fromkeys(again, 1)
        assert same not in jobs


def test_test_records_change_nothing_that_is_learned(workflow, tmp_path):
    """Labels and sequences of the tested records are scrambled, ids and order kept."""
    rng = np.random.default_rng(17)
    plain = families(18, each=12)
    tested = [i for i in range(len(plain)) if i % 3 == 0]
    labels = [plain[i][1] for i in tested]
    scrambled = list(plain)
    for i, label in zip(tested, labels[5:] + labels[:5], strict=True):
        length = int(rng.integers(40, 90))
        scrambled[i] = (plain[i][0], label, "".join(rng.choice(list(PROTEIN), length)))
    write_folds(tmp_path / "f.tsv", [r[0] for r in plain], {plain[i][0] for i in tested})
    datasets = {}
    for name, records in (("plain", plain), ("scrambled", scrambled)):
        write_fasta(tmp_path / f"{name}.fasta", records)
        folds = {"method": "table", "table": "f.tsv"}
        datasets[name] = {"source": fasta_source(f"{name}.fasta"), "folds": folds}
    config = configuration({}) | {"data": str(tmp_path), "datasets": datasets}
    config["selectors"]["sampled"] = {"method": "kmeans++", "budget": 9, "candidates": 5}
    config["selectors"]["sketched"] = {"method": "leverage", "budget": 9, "sketch": 10}
    config["recipes"] = [
        {"name": selector, "selector": selector, "learner": "ikfd"}
        for selector in ("meb", "sampled", "sketched")
    ] + [
        {"name": "pcvm", "selector": "meb", "correction": "flip", "learner": "pcvm"},
        {"name": "asks", "selector": "meb", "learner": "ikfd", "cascade": {"alignments": 30}},
        {"name": "lifted", "selector": "meb", "learner": "lsm", "cascade": {"loss": 0.005}}
        | {"views": {"words": [1, 2]}, "lift": {}},
    ]
    config["learners"]["lsm"] = {"method": "sf_lsm"}
    run = workflow(config)
    targets = ("landmarks/{}/r0f0.tsv", "factors/{}/r0f0.tsv", "models/{}/r0f0.safetensors")
    files = [target.format("meb") for target in targets]
    files += [f"landmarks/{selector}/r0f0.tsv" for selector in ("sampled", "sketched")]
    run.run("--", *(f"results/{name}/{file}" for name in datasets for file in files))
    beside = ("factors/meb/r0f0.spectrum.tsv", "models/meb/r0f0.tsv")
    for file in [*files, *beside]:
        ours, theirs = (result(run, name, file).read_bytes() for name in datasets)
        assert ours == theirs, file
    # The scrambled records are tested, and where everything is trained on, they count.
    ours, theirs = (read(result(run, name, "predictions/meb/r0f0.tsv.gz")) for name in datasets)
    assert ours["id"].equals(theirs["id"])
    assert (ours["true"] != theirs["true"]).any()
    assert (ours["p_a"] != theirs["p_a"]).all()
    ours, theirs = (result(run, name, "landmarks/meb/all.tsv").read_bytes() for name in datasets)
    assert ours != theirs
