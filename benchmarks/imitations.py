"""Cascades on imitations of enzymes and of remote superfamilies, at stated mean alignments.

    python benchmarks/imitations.py enzymes --folder FOLDER         36, 60 and 125 alignments
    python benchmarks/imitations.py superfamilies --folder FOLDER   280, 430 and half of all

The data are those of ``kinds.py``. Recipes have log scores with few landmarks, words, a lift and a
cascade. The workflow trains and tests them on three folds. A row has the mean accuracy over the
folds, its standard deviation (n - 1), and the mean alignments of a tested record.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

import kinds
from whole import ROOT, write_input

KINDS = {
    "enzymes": (kinds.enzymes, 28, (36, 60, 125)),
    "superfamilies": (kinds.superfamilies, 98, (280, 430, 997)),
}
"""The data, landmarks of the first stage, and mean alignments that are stated."""


def main() -> None:
    """Make the data, run the workflow, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    make, landmarks, stated = KINDS[asked.kind]
    asked.folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(asked.folder / "results", ignore_errors=True)
    write_input(asked.folder, make(np.random.default_rng([1, *asked.kind.encode()])), 3)
    path = asked.folder / "config.yaml"
    lifted = {"views": {"words": [1, 2, 3]}, "lift": {"kernel": "gaussian"}}
    recipe = {"selector": "few", "learner": "sf-lsm", **lifted}
    way = {"method": "kmeans++", "transform": "log", "candidates": 30, "budget": landmarks}
    config = yaml.safe_load(path.read_text()) | {
        "transforms": {"log": {"a": 100}},
        "selectors": {"few": way},
        "learners": {"sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}},
        "recipes": [
            {"name": f"cascade-{mean}", **recipe, "cascade": {"alignments": mean}}
            for mean in stated
        ],
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--cores", "2", "--configfile", "config.yaml", "--quiet", "all"]
    command += ["--", "results/it/evaluation/summary.tsv"]
    subprocess.run(command, cwd=asked.folder, check=True)
    evaluation = asked.folder / "results/it/evaluation"
    for name in ("summary", "accepted"):
        table = pd.read_csv(evaluation / f"{name}.tsv", sep="\t").set_index("recipe")
        print(table.filter(regex="^(accuracy|alignments)_").to_string())


if __name__ == "__main__":
    main()
