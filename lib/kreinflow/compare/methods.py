"""The methods of the comparison by name, with their versions: what rules ask of them.

Nothing slow is imported; :mod:`kreinflow.compare.competitors` has the methods themselves.
"""

import os
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from shutil import which
from typing import Any

from kreinflow import __version__

OURS = "kreinflow"
WORDS = "words"

METHODS = {
    OURS: "kreinflow, chosen on inner folds",
    "blast": "BLAST, best hit",
    "diamond": "DIAMOND, best hit",
    "mmseqs2": "MMseqs2, best hit",
    "profile_hmm": "one profile HMM a class",
    "kmer_svm": "k-mers, linear SVM",
    WORDS: "kreinflow on words alone",
    "smith_waterman": "Smith-Waterman, nearest neighbour",
}
"""What people call them, in the order of the tables."""

COMPETITORS = tuple(name for name in METHODS if name != OURS)

LIFT: Mapping[str, Any] = {"kernel": "gaussian", "width": "inner", "inducing": 4000}
LEARNER: Mapping[str, Any] = {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}
INNER_FOLDS = 5  # with both above the recipe of WordsAlone, whose costs rules ask for


class UnavailableError(Exception):
    """A competitor cannot run; the message says why, and stands in its row."""


def version_of(name: str) -> str:
    """Return the version of what a method runs; an UnavailableError if something is missing."""
    if name == "blast":  # all programs of BLAST+ have one version
        program_version("makeblastdb", "-version")
        return program_version("blastp", "-version").replace("blastp:", "BLAST+")
    if name == "diamond":
        return program_version("diamond", "version").replace(" version", "")
    if name == "mmseqs2":
        return f"mmseqs {program_version('mmseqs', 'version')}"
    if name in (OURS, WORDS):
        return __version__
    packages = {"profile_hmm": ["pyhmmer", "pyfamsa"], "kmer_svm": ["scikit-learn"]}
    return ", ".join(map(package_version, packages.get(name, ["parasail"])))


def version_or_reason(name: str) -> str:
    """Return the version of a method, or why it cannot run: a job's parameter."""
    try:
        return version_of(name)
    except UnavailableError as reason:
        return f"not available: {reason}"


def program_version(program: str, *arguments: str) -> str:
    """Return the first line that a program prints about its version."""
    if which(program) is None:
        raise UnavailableError(f"{program} is not on PATH")
    lines = run_program(Path.cwd(), program, *arguments).strip().splitlines()
    return lines[0].strip() if lines else "of unknown version"


def run_program(folder: Path, *command: str) -> str:
    """Run a program in a folder and return what it printed; an UnavailableError if it fails."""
    # BLAST reports its use over the network unless it is told not to.
    environment = {**os.environ, "BLAST_USAGE_REPORT": "false"}
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, env=environment)
    except OSError as error:
        raise UnavailableError(f"{command[0]} cannot be started ({error.strerror})") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
        raise UnavailableError(f"{command[0]} ended with code {done.returncode}: {last}")
    return done.stdout.decode(errors="replace")


def package_version(package: str) -> str:
    """Return the version of a Python package."""
    try:
        return f"{package} {installed_version(package)}"
    except PackageNotFoundError:
        raise UnavailableError(f"the Python package {package} is not installed") from None
