"""Gathers the scores of all distinct rows with the union of the landmarks."""

from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.files.arrays import write_array
from kreinflow.files.console import logged
from kreinflow.files.json_files import write_json
from kreinflow.landmarks.alignment_count import alignment_account
from kreinflow.landmarks.stage import read_candidates, read_union
from kreinflow.sequences.dataset import read_dataset, write_rows
from kreinflow.sequences.scores import open_scores, read_scheme, write_columns

with logged(snakemake.log[0]) as console:
    folder = Path(snakemake.input.records).parent
    dataset = read_dataset(folder)
    scheme = read_scheme(dataset, snakemake.params.scoring, snakemake.params.data)
    scores = open_scores(dataset, scheme, folder.parent / "scores")
    union = read_union(snakemake.input.landmarks, dataset)
    rows, directed = np.arange(len(dataset.digests)), dataset.kind == "asymmetric"
    write_columns(snakemake.output.scores, scores, rows, union, directed)
    write_array(snakemake.output.self_scores, scores.self_scores())
    write_rows(snakemake.output.landmarks, pd.DataFrame({"row": union}), dataset)
    candidates = read_candidates(snakemake.input.candidates, dataset)
    account = alignment_account(dataset, scheme, candidates, union)
    write_json(snakemake.output.alignments, account)
    console.say(f"{len(union)} landmarks, {account['aligned']} pairs scored for them")
