"""Clusters of similar sequences by MMseqs2, if it is installed."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError, KreinflowError


def find_mmseqs() -> str:
    """Return the path of the program ``mmseqs``; refuse if it is not on the PATH."""
    found = shutil.which("mmseqs")
    if found is None:
        raise InputError(
            "folds.clustering: the program mmseqs is not on the PATH. Install it (conda install "
            "-c conda-forge -c bioconda mmseqs2), or set 'clustering: kmer'."
        )
    return found


def mmseqs_version() -> str:
    """Return the version that the program gives itself."""
    return _run([find_mmseqs(), "version"]).strip()


def mmseqs_clusters(sequences: Sequence[bytes], threshold: float) -> NDArray[np.intp]:
    """Return clusters as :func:`kreinflow.sequences.identity.identity_clusters`, by MMseqs2.

    One thread runs its Linclust, so the result does not depend on the machine.
    """
    n = len(sequences)
    if not n:
        return np.arange(0)
    options = (
        f"--min-seq-id {threshold:g} --seq-id-mode 1 "  # of the shorter sequence
        "-c 0 "  # which also says how much of it is covered
        "--cluster-mode 1 "  # connected components
        "--kmer-per-seq 80 "  # words of a sequence: its default of 21 is for near-identity
        "--threads 1 -v 1"
    )
    with tempfile.TemporaryDirectory() as folder:
        fasta, of = Path(folder, "sequences.fasta"), Path(folder, "of")
        fasta.write_bytes(b"".join(b">%d\n%s\n" % numbered for numbered in enumerate(sequences)))
        command = [find_mmseqs(), "easy-linclust", str(fasta), str(of), f"{folder}/work"]
        _run(command + options.split())
        pairs = np.loadtxt(f"{of}_cluster.tsv", dtype=np.intp, ndmin=2)
    representative, member = pairs.T
    first = np.full(n, n)
    np.minimum.at(first, representative, member)
    clusters = np.arange(n)
    clusters[member] = first[representative]
    return clusters


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = " ".join((done.stderr + done.stdout).split()[-40:])
        raise KreinflowError(f"{' '.join(command[:2])}: failed with {done.returncode}: {last}")
    return done.stdout
