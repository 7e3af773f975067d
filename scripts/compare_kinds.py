"""Tells which kinds of folds would ask what another kind asks already."""

from pathlib import Path

import numpy as np

from kreinflow.compare.kinds import same_folds
from kreinflow.files.console import logged
from kreinflow.files.json_files import write_json
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import read_groups

with logged(snakemake.log[0]):
    dataset = read_dataset(Path(snakemake.input.records).parent)
    single = len(np.unique(dataset.first_identical[dataset.rows]))  # identical records are one
    grouped = [
        name
        for name, path in zip(snakemake.params.read, snakemake.input.folds, strict=True)
        if read_groups(path).nunique() < single
    ]
    write_json(snakemake.output[0], same_folds(snakemake.params.kinds, grouped))
