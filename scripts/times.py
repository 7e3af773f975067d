"""Collects the benchmark files of a data set."""

from pathlib import Path

import pandas as pd

from kreinflow.artifacts import write_table
from kreinflow.console import logged

with logged(snakemake.log[0]):
    rows = []
    for name in snakemake.params.jobs:
        path = Path(snakemake.params.folder) / f"{name}.tsv"
        if not path.exists():  # removed by hand: times are worth no new run
            continue
        stage, _, job = name.partition(".")
        for line in pd.read_csv(path, sep="\t", na_values=["NA", "-"]).to_dict("records"):
            rows.append(
                {
                    "stage": stage,
                    "job": job,
                    "seconds": line["s"],
                    "cpu_seconds": line["cpu_time"],
                    "max_rss_mb": line["max_rss"],
                }
            )
    write_table(snakemake.output[0], pd.DataFrame(rows))
