"""What alignment.py measures the backends against: pyopal, and a bare C loop over parasail.

pyopal is no dependency of kreinflow: ``pip install pyopal==0.7.3 scoring-matrices==0.3.4``. The
bare loop needs a C compiler with OpenMP (gcc).
"""

import ctypes
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle OpenMP threads must not spin beside ours

import numpy as np
import parasail
from numpy.typing import NDArray

from kreinflow.alignment.engine import PackedSequences, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix

AMINO_ACIDS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)
SCHEME = ScoringScheme(load_substitution_matrix("blosum62"), gap_open=11, gap_extend=1)
Scores = NDArray[np.int32]
Peer = Callable[[int], Scores]
"""Scores all rows x columns with some threads."""

_PIECES = 8  # of the work of a thread of pyopal's, so that all are done at about one time


def compile_bare_loop(folder: Path) -> ctypes.CDLL:
    """Compile bare_loop.c, which alone measures the clock too."""
    target, library = folder / "bare_loop.so", parasail.get_library()
    source = Path(__file__).with_name("bare_loop.c")
    options = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
    link = [f"-I{parasail.get_include()}", library, f"-Wl,-rpath,{os.path.dirname(library)}"]
    subprocess.run(["gcc", *options, source, "-o", target, *link], check=True)
    return ctypes.CDLL(str(target))


def bare(
    library: ctypes.CDLL, packed: PackedSequences, rows: int, columns: int, threads: int, side: int
) -> Scores:
    """Score all rows x columns; the query profile is the row's (side 0) or the column's (1)."""
    scores = np.empty((rows, columns), dtype=np.int32)
    library.bare_loop(
        ctypes.c_void_p(packed.letters.ctypes.data),
        ctypes.c_void_p(packed.offsets.ctypes.data),
        ctypes.c_int64(rows),
        ctypes.c_int64(columns),
        SCHEME.matrix.name.encode(),
        SCHEME.gap_open,
        SCHEME.gap_extend,
        threads,
        side,
        ctypes.c_void_p(scores.ctypes.data),
    )
    return scores


def opal(targets: list[bytes], queries: list[bytes]) -> Callable[[int], Scores]:
    """Return what scores targets x queries by pyopal, in its fastest way, with some threads.

    The targets are sorted by length, the longest first, before the clock starts. Letters that do
    not occur are left out: pyopal would look up their scores at each residue of a target. Overflows
    are done again one by one: "buckets", its own choice, leaks memory.
    """
    try:
        import pyopal
        from scoring_matrices import ScoringMatrix
    except ImportError as error:
        raise SystemExit(
            f"{error}. It is measured beside the backends, and is no dependency of kreinflow: "
            "pip install pyopal==0.7.3 scoring-matrices==0.3.4"
        ) from error
    lengths = np.array([len(target) for target in targets])
    order = np.argsort(-lengths, kind="stable")
    letters = AMINO_ACIDS.tobytes().decode()
    among = [SCHEME.matrix.alphabet.index(letter) for letter in letters]
    table = SCHEME.matrix.scores[np.ix_(among, among)].astype(float).tolist()
    aligner = pyopal.Aligner(
        ScoringMatrix(table, letters), gap_open=SCHEME.gap_open, gap_extend=SCHEME.gap_extend
    )
    database = pyopal.Database([targets[i] for i in order], aligner.alphabet)
    score = attrgetter("score")

    def align(threads: int) -> Scores:
        scores = np.empty((len(targets), len(queries)), dtype=np.int32)
        parts = 1 if threads == 1 else max(1, _PIECES * threads // len(queries))
        ends = np.linspace(0, len(targets), min(parts, len(targets)) + 1).astype(int).tolist()

        def work(piece: tuple[int, int, int]) -> None:
            query, start, end = piece
            hits = aligner.align(queries[query], database, overflow="simple", start=start, end=end)
            scores[order[start:end], query] = np.fromiter(map(score, hits), np.int32, end - start)

        pieces = [
            (query, start, end) for query in range(len(queries)) for start, end in pairwise(ends)
        ]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, pieces))
        return scores

    return align


def peers(sequences: list[bytes], rows: int, library: ctypes.CDLL) -> dict[str, Peer]:
    """Return all peers, by name.

    Each is given the larger side as its rows, or its targets: then its threads have something to
    share, and a profile serves for many pairs.
    """
    larger, smaller = sequences[:rows], sequences[rows:]
    swapped = len(larger) < len(smaller)
    if swapped:
        larger, smaller = smaller, larger
    packed = pack([*larger, *smaller], SCHEME)
    by_opal = opal(larger, smaller)

    def turned(align: Peer) -> Peer:
        return (lambda threads: align(threads).T) if swapped else align

    def by_bare(side: int) -> Peer:
        return lambda threads: bare(library, packed, len(larger), len(smaller), threads, side)

    found = {
        "pyopal, sorted by length": turned(by_opal),
        "bare C loop, profile of the smaller side": turned(by_bare(1)),
    }
    if len(smaller) > 1:  # else a profile would be made for each pair
        found["bare C loop, profile of the larger side"] = turned(by_bare(0))
    return found
