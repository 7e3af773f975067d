"""Cascades over a score of one's own: accuracy and pairs, with and without.

    python benchmarks/own_cascade.py FOLDER                     texts and series, three seeds
    python benchmarks/own_cascade.py FOLDER --kinds texts --objects 200 --seeds 1

The workflow runs on objects of ``benchmarks/objects.py``, two folds each, with SF-LSM over 20 and
60 landmarks, and a cascade over the 20 that asks for as many scores on the mean as there are with
the 60. A row has the means over seeds of accuracy, and of scores for a query on the outer folds.
Behind them stand the pairs that were asked for, by the counters of the jobs, and all pairs.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from kreinflow.base.random_streams import stream
from objects import KINDS

ROOT = Path(__file__).parents[1]
OWN = """
import numpy as np
from objects import KINDS


def texts(a, b):
    return KINDS["texts"].score(a, b)


def series(a, b):
    a, b = ([np.array(text.split(), dtype=float) for text in side] for side in (a, b))
    return KINDS["series"].score(a, b)
"""
FEW, MANY = 20, 60


def written(folder: Path, name: str, seed: int, n: int) -> dict[str, Any]:
    """Write the objects of a kind and seed, and return the data set that reads them."""
    objects, labels = KINDS[name].draw(n, stream(seed, f"objects {name}"))
    if name == "series":
        objects = [" ".join(f"{x:.6g}" for x in one) for one in objects]
    lines = {"x": objects, "y": labels}
    for part, texts in lines.items():
        (folder / f"{part}_{name}{seed}.txt").write_text("".join(f"{text}\n" for text in texts))
    source = {
        "type": "objects",
        "objects": f"x_{name}{seed}.txt",
        "score": {"function": f"own:{name}", "kind": KINDS[name].kind},
        "labels": {"lines": f"y_{name}{seed}.txt"},
    }
    return {"source": source, "folds": {"method": "stratified", "k": 2}}


def run(folder: Path, datasets: dict[str, Any], cores: int) -> None:
    """Run the workflow on data sets with the three recipes."""
    recipe = {"transform": "raw", "learner": "lsm"}
    config = {
        "data": str(folder.resolve()),
        "datasets": datasets,
        "selectors": {
            "few": {"method": "uniform", "budget": FEW},
            "many": {"method": "uniform", "budget": MANY},
        },
        "learners": {"lsm": {"method": "sf_lsm"}},
        "recipes": [
            recipe | {"name": f"{FEW}-landmarks", "selector": "few"},
            recipe | {"name": "cascade", "selector": "few", "cascade": {"alignments": MANY}},
            recipe | {"name": f"{MANY}-landmarks", "selector": "many"},
        ],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += ["--configfile", str(folder / "config.yaml"), "--"]
    command += [f"results/{name}/evaluation/accepted.tsv" for name in datasets]
    subprocess.run(command, check=True)


def asked(results: Path, logs: str) -> int:
    """Return the pairs that jobs say they asked for."""
    texts = (path.read_text() for path in (results / "logs").glob(logs))
    return sum(
        int(pairs.replace(",", ""))
        for text in texts
        for pairs in re.findall(r"was asked for ([\d,]+) pairs", text)
    )


def figures(results: Path) -> list[dict[str, Any]]:
    """Return accuracy and scores of a query of each recipe, and the pairs of the run."""
    predictions = pd.read_csv(results / "evaluation" / "predictions.tsv.gz", sep="\t")
    account = json.loads((results / "columns" / "alignments.json").read_text())
    right = predictions["true"] == predictions["predicted"]
    found = []
    for name, own in predictions.assign(right=right).groupby("recipe", sort=False):
        row = {"recipe": name, "accuracy": 100 * own["right"].mean()}
        found.append(row | {"scores a query": own["alignments"].mean()})
    pairs = {
        "pairs, landmarks": asked(results, "columns.*.log") + asked(results, "class_scores.*.log"),
        "pairs, cascades": asked(results, "model.*.log"),
        "all pairs": account["full_matrix"],
    }
    return [row | pairs for row in found]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a new folder for data and results")
    parser.add_argument(
        "--kinds", nargs="*", choices=["texts", "series"], default=["texts", "series"]
    )
    parser.add_argument("--objects", type=int, default=1000, help="half to learn, half to test")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True)
    (given.folder / "own.py").write_text(OWN)
    shutil.copy(ROOT / "benchmarks" / "objects.py", given.folder)
    datasets = {
        f"{name}{seed}": written(given.folder, name, seed, given.objects)
        for name in given.kinds
        for seed in range(given.seeds)
    }
    run(given.folder, datasets, given.cores)
    rows = [
        {"objects": name.rstrip("0123456789"), **row}
        for name in datasets
        for row in figures(given.folder / "results" / name)
    ]
    table = pd.DataFrame(rows).groupby(["objects", "recipe"], sort=False).mean()
    print(table.round(2).to_string())


if __name__ == "__main__":
    main()
