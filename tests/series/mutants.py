"""Mutants: small faults put into the library one at a time, to see whether a test notices.

    python tests/series mutants --number 300            an hour or two of one core
    python tests/series mutants --only krein/eigen.py   one module or folder

A mutant is the library with one change of ``mutations.py``: a comparison turned or moved by its
boundary, an operator of arithmetic exchanged, a number one off, a truth value turned, ``and`` and
``or`` exchanged, ``not`` or a sign taken away, a condition negated, a statement or an argument left
out, a value not returned. The sample is drawn by hashes of the changed lines: a change elsewhere
leaves it as it is, and a larger ``--number`` adds to it.

Each mutant meets the tests in a copy of the checkout: first ``tests/PACKAGE/test_MODULE.py`` and
the doctests of the module, then other tests of the package, then others that import the module, the
nearest first, for some MOST seconds of the processor. Only files are asked that call the changed
function. A file has twice the time that it takes without a mutant, and five seconds. Tests of the
workflow, of the pages, of real data and in this folder are not asked.

What no test should see is not changed: words (strings, messages, what ``raise`` is given, what is
printed), ``__repr__`` and ``__str__``, annotations and decorators, ``TYPE_CHECKING``; what is there
for speed alone, by the names in SPEED; and the arguments in UNSEEN, such as ``copy`` and the
thickness of a line.

The exit code is 0 whatever survives, because a survivor wants judging: it may compute the same as
the original.
"""

import ast
import compileall
import hashlib
import importlib
import json
import os
import py_compile
import re
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from series.mutations import Mutant, mutants_of
from series.processes import asked_of_workers, forked

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "lib/kreinflow"
MOST = 20.0
NOT_ASKED = re.compile(r"tests/(workflow|docs|series)/|real_data|browser|test_environments")


def sample(number: int, seed: int, only: str) -> list[Mutant]:
    """The first mutants of an order by hashes."""

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed}|{mutant.name}".encode()).hexdigest()

    paths = sorted((ROOT / LIBRARY).rglob("*.py"))
    every = [mutant for path in paths for mutant in mutants_of(path, ROOT / LIBRARY)]
    return sorted((m for m in every if m.module.startswith(only)), key=place)[:number]


@cache
def imports(root: Path) -> dict[str, set[str]]:
    """The modules of the library that each file of the library and of the tests imports."""
    found = {}
    for path in [*root.glob(f"{LIBRARY}/**/*.py"), *root.glob("tests/**/*.py")]:
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
        tried = [name.replace(".", "/") for name in names]
        tried += [name.rpartition("/")[0] for name in tried]
        files = {
            f"{top}/{name}{end}"
            for top in ("lib", "tests")
            for name in tried
            for end in (".py", "/__init__.py")
        }
        found[path.relative_to(root).as_posix()] = {f for f in files if (root / f).is_file()}
    return found


def files_of(module: str, root: Path) -> tuple[list[str], list[str]]:
    """The tests of a module and its package, and the others that import it, the nearest first."""
    importers: dict[str, set[str]] = {}
    for path, names in imports(root).items():
        for used in names:
            importers.setdefault(used, set()).add(path)
    nearest = [f"{LIBRARY}/{module}"]
    for used in nearest:  # grows
        nearest += sorted(importers.get(used, set()) - set(nearest))
    package, _, name = module.removesuffix(".py").rpartition("/")
    own = [f"tests/{package}/test_{name}.py".replace("//", "/"), f"{LIBRARY}/{module}"]
    while package and not (root / "tests" / package).is_dir():
        package = package.rpartition("/")[0]
    beside = sorted(root.glob(f"tests/{package}/**/test_*.py")) if package else []
    found = [path for path in nearest if "/test_" in path and not NOT_ASKED.search(path)]
    names = [path.relative_to(root).as_posix() for path in beside]
    own += [path for path in found if path in names] + names  # some import by name only
    own = [path for path in dict.fromkeys(own) if (root / path).is_file()]
    return own, [path for path in found if path not in own]


def is_foreign(folder: str) -> bool:
    """Whether a folder of imports is none of the checkout: its virtual environment is foreign."""
    path = Path(folder).resolve()
    return not path.is_relative_to(ROOT) or path.is_relative_to(sys.prefix)


class _First:
    """Writes the tests that fail, the first one first."""

    def __init__(self, said: Path) -> None:
        self.said = said

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            with self.said.open("a") as file:
                file.write(f"{report.nodeid}\n")

    pytest_collectreport = pytest_runtest_logreport


class Worker:
    """A copy of the checkout, and a process with the slow imports done that forks for each test."""

    def __init__(self, folder: str) -> None:
        os.environ |= {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        self.root = Path(tempfile.mkdtemp(dir=folder)) / "copy"
        heavy = ("results*", ".*", "__pycache__", "site", "node_modules")
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*heavy), symlinks=True)
        os.environ["PYTHONPATH"] = str(self.root / "lib")
        sys.path[:] = [str(self.root / "lib"), *filter(is_foreign, sys.path)]
        # Valid by content: a mutant may have the size and the second of the original.
        checked = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.root / "lib", quiet=2, invalidation_mode=checked)
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        for path in (self.root / LIBRARY).rglob("*.py"):
            for line in re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(), re.MULTILINE):
                if not line.startswith("kreinflow"):
                    with suppress(ImportError):
                        importlib.import_module(line)
        self.seconds = 0.0
        self.known: dict[str, tuple[float, dict[str, list[int]]]] = {}

    def ask(self, tests: str, limit: float, traced: bool = False) -> str:
        """Run a file of tests in a process of its own; return the first test that fails, or ""."""
        (self.root.parent / "said").write_text("")
        quiet = Path(os.devnull)
        status, self.seconds = forked(lambda: self._test(tests, traced), limit, quiet)
        if status in (None, signal.SIGXCPU, signal.SIGKILL):
            return f"{tests}: timed out"
        said = (self.root.parent / "said").read_text().partition("\n")[0]
        return said or (f"{tests}: ended with {status}" if status else "")

    def _test(self, tests: str, traced: bool) -> int:
        os.chdir(self.root)
        import pytest

        called: set[tuple[str, int]] = set()

        def note(frame: Any, event: str, argument: Any) -> None:
            called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

        if traced:
            sys.settrace(note)
            threading.settrace(note)
        arguments = [tests, "-xq", "-p", "no:cacheprovider", "-m", "not realdata"]
        arguments.append(f"--basetemp={self.root.parent}/tmp")
        code = int(pytest.main(arguments, [_First(self.root.parent / "said")]))
        sys.settrace(None)
        within = [place for place in called if place[0].startswith(f"{self.root}/{LIBRARY}/")]
        (self.root.parent / "called").write_text(json.dumps(within))
        return 0 if code == 5 else code  # 5: no tests, as in a module without doctests

    def plain(self, tests: str) -> tuple[float, dict[str, list[int]]]:
        """Return the seconds of a file of tests without a mutant, and the functions it calls."""
        if tests not in self.known:
            called: dict[str, list[int]] = {}
            if failed := self.ask(tests, 300, traced=True):
                print(f"not asked, it fails without a mutant: {failed}", file=sys.stderr)
                self.seconds = float("inf")
            else:
                for path, line in json.loads((self.root.parent / "called").read_text()):
                    module = Path(path).relative_to(self.root / LIBRARY).as_posix()
                    called.setdefault(module, []).append(line)
            self.known[tests] = (self.seconds, called)
        return self.known[tests]

    def __call__(self, mutant: Mutant) -> str:
        """Return the test that fails for a mutant, or ""."""
        near, wider = files_of(mutant.module, self.root)
        path = self.root / LIBRARY / mutant.module
        source, stamp = path.read_bytes(), path.stat()
        changed = source[: mutant.start] + mutant.new.encode() + source[mutant.end :]
        left = MOST
        for tests in (*near, *wider):
            seconds, called = self.plain(tests)
            lines = called.get(mutant.module, [])
            first, last = mutant.function or (1, 1)
            called_here = not mutant.function or any(first <= line <= last for line in lines)
            if not called_here and tests != near[0]:
                continue
            if seconds == float("inf"):
                continue
            if left <= 0:
                break
            left -= seconds if tests not in near[:2] else 0.0
            path.write_bytes(changed)
            try:
                if failed := self.ask(tests, 2 * seconds + 5):
                    return failed
            finally:
                path.write_bytes(source)
                os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        return ""


def run(asked: Any) -> int:
    """Try the mutants of the sample, and print the test that kills each, and those that survive."""
    drawn = sample(asked.number, asked.seed, asked.only)
    alive = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for mutant, killer in asked_of_workers(Worker, (folder,), drawn, asked.jobs):
            row = f"{mutant.module}:{mutant.line}: {mutant.change}"
            print(f"{row}  {killer or 'survived'}", flush=True)
            alive += [] if killer else [row]
    print(f"\n{len(drawn)} mutants, {len(drawn) - len(alive)} killed, {len(alive)} survived:")
    print(*sorted(alive), sep="\n")
    return 0
