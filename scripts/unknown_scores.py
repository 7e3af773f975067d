"""Scores the records that are held out as unknown with the landmarks, and with nothing else."""

from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.alignment.progress import ProgressPrinter
from kreinflow.alignment.store import ScoreStore
from kreinflow.config.preflight import check_self_scores
from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.landmarks.stage import read_union
from kreinflow.sequences.dataset import is_unknown, read_dataset
from kreinflow.sequences.scores import (
    open_scores,
    read_scheme,
    scorer_of,
    transforms_of,
    write_columns,
)

with logged(snakemake.log[0]) as console:
    params = snakemake.params
    dataset = read_dataset(Path(snakemake.input.unknown_records).parent)
    learned = read_dataset(Path(snakemake.input.summary).parent)
    records = np.flatnonzero(is_unknown(dataset, params.unknown))
    rows = np.unique(dataset.rows[records])
    number = {digest: row for row, digest in enumerate(dataset.digests)}
    union = read_union([snakemake.input.landmarks], learned)
    landmarks = np.array([number[learned.digests[row]] for row in union])
    scheme = read_scheme(dataset, params.scoring, params.data)
    folder = Path(snakemake.output.records).parents[1] / "scores"
    if scheme is not None:
        check_self_scores(
            dataset, scheme, transforms_of(params.transform_names, params.transforms, scheme)
        )
    scorer = scorer_of(dataset, scheme, params.backend, params.asked, Path(params.data))
    if scorer is not None:
        report = ScoreStore(folder, scorer, dataset.digests).fill(
            [(rows, landmarks)],
            threads=snakemake.threads,
            memory_mb=snakemake.resources.alignment_memory_mb,
            progress=ProgressPrinter(console.terminal, f"unknown {snakemake.wildcards.dataset}"),
            seed=params.seed,
        )
        console.say(str(report))
    scores = open_scores(dataset, scheme, folder)
    write_columns(snakemake.output.scores, scores, rows, landmarks)
    of_records = dataset.rows[records]
    write_table(
        snakemake.output.records,
        pd.DataFrame(
            {
                "id": [dataset.ids[record] for record in records],
                "label": [dataset.classes[code] for code in dataset.labels[records]],
                "row": np.searchsorted(rows, of_records),
                "length": dataset.lengths[of_records],
                "self_score": scores.self_scores()[of_records],
            }
        ),
    )
    console.say(f"{len(records)} records of {len(params.unknown)} classes")
