"""The benchmarks find what they import of the library; what they measure is on the pages."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = """
import importlib, pathlib, sys
for path in sorted(pathlib.Path("benchmarks").glob("*.py")):
    importlib.import_module(path.stem)
"""


def test_benchmarks_find_what_they_import():
    path = os.pathsep.join([str(ROOT / "benchmarks"), str(ROOT / "lib")])
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
