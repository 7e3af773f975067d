"""How time and memory grow with the number of sequences N and of landmarks m.

    python benchmarks/scale.py                       all parts: two hours on a quiet machine
    python benchmarks/scale.py --parts learners full some of them
    python benchmarks/scale.py --quick               a look whether it runs: small N and m

Each stage runs in a process of its own, whose largest resident memory is that of the stage with
all that it imports. Input is made here, from a fixed seed:

families    random ancestors and changed copies, of mean length 150; FASTA is read, pairs are
            aligned, written and gathered as the workflow does it
scores      16-bit scores of rank 24 and indefinite, plus rounding, so that all m eigenvalues are
            kept: what learning starts from, without the hours that aligning a million sequences
            with 1,000 landmarks would take

Parts:

learners    factor, Ny-iKFD, 20 steps of Ny-PCVM, predictions: N from 10,000 to 1,000,000
landmarks   the minimum enclosing balls of 46 classes, 50 candidates each
alignment   reading, aligning, writing and gathering
laptop      82,525 families' sequences with 1,000 landmarks, all stages; the bare C loop beside it
full        the full kernel and the linear way, N from 1,000 to 4,000
methods     every learner with the defaults of the config, all its choices of hyper-parameters in
            one fit: processor seconds, with ``--threads 1``

Results go to ``FOLDER/scale.tsv`` and ``FOLDER/scale.png``; slopes are of log seconds over
log N, from N = 100,000 on.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

CLASSES = 46
CANDIDATES = 50
AMINO_ACIDS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)
RANK, NEGATIVE = 24, 8
PCVM_STEPS = 20


# --- input ---------------------------------------------------------------------------------


def make_scores(folder: Path, n: int, m: int) -> None:
    """Write scores.npy (n + 10 % rows x m), own.npy and labels.npy: the first m are landmarks."""
    rng = np.random.default_rng([1, n, m])
    rows = n + n // 10
    labels = rng.integers(0, CLASSES, rows)
    centres = rng.normal(size=(CLASSES, RANK))
    signs = np.where(np.arange(RANK) < RANK - NEGATIVE, 1.0, -1.0)
    widths = np.where(signs > 0, 1.0, 0.5)

    def made(part: slice) -> NDArray[np.float64]:
        own = np.random.default_rng([2, n, m, part.start])
        X = centres[labels[part]] + 0.8 * own.normal(size=(part.stop - part.start, RANK))
        return X * widths

    parts = [slice(i, min(i + 10_000, rows)) for i in range(0, rows, 10_000)]
    L = made(parts[0])[:m] * signs
    scores = np.lib.format.open_memmap(folder / "scores.npy", "w+", np.int16, (rows, m))
    own = np.empty(rows)
    for part in parts:
        X = made(part)
        scores[part] = np.rint(60 * (X @ L.T) + 200)
        own[part] = np.rint(60 * ((X * X) @ signs) + 200)
    scores.flush()
    np.save(folder / "own.npy", own)
    np.save(folder / "labels.npy", labels)


def make_families(path: Path, n: int, classes: int, length: int = 150) -> None:
    """Write a FASTA of n sequences, the class behind the id, and as many classes as asked for."""
    rng = np.random.default_rng([3, n, classes])
    roots = [rng.choice(AMINO_ACIDS, length) for _ in range(max(1, classes // 4))]
    ancestors = []
    for c in range(classes):  # four families share a root
        root = roots[c % len(roots)].copy()
        changed = rng.random(length) < 0.65
        root[changed] = rng.choice(AMINO_ACIDS, int(changed.sum()))
        ancestors.append(root)
    with path.open("wb") as file:
        for start in range(0, n, 10_000):
            count = min(10_000, n - start)
            labels = rng.integers(0, classes, count)
            copies = np.array(ancestors)[labels]
            rate = rng.uniform(0.2, 0.55, count)
            changed = rng.random(copies.shape) < rate[:, None]
            copies[changed] = rng.choice(AMINO_ACIDS, int(changed.sum()))
            ends = rng.integers(-30, 31, (count, 2))  # residues lost or gained at each end
            for i in range(count):
                left, right = int(ends[i, 0]), int(ends[i, 1])
                core = copies[i, max(0, -left) : length - max(0, -right)]
                gained = rng.choice(AMINO_ACIDS, max(0, left) + max(0, right))
                text = np.concatenate([gained[: max(0, left)], core, gained[max(0, left) :]])
                file.write(b">s%d f%02d\n%s\n" % (start + i, labels[i], text.tobytes()))


# --- stages: each runs in a process of its own, and returns figures --------------------------


def _learning(folder: Path) -> Any:
    """Return (landmarks, part) of the records before the last tenth, and the place of the rest."""
    from kreinflow.base.tiled_matrix import TiledMatrix
    from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart

    scores = np.load(folder / "scores.npy", mmap_mode="r")
    rows, m = scores.shape
    order = np.load(folder / "landmarks.npy") if (folder / "landmarks.npy").exists() else None
    own = np.load(folder / "own.npy").astype(np.float64)
    labels = np.load(folder / "labels.npy").astype(np.int64)
    landmark_rows = np.arange(m) if order is None else order
    landmarks = Landmarks(
        TiledMatrix.mapped(scores),
        own,
        np.full(rows, 150.0),
        landmark_rows,
        labels[landmark_rows],
        "sequences",
    )
    test = np.load(folder / "test.npy") if (folder / "test.npy").exists() else None
    if test is None:
        test = np.arange(rows - rows // 11, rows)
    training = np.setdiff1d(np.arange(rows), test)
    classes = tuple(f"c{i:02d}" for i in range(int(labels.max()) + 1))
    return landmarks, TrainingPart(training, labels[training], training, classes), test


def _transform(folder: Path) -> Any:
    from kreinflow.alignment.transforms import make_transform

    sequences = (folder / "test.npy").exists()
    return make_transform("log", a=20.0) if sequences else make_transform("raw")


def _problem(folder: Path) -> Any:
    from kreinflow.krein.correction import CorrectedFactor
    from kreinflow.krein.landmark_kernel import landmark_kernel
    from kreinflow.learners.learner import Problem

    landmarks, part, _ = _learning(folder)
    stored = np.load(folder / "factor.npz")
    embedding = CorrectedFactor(**{key: stored[key] for key in stored.files}, method="none")
    kernel = landmark_kernel(landmarks, part, _transform(folder))
    return Problem.of(embedding, kernel, landmarks, part, seed=1)


def stage_factor(folder: Path, rank: Any = "misfit") -> dict[str, Any]:
    from kreinflow.fitting.factors import make_factors

    landmarks, part, _ = _learning(folder)
    recipe = {"transform": "t", "rank": rank, "correction": "none"}
    (entry,) = make_factors(landmarks, part, {"t": _transform(folder)}, [recipe])
    embedding = entry.corrected["none"]
    names = ("matrix", "offset", "signs", "values")
    np.savez(folder / "factor.npz", **{name: getattr(embedding, name) for name in names})
    return {"rank": embedding.rank, "negative": int((embedding.signs < 0).sum())}


def _fit(folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    from kreinflow.learners.registry import make_learner

    problem = _problem(folder)
    learner = make_learner(settings)
    choices = learner.choices()
    assert len(choices) == 1, "the benchmark chooses nothing"
    (fitted,) = learner.fit(problem, choices)
    decision = fitted.decision
    np.savez(folder / f"{settings['method']}.npz", **decision.to_parts()[1])
    return {"iterations": fitted.iterations, "converged": fitted.converged}


def stage_ny_ikfd(folder: Path, scatter: str = "pooled") -> dict[str, Any]:
    bias = "least_squares" if scatter == "pooled" else "midpoint"
    settings = {"method": "ny_ikfd", "scatter": scatter, "bias": bias, "ridge": 1e-6}
    return _fit(folder, settings)


def stage_ny_pcvm(folder: Path, max_iter: int = PCVM_STEPS, tol: float = 1e-3) -> dict[str, Any]:
    import warnings

    from kreinflow.learners.learner import folded
    from kreinflow.learners.pcvm import PCVMLearner

    warnings.simplefilter("ignore")
    problem = _problem(folder)
    learner = PCVMLearner({"max_iter": max_iter})
    learner.tol = tol
    found = learner.solve(problem)
    intercept = np.array([function.intercept for function in found])
    decision = folded(problem, np.column_stack([function.coef for function in found]), intercept)
    np.savez(folder / "ny_pcvm.npz", **decision.to_parts()[1])
    return {
        "iterations": max(function.n_iter for function in found),
        "converged": sum(function.converged for function in found),
        "functions": float(np.mean([len(function.weights) for function in found])),
    }


def stage_method(folder: Path, method: str) -> dict[str, Any]:
    """Fit a learner for all its choices, on the corrected factor if it needs that."""
    import warnings

    from kreinflow.krein.correction import embed
    from kreinflow.krein.landmark_kernel import factor_of, landmark_kernel
    from kreinflow.learners.learner import Problem
    from kreinflow.learners.registry import LEARNERS, make_learner

    warnings.simplefilter("ignore")
    schema = LEARNERS[method].settings_schema
    defaults = {key: entry.get("default") for key, entry in schema.items()}
    learner = make_learner({"method": method, **defaults})
    landmarks, part, _ = _learning(folder)
    kernel = landmark_kernel(landmarks, part, _transform(folder))
    embedding = embed(*factor_of(kernel, 1.0), "flip" if learner.needs_positive else "none")
    problem = Problem.of(embedding, kernel, landmarks, part, seed=1)
    choices = learner.choices()
    begin = time.process_time()
    fitted = learner.fit(problem, choices)
    seconds = time.process_time() - begin
    steps = max(fit.iterations for fit in fitted)
    return {"own_seconds": seconds, "method": method, "choices": len(choices), "iterations": steps}


def stage_predict(folder: Path, method: str) -> dict[str, Any]:
    """Decide on all rows, those of the training part too; accuracy is that of the others."""
    from kreinflow.base.numerics import tile_map
    from kreinflow.krein.landmark_kernel import TrainingPart, landmark_kernel
    from kreinflow.learners.decisions import LinearDecision

    landmarks, part, test = _learning(folder)
    labels = np.load(folder / "labels.npy")
    every = np.arange(len(labels))
    everything = TrainingPart(every, labels, every, part.classes)
    C = landmark_kernel(landmarks, everything, _transform(folder)).C
    stored = np.load(folder / f"{method}.npz")
    decision = LinearDecision(**{key: stored[key] for key in stored.files})
    parts = tile_map(lambda rows: decision.decide(C[rows]).argmax(axis=1), len(every))
    right = np.concatenate([*parts]) == labels
    return {"accuracy": float(right[test].mean())}


def stage_landmarks(folder: Path, sequences: int) -> dict[str, Any]:
    """Choose landmarks from class scores of rank 24; making these is not counted."""
    from kreinflow.landmarks.registry import make_selector
    from kreinflow.landmarks.sampled_scores import Sketch
    from kreinflow.landmarks.selector import SelectionProblem

    n = sequences
    rng = np.random.default_rng([4, n])
    bounds = np.linspace(0, n, CLASSES + 1).astype(int)
    parts = []
    for c in range(CLASSES):
        members = np.arange(bounds[c], bounds[c + 1])
        X = 1.0 + rng.normal(size=(len(members), RANK)) * np.geomspace(1, 0.1, RANK)
        signed = X * np.where(np.arange(RANK) < RANK - NEGATIVE, 1.0, -1.0)
        C, own = X @ signed[:CANDIDATES].T, np.einsum("ij,ij->i", X, signed)
        drawn = np.arange(CANDIDATES)
        parts.append(Sketch(members, drawn, C, own))
    settings = {"transform": "raw", "candidates": CANDIDATES, "epsilon": 0.01, "budget": None}
    classes = {f"c{c:02d}": part.rows for c, part in enumerate(parts)}
    digests = [f"{i:032x}" for i in range(n)]
    problem = SelectionProblem(classes, digests, 1, "all", class_scores=parts)
    selector = make_selector({"method": "meb", **settings})
    begin = time.perf_counter()
    table = selector.select(problem)
    return {"own_seconds": time.perf_counter() - begin, "landmarks": len(table)}


def stage_read(folder: Path) -> dict[str, Any]:
    """Read the FASTA, check and collapse it, and write the data set, as its rule does."""
    from kreinflow.sequences.dataset import write_dataset

    source = {"type": "fasta", "fasta": "families.fasta", "labels": {"pattern": r"\s(f\d+)"}}
    dataset = _loaded(source, folder)
    write_dataset(folder / "dataset", dataset)
    return {"distinct": len(dataset.digests)}


def _loaded(settings: dict[str, Any], folder: Path) -> Any:
    from kreinflow.config.configuration import complete_configuration
    from kreinflow.sequences.sources.registry import make_source

    content = {
        "datasets": {"d": {"source": settings, "recipes": ["r"]}},
        "selectors": {"u": {"method": "uniform", "budget": 10}},
        "learners": {"l": {"method": "ny_ikfd"}},
        "recipes": [{"name": "r", "selector": "u", "learner": "l"}],
    }
    completed = complete_configuration(content, "the benchmark")["datasets"]["d"]
    source = make_source(completed["source"], folder)
    return source.load(source.alphabet(completed["scoring"]), 1)


def stage_align(folder: Path, count: int, block: int, blocks: int, threads: int) -> dict[str, Any]:
    """Align one block of rows with m landmarks, write and check, as a job of the workflow does."""
    from kreinflow.alignment.scorer import Aligner
    from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
    from kreinflow.alignment.store import ScoreStore
    from kreinflow.sequences.dataset import read_dataset

    dataset = read_dataset(folder / "dataset")
    scheme = ScoringScheme(load_substitution_matrix("blosum62"), gap_open=11, gap_extend=1)
    scorer = Aligner.of(scheme, dataset.sequences)
    store = ScoreStore(folder / "scores", scorer, dataset.digests)
    landmarks = np.sort(np.random.default_rng(5).permutation(len(dataset.digests))[:count])
    begin = time.perf_counter()
    report = store.fill(
        [(np.arange(len(dataset.digests)), landmarks)], block, blocks, threads, memory_mb=512
    )
    seconds = time.perf_counter() - begin
    return {"cells": report.cells, "aligned": report.aligned, "fill_seconds": seconds}


def stage_columns(folder: Path, count: int) -> dict[str, Any]:
    """Gather the columns into one file, with the self-scores and labels that learning wants."""
    from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
    from kreinflow.sequences.dataset import read_dataset
    from kreinflow.sequences.scores import open_scores, write_columns

    dataset = read_dataset(folder / "dataset")
    scheme = ScoringScheme(load_substitution_matrix("blosum62"), gap_open=11, gap_extend=1)
    scores = open_scores(dataset, scheme, folder / "scores")
    n = len(dataset.digests)
    landmarks = np.sort(np.random.default_rng(5).permutation(n)[:count])
    write_columns(folder / "scores.npy", scores, np.arange(n), landmarks)
    np.save(folder / "own.npy", scores.self_scores())
    labels = np.empty(n, dtype=np.int64)
    labels[dataset.rows] = dataset.labels
    np.save(folder / "labels.npy", labels)
    np.save(folder / "landmarks.npy", landmarks)
    others = np.ones(n, dtype=bool)
    others[landmarks] = False
    draw = np.random.default_rng(6).permutation(np.flatnonzero(others))
    np.save(folder / "test.npy", np.sort(draw[: n // 11]))
    return {"gigabytes": (folder / "scores.npy").stat().st_size / 1e9}


def stage_bare(folder: Path, rows: int, threads: int, repeats: int) -> dict[str, Any]:
    """Compare the bare C loop with the store's whole work, interleaved, on some rows."""
    import shutil
    import tempfile

    import alignment_peers as bench  # beside this file
    from kreinflow.alignment.engine import pack
    from kreinflow.alignment.scorer import Aligner
    from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
    from kreinflow.alignment.store import ScoreStore
    from kreinflow.sequences.dataset import read_dataset

    dataset = read_dataset(folder / "dataset")
    landmarks = np.load(folder / "landmarks.npy")
    others = np.setdiff1d(np.arange(len(dataset.digests)), landmarks)[:rows]
    sequences = [dataset.sequences[i] for i in (*others, *landmarks)]
    digests = [dataset.digests[i] for i in (*others, *landmarks)]
    scheme = ScoringScheme(load_substitution_matrix("blosum62"), gap_open=11, gap_extend=1)
    packed = pack(sequences, scheme)
    cells = int(packed.lengths[:rows].sum() * packed.lengths[rows:].sum())
    speeds: dict[str, list[float]] = {"bare": [], "store": []}
    with tempfile.TemporaryDirectory() as name:
        library = bench.compile_bare_loop(Path(name))
        for _ in range(repeats):
            begin = time.perf_counter()
            for side in (0, 1):
                bench.bare(library, packed, rows, len(landmarks), threads, side)
                took = time.perf_counter() - begin
                speeds["bare"].append(cells / took / 1e9)
                begin = time.perf_counter()
            begin = time.perf_counter()
            store = ScoreStore(Path(name) / "scores", Aligner.of(scheme, sequences), digests)
            columns = np.arange(rows, len(sequences))
            store.fill([(np.arange(rows), columns)], threads=threads, memory_mb=512)
            gathered = np.empty((rows, len(landmarks)), dtype=np.int32)
            store.gather_into(gathered, np.arange(rows), columns)
            speeds["store"].append(cells / (time.perf_counter() - begin) / 1e9)
            shutil.rmtree(Path(name) / "scores")
    best = {key: max(values) for key, values in speeds.items()}
    return {**best, "ratio": best["store"] / best["bare"]}


def stage_full(folder: Path, rows: int, count: int, threads: int, full: bool) -> dict[str, Any]:
    """Align with m landmarks, or with all others, then factor and Ny-iKFD; seconds of each."""
    from kreinflow.alignment.backends import backend_named
    from kreinflow.alignment.engine import pack, self_scores
    from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
    from kreinflow.sequences.dataset import read_dataset

    dataset = read_dataset(folder / "dataset")
    scheme = ScoringScheme(load_substitution_matrix("blosum62"), gap_open=11, gap_extend=1)
    packed, align = pack(list(dataset.sequences), scheme, threads), backend_named("auto")
    align(packed, np.arange(64), np.arange(64))  # what it loads and compiles
    n, m = rows, count
    every = np.arange(n)
    landmarks = every if full else np.sort(np.random.default_rng(5).permutation(every)[:m])
    begin = time.perf_counter()
    if full:  # each pair once
        half = align(packed, every, every, np.tri(n, dtype=bool))
        scores = np.maximum(half, half.T)
    else:
        scores = align(packed, every, landmarks)
    aligned = time.perf_counter() - begin
    np.save(folder / "scores.npy", np.ascontiguousarray(scores))
    np.save(folder / "own.npy", self_scores(packed, every))
    labels = np.empty(n, dtype=np.int64)
    labels[dataset.rows] = dataset.labels
    np.save(folder / "labels.npy", labels)
    np.save(folder / "landmarks.npy", landmarks)
    np.save(folder / "test.npy", np.array([], dtype=np.int64))
    begin = time.perf_counter()
    stage_factor(folder, rank=1.0)
    factored = time.perf_counter() - begin
    begin = time.perf_counter()
    stage_ny_ikfd(folder)
    learned = time.perf_counter() - begin
    begin = time.perf_counter()
    stage_ny_pcvm(folder)
    return {
        "align": aligned,
        "factor": factored,
        "ny_ikfd": learned,
        "ny_pcvm": time.perf_counter() - begin,
    }


STAGES = {name[6:]: function for name, function in globals().items() if name.startswith("stage_")}


def run_stage(given: dict[str, Any]) -> None:
    """Run one stage in this process, and print what it took as one line of JSON."""
    from kreinflow.base.numerics import limited

    for name in ("krein.correction", "landmarks.registry", "learners.registry", "scores"):
        importlib.import_module(f"kreinflow.{name}")  # not timed
    with limited(given["threads"], given["memory_mb"]):
        begin = time.perf_counter()
        figures = STAGES[given["stage"]](Path(given["folder"]), **given["arguments"])
        seconds = figures.pop("own_seconds", time.perf_counter() - begin)
    print("\n" + json.dumps({"seconds": seconds, "peak_mb": _peak_mb(), "figures": figures}))


def _peak_mb() -> float:
    """Return the largest resident memory of this process; getrusage has the parent's in it."""
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


# --- parts -----------------------------------------------------------------------------------


class Benchmark:
    """Runs stages and collects a table."""

    def __init__(self, folder: Path, threads: int, memory_mb: int) -> None:
        self.folder, self.threads, self.memory_mb = folder, threads, memory_mb
        self.rows: list[dict[str, Any]] = []

    def measure(self, part: str, n: int, m: int, stage: str, **arguments: Any) -> dict[str, Any]:
        """Run one stage and keep its line."""
        given = {
            "stage": stage,
            "folder": str(self.folder),
            "arguments": arguments,
            "threads": self.threads,
            "memory_mb": self.memory_mb,
        }
        ended = subprocess.run(
            [sys.executable, __file__, "--stage", json.dumps(given)],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        result = json.loads(ended.stdout.splitlines()[-1])
        figures = result.pop("figures")
        row = {"part": part, "N": n, "m": m, "stage": stage, **result}
        row["figures"] = " ".join(f"{key}={_shown(value)}" for key, value in figures.items())
        self.rows.append(row)
        print(
            f"{part:9} N={n:<8} m={m:<5} {stage:10} {row['seconds']:9.2f} s "
            f"{row['peak_mb']:6.0f} MB  {row['figures']}",
            flush=True,
        )
        pd.DataFrame(self.rows).to_csv(self.folder / "scale.tsv", sep="\t", index=False)
        return {**result, **figures}

    def clear(self) -> None:
        """Remove the arrays of the size before."""
        for path in self.folder.glob("*.np*"):
            path.unlink()

    def learners(self, sizes: list[int], landmarks: list[int]) -> None:
        """Measure what learns, from scores of known rank."""
        for m in landmarks:
            for n in sizes:
                self.clear()
                make_scores(self.folder, n, m)
                self.measure("learners", n, m, "factor", rank=1.0)
                self.measure("learners", n, m, "ny_ikfd")
                self.measure("learners", n, m, "predict", method="ny_ikfd")
                if n * m <= 300_000_000:
                    self.measure("learners", n, m, "ny_pcvm")
        self.clear()

    def landmarks(self, sizes: list[int]) -> None:
        """Measure the choice of landmarks."""
        for n in sizes:
            self.measure("landmarks", n, CANDIDATES, "landmarks", sequences=n)

    def alignment(self, sizes: list[int], m: int) -> None:
        """Measure reading, aligning and gathering."""
        for n in sizes:
            self._align("alignment", n, m, CLASSES)
        self.clear()

    def _align(self, part: str, n: int, m: int, classes: int) -> None:
        import shutil

        self.clear()
        shutil.rmtree(self.folder / "scores", ignore_errors=True)
        make_families(self.folder / "families.fasta", n, classes)
        self.measure(part, n, m, "read")
        blocks = max(1, n * m // 25_000_000)
        for block in range(blocks):
            arguments = {"count": m, "block": block, "blocks": blocks, "threads": self.threads}
            self.measure(part, n, m, "align", **arguments)
        if blocks > 1:  # a line for all blocks together
            last = self.rows[-blocks:]
            del self.rows[-blocks:]
            joined = {**last[0], "figures": f"blocks={blocks}"}
            joined["seconds"] = sum(row["seconds"] for row in last)
            joined["peak_mb"] = max(row["peak_mb"] for row in last)
            self.rows.append(joined)
        self.measure(part, n, m, "columns", count=m)

    def laptop(self, n: int, m: int) -> None:
        """Measure all stages at the size of the papers' largest data."""
        self._align("laptop", n, m, CLASSES)
        rows = min(4000, n // 4)
        self.measure("laptop", n, m, "bare", rows=rows, threads=self.threads, repeats=3)
        self.measure("laptop", n, m, "factor")
        for scatter in ("balanced", "pooled"):
            self.measure("laptop", n, m, "ny_ikfd", scatter=scatter)
            self.measure("laptop", n, m, "predict", method="ny_ikfd")
        self.measure("laptop", n, m, "factor", rank=0.5)
        self.measure("laptop", n, m, "ny_ikfd")
        self.measure("laptop", n, m, "predict", method="ny_ikfd")
        self.measure("laptop", n, m, "ny_pcvm", max_iter=2000, tol=1e-4)
        self.measure("laptop", n, m, "predict", method="ny_pcvm")

    def methods(self, sizes: list[tuple[int, int]]) -> None:
        """Measure every learner."""
        from kreinflow.learners.registry import LEARNERS

        for n, m in sizes:
            self.clear()
            make_scores(self.folder, n, m)
            for method in LEARNERS:
                self.measure("methods", n, m, "method", method=method)
        self.clear()

    def full(self, sizes: list[int], m: int) -> None:
        """Compare the full kernel with the linear way."""
        for n in sizes:
            self.clear()
            make_families(self.folder / "families.fasta", n, 10)
            self.measure("full", n, n, "read")
            took = []
            for full in (False, True):
                arguments = {"rows": n, "count": m, "threads": self.threads, "full": full}
                took.append(self.measure("full", n, n if full else m, "full", **arguments))
            ratios = {key: took[1][key] / took[0][key] for key in ("align", "factor", "ny_ikfd")}
            ratios["ny_pcvm"] = took[1]["ny_pcvm"] / took[0]["ny_pcvm"]
            text = " ".join(f"{key} {value:.1f}" for key, value in ratios.items())
            print(f"full      N={n}: times the time of {m} landmarks: {text}")
        self.clear()


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def slopes(table: pd.DataFrame, least: int) -> pd.DataFrame:
    """Return the slope of log seconds over log N >= ``least`` of each stage and m."""
    found = []
    wide = table[(table["N"] >= least) & table["part"].isin(["learners", "landmarks", "alignment"])]
    for (part, m, stage), rows in wide.groupby(["part", "m", "stage"], sort=False):
        if rows["N"].nunique() > 1:
            slope = np.polyfit(np.log(rows["N"]), np.log(rows["seconds"]), 1)[0]
            found.append({"part": part, "m": m, "stage": stage, "slope": slope})
    return pd.DataFrame(found, columns=["part", "m", "stage", "slope"])


def plot(table: pd.DataFrame, path: Path) -> None:
    """Draw seconds and memory of each stage against N, both axes in powers of ten."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = table[table["part"].isin(["learners", "landmarks", "alignment"])]
    figure, axes = plt.subplots(1, 2, figsize=(13, 5.5), sharex=True)
    stages, counts = list(dict.fromkeys(shown["stage"])), sorted(set(shown["m"]))
    for (stage, m), rows in shown.groupby(["stage", "m"], sort=False):
        style = {
            "color": f"C{stages.index(stage)}",
            "linestyle": ("-", "--", ":", "-.")[counts.index(m) % 4],
            "marker": "os^D"[counts.index(m) % 4],
        }
        for axis, column in zip(axes, ("seconds", "peak_mb"), strict=True):
            axis.plot(rows["N"], rows[column], label=f"{stage}, m = {m}", **style)
    for axis, title in zip(axes, ("seconds", "largest resident memory, MB"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="sequences N", title=title)
        axis.grid(which="both", alpha=0.3)
    axes[1].legend(fontsize=7, bbox_to_anchor=(1.02, 1), loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


PARTS = ("learners", "landmarks", "alignment", "laptop", "full", "methods")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=Path("scale"), help="input and results")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true", help="small N and m")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-mb", type=int, default=1500, help="as learning.memory_mb")
    given = parser.parse_args()
    if given.stage:
        run_stage(json.loads(given.stage))
        return 0
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    benchmark = Benchmark(folder, given.threads, given.memory_mb)
    quick = given.quick
    sizes = [5_000, 10_000, 20_000] if quick else [10_000, 30_000, 100_000, 300_000, 1_000_000]
    for part in given.parts:
        if part == "learners":
            benchmark.learners(sizes, [50] if quick else [100, 300, 1000])
        elif part == "landmarks":
            benchmark.landmarks(sizes)
        elif part == "alignment":
            benchmark.alignment(sizes, 10 if quick else 100)
        elif part == "laptop":
            benchmark.laptop(*((4_000, 100) if quick else (82_525, 1000)))
        elif part == "methods":
            benchmark.methods([(1000, 50)] if quick else [(2000, 100), (8000, 100), (2000, 300)])
        else:
            benchmark.full([500] if quick else [1000, 2000, 4000], 50 if quick else 100)
    table = pd.DataFrame(benchmark.rows)
    plot(table, folder / "scale.png")
    fitted = slopes(table, 0 if quick else 100_000)
    if len(fitted):
        print("\n" + fitted.to_string(index=False, float_format="%.3f"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
