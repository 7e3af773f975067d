"""Collects the benchmarks of a data set's jobs, and where and with what they ran."""

from pathlib import Path

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.report.times import collect_times

with logged(snakemake.log[0]):
    params = snakemake.params
    write_table(
        snakemake.output[0], collect_times(Path(params.times), Path(params.logs), params.jobs)
    )
