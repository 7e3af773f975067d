"""The digest of code follows the content of what a script imports, and nothing else."""

import ast
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kreinflow.files import provenance
from kreinflow.files.provenance import code_digest, job_record, package_versions

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "lib", tree / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "scripts", tree / "scripts")
    return tree


def digests(tree, *scripts):
    """In a process of its own: the digest is cached, and the package is the one of the tree."""
    code = (
        "import sys; from kreinflow.files.provenance import code_digest; "
        "print(*map(code_digest, sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *(tree / "scripts" / f"{script}.py" for script in scripts)],
        env={**os.environ, "PYTHONPATH": str(tree / "lib")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


@pytest.mark.parametrize(
    ("changed", "counts", "does_not_count"),
    [
        ("sequences/folds.py", ["folds"], []),
        ("base/random_streams.py", ["folds"], []),  # which others import
        ("report/page.py", ["report"], ["folds"]),
        ("learners/pcvm.py", ["model"], ["alignment", "candidates", "columns", "landmarks"]),
        ("report/template.html.j2", ["report"], []),
    ],
)
def test_content_of_what_is_imported_counts_and_time_does_not(
    copy, changed, counts, does_not_count
):
    scripts = [*counts, *does_not_count]
    before, path = digests(copy, *scripts), copy / "lib" / "kreinflow" / changed
    os.utime(path, (1, 1))
    assert digests(copy, *scripts) == before
    path.write_text(path.read_text() + "\n# changed\n")
    after = digests(copy, *scripts)
    same = [script for script, a, b in zip(scripts, before, after, strict=True) if a == b]
    assert same == does_not_count


def test_versions_name_what_matters():
    versions = package_versions()
    assert versions["numpy"][0].isdigit()
    assert "not installed" not in versions.values()
    assert len(code_digest(__file__)) == 64


def test_a_record_says_where_a_job_ran_and_what_it_took(monkeypatch):
    block = np.ones(30_000_000)  # 240 MB
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    record = job_record()
    assert record["host"] == platform.node()
    assert record["numpy"] == np.__version__
    assert record["cpu_kernel"]
    assert block.nbytes / 2**20 < record["peak_mb"] < 20_000
    monkeypatch.setenv("SLURMD_NODENAME", "n2")
    assert job_record()["host"] == "n2"


def test_imports_are_read_as_the_parser_of_python_reads_them():
    for path in sorted([*(ROOT / "lib").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]):
        names = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.update({node.module, *(f"{node.module}.{a.name}" for a in node.names)})
        own = (name.encode() for name in names if name.split(".")[0] == "kreinflow")
        parsed = {file for name in own for file in provenance._modules(name)}
        assert set(provenance._imported(path.read_bytes())) >= parsed, path
