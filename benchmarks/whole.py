"""A whole run of `auto` on made-up data: minutes, processor time by rule, disk and memory.

    python benchmarks/whole.py                    5,000 sequences of 370 residues, 28 classes
    python benchmarks/whole.py --kind remote --sequences 10000
    python benchmarks/whole.py --sequences 600    a look whether it runs

families    each class has one ancestor; its members have drifted far apart
remote      20 superfamilies, most pairs of which have no identity left, as in ``kinds.py``

The data are made from a fixed seed. The results folder is a new one, in FOLDER. The command is what
a user runs: ``snakemake --cores 2``, with a config that names data alone. Minutes are those of the
command, with the start of all its jobs; all else is from the tables that the run itself writes.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from kinds import Labelled, drawn, evolved, flanked, sizes, text, tree
from kreinflow.config.auto import PREFER, SEQUENCES, names
from kreinflow.evaluation.inner_choice import chosen_recipes
from kreinflow.fitting.recipe_choice import read_figures

ROOT = Path(__file__).resolve().parents[1]


def families(count: int, classes: int, length: int, random: np.random.Generator) -> Labelled:
    """Return sequences of classes of one ancestor each."""
    found = []
    for number, size in enumerate(sizes(classes, count, 20, 0.7)):
        root = drawn(int(random.normal(length, length / 6)), random)
        found += [(text(site), f"c{number:02d}") for site in tree(root, size, 2.4, random)]
    return found


def remote(count: int, classes: int, length: int, random: np.random.Generator) -> Labelled:
    """Return superfamilies of 3 to 8 families each."""
    found = []
    for number, size in enumerate(sizes(classes, count, 20, 0.6)):
        ancestor = drawn(int(random.normal(length, length / 6)), random)
        for part in np.array_split(np.arange(size), int(random.integers(3, 9))):
            root = evolved(ancestor, 2.2, random)
            for site in tree(root, len(part), 1.6, random) if len(part) else []:
                found.append((text(flanked(site, 10, random)), f"sf{number:02d}"))
    return found


KINDS = {"families": families, "remote": remote}


def write_input(folder: Path, records: Labelled, folds: int) -> None:
    """Write FASTA, labels and the config of a user who names data alone."""
    named = [(f"s{number:05d}", *record) for number, record in enumerate(records)]
    (folder / "x.fasta").write_text("".join(f">{id}\n{letters}\n" for id, letters, _ in named))
    labels = pd.DataFrame([(id, label) for id, _, label in named], columns=["id", "label"])
    labels.to_csv(folder / "labels.tsv", sep="\t", index=False)
    source = {"type": "fasta", "fasta": "x.fasta"}
    table = {"table": "labels.tsv", "id_column": "id", "label_column": "label"}
    data = {"source": {**source, "labels": table}, "folds": {"k": folds}}
    config = {"results": "results", "datasets": {"it": data}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def megabytes(folder: Path) -> float:
    """Return what the files of a folder take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def show(results: Path) -> None:
    """Print what the tables of a run say of it."""
    times = pd.read_csv(results / "times.tsv", sep="\t")
    stages = times.groupby("stage", sort=False).agg(
        jobs=("seconds", "size"),
        seconds=("seconds", "sum"),
        cpu_seconds=("cpu_seconds", "sum"),
        largest_mb=("max_rss_mb", "max"),
    )
    print(
        "\n| stage | jobs | seconds | processor seconds | largest job, MB |\n|---|---|---|---|---|"
    )
    for stage, row in stages.sort_values("cpu_seconds", ascending=False).iterrows():
        cells = (f"{row[name]:,.0f}" for name in stages.columns)
        print(f"| {stage} | {' | '.join(cells)} |")
    print("\n| results | MB |\n|---|---|")
    folders = {path.name: megabytes(path) for path in results.iterdir() if path.is_dir()}
    for name, size in sorted(folders.items(), key=lambda item: -item[1]):
        print(f"| {name} | {size:,.1f} |")
    account = json.loads((results / "columns" / "alignments.json").read_text())
    order = names(SEQUENCES)
    models = read_figures(sorted((results / "models").rglob("*.tsv")), order)
    print(
        f"\nTraining: {account['aligned']:,} pairs with landmarks and candidates, "
        f"{models['cascade_pairs'].sum():,.0f} that cascades asked for, each model anew; "
        f"{account['full_matrix']:,} in the full matrix"
    )
    race = pd.read_csv(results / "race.tsv", sep="\t")
    print("\nGo on after the race:", ", ".join(race.loc[race["goes_on"] == "yes", "recipe"]))
    summary = pd.read_csv(results / "evaluation" / "summary.tsv", sep="\t").set_index("recipe")
    print(f"Accuracy of the inner choice: {100 * summary.accuracy_mean['inner choice']:.2f} %")
    print("The inner folds choose:")
    for (repeat, fold), name in chosen_recipes(models, order, PREFER).items():
        place = (models["repeat"] == repeat) & (models["fold"] == fold)
        (row,) = models[place & (models["recipe"] == name)].to_dict("records")
        print(f"r{repeat}f{fold}: {name}, {row['alignments_per_query']:.1f} alignments", end="")
        print(f" ({row['cascade']})" if row["cascade"] else "")


def main() -> int:
    """Make the data, run the workflow, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kind", choices=list(KINDS), default="families")
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--classes", type=int, default=28)
    parser.add_argument("--length", type=int, default=370, help="mean residues")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("whole-benchmark"))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for old in ("results", ".snakemake"):
        shutil.rmtree(asked.folder / old, ignore_errors=True)
    random = np.random.default_rng([1, *asked.kind.encode()])
    records = KINDS[asked.kind](asked.sequences, asked.classes, asked.length, random)
    write_input(asked.folder, records, asked.folds)
    lengths = [len(letters) for letters, _ in records]
    print(f"{len(records):,} sequences, mean length {np.mean(lengths):.0f}", flush=True)
    check = [sys.executable, "-m", "kreinflow.commands.main", "check", "config.yaml"]
    subprocess.run(check, cwd=asked.folder, check=True)  # what is told before
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--cores", str(asked.cores), "--configfile", "config.yaml", "--quiet", "all"]
    start = time.perf_counter()
    code = subprocess.run(command, cwd=asked.folder).returncode
    minutes = (time.perf_counter() - start) / 60
    if code:
        return code
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    results = asked.folder / "results" / "it"
    print(
        f"{minutes:.1f} minutes on {asked.cores} cores, {(used.ru_utime + used.ru_stime) / 60:.1f} "
        f"processor minutes with the start of all jobs; the largest process had "
        f"{used.ru_maxrss / 1024:,.0f} MB; {megabytes(asked.folder / 'results'):,.0f} MB of results"
    )
    show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
