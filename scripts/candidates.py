"""Lists the candidates of each class and of the sketch, in their random order, over all folds."""

from pathlib import Path

import pandas as pd

from kreinflow.config.preflight import check_dataset
from kreinflow.files.console import logged
from kreinflow.landmarks.stage import list_candidates
from kreinflow.sequences.dataset import read_dataset, write_rows
from kreinflow.sequences.partition import read_partition
from kreinflow.sequences.scores import read_scheme, transforms_of

with logged(snakemake.log[0]) as console:
    dataset = read_dataset(Path(snakemake.input.records).parent)
    partition = read_partition(snakemake.input.folds, dataset)
    params = snakemake.params
    scheme = read_scheme(dataset, params.scoring, params.data)
    transforms = transforms_of(params.transform_names, params.transforms, scheme)
    check_dataset(dataset, partition, params.selectors, scheme, transforms, params.data)
    chosen = list_candidates(dataset, partition, params.seed, params.candidates, params.sketch)
    table = [(label, row) for label, rows in chosen.items() for row in rows.tolist()]
    write_rows(snakemake.output[0], pd.DataFrame(table, columns=["class", "row"]), dataset)
    sizes = {label or "the sketch": len(rows) for label, rows in chosen.items()}
    console.say(f"candidates: {sizes}")
