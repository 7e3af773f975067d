"""Compiled functions: kept where there is a place, and compiled again where there is none."""

import os
import resource
import subprocess
import sys

import numpy as np

from kreinflow.base.numerics import compiled

SOURCE = """
from kreinflow.base.numerics import compiled

@compiled
def total(values):
    found = 0.0
    for value in values:
        found += value
    return found
"""


def kept(folder):
    return sorted(path.suffix for path in folder.rglob("*.nb?"))


def test_machine_code_is_kept_beside_the_module(tmp_path, monkeypatch):
    (tmp_path / "module_with_total.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        from module_with_total import total
    finally:
        sys.modules.pop("module_with_total", None)
    assert total(np.arange(4.0)) == 6.0
    assert kept(tmp_path) == [".nbc", ".nbi"]


def test_without_a_place_it_is_compiled_all_the_same():
    space: dict[str, object] = {}
    exec(compile(SOURCE, "nowhere", "exec"), space)  # a function without a file
    assert space["total"](np.arange(4.0)) == 6.0
    assert compiled(lambda x: 2 * x)(3) == 6


def test_where_it_cannot_be_written_it_is_compiled_all_the_same(tmp_path):
    (tmp_path / "module_with_total.py").write_text(SOURCE)

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run(
        [sys.executable, "-c", "from module_with_total import total; print(total([1.0, 2.0]))"],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        preexec_fn=full,
    )
    assert done.stdout == b"3.0\n"
    assert kept(tmp_path / "cache") == []
