"""Types, by mypy: a test, so that another core has tests to run meanwhile."""

import subprocess
import sys
from pathlib import Path


def test_mypy_finds_no_fault():
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
