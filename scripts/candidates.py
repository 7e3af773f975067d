"""Lists the candidates of each class, in their random order, over all folds."""

from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.landmarks.candidates import all_candidates, candidate_order
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import ALL, read_partition
from kreinflow.workspace import check_budgets, check_self_scores, read_scheme, transforms_of

with logged(snakemake.log[0]) as console:
    dataset = read_dataset(Path(snakemake.input.records).parent)
    partition = read_partition(snakemake.input.folds, dataset)
    check_budgets(dataset, partition, snakemake.params.selectors)
    scheme = read_scheme(dataset, snakemake.params.scoring, snakemake.params.data)
    settings = snakemake.params.transforms
    check_self_scores(
        dataset, scheme, transforms_of(snakemake.params.transform_names, settings, scheme)
    )
    count = snakemake.params.candidates
    chosen = {}
    if count != 0:
        chosen = all_candidates(
            candidate_order(dataset.digests, snakemake.params.seed),
            dataset.row_labels,
            [np.unique(dataset.rows[partition.training(f)]) for f in [*partition.names, ALL]],
            count,
        )
    table = [(label, row) for label, rows in chosen.items() for row in rows.tolist()]
    write_table(snakemake.output[0], pd.DataFrame(table, columns=["class", "row"]))
    console.say(f"{len(table)} candidates of {len(chosen)} classes")
