"""What a competitor is: something that learns from labelled sequences and labels others."""

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import ClassVar

from kreinflow.alignment.scoring import ScoringScheme

LARGEST_E_VALUE = 10
"""Hits of a larger E-value are none, for all tools that have one: the default of BLAST."""


class UnavailableError(Exception):
    """A competitor cannot run; the message says why, and stands in its row."""


@dataclass(frozen=True)
class Records:
    """The distinct sequences that a fold learns from, with their classes."""

    sequences: Sequence[bytes]
    labels: Sequence[str]


class Competitor(ABC):
    """One way to classify sequences. Its settings are fixed: nothing is tuned on a test part.

    Whatever it does raises :class:`UnavailableError` if a tool fails or is not installed.

    Parameters
    ----------
    scheme : ScoringScheme
        How the run scores; competitors with scores of their own do not look at it.
    molecule : {"protein", "nucleotide"}
    """

    name: ClassVar[str]
    """What people call it."""
    proteins_only: ClassVar[bool] = False

    def __init__(self, scheme: ScoringScheme, molecule: str) -> None:
        self.scheme = scheme
        self.molecule = molecule

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Return the version of what it runs."""

    def load(self) -> None:  # noqa: B027, most have nothing to load
        """Import what is slow to import: no second of it belongs to training or predicting."""

    @abstractmethod
    def fit(self, train: Records, folder: Path, threads: int) -> None:
        """Learn from a training part.

        Parameters
        ----------
        train : Records
        folder : Path
            Exists and is empty; its files may be used until the last prediction.
        threads : int
            For this and for predictions, whose results do not depend on it.
        """

    @abstractmethod
    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        """Return the class of each query; None where there is no hit."""

    @abstractmethod
    def model_bytes(self) -> int:
        """Return how many bytes have to be kept to predict."""

    def alignments_per_query(self) -> float:
        """Return with how many sequences or profiles a query is aligned; NaN if the tool decides.

        Tools that search by words align the queries with what their filters leave, and do not
        say how many that is.
        """
        return float("nan")


def program_version(program: str, *arguments: str) -> str:
    """Return the first line that a program prints about its version.

    Raises
    ------
    UnavailableError
        If it is not on PATH, or fails.
    """
    if which(program) is None:
        raise UnavailableError(f"{program} is not on PATH")
    lines = run_program(Path.cwd(), program, *arguments).strip().splitlines()
    return lines[0].strip() if lines else "of unknown version"


def run_program(folder: Path, *command: str) -> str:
    """Run a program in a folder, and return what it printed.

    Raises
    ------
    UnavailableError
        If it cannot be started, or ends with a code other than 0.
    """
    # BLAST reports its use over the network unless it is told not to.
    environment = {**os.environ, "BLAST_USAGE_REPORT": "false"}
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, env=environment)
    except OSError as error:
        raise UnavailableError(f"{command[0]} cannot be started ({error.strerror})") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "no message")
        raise UnavailableError(f"{command[0]} ended with code {done.returncode}: {last}")
    return done.stdout.decode(errors="replace")


def package_version(package: str) -> str:
    """Return the version of a Python package.

    Raises
    ------
    UnavailableError
        If it is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        raise UnavailableError(f"the Python package {package} is not installed") from None


def write_fasta(path: Path, sequences: Sequence[bytes]) -> None:
    """Write sequences, named by their numbers: no tool has to understand the user's ids."""
    with path.open("wb") as file:
        for number, sequence in enumerate(sequences):
            file.write(b">s%d\n%b\n" % (number, sequence))


def size_of(paths: Sequence[Path]) -> int:
    """Return the bytes of files together."""
    return sum(path.stat().st_size for path in paths)
