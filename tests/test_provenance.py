"""The digest of code follows the content of what a script imports, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kreinflow.provenance import code_digest, job_record, package_versions

ROOT = Path(__file__).parents[1]


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "lib", tmp_path / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


def digest(tree, script):
    """In a process of its own: the digest is cached, and the package is the one of the tree."""
    code = (
        "from kreinflow.provenance import code_digest;"
        f"print(code_digest({str(tree / 'scripts' / script)!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tree / "lib")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_content_of_an_imported_module_counts_and_time_does_not(copy):
    before = digest(copy, "folds.py")
    module = copy / "lib" / "kreinflow" / "sequences" / "folds.py"
    os.utime(module, (1, 1))
    assert digest(copy, "folds.py") == before
    module.write_text(module.read_text() + "\n# changed\n")
    assert digest(copy, "folds.py") != before


def test_indirect_imports_count(copy):
    before = digest(copy, "folds.py")
    module = copy / "lib" / "kreinflow" / "randomness.py"
    module.write_text(module.read_text() + "\n# changed\n")
    assert digest(copy, "folds.py") != before


def test_modules_that_are_not_imported_do_not_count(copy):
    before = digest(copy, "folds.py")
    module = copy / "lib" / "kreinflow" / "report" / "page.py"
    module.write_text(module.read_text() + "\n# changed\n")
    assert digest(copy, "folds.py") == before
    assert digest(copy, "report.py") != digest(copy, "folds.py")


@pytest.mark.parametrize("script", ["alignment", "candidates", "columns", "landmarks"])
def test_a_learner_does_not_count_before_it_learns(copy, script):
    before, model = digest(copy, f"{script}.py"), digest(copy, "model.py")
    module = copy / "lib" / "kreinflow" / "learners" / "pcvm.py"
    module.write_text(module.read_text() + "\n# changed\n")
    assert digest(copy, f"{script}.py") == before
    assert digest(copy, "model.py") != model


def test_data_files_of_a_package_count(copy):
    before = digest(copy, "report.py")
    template = copy / "lib" / "kreinflow" / "report" / "template.html.j2"
    template.write_text(template.read_text() + "<!-- changed -->")
    assert digest(copy, "report.py") != before


def test_versions_name_what_matters():
    versions = package_versions()
    assert versions["numpy"][0].isdigit()
    assert "not installed" not in versions.values()
    assert len(code_digest(__file__)) == 64


def test_a_record_says_where_a_job_ran_and_what_it_took(monkeypatch):
    import platform

    import numpy as np

    block = np.ones(30_000_000)  # 240 MB
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    record = job_record()
    assert record["host"] == platform.node()
    assert record["numpy"] == np.__version__
    assert record["cpu_kernel"]
    assert block.nbytes / 2**20 < record["peak_mb"] < 20_000
    monkeypatch.setenv("SLURMD_NODENAME", "n2")
    assert job_record()["host"] == "n2"


def test_without_proc_the_peak_is_what_the_system_says(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    with_proc = job_record()["peak_mb"]
    monkeypatch.setattr(Path, "read_text", missing)
    assert with_proc <= job_record()["peak_mb"] < 20_000
