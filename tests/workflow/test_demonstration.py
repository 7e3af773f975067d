"""The demonstration of config.yaml: its data, where they are found, and what a run shows."""

import gzip
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
import yaml

from kreinflow.classify.model_file import Model
from sequence_pairs import rectangle, scheme_of
from warm.server import warm_python
from workflow.conftest import ROOT, Workflow, read

DATA = ROOT / "examples" / "pfam_kin"
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())


def records(text):
    """The headers of a FASTA with the residues."""
    parts = [record.partition("\n") for record in text.split(">")[1:]]
    return {header: residues.replace("\n", "") for header, _, residues in parts}


@pytest.fixture(scope="module")
def known():
    return records(gzip.decompress((DATA / "pfam_kin.fasta.gz").read_bytes()).decode())


@pytest.fixture(scope="module")
def table():
    with (DATA / "pfam_kin.tsv").open() as file:
        return pd.read_csv(file, sep="\t").set_index("id")


def test_the_table_describes_the_domains(known, table):
    assert list(known) == list(table.index)
    assert [len(residues) for residues in known.values()] == list(table["length"])
    assert table["family"].value_counts().tolist() == [60] * 16
    assert len(set(known.values())) == 960


def test_domains_to_classify_are_new(known, table):
    new = records((DATA / "pfam_kin_new.fasta").read_text())
    ids, families = zip(*(header.split() for header in new), strict=True)
    assert not {*ids, *new.values()} & {*known, *known.values()}
    assert set(CONFIG["datasets"]["demo"]["unknown"]) < set(families) < set(table["family"])
    for name, residues in zip(ids, new.values(), strict=True):
        first, last = map(int, re.search(r"/(\d+)-(\d+)$", name).groups())
        assert len(residues) == last - first + 1, name


def test_some_of_the_spectrum_is_negative(known, table):
    unknown = set(CONFIG["datasets"]["demo"]["unknown"])
    learned = [known[id].encode() for id in table.index[~table["family"].isin(unknown)]]
    rows, upper = np.arange(840), np.triu(np.ones((840, 840), dtype=bool))
    scores = upper * rectangle(learned, rows, rows, scheme_of(), mask=upper)
    of_itself = np.sqrt(np.diag(scores))
    eigenvalues = np.linalg.eigvalsh(
        np.log1p(scores / np.outer(of_itself, of_itself) * 20), UPLO="U"
    )
    assert 0.12 < -eigenvalues[eigenvalues < 0].sum() / np.abs(eigenvalues).sum() < 0.16


def test_from_another_folder_it_says_which_file_is_missing(tmp_path):
    command = [warm_python(), "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores"]
    done = subprocess.run([*command, "1", "-n"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "examples/pfam_kin/pfam_kin.fasta.gz" in done.stderr
    command += ["1", "-n", "--config", f"data={ROOT}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of the final model's recipe, on fewer folds."""
    folder = tmp_path_factory.mktemp("demonstration")
    demo = CONFIG["datasets"]["demo"] | {"recipes": ["cascade-60"], "folds": {"k": 2}}
    run = Workflow(folder, CONFIG | {"data": str(ROOT), "datasets": {"demo": demo}})
    run.run()
    return folder / "results"


@pytest.mark.slow
def test_what_the_page_says_of_the_demonstration(results):
    assert "No warnings: training converged" in (results / "report.html").read_text()
    found = read(results / "demo" / "evaluation" / "summary.tsv").set_index("recipe")
    assert (found["accuracy_mean"] > 0.9).all()
    found = read(results / "demo" / "unknown" / "summary.tsv")
    assert (found["unknown_rejected_mean"] > 2 * found["known_rejected_mean"]).all()
    assert (found["auroc_mean"] > 0.98).all()
    assert (found["unknown_rejected_mean"] > 0.9).all()
    assert (found["known_as_unknown_mean"] <= 0.015).all()
    log = (results / "demo" / "logs" / "final_model.log").read_text()
    assert "landmarks (as the config asks)" in log
    assert "prefer" not in log
    training = Model.load(results / "demo" / "model.safetensors").about["training"]
    assert not {"prefer", "if_accuracy", "if_cheap"} & set(training)


@pytest.mark.slow
def test_domains_of_unknown_families_are_flagged_where_they_are_classified(results):
    table = read(results / "demo" / "classified" / "new.tsv")
    new = records((DATA / "pfam_kin_new.fasta").read_text())
    truth = np.array([header.split()[1] for header in new])
    assert table["id"].tolist() == [header.split()[0] for header in new]
    unknown = np.isin(truth, CONFIG["datasets"]["demo"]["unknown"])
    right = (table["label"] == truth).to_numpy()
    assert (table["reject"] == "yes").tolist() == unknown.tolist()
    assert right[~unknown].sum() >= 4
