"""Collects the benchmarks of a data set's jobs, and where and with what they ran."""

from pathlib import Path

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.report.times import collect_times

with logged(snakemake.log[0]):
    folder = Path(snakemake.output[0]).parent
    times = collect_times(folder / "times", folder / "logs", snakemake.params.jobs)
    write_table(snakemake.output[0], times)
