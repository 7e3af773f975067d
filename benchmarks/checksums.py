"""What checksums cost: processor seconds to read files of a run, with the check and without.

    python benchmarks/checksums.py             sizes of docs/files.md: 1 GB of disk, a minute
    python benchmarks/checksums.py --quick     a look whether it runs

Each row is read as a job of a run reads it: the columns in tiles, a recipe's factor, one landmark
after the other from the score store (which opens each segment twice), and a data set of sequences,
whose digests are computed again. The best of three is printed, on one thread.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.segments import SegmentWriter
from kreinflow.alignment.store import ScoreStore
from kreinflow.base.numerics import tiles
from kreinflow.base.tiled_matrix import release
from kreinflow.files import artifacts, checksums
from kreinflow.sequences import dataset as datasets
from kreinflow.sequences import payload

PIECE = 8_000  # rows whose scores make a segment

LETTERS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)


def columns(folder: Path, n: int, m: int) -> Callable[[], object]:
    path = folder / "scores.npy"
    with artifacts.new_array(path, np.dtype(np.int16), (n, m)) as out:
        for rows in tiles(n):
            out[rows] = np.arange(m)

    def read() -> None:
        array = artifacts.open_array(path, 2)
        for rows in tiles(n):
            array[rows].sum()
            release(array)

    return read


def factor(folder: Path, m: int) -> Callable[[], object]:
    path = folder / "factor.safetensors"
    square = np.random.default_rng(0).normal(size=(m, m))
    arrays = {f"0/{name}": square for name in ("projection", "eigenvector_map", "none/matrix")}
    artifacts.write_arrays(path, "factors", {}, arrays)
    return lambda: artifacts.read_arrays(path, "factors")


def store(folder: Path, n: int, m: int) -> Callable[[], object]:
    scheme = ScoringScheme(load_substitution_matrix("blosum62"))
    digests = [hashlib.sha256(b"%d" % i).hexdigest()[:32] for i in range(n)]
    table = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8).reshape(n, 16)
    home = folder / "scores" / scheme.digest[:16] / "block_1_of_1"
    writer = SegmentWriter(home, scheme.digest, table, 1)
    for start in range(0, n, PIECE):
        rows = np.arange(start, min(start + PIECE, n))
        writer.add_panel(rows, np.arange(m), np.full((len(rows), m), 7, dtype=np.int32))
    sequences = [b"A"] * n

    def read() -> None:
        found = ScoreStore(folder / "scores", scheme, sequences, digests)
        found.gather_into(np.empty((n, m), dtype=np.int16), np.arange(n), np.arange(m))

    return read


def sequences(folder: Path, n: int, length: int) -> Callable[[], object]:
    random = np.random.default_rng(0)
    residues = tuple(LETTERS[random.integers(0, 20, length)].tobytes() for _ in range(n))
    datasets.write_dataset(
        folder,
        datasets.Dataset(
            ids=tuple(f"s{i}" for i in range(n)),
            labels=np.arange(n) % 2,
            classes=("a", "b"),
            rows=np.arange(n),
            digests=tuple(map(payload.digest, residues)),
            payload=payload.Sequences(residues),
        ),
    )
    return lambda: datasets.read_dataset(folder)


def seconds(read: Callable[[], object]) -> float:
    taken = []
    for _ in range(3):
        checksums._sound.clear()
        start = time.process_time()
        read()
        taken.append(time.process_time() - start)
    return min(taken)


def without(read: Callable[[], object]) -> float:
    """Return the seconds of a program that believes what it reads."""
    with (
        patch.object(artifacts, "check_seal", lambda *_: True),
        patch.object(datasets, "_check_table", lambda *_: None),
        patch.object(payload, "_check_digests", lambda *_: None),
    ):
        return seconds(read)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the sizes")
    parser.add_argument("--folder", type=Path, help="for the files, of 1 GB; else a temporary one")
    given = parser.parse_args()
    part = 100 if given.quick else 1
    n, m, many = 82_525 // part, 1_000 // min(part, 10), 1_000_000 // part
    print("| what is read | MB | seconds to read it | with the check |\n|---|---|---|---|")
    with threadpool_limits(1), tempfile.TemporaryDirectory(dir=given.folder) as name:
        for what, make in (
            (f"columns, {n:,} x {m:,}, 16 bits", lambda folder: columns(folder, n, m)),
            (f"factor of {m:,} landmarks", lambda folder: factor(folder, m)),
            (f"score store, {n:,} x {m:,}", lambda folder: store(folder, n, m)),
            (f"data set, {many:,} sequences of 150", lambda folder: sequences(folder, many, 150)),
        ):
            folder = Path(name) / what.split(",")[0]
            folder.mkdir()
            read = make(folder)
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            before, after = without(read), seconds(read)
            print(
                f"| {what} | {size / 1e6:,.0f} | {before:.2f} | {after:.2f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
