"""Every command of docs/classify.md runs, and its tables name the columns that are written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from kreinflow.models.classification import COLUMNS
from small_inputs import configuration, families, trained_model, write_fasta

PAGE = Path(__file__).parents[2] / "docs" / "classify.md"
BLOCKS = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model, new sequences, and a ``kreinflow`` of this tree on the path."""
    folder = tmp_path_factory.mktemp("page")
    records = families(5, changed=0.4)
    write_fasta(folder / "x.fasta", records)
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"pattern": r"family=(\w+);"}}
    model, *_ = trained_model(configuration(source), folder)
    model.save(folder / "model.safetensors")
    write_fasta(folder / "new.fasta", [("query", "a", records[3][2]), *families(6)])
    command = folder / "bin" / "kreinflow"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kreinflow.cli "$@"\n')
    command.chmod(0o755)
    return folder


def test_the_page_has_commands():
    assert sum(block.count("kreinflow ") for block in BLOCKS) >= 8


def test_every_command_runs(folder):
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    library = str(PAGE.parents[1] / "lib")
    for block in BLOCKS:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=folder,
            env=os.environ | {"PATH": path, "PYTHONPATH": library},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, block + done.stderr
        assert "Traceback" not in done.stderr
    predictions = pd.read_csv(folder / "predictions.tsv", sep="\t")
    assert predictions["id"].iloc[0] == "query"
    assert tuple(predictions.columns) == COLUMNS
    named = set(
        re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.M)))
    )
    contributions = pd.read_csv(folder / "contributions.tsv", sep="\t")
    assert named == {*COLUMNS, "strand", *contributions.columns}
    assert (folder / "landmarks.fasta").read_text().startswith(">")
