"""What the jobs of a run took, where, and with what."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kreinflow.files.json_files import read_json
from kreinflow.files.tables import read_table
from kreinflow.report.tables import numbers

MACHINE = ("host", "kreinflow", "numpy", "cpu_kernel")  # where a job ran, and with what
COLUMNS = ("stage", "job", "seconds", "cpu_seconds", "max_rss_mb", *MACHINE, "ended")


def collect_times(benchmarks: Path, records: Path, jobs: Iterable[str]) -> pd.DataFrame:
    """Return one row a job, with :data:`COLUMNS`.

    ``benchmarks`` has Snakemake's benchmark of each job, ``NAME.tsv``, and ``records`` its
    :func:`~kreinflow.files.provenance.job_record`, ``NAME.json``. The name is the stage, a dot, and
    which job of it. A job without a benchmark is left out, and a record that is missing leaves its
    cells empty: times are worth no new run.
    """
    rows = []
    for name in jobs:
        path, record = benchmarks / f"{name}.tsv", records / f"{name}.json"
        if not path.exists():
            continue
        stage, _, job = name.partition(".")
        about = read_json(record) if record.exists() else {}
        measured = read_table(path, ["s", "cpu_time", "max_rss"])
        for line in measured.apply(pd.to_numeric, errors="coerce").to_dict("records"):
            peak = pd.Series([line["max_rss"], about.get("peak_mb")], dtype=float).max()
            ran = (about.get(key, "") for key in (*MACHINE, "ended"))
            rows.append((stage, job, line["s"], line["cpu_time"], peak, *ran))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def times_by(times: pd.DataFrame, keys: Iterable[str]) -> pd.DataFrame:
    """Return jobs, seconds, processor seconds and largest memory, by the text of some columns."""
    columns = {key: times[key].astype(str) for key in keys}
    parts = {"jobs": "sum", "seconds": "sum", "cpu_seconds": "sum", "max_rss_mb": "max"}
    measures = {name: numbers(times[name]) for name in list(parts)[1:]}
    table = pd.DataFrame({**columns, "jobs": 1, **measures})
    return table.groupby(list(columns), sort=True).agg(parts).reset_index()


def times_by_stage(times: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`times_by` stage with the share of each in the seconds, longest first."""
    table = times_by(times, ["stage"])
    table["share"] = table["seconds"] / max(table["seconds"].sum(), 1e-9)
    return table.sort_values("seconds", ascending=False, kind="stable", ignore_index=True)
