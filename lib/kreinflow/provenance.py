"""What a result came from: digests of code and files, versions of packages, and the machine."""

import ast
import hashlib
import importlib.metadata
import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from threadpoolctl import threadpool_info

from kreinflow import __version__

_PACKAGE = Path(__file__).parent
_PACKAGES = (
    "biopython",
    "dtaidistance",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "parasail",
    "pyopal",
    "rapidfuzz",
    "scikit-learn",
    "scipy",
    "snakemake",
)


@cache
def code_digest(script: str) -> str:
    """Return the sha256 of a script and of all modules of kreinflow that it imports.

    Imports are followed to the end, those inside functions too; data files beside an imported
    module count as part of it. Time stamps do not matter.

    Examples
    --------
    >>> code_digest(__file__) == code_digest(__file__)
    True
    """
    waiting = [Path(script).resolve()]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if path.suffix == ".py":
            waiting.extend(_imported(path))
    total = hashlib.sha256()
    for path in sorted(seen):
        total.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] == "kreinflow":
                for depth in range(len(parts)):
                    yield from _files(_PACKAGE.joinpath(*parts[1 : depth + 1]))


def _files(module: Path) -> Iterator[Path]:
    file = module.with_suffix(".py") if module != _PACKAGE else module / "__init__.py"
    if file.is_file():
        yield file
    elif (module / "__init__.py").is_file():
        yield from (
            p
            for p in module.iterdir()
            if p.is_file()
            and p.suffix not in (".py", ".pyc", ".nbi")
            and not p.suffix.startswith(".nb")
        )
        yield module / "__init__.py"


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

    Returns
    -------
    dict
        host (as Slurm calls the node, if it was Slurm); kreinflow and numpy, their versions;
        cpu_kernel, the code that BLAS chose for this processor, on which last digits depend;
        peak_mb, the largest resident memory of this process, which short jobs reach between two
        looks of Snakemake.
    """
    kernels = {
        str(library["architecture"])
        for library in threadpool_info()
        if library.get("user_api") == "blas" and "architecture" in library
    }
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return {
        "host": os.environ.get("SLURMD_NODENAME") or platform.node(),
        "kreinflow": __version__,
        "numpy": importlib.metadata.version("numpy"),
        "cpu_kernel": " ".join(sorted(kernels)),
        "peak_mb": round(int(peak) / 1024, 1),
    }
