"""A flat file of UniProtKB, downloaded by the first job, up to the folds."""

import gzip
import hashlib

import pandas as pd

from file_server import serving
from flat_files import entry
from kreinflow.files.json_files import read_json
from small_inputs import configuration, families

ORGANISMS = [
    ("9606", "Homo sapiens (Human)"),
    ("10090", "Mus musculus (Mouse)"),
    ("562", "E. coli"),
]


def test_download_labels_and_folds_by_organism(workflow, tmp_path):
    records = families(1, classes=("PS00301", "PS00107"), each=12)
    entries = [
        entry(f"P{i:05}", residues, [label], organism=ORGANISMS[i % 3])
        for i, (_, label, residues) in enumerate(records)
    ]
    entries.append(entry("Q00001", records[0][2][5:], ["PS00301", "PS00107"]))
    content = gzip.compress("".join(entries).encode(), mtime=0)
    with serving(content) as server:
        server.faults = ["drop"]
        source = {
            "type": "swissprot",
            "swissprot": "uniprot/sprot.dat.gz",
            "labels": {"from": "prosite"},
            "download": {
                "url": server.url,
                "release": "2025_01",
                "sha256": hashlib.sha256(content).hexdigest(),
            },
        }
        folds = {"method": "grouped", "column": "taxonomy", "k": 3}
        run = workflow(configuration(source, folds=folds, data=str(tmp_path)))
        run.run("--", "folds")
        half = len(content) // 2
        assert server.asked == [None, f"bytes={half}-"]
    assert (tmp_path / "uniprot" / "sprot.dat.gz").read_bytes() == content
    assert run.jobs("--", "folds") == {}
    results = run.folder / "results" / "mine"
    table = pd.read_csv(results / "dataset" / "records.tsv", sep="\t", dtype=str)
    folds = pd.read_csv(results / "folds.tsv", sep="\t")
    assert (folds["fold"].groupby(table["taxonomy"]).nunique() == 1).all()
    assert folds["fold"].nunique() == 3
    assert read_json(results / "folds.json") == {
        "method": "grouped",
        "column": "taxonomy",
        "groups": 3,
        "largest": 8,
    }
