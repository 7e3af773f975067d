"""Trains and tests one competitor on one fold."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from kreinflow.base.numerics import limited
from kreinflow.compare.competitor import ComparedFold, run_competitor
from kreinflow.compare.competitors import COMPETITORS
from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import read_partition
from kreinflow.sequences.scores import read_scheme

with (
    logged(snakemake.log[0]) as console,
    limited(snakemake.threads, snakemake.resources.learning_memory_mb),
):
    files, params, wildcards = snakemake.input, snakemake.params, snakemake.wildcards
    dataset = read_dataset(Path(files.records).parent)
    scheme = read_scheme(dataset, params.scoring, params.data)
    competitor = COMPETITORS[wildcards.competitor](scheme, params.molecule)
    fold = ComparedFold(dataset, read_partition(files.folds, dataset), wildcards.fold)
    with TemporaryDirectory() as folder:
        figures, predictions = run_competitor(competitor, fold, Path(folder), snakemake.threads)
    console.say(f"{figures}")
    write_table(snakemake.output.figures, pd.DataFrame([figures]))
    write_table(snakemake.output.predictions, predictions)
