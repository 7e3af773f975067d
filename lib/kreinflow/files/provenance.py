"""Origin of a result: digests of code and files, versions of packages, and the machine."""

import hashlib
import importlib.metadata
import os
import platform
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from threadpoolctl import threadpool_info

from kreinflow import __version__

_PACKAGE = Path(__file__).parents[1]
_PACKAGES = (
    "biopython",
    "dtaidistance",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "parasail",
    "rapidfuzz",
    "scikit-learn",
    "scipy",
    "snakemake",
)

_IMPORT = re.compile(
    rb"^[ \t]*(?:from|import)\s+(kreinflow[\w.]*)(?:\s+import\s+(\([^)]*\)|[^\n]*))?", re.MULTILINE
)
"""An import of kreinflow: to parse all modules would take longer than the rest of a start."""


@cache
def code_digest(script: str) -> str:
    """Return the sha256 of a script and of all modules of kreinflow that it imports.

    Imports are followed to the end, those inside functions too. Data files beside an imported
    package count as part of it.
    """
    waiting = [Path(script).resolve()]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting.extend(_read(path)[1])
    total = hashlib.sha256()
    for path in sorted(seen):
        total.update(path.name.encode() + b"\0" + _read(path)[0])
    return total.hexdigest()


@cache
def _read(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """Return the sha256 of a file, and the files that it imports if it is a module."""
    data = path.read_bytes()
    found = _imported(data) if path.suffix == ".py" else ()
    return hashlib.sha256(data).digest(), tuple(dict.fromkeys(found))


def _imported(code: bytes) -> Iterator[Path]:
    for module, names in _IMPORT.findall(code):
        yield from _modules(module)
        for name in re.findall(rb"\w+", names):
            yield from _modules(module + b"." + name)


@cache
def _modules(name: bytes) -> tuple[Path, ...]:
    """Return the files of a module by its name, and of the packages that it is in."""
    parts = name.decode().split(".")[1:]
    paths = (_PACKAGE.joinpath(*parts[:depth]) for depth in range(len(parts) + 1))
    return tuple(file for path in paths for file in _files(path))


@cache
def _files(module: Path) -> tuple[Path, ...]:
    """Return the file of a module, or that of a package and the data files beside it."""
    file = module.with_suffix(".py") if module != _PACKAGE else module / "__init__.py"
    if file.is_file():
        return (file,)
    if not (module / "__init__.py").is_file():  # a name inside a module
        return ()
    data = (p for p in module.iterdir() if p.is_file() and not p.suffix.startswith((".py", ".nb")))
    return (module / "__init__.py", *data)


def file_sha256(path: str | Path) -> str:
    """Return the sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    versions = {"python": platform.python_version(), "kreinflow": __version__}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def job_record() -> dict[str, str | float]:
    """Return what a job adds to Snakemake's benchmark of it: where it ran, and with what.

    ``host`` is the node as Slurm calls it, ``cpu_kernel`` the code that BLAS chose for this
    processor, on which last digits depend, ``peak_mb`` the largest resident memory, ``ended`` UTC.
    """
    kernels = {
        str(library["architecture"])
        for library in threadpool_info()
        if library.get("user_api") == "blas" and "architecture" in library
    }
    return {
        "host": os.environ.get("SLURMD_NODENAME") or platform.node(),
        "kreinflow": __version__,
        "numpy": importlib.metadata.version("numpy"),
        "cpu_kernel": " ".join(sorted(kernels)),
        "peak_mb": round(_peak_bytes() / 2**20, 1),
        "ended": utc(datetime.now(UTC)),
    }


def utc(time: datetime) -> str:
    """Return a date and time as text, to the second."""
    return time.astimezone(UTC).isoformat(timespec="seconds")


def _peak_bytes() -> int:
    """Return the largest resident memory of this process; ``getrusage`` has its parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024
