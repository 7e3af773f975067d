"""A run whose records have several labels, from the table of labels to the page."""

import gzip
import random

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn_metrics

from kreinflow.classify.classification import classify_file
from kreinflow.classify.model_file import Model
from kreinflow.config.configuration import complete_configuration
from kreinflow.evaluation.tables import SEVERAL_COLUMNS
from kreinflow.report.reading import DatasetResults
from small_inputs import configuration, fasta_source
from workflow.conftest import ROOT, Workflow, read

FAMILIES = {"C1-set": "b", "CSD": "b", "Copper-bind": "c", "HMG_box": "c"}
"""What a record may have, and the node above."""

NODES = sorted({*FAMILIES.values(), *(f"{above}.{name}" for name, above in FAMILIES.items())})


def write_proteins(folder, n=96):
    """Write proteins of one to three domains, and a table of their labels."""
    rng = random.Random(1)
    families = read(ROOT / "examples/pfam_kin/pfam_kin.tsv").set_index("id")["family"]
    with gzip.open(ROOT / "examples/pfam_kin/pfam_kin.fasta.gz", "rt") as file:
        entries = [entry.split("\n", 1) for entry in file.read().split(">")[1:]]
    domains = {name: [] for name in FAMILIES}
    for head, residues in entries:
        if (family := families[head.split()[0]]) in domains:
            domains[family].append(residues.replace("\n", ""))
    proteins, labels = [], []
    for number in range(n):
        own = rng.sample(sorted(FAMILIES), rng.choice([1, 1, 2, 3]))
        residues = "".join(rng.choice(domains[family]) for family in own)
        proteins.append(f">s{number}\n{residues}\n")
        labels.append("|".join(f"{FAMILIES[family]}.{family}" for family in own))
    (folder / "proteins.fasta").write_text("".join(proteins))
    rows = [f"s{number}\t{label}\n" for number, label in enumerate(labels)]
    (folder / "labels.tsv").write_text("id\tdomains\n" + "".join(rows))


LABELS = {"label_column": "domains", "multiple": "all", "separator": "|"}
SOURCE = fasta_source("proteins.fasta", {"table": "labels.tsv"} | LABELS)
CONFIG = configuration(SOURCE, inner_folds=2, levels={"separator": "."}) | {
    "selectors": {"uniform": {"method": "uniform", "budget": 30}},
    "learners": {"ikfd": {"method": "ny_ikfd"}, "lsm": {"method": "krein_lsm"}},
    "recipes": [{"name": name, "selector": "uniform", "learner": name} for name in ("ikfd", "lsm")],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run = Workflow(tmp_path_factory.mktemp("several"), CONFIG)
    write_proteins(run.folder)
    run.run("--", "evaluation", "final_model")
    return run.folder / "results"


def indicators(texts, classes):
    return np.array([[label in text.split(";") for label in classes] for text in texts])


def predictions_of(folder):
    table = pd.read_csv(
        folder / "evaluation" / "predictions.tsv.gz", sep="\t", keep_default_na=False
    )
    classes = [name[2:] for name in table.columns if name.startswith("p_")]
    assert classes == NODES
    return table, classes


def test_tables_are_those_of_several_labels_and_right(finished):
    folder = finished / "mine"
    for name, columns in SEVERAL_COLUMNS.items():
        assert tuple(read(folder / "evaluation" / f"{name}.tsv").columns) == columns
    table, classes = predictions_of(folder)
    metrics = read(folder / "evaluation" / "metrics.tsv")
    assert set(metrics["recipe"]) == {"ikfd", "lsm", "inner choice"}
    for row in metrics.itertuples():
        own = table[(table["recipe"] == row.recipe) & (table["fold"] == row.fold)]
        true, given = (indicators(own[column], classes) for column in ("true", "predicted"))
        p = own[[f"p_{label}" for label in classes]].to_numpy()
        assert row.accuracy == pytest.approx(sklearn_metrics.accuracy_score(true, given))
        assert row.micro_f1 == pytest.approx(
            sklearn_metrics.f1_score(true, given, average="micro", zero_division=0)
        )
        assert row.macro_average_precision == pytest.approx(
            sklearn_metrics.average_precision_score(true, p, average="macro")
        )
    table = read(folder / "evaluation" / "per_class.tsv")
    own = table[table["recipe"] == "lsm"]
    assert (own["average_precision"] - own["support"] / 96).mean() > 0.3


def test_the_page_reads_the_thresholds_of_labels(finished):
    model = Model.load(finished / "mine" / "model.safetensors")
    thresholds = model.classifier.several.thresholds
    assert len(thresholds) == len(NODES)
    results = DatasetResults(finished, "mine", complete_configuration(CONFIG))
    assert results.thresholds == dict(zip(NODES, thresholds, strict=True))


def test_a_record_has_the_nodes_above_its_labels(finished):
    folder = finished / "mine"
    table, classes = predictions_of(folder)
    for column in ("true", "predicted"):
        own = indicators(table[column], classes)
        for family, above in FAMILIES.items():
            below = own[:, classes.index(f"{above}.{family}")]
            assert below.any()
            assert own[below, classes.index(above)].all()
    assert not (folder / "evaluation" / "levels.tsv").exists()
    told = classify_file(
        Model.load(folder / "model.safetensors"), folder.parents[1] / "proteins.fasta"
    )
    labels = told["labels"].str.split(";")
    for own in labels:
        assert not any(other.startswith(f"{label}.") for label in own for other in own)
    assert any("b.C1-set" in own for own in labels)
