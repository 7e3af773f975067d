import pandas as pd

from kreinflow.files.json_files import write_json
from kreinflow.report import times as t


def test_benchmarks_and_records_are_joined_by_the_name_of_the_job(tmp_path):
    benchmark = "s\th:m:s\tmax_rss\tcpu_time\n{}\t0:00:01\t{}\t{}\n"
    (tmp_path / "dataset.tsv").write_text(benchmark.format(1.5, 90.0, 1.25))
    (tmp_path / "model.meb.r0f1.tsv").write_text(benchmark.format(0.25, "NA", "-"))
    record = {"host": "n2", "kreinflow": "1", "numpy": "2", "cpu_kernel": "Zen", "peak_mb": 120.5}
    record["ended"] = "2026-01-02T03:04:05+00:00"
    write_json(tmp_path / "dataset.json", record)
    table = t.collect_times(tmp_path, tmp_path, ["dataset", "folds", "model.meb.r0f1"])
    assert table.columns.tolist() == list(t.COLUMNS)
    assert table["stage"].tolist() == ["dataset", "model"]  # no benchmark of folds
    assert table["job"].tolist() == ["", "meb.r0f1"]
    assert table["max_rss_mb"].iloc[0] == 120.5  # the record saw more than Snakemake
    assert table.loc[0, ["host", "cpu_kernel"]].tolist() == ["n2", "Zen"]
    assert table["seconds"].tolist() == [1.5, 0.25]
    assert table.loc[1, ["cpu_seconds", "max_rss_mb"]].isna().all()  # too short to be seen
    assert table["ended"].tolist() == ["2026-01-02T03:04:05+00:00", ""]
    assert table.loc[1, "host"] == ""


def test_times_are_added_by_stage_and_by_machine():
    rows = [("a", 1.0, "", 100, "n1"), ("b", 5.0, 4.0, "", "n2"), ("a", 2.0, 2.0, 300, "n1")]
    times = pd.DataFrame(rows, columns=[t.COLUMNS[i] for i in (0, 2, 3, 4, 5)])
    stages = t.times_by_stage(times)
    shown = stages[["stage", "jobs", "seconds", "share"]].to_numpy().tolist()
    assert shown == [["b", 1, 5.0, 5 / 8], ["a", 2, 3.0, 3 / 8]]
    assert stages["max_rss_mb"].iloc[1] == 300
    machines = t.times_by(times, ["host"])[["host", "jobs", "seconds"]]
    assert machines.to_numpy().tolist() == [["n1", 2, 3.0], ["n2", 1, 5.0]]
