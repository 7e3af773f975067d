"""Whole jobs, before and after: ``kreinflow classify`` of many queries, timed from outside.

    python benchmarks/jobs.py --old FOLDER     this checkout and that of another version in FOLDER
    python benchmarks/jobs.py                  this one alone
    python benchmarks/jobs.py --inducing 4000  and a model with a lift over scores and words
    python benchmarks/jobs.py --cascade 100    and a cascade of 100 alignments for a query, beside
                                               one stage with as many
    python benchmarks/jobs.py --quick          a look whether it runs

The queries and the model of 150 landmarks are made here, from a fixed seed, once for both versions.
Their runs are interleaved. Seconds are those of the whole command, processor seconds those of all
its threads. The tables that they write are compared; the exit code is 1 if they differ. The share
of the alignment is measured in this process, with this version.

The cascade has a first stage of half the alignments. What a query of it costs is told by its table;
one stage has so many landmarks, less the alignment of the query with itself.

Other whole jobs are timed by commands of their own; of another version with ``PYTHONPATH=OLD/lib``
before them, in the folder OLD:

    python benchmarks/scale.py --parts laptop             82,525 x 1,000: the stages read, align,
                                                          columns; it can be ended after them
    time snakemake --cores 2 --configfile examples/pfam30.yaml --config data=FOLDER results=NEW
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment import backends
from kreinflow.alignment.backends import align_pair_lists, backend_named, checked
from kreinflow.alignment.engine import align_pairs, pack, self_scores
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.base.numerics import IntArray
from kreinflow.base.random_streams import hash_keys
from kreinflow.classify import new_objects
from kreinflow.classify.classification import classify_batches, write_tables
from kreinflow.classify.model_file import Model, final_model
from kreinflow.classify.new_objects import Options
from kreinflow.fitting.factors import factor_table, make_factors
from kreinflow.fitting.fit_lift import Lifting
from kreinflow.fitting.inner_folds import InnerFits, inner_partition
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.training import Training
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.learners.decisions import LinearDecision
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Sequences, digest
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed, Words
from scale import CLASSES, make_families

TRAINING = 2_000  # records that the model learns from
RECIPE = {
    "name": "jobs",
    "selector": "first",
    "transform": "log",
    "rank": "misfit",
    "correction": "none",
    "learner": "ny_ikfd",
}
LEARNER = {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares", "ridge": "inner"}
AIM = 0.8  # of the time is to be alignment


def make_input(folder: Path, queries: int, length: int, given: Any) -> None:
    """Write queries.fasta, few.fasta and the models of one mean length."""
    families = folder / "families.fasta"
    make_families(families, TRAINING + queries, CLASSES, length)
    records = families.read_bytes().split(b">")[1:]
    families.unlink()
    for name, part in (
        ("queries.fasta", records[TRAINING:]),
        ("few.fasta", records[TRAINING : TRAINING + 500]),
    ):
        (folder / name).write_bytes(b"".join(b">" + record for record in part))
    lines = [record.split(b"\n") for record in records[:TRAINING]]
    labels = [header.split()[1].decode() for header, *_ in lines]
    residues = tuple(line[1] for line in lines)
    model = make_model(labels, residues, given.landmarks)
    model.save(folder / "model.safetensors")
    if given.inducing:
        with_lift(model, residues, given.inducing).save(folder / "lifted.safetensors")
    if given.cascade:
        stated = given.cascade
        model = make_model(labels, residues, stated // 2, {"alignments": stated})
        model.save(folder / "cascade.safetensors")
        out = folder / "few.tsv"
        place = Path(__file__).resolve().parents[1], folder, "few.fasta"
        classified(*place, out, given.threads, "cascade.safetensors")
        spent = pd.read_csv(out, sep="\t")["alignments"].mean()
        make_model(labels, residues, round(spent) - 1).save(folder / "one.safetensors")


def make_model(
    labels: list[str],
    residues: tuple[bytes, ...],
    landmarks: int,
    cascade: Mapping[str, float] | None = None,
) -> Model:
    """Train a model whose landmarks are the first records."""
    classes, codes = np.unique(labels, return_inverse=True)
    every, rows = np.arange(len(residues)), np.arange(landmarks)
    dataset = Dataset(
        ids=tuple(f"s{i}" for i in every),
        labels=codes,
        classes=tuple(classes.tolist()),
        rows=every,
        digests=tuple(map(digest, residues)),
        payload=Sequences(residues),
    )
    scheme = ScoringScheme(load_substitution_matrix("blosum62"), gap_open=11, gap_extend=1)
    packed = pack(residues, scheme, 2)
    chosen = Landmarks(
        backend_named("auto")(packed, every, rows),
        self_scores(packed, every).astype(np.float64),
        dataset.lengths.astype(np.float64),
        rows,
        codes[rows],
        dataset.kind,
    )
    part = TrainingPart(every, codes, every, dataset.classes)
    transform = make_transform(RECIPE["transform"], scheme)
    (entry,) = make_factors(chosen, part, {transform.name: transform}, [RECIPE])
    fits = InnerFits(inner_partition(part, 3, 1, "r0f0"))

    def ask(rows: IntArray, others: IntArray) -> NDArray[np.integer]:
        return align_pair_lists(packed, rows, others, backend_named("auto"))

    keys = hash_keys(1, "inducing points", dataset.digests)
    training = Training(
        *(chosen, part, fits, RejectRule(0.05), 1),
        lambda own: Lifting(Viewed(residues), part, own["views"], own["lift"], keys, ""),
        ScoreCache(ask, len(residues), symmetric=True),
        make_transform("evalue", scheme),
    )
    recipe = {**RECIPE, "cascade": cascade}
    corrected, kernel = entry.corrected["none"], landmark_kernel(chosen, part, transform)
    trained = training.train(recipe, LEARNER, corrected, kernel)
    (row,) = factor_table([entry]).to_dict("records")
    factor = {str(name): value for name, value in row.items()}
    source, figures = {"molecule": "protein"}, {"recipe": RECIPE["name"]} | trained.figures
    return final_model(dataset, trained.classifier, scheme, source, figures, factor, rows.tolist())


def with_lift(model: Model, residues: tuple[bytes, ...], inducing: int) -> Model:
    """Return the model with a lift and weights that are drawn: it is only timed.

    The inducing points are the training records, as often as it takes, some residues turned.
    """
    rng, known = np.random.default_rng(1), model.classifier
    assert model.scheme is not None
    sequences = []
    for number in range(inducing):
        sequence, turn = residues[number % len(residues)], number // len(residues)
        sequences.append(sequence[turn:] + sequence[:turn])
    lift = Lift(
        form="gaussian",
        rates={"scores": 0.1, "words": 0.5},
        words=Words((1, 2, 3), model.scheme.matrix.alphabet),
        scores=rng.random((inducing, known.n_landmarks), dtype=np.float32),
        objects=Viewed(sequences),
    )
    classifier = replace(
        known,
        decision=LinearDecision(
            rng.normal(size=(inducing, len(known.classes))), np.zeros(len(known.classes))
        ),
        lift=lift,
        inducing_rows=np.arange(inducing),
        inducing_classes=np.arange(inducing) % len(known.classes),
    )
    return replace(model, classifier=classifier, inducing_ids=tuple(map(str, range(inducing))))


def classified(
    checkout: Path,
    folder: Path,
    queries: str,
    out: Path,
    threads: int,
    model: str = "model.safetensors",
) -> tuple[float, float]:
    """Run ``kreinflow classify`` of a checkout; return its seconds and processor seconds."""
    command = [sys.executable, "-m", "kreinflow.commands.main", "classify", model, queries]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [*command, "-o", out, "--threads", str(threads)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(checkout / "lib")},
        check=True,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, sum(
        getattr(after, kind) - getattr(before, kind) for kind in ("ru_utime", "ru_stime")
    )


def shares(folder: Path, queries: str, threads: int) -> tuple[float, float, float]:
    """Return the seconds to classify in this process, those in alignments, and in the check."""
    spent = {"alignment": 0.0, "check": 0.0}

    def timed(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent[what] += time.perf_counter() - start

        return call

    model = Model.load(folder / "model.safetensors")
    with ExitStack() as changes:
        changes.enter_context(
            patch.object(
                new_objects,
                "checked",
                lambda *given, **options: timed("alignment", checked(*given, **options)),
            )
        )
        changes.enter_context(patch.object(backends, "align_pairs", timed("check", align_pairs)))
        out = changes.enter_context((folder / "share.tsv").open("w", encoding="utf-8"))
        start = time.perf_counter()
        write_tables(classify_batches(model, folder / queries, Options(threads)), out.write)
        seconds = time.perf_counter() - start
    return seconds, spent["alignment"], spent["check"]


def compare(folder: Path, checkouts: dict[str, Path], count: int, given: Any) -> bool:
    """Print the lines of one length of queries; return whether all tables are the same."""
    best = {name: (np.inf, np.inf) for name in checkouts}
    tables = {}
    for repeat in range(given.repeats + 1):
        queries = "queries.fasta" if repeat else "few.fasta"  # first of all, what is compiled
        for name, checkout in checkouts.items():
            out = folder / f"{name}.tsv"
            found = classified(checkout, folder, queries, out, given.threads)
            if repeat:
                best[name] = min(best[name][0], found[0]), min(best[name][1], found[1])
                tables[name] = out.read_bytes()
    for name, (seconds, processor) in best.items():
        print(f"| {name} | {seconds:.2f} | {processor:.2f} | {count / seconds:,.0f} |", flush=True)
    if given.inducing:
        megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
        place = checkouts["after"], folder
        runs = [
            classified(*place, queries, folder / "x.tsv", given.threads, "lifted.safetensors")
            for queries in ("few.fasta", *["queries.fasta"] * given.repeats)
        ][1:]
        seconds, processor = (min(times) for times in zip(*runs, strict=True))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
        print(
            f"| lifted, {given.inducing:,} inducing points | {seconds:.2f} | {processor:.2f} | "
            f"{count / seconds:,.0f} |\n\nPeak of memory: {peak:.0f} MB, {megabytes:.0f} without "
            "the lift.",
            flush=True,
        )
    if given.cascade:
        print_cascade(checkouts["after"], folder, count, given)
    if len(best) > 1:
        before, after = best["before"], best["after"]
        print(f"| times as fast | {before[0] / after[0]:.2f} | {before[1] / after[1]:.2f} | |")
    return len(set(tables.values())) == 1


def print_cascade(checkout: Path, folder: Path, count: int, given: Any) -> None:
    """Print the lines of a model with a cascade, and of one stage with as many alignments."""
    best: dict[str, tuple[float, float]] = {}
    for _ in range(given.repeats):
        for name in ("cascade", "one"):  # interleaved
            out, model = folder / f"{name}.tsv", f"{name}.safetensors"
            found = classified(checkout, folder, "queries.fasta", out, given.threads, model)
            best[name] = min(best.get(name, found), found)
    for name, (seconds, processor) in best.items():
        table = pd.read_csv(folder / f"{name}.tsv", sep="\t", usecols=["stage", "alignments"])
        stages = table["stage"].value_counts(normalize=True)
        shares = ", ".join(f"{stage} {100 * share:.1f} %" for stage, share in stages.items())
        print(
            f"| {name}: {table['alignments'].mean():.1f} alignments ({shares}) | {seconds:.2f} | "
            f"{processor:.2f} | {count / seconds:,.0f} |",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, help="checkout of another version")
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--lengths", type=int, nargs="+", default=[150, 350], help="mean lengths")
    parser.add_argument("--landmarks", type=int, default=150)
    parser.add_argument("--inducing", type=int, default=0, help="points of a lift (default: none)")
    parser.add_argument("--cascade", type=int, default=0, help="alignments of one (default: none)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="2,000 queries, once")
    given = parser.parse_args()
    if given.quick:
        given.queries, given.repeats = 2_000, 1
    here = Path(__file__).resolve().parents[1]
    checkouts = {"before": given.old.resolve()} if given.old else {}
    checkouts["after"] = here
    same = True
    for length in given.lengths:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_input(folder, given.queries, length, given)
            print(
                f"\n{given.queries:,} queries of mean length {length}, {given.landmarks} "
                f"landmarks, {given.threads} threads, best of {given.repeats} repeats\n\n"
                "| `kreinflow classify` | seconds | processor seconds | queries a second |\n"
                "|---|---|---|---|",
                flush=True,
            )
            equal = compare(folder, checkouts, given.queries, given)
            same &= equal
            shares(folder, "few.fasta", given.threads)
            seconds, alignment, check = min(
                shares(folder, "queries.fasta", given.threads) for _ in range(given.repeats)
            )
            print(
                f"\nWithout the start of the command {seconds:.2f} seconds, "
                f"{given.queries / seconds:,.0f} queries a second; of these {alignment:.2f} in "
                f"alignments, {100 * alignment / seconds:.0f} % (the aim is {100 * AIM:.0f} %), "
                f"with {check:.2f} in those by parasail of the sample."
            )
            if given.old:
                print(f"The tables are the same: {'yes' if equal else 'NO'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
