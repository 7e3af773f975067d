"""The benchmarks find what they import of the library; what they measure is on the pages."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def test_benchmarks_find_what_they_import():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        for name in NAMES:
            patch.delitem(sys.modules, name, raising=False)
        for name in NAMES:
            importlib.import_module(name)
        for name in NAMES:
            del sys.modules[name]
