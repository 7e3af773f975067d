import os
import shutil

import numpy as np
import pandas as pd
import pytest

from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.sequences.folds import check_groups, fold_summary
from kreinflow.sequences.identity import identity_clusters
from kreinflow.sequences.mmseqs import mmseqs_clusters, mmseqs_version
from small_inputs import families

# Stands for the program where it is missing: sequences with the same first letter are a cluster,
# named after its last member.
PROGRAM = """#!/bin/sh
[ "$1" = version ] && { echo 99.made-up; exit 0; }
[ "$1" = easy-linclust ] || exit 3
echo "$@" > "$(dirname "$0")/said"
awk '/^>/ {id = substr($1, 2); next} {letter = substr($1, 1, 1); last[letter] = id; of[id] = letter}
     END {for (id in of) print last[of[id]] "\\t" id}' "$2" > "$3_cluster.tsv"
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    def install(text=PROGRAM):
        path = tmp_path / "bin" / "mmseqs"
        path.parent.mkdir()
        path.write_text(text)
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
        return path.parent

    return install


def test_clusters_of_the_program_are_named_after_their_first_members(program):
    folder = program()
    sequences = [b"MKV", b"AKV", b"MLL", b"WWW", b"AAA", b"MMM"]
    assert mmseqs_clusters(sequences, 0.4).tolist() == [0, 1, 0, 3, 1, 0]
    said = (folder / "said").read_text()
    assert "--min-seq-id 0.4 --seq-id-mode 1 " in said
    assert "--cluster-mode 1 --kmer-per-seq 80 --threads 1 " in said
    assert mmseqs_clusters([], 0.4).tolist() == []
    # Its version is recorded.
    settings = {"method": "grouped", "column": None, "clustering": "mmseqs", "identity": 0.4}
    folds = pd.DataFrame({"id": ["a", "b", "c"], "group": [0, 0, 2], "repeat": 0, "fold": 0})
    summary = fold_summary(settings, folds)
    assert summary.pop("version") == mmseqs_version() == "99.made-up"
    del settings["column"]
    assert summary == settings | {"groups": 2, "largest": 2}


def test_a_missing_or_failing_program(program, monkeypatch, tmp_path):
    settings = {"method": "grouped", "column": None, "clustering": "mmseqs"}
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(InputError, match=r"mmseqs is not on the PATH\. Install it .*'cluster"):
            check_groups(settings, {}, tmp_path)
        check_groups(settings | {"column": "species"}, {}, tmp_path)
    program("#!/bin/sh\necho out of memory >&2; exit 7\n")
    with pytest.raises(KreinflowError, match=r"mmseqs easy-linclust: failed with 7: out of memory"):
        mmseqs_clusters([b"MKV"], 0.4)


@pytest.mark.skipif(shutil.which("mmseqs") is None, reason="MMseqs2 is not installed")
def test_the_real_program_agrees_with_our_clusters():
    records = families(1, range(20), each=5, length=150, changed=0.03)
    sequences = [s.encode() for _, _, s in records]
    found = mmseqs_clusters(sequences, 0.8)
    np.testing.assert_array_equal(found, identity_clusters(sequences, 0.8))
