"""How often the nearest member of a class is among the candidates of ``classify --evidence``.

    python benchmarks/evidence.py results/demo/model.safetensors   prints the figures of
                                                                    docs/classify.md

Training records of a model are classified by it, each also aligned with all others. The record
itself is left out of its class.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.alignment.engine import align_rectangle, pack
from kreinflow.classify.classification import classify_batches
from kreinflow.classify.evidence import PREDICTED, RUNNER_UP
from kreinflow.classify.model_file import Model


def told(model: Model, places: list[int], folder: Path) -> pd.DataFrame:
    """Return the evidence for some training records; their places are their ids."""
    residues, pieces = model.record_residues, []
    assert residues is not None, "a model that has its training records"
    fasta = folder / "records.fasta"
    fasta.write_text("".join(f">{i}\n{residues[i].decode()}\n" for i in places))
    for _ in classify_batches(model, fasta, on_evidence=lambda piece: pieces.append(piece.table)):
        pass
    return pd.concat(pieces)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--records", type=int, default=300, help="to classify, drawn")
    options = parser.parse_args()
    model = Model.load(options.model)
    records, residues = model.classifier.records, model.record_residues
    asking = model.classifier.relatives
    if records is None or residues is None or asking is None or model.scheme is None:
        parser.error("the model has no training records to ask")
    drawn = np.random.default_rng(0).choice(len(records), options.records, replace=False)
    places = np.sort(drawn).tolist()
    with tempfile.TemporaryDirectory() as folder:
        table = told(model, places, Path(folder))
    scores = align_rectangle(
        pack(residues), np.array(places), np.arange(len(records)), model.scheme, 1
    )
    own_lengths = records.lengths[places, None]
    evalues = asking.evidence.evalues(scores.astype(float), own_lengths, records.lengths[None])
    evalues[np.arange(len(places)), places] = np.inf
    rows = {str(place): row for row, place in enumerate(places)}
    table = table[table["member"] != np.array(model.record_ids)[table["query"].astype(int)]]
    first = table.groupby(["query", "of"], sort=False).head(1)
    for of in (PREDICTED, RUNNER_UP):
        own = first[first["of"] == of]
        codes = [model.classifier.classes.index(label) for label in own["label"]]
        best = [
            evalues[rows[query], records.classes == code].min()
            for query, code in zip(own["query"], codes, strict=True)
        ]
        print(f"{of}: the nearest of all is first in {np.mean(own['evalue'] <= best):.1%}")


if __name__ == "__main__":
    main()
