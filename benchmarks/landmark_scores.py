"""Whether unknown classes show by their probability, or by their score with the nearest landmark.

    python benchmarks/landmark_scores.py --data FOLDER      prints the table of docs/classify.md

FOLDER holds the data of examples/pfam30.yaml and examples/protein213.yaml; without it only the
simulated families are run.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
FASTA = {
    "type": "fasta",
    "fasta": "pfam30_11k.fasta.gz",
    "labels": {"table": "pfam30_11k.tsv", "id_column": "id", "label_column": "label"},
}
MATRIX = {
    "type": "matrix",
    "matrix": "protein213_similarity.csv.gz",
    "labels": {"lines": "protein213_labels.txt"},
    "symmetry_tolerance": 1e-3,
}
PFAM = ["PF00009", "PF00048", "PF00084", "PF01355", "PF07679", "PF14604"]
SIMULATED = {"type": "simulated", "families": 6, "sequences": 150}
RUNS: dict[str, tuple[int, dict[str, Any]]] = {
    "simulated": (
        3,
        {"source": SIMULATED, "folds": {"k": 3}, "unknown": ["family02", "family05"]},
    ),
    "pfam30": (1, {"source": FASTA, "folds": {"k": 2}, "unknown": PFAM}),
    "protein213-1": (1, {"source": MATRIX, "folds": {"k": 5}, "unknown": ["1"]}),
    "protein213-3": (1, {"source": MATRIX, "folds": {"k": 5}, "unknown": ["3"]}),
}
LEARNER = {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares", "ridge": "inner"}


def run(name: str, folder: Path, data: str | None) -> Path:
    """Run the workflow for one line of the table, and return the results of its data set."""
    seed, dataset = RUNS[name]
    transform = "raw" if dataset["source"]["type"] == "matrix" else "log"
    config = {
        "seed": seed,
        "results": "results",
        "datasets": {name: dataset},
        "selectors": {"meb": {"method": "meb", "transform": transform, "epsilon": 0.1}},
        "learners": {"ikfd": LEARNER},
        "recipes": [{"name": "ikfd", "transform": transform, "selector": "meb", "learner": "ikfd"}],
    }
    if data is not None:
        config["data"] = str(Path(data).resolve())
    home = folder / name
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    command = ["--cores", "all", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--directory", str(home), "--configfile", str(home / "config.yaml"), "--quiet"]
    subprocess.run([sys.executable, "-m", "snakemake", *command], check=True)
    return home / "results" / name


def measure(results: Path) -> dict[str, float]:
    """Return the means over outer folds of one line of the table."""

    def table(name: str) -> pd.DataFrame:
        return pd.read_csv(results / name, sep="\t", dtype={"id": str, "true": str})

    summary = json.loads((results / "dataset" / "summary.json").read_text())
    scores = np.load(results / "columns" / "scores.npy", mmap_mode="r")
    own = np.load(results / "columns" / "self_scores.npy")
    union = table("columns/landmarks.tsv")["row"].to_numpy()
    new_scores = np.load(results / "unknown" / "scores.npy", mmap_mode="r")
    new = table("unknown/records.tsv")
    row_of = table("dataset/records.tsv").set_index("id")["row"]
    known, unknown = table("evaluation/predictions.tsv.gz"), table("unknown/predictions.tsv.gz")
    folds = []
    for (repeat, fold), part in known[known["recipe"] == "ikfd"].groupby(["repeat", "fold"]):
        landmarks = table(f"landmarks/meb/r{repeat}f{fold}.tsv")["row"].to_numpy()
        place, rows = np.searchsorted(union, landmarks), row_of[part["id"]].to_numpy()
        near = np.asarray(scores[rows][:, place], dtype=np.float64)
        far = np.asarray(new_scores[new["row"].to_numpy()][:, place], dtype=np.float64)
        if summary["kind"] == "sequences":
            near /= np.sqrt(own[rows][:, None] * own[landmarks])
            far /= np.sqrt(new["self_score"].to_numpy()[:, None] * own[landmarks])
        own_fold = (unknown["repeat"] == repeat) & (unknown["fold"] == fold)
        probability = unknown[own_fold & (unknown["recipe"] == "ikfd")]["probability"].to_numpy()
        sides = {
            "probability": (part.filter(like="p_").to_numpy().max(axis=1), probability),
            "score": (near.max(axis=1), far.max(axis=1)),
        }
        line = {}
        for name, (ours, theirs) in sides.items():
            truth = np.repeat([1, 0], [len(ours), len(theirs)])
            line[f"AUROC of the {name}"] = roc_auc_score(truth, np.concatenate([ours, theirs]))
            below = np.quantile(ours, 0.05, method="lower")
            line[f"unknown below that {name}, %"] = 100 * np.mean(theirs < below)
        folds.append(line)
    return pd.DataFrame(folds).mean().to_dict()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the real data")
    parser.add_argument(
        "--folder", type=Path, default=Path("landmark_scores"), help="runs and results"
    )
    given = parser.parse_args()
    lines = {}
    for name in RUNS if given.data else ["simulated"]:
        lines[name] = measure(run(name, given.folder.resolve(), given.data))
        print(pd.DataFrame(lines).T.round(3).to_string(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
