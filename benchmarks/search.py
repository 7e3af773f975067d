"""Queries that drift away from their records: `kreinflow classify` beside search tools.

    python benchmarks/search.py                     5,000 simulated records of 370 residues
    python benchmarks/search.py --sequences 600 --queries 100       a look whether it runs
    python benchmarks/search.py --index 5000 100000 1000000         the index of seeds alone

A model is trained by the workflow: 30 landmarks, words, a lift, and a cascade of ``--alignments``.
Queries are records of the training data, evolved by the LG model with few gaps until a share of the
residues is the same; ``redrawn`` have 40 % of their residues drawn anew. Strangers are records
reversed or shuffled, random sequences, and members of families that no record has. For each kind
the table has the share that is right, and not accepted, in percent. BLAST, DIAMOND and MMseqs2 run
beside it where they are installed; ``exhaustive`` is the best Smith-Waterman score of all records
(``--exhaustive`` queries of each kind at most). A second table has what becomes of the promises of
the model. Seconds are those of whole commands, with start-up and the making of databases; processor
seconds and the largest memory are of the same commands.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from scipy.optimize import brentq

from aligned_folds import scheme_of
from kinds import LETTERS, Labelled
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import pack
from kreinflow.compare.competitors import best_hits
from kreinflow.sequences.simulation import lg_model, transition_probabilities
from kreinflow.views.seeds import SeedIndex, Seeds
from whole import ROOT, families

IDENTITIES = (90, 60, 45, 35, 25)
UNKNOWN = ("c28", "c29")  # families that no record has
TOOLS = {
    "blast": (
        "makeblastdb -in train.fasta -dbtype prot -out db",
        "blastp -query queries.fasta -db db -out hits.tsv -num_threads 2 -max_target_seqs 5 "
        "-outfmt '6 qseqid sseqid evalue bitscore'",
    ),
    "diamond": (
        "diamond makedb --in train.fasta --db db.dmnd --quiet",
        "diamond blastp --query queries.fasta --db db.dmnd --out hits.tsv --quiet --threads 2 "
        "--outfmt 6 qseqid sseqid evalue bitscore",
    ),
    "diamond very sensitive": (
        "diamond makedb --in train.fasta --db db.dmnd --quiet",
        "diamond blastp --very-sensitive --query queries.fasta --db db.dmnd --out hits.tsv "
        "--quiet --threads 2 --outfmt 6 qseqid sseqid evalue bitscore",
    ),
    "mmseqs2": (
        "mmseqs createdb train.fasta db -v 1",
        "mmseqs easy-search queries.fasta db hits.tsv tmp -v 1 -s 7.5 --threads 2 "
        "--format-output query,target,evalue,bits",
    ),
}


@cache
def time_of(identity: float) -> float:
    """Return the substitutions a site after which so large a share of residues is the same."""
    frequencies = lg_model()[1]

    def above(time: float) -> float:
        return float(frequencies @ np.diag(transition_probabilities(time))) - identity

    return float(brentq(above, 1e-4, 20))


def moved(letters: str, identity: float, random: np.random.Generator) -> str:
    """Return a sequence that has evolved, without regard to its family, to an identity."""
    time = time_of(identity)
    cumulative = np.cumsum(transition_probabilities(time), axis=1)
    cumulative[:, -1] = 1.0
    codes = np.array([LETTERS.index(letter) for letter in letters])
    codes = (cumulative[codes] <= random.random(len(codes))[:, None]).sum(axis=1)
    found = [LETTERS[code] for code in codes]
    for _ in range(random.poisson(0.02 * time * len(found))):
        place, length = int(random.integers(len(found))), int(random.geometric(1 / 3))
        if random.random() < 0.5:
            found[place:place] = random.choice(list(LETTERS), length).tolist()
        elif len(found) - length >= 20:
            del found[place : place + length]
    return "".join(found)


def made(asked: argparse.Namespace) -> tuple[Labelled, list[tuple[str, str, str]]]:
    """Return training records; and queries, each with its kind and its class, "" of strangers."""
    random = np.random.default_rng([asked.seed, *b"search"])
    every = families(asked.sequences, 30, asked.length, random)
    known = [record for record in every if record[1] not in UNKNOWN]
    others = [letters for letters, label in every if label in UNKNOWN]
    every_letter, queries = list(LETTERS), []
    for identity in IDENTITIES:
        for place in random.integers(len(known), size=asked.queries).tolist():
            letters, label = known[place]
            queries.append((f"{identity} %", moved(letters, identity / 100, random), label))
    for place in random.integers(len(known), size=asked.queries).tolist():
        new, label = np.array(list(known[place][0])), known[place][1]
        changed = random.random(len(new)) < 0.4
        new[changed] = random.choice(every_letter, changed.sum())
        queries.append(("redrawn", "".join(new), label))
    for place in random.integers(len(known), size=max(1, asked.queries // 4)).tolist():
        letters = known[place][0]
        strangers = {
            "reversed": letters[::-1],
            "shuffled": "".join(random.permutation(list(letters))),
            "random": "".join(random.choice(every_letter, len(letters))),
            "other family": others[int(random.integers(len(others)))],
        }
        queries += [(kind, new, "") for kind, new in strangers.items()]
    return known, queries


def write_fasta(path: Path, sequences: Sequence[str]) -> None:
    """Write sequences that are named by their numbers."""
    path.write_text("".join(f">s{n}\n{letters}\n" for n, letters in enumerate(sequences)))


def write_config(folder: Path, labels: Sequence[str], alignments: int) -> None:
    """Write the labels and the config of one recipe with a cascade."""
    table = pd.DataFrame({"id": [f"s{n}" for n in range(len(labels))], "label": labels})
    table.to_csv(folder / "labels.tsv", sep="\t", index=False)
    given = {"table": "labels.tsv", "id_column": "id", "label_column": "label"}
    lifted = {"views": {"words": [1, 2, 3]}, "lift": {"kernel": "gaussian"}}
    cascade = {"name": "it", "selector": "few", "learner": "sf-lsm", **lifted}
    way = {"method": "kmeans++", "transform": "log", "candidates": 30, "budget": 30}
    config = {
        "results": "results",
        "transforms": {"log": {"a": 100}},
        "datasets": {
            "it": {
                "source": {"type": "fasta", "fasta": "train.fasta", "labels": given},
                "folds": {"k": 3},
                "final": "it",
            }
        },
        "selectors": {"few": way},
        "learners": {"sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}},
        "recipes": [{**cascade, "cascade": {"alignments": alignments}}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


class Cost(NamedTuple):
    """What commands took together; the memory is that of the largest process."""

    seconds: float
    processor: float
    megabytes: float


def cost_of(folder: Path, *commands: str) -> Cost:
    """Run commands in a folder, one after the other."""
    start = time.perf_counter()
    processor = megabytes = 0.0
    for command in commands:
        child = subprocess.Popen(shlex.split(command), cwd=folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"failed: {command}")
        processor += used.ru_utime + used.ru_stime
        megabytes = max(megabytes, used.ru_maxrss / 1024)
    return Cost(time.perf_counter() - start, processor, megabytes)


def exhaustive(sequences: Sequence[str], queries: Sequence[str]) -> NDArray[np.intp]:
    """Return the record of the best Smith-Waterman score of each query."""
    scheme = scheme_of("protein")
    packed = pack([text.encode() for text in (*sequences, *queries)], scheme)
    rows = len(sequences) + np.arange(len(queries))
    return backend_named("auto")(packed, rows, np.arange(len(sequences))).argmax(axis=1)


def show(name: str, said: pd.DataFrame, kinds: Sequence[str], cost: Cost | None) -> None:
    """Print a row: right and not accepted of each kind, not accepted of strangers, and the cost.

    ``said`` has a row for each query: kind, true, label, and whether it is accepted.
    """
    cells = []
    for kind in kinds:
        own = said[said["kind"] == kind]
        right, not_accepted = (own["label"] == own["true"]).mean(), 1 - own["accepted"].mean()
        known = (own["true"] != "").any()
        cells.append(f"{100 * right:.1f}; {100 * not_accepted:.1f}" if known else "")
        if not known:
            cells[-1] = f"{100 * not_accepted:.1f}"
    spent = ["", "", ""] if cost is None else [f"{number:,.1f}" for number in cost]
    print(f"| {name} | {' | '.join([*cells, *spent])} |", flush=True)


def show_promises(said: pd.DataFrame, table: pd.DataFrame) -> None:
    """Print what becomes of the promises of the model, by kind of the queries."""
    own = said[["kind", "true"]].assign(
        right=table["label"] == said["true"],
        accepted=table["reject"] != "yes",
        held=[
            true in labels.split(";")
            for true, labels in zip(said["true"], table["set"], strict=True)
        ],
        beyond=table["beyond"] == "yes",
    )
    head = ["right", "accepted", "wrong of these", "sets of 90 % hold", "beyond"]
    head += [f"not beyond: {name}" for name in head[2:4]]
    print(f"\n| queries | {' | '.join(head)} |\n|---|{'---|' * len(head)}")
    for kind, some in own[own["true"] != ""].groupby("kind", sort=False):
        near = some[~some["beyond"]]
        shares = [some["right"], some["accepted"], ~some["right"][some["accepted"]], some["held"]]
        shares += [some["beyond"], ~near["right"][near["accepted"]], near["held"]]
        print(f"| {kind} | {' | '.join(f'{100 * share.mean():.1f}' for share in shares)} |")


def show_index(records: int, length: int) -> None:
    """Print what the index of seeds takes for so many random records."""
    random = np.random.default_rng(records)
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
    drawn = random.choice(letters, (records, length), p=lg_model()[1])
    sequences = [row.tobytes() for row in drawn]
    seeds, start = Seeds.of(sequences), time.process_time()
    index = SeedIndex(seeds, sequences)
    built = time.process_time() - start
    index.nearest(sequences[:64], 32)  # compiled
    start = time.process_time()
    index.nearest(sequences[:256], 32)
    each = (time.process_time() - start) / 256
    cells = [f"{records:,}", " ".join(seeds.shapes), f"{built:.1f}", f"{index.nbytes / 1e6:,.0f}"]
    print(f"| {' | '.join(cells)} | {1e3 * each:.2f} |", flush=True)


def main() -> int:
    """Make the data, train, and print a row for each tool."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=3000, help="of each kind")
    parser.add_argument("--length", type=int, default=370, help="mean residues")
    parser.add_argument("--alignments", type=int, default=60, help="mean for a query, in training")
    parser.add_argument("--exhaustive", type=int, default=200, help="queries of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("search-benchmark"))
    parser.add_argument("--index", type=int, nargs="*", help="records: the index alone")
    asked = parser.parse_args()
    if asked.index:
        head = ["records", "shapes", "seconds to build", "MB", "ms a query"]
        print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
        for records in asked.index:
            show_index(records, asked.length)
        return 0
    folder, (known, queries) = asked.folder.resolve(), made(asked)
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("results", ".snakemake"):
        shutil.rmtree(folder / old, ignore_errors=True)
    sequences, labels = zip(*known, strict=True)
    write_fasta(folder / "train.fasta", sequences)
    write_fasta(folder / "queries.fasta", [letters for _, letters, _ in queries])
    write_config(folder, labels, asked.alignments)
    said = pd.DataFrame(queries, columns=["kind", "letters", "true"])
    kinds = list(dict.fromkeys(said["kind"]))
    run = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--quiet"]
    run += [
        "all",
        "--cores",
        "2",
        "--configfile",
        "config.yaml",
        "--",
        "results/it/model.safetensors",
    ]
    trained = cost_of(folder, shlex.join(run))
    print(f"{len(known):,} records, {len(queries):,} queries; training {trained.seconds:.0f} s\n")
    head = ["", *kinds, "seconds", "processor", "MB"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    ours = f"{sys.executable} -m kreinflow.commands.main classify results/it/model.safetensors"
    cost = cost_of(folder, f"{ours} queries.fasta --threads 2 --confidence 0.9 -o ours.tsv")
    table = pd.read_csv(folder / "ours.tsv", sep="\t", keep_default_na=False)
    own = said.assign(label=table["label"], accepted=table["reject"] != "yes")
    show("kreinflow", own, kinds, cost)
    for name, commands in TOOLS.items():
        if shutil.which(shlex.split(commands[-1])[0]) is None:
            print(f"| {name}: not installed |")
            continue
        cost, hits = cost_of(folder, *commands), best_hits(folder / "hits.tsv")
        label = [labels[hits[n]] if n in hits else "" for n in range(len(queries))]
        own = said.assign(label=label, accepted=[n in hits for n in range(len(queries))])
        show(name, own, kinds, cost)
    some = said.groupby("kind", sort=False).head(asked.exhaustive)
    best = exhaustive(sequences, some["letters"].tolist())
    show("exhaustive", some.assign(label=[labels[n] for n in best], accepted=True), kinds, None)
    show_promises(said, table)
    print(f"\nmean alignments: {pd.to_numeric(table['alignments']).groupby(said['kind']).mean()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
