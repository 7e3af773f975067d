"""What jobs ask a cluster for, beside what they took.

    python benchmarks/asked.py                      the stages and sizes of scale.tsv
    python benchmarks/asked.py --run results/demo   the jobs of a run: a dry run says what they ask
    python benchmarks/asked.py --run results-pfam30/pfam30 --configfile examples/pfam30.yaml

The first makes nothing new: what is asked for is a formula (``kreinflow.config.costs``), what was
used is
in scale.tsv. Seconds asked are those beyond the minutes that every job has for its start. Used
megabytes are those of the process, of the data set that a job of the workflow holds beside, and of
the two Snakemakes around it on a cluster. Then it shows what the training of one fold asks for at
100,000 records with 1,000 and with 11,000 landmarks of its own, and of what.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from kreinflow.config import costs
from kreinflow.learners.learner import Learner
from kreinflow.learners.registry import LEARNERS, make_learner

TABLE = Path(__file__).with_name("scale.tsv")
THREADS, MEMORY_MB = 2, 1500
"""Of the runs in the table."""
SNAKEMAKES_MB = 2 * 165
RECORD_MB = 0.84e-3
"""Of a record: what gathering the columns of a million took beyond that of 10,000."""
LEARNING = ("factor", "ny_ikfd", "ny_pcvm", "predict")
"""Stages that are measured without the data set."""
LEAST_SECONDS = 1.0
"""Below these a start is most of what was measured."""


class Line(NamedTuple):
    """A stage at a size; seconds and megabytes, asked and used. No megabytes: not measured."""

    part: str
    n: int
    m: int
    stage: str
    asked_seconds: float
    used_seconds: float
    asked_mb: float
    used_mb: float


def learner(method: str, **settings: Any) -> Learner:
    """Return a learner with the defaults of the config."""
    schema = LEARNERS[method].settings_schema
    defaults = {key: entry.get("default") for key, entry in schema.items()}
    return make_learner({"method": method, **defaults, **settings})


def made_up(n: int, classes: int, length: float = 150.0) -> dict[str, Any]:
    """Return the statistics of a data set of the benchmark."""
    sizes = {f"c{i}": n / classes for i in range(classes)}
    return {"distinct": n, "class_sizes": sizes, "lengths": {"mean": length}}


def lines() -> list[Line]:
    """Return what each line of scale.tsv would ask for, and what it used."""
    table = pd.read_csv(TABLE, sep="\t", keep_default_na=False)
    found: list[Line] = []
    rank = 0
    for row in table.to_dict("records"):
        part, n, m, stage = row["part"], row["N"], row["m"], row["stage"]
        figures = dict(pair.split("=") for pair in row["figures"].split())
        rank = int(figures.get("rank", rank))
        if stage == "bare":  # the C loop
            continue
        if stage == "method":  # of one thread, in processor seconds
            fit = costs.fit_seconds(learner(figures["method"]), n, m, 46)
            used = row["seconds"]
            found.append(Line(part, n, m, figures["method"], costs.SPARE * fit.on(1), used, 0, 0))
            continue
        if stage == "full":
            pairs = n * (n + 1) / 2 if n == m else n * m
            for name in ("align", "factor", "ny_ikfd", "ny_pcvm"):
                seconds = expected(name, n, m, m, 10, "pooled", 20, pairs)[0]
                used = float(figures[name])
                found.append(Line(part, n, m, name, _asked(seconds), used, 0, 0))
            continue
        learned = n - n // 11 if part == "laptop" else n
        scatter = "balanced" if part == "laptop" and rank > m // 2 else "pooled"
        steps = 20 if part == "learners" else 500
        seconds, mb = expected(
            stage, learned, m, rank, 46, scatter, steps, n * m, int(figures.get("blocks", 1))
        )
        held = RECORD_MB * n if part == "landmarks" or stage in LEARNING else 0
        mb_used = row["peak_mb"] + held + SNAKEMAKES_MB
        found.append(Line(part, n, m, stage, _asked(seconds), row["seconds"], mb, mb_used))
    return found


def _asked(seconds: costs.Seconds) -> float:
    return costs.SPARE * seconds.on(THREADS)


def expected(
    stage: str,
    n: int,
    m: int,
    rank: int,
    classes: int,
    scatter: str,
    steps: int,
    pairs: float,
    blocks: int = 1,
) -> tuple[costs.Seconds, float]:
    """Return the seconds that are expected and the megabytes to ask for."""
    data = made_up(n, classes)
    learning = costs.learning_mb(data, m, MEMORY_MB)
    aligning = costs.BASE_MB + costs.dataset_mb(data) + costs.scores_mb(pairs / blocks, 512)
    file_mb = n * 165 / 1e6
    fisher = learner("ny_ikfd", scatter=scatter)
    pcvm = learner("ny_pcvm", max_iter=steps)
    return {
        "read": (costs.Seconds(costs.READ_MB * file_mb), costs.BASE_MB + 40 * file_mb),
        "align": (costs.alignment_seconds(data, pairs), aligning),
        "columns": (costs.gathering_seconds(data, m), aligning),
        # The data set is not read in this part.
        "landmarks": (costs.Seconds(costs.LOOKED_AT * pairs), costs.selection_mb(data, pairs)),
        "factor": (costs.factor_seconds(n, m), learning),
        "ny_ikfd": (costs.fit_seconds(fisher, n, rank, classes), learning),
        "ny_pcvm": (costs.fit_seconds(pcvm, n, rank, classes), learning),
        "predict": (costs.decision_seconds(n, m, classes), learning),
    }[stage]


def print_table() -> None:
    """Print the lines, and the ratios of those that took long enough."""
    print(
        "part       N        m     stage      s asked    used  ratio   min  MB asked  used  ratio"
    )
    ratios, memory = [], []
    for line in lines():
        long = line.used_seconds >= LEAST_SECONDS
        ratio = line.asked_seconds / line.used_seconds if long else float("nan")
        mb = line.asked_mb / line.used_mb if line.used_mb else float("nan")
        ratios += [ratio] if long else []
        memory += [mb] if line.used_mb else []
        minutes = costs.START_MINUTES + line.asked_seconds / 60
        print(
            f"{line.part:10} {line.n:<8} {line.m:<5} {line.stage:19} {line.asked_seconds:8.1f} "
            f"{line.used_seconds:7.2f} {ratio:6.1f} {minutes:5.0f} "
            f"{line.asked_mb:9.0f} {line.used_mb:5.0f} {mb:6.1f}"
        )
    print(
        f"asked / used: seconds {min(ratios):.1f} to {max(ratios):.1f} (of 1 s and more), ",
        end="",
    )
    print(f"megabytes {min(memory):.1f} to {max(memory):.1f}")


def print_parts(n: int, m: int, classes: int, threads: int) -> None:
    """Print what the training of one fold asks for, and of what."""
    data = made_up(n, classes)
    recipes = [learner("ny_ikfd"), learner("ny_ikfd", scatter="pooled", ridge="inner")]
    recipes.append(learner("ny_pcvm"))
    seconds = costs.training_seconds(data, m, recipes, 3, 1 / 5)
    print(f"\nTraining of three recipes at N = {n}, m = {m}, {classes} classes, {threads} threads:")
    print(
        "  3 x 3 factors of inner folds  "
        f"{9 * costs.factor_seconds(n, m).on(threads) / 60:6.0f} min"
    )
    for entry in recipes:
        fits = 4 * costs.fit_seconds(entry, n, m, classes).on(threads) / 60
        print(
            f"  4 fits of {entry.method:8} {entry.settings.get('scatter', ''):9}  {fits:6.0f} min"
        )
    print(f"  in all, decisions and tables  {seconds.on(threads) / 60:6.0f} min")
    print(f"  asked: {costs.minutes(seconds, threads)} min, ", end="")
    print(f"{costs.learning_mb(data, m, 2048, recipes, 1 / 5):.0f} MB")


def print_run(results: Path, configfile: str, given: list[str]) -> None:
    """Print what each stage of a run asks for, in a dry run of all its jobs, and what it took."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--cores", "2", "--dry-run", "--forceall"),
            *("--configfile", configfile, *given),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    asked: dict[str, tuple[int, int]] = {}
    pattern = r"benchmark: (\S+)/times/(\S+)\.tsv.*?mem_mb=(\d+)"
    for block in re.split(r"(?m)^(?:local)?rule ", done.stdout + done.stderr):
        found = re.search(pattern, block, re.DOTALL)
        if found and found[1] == str(results):
            runtime = re.search(r"runtime=(\d+)", block)
            assert runtime is not None, block
            asked[found[2]] = int(runtime[1]), int(found[3])
    rows = []
    for path in sorted((results / "times").glob("*.tsv")):
        if path.stem in asked:
            took = pd.read_csv(path, sep="\t", na_values="-").iloc[-1]
            used = took["s"], took["cpu_time"], took["max_rss"] + SNAKEMAKES_MB
            rows.append([path.stem.partition(".")[0], *asked[path.stem], *used])
    columns = ["stage", "min asked", "MB asked", "s used", "processor s", "MB used"]
    table = pd.DataFrame(rows, columns=columns).groupby("stage", sort=False).max()
    table["MB ratio"] = table["MB asked"] / table["MB used"]
    print(table.to_string(float_format="%.1f"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--run", type=Path, help="the folder of a data set's results")
    parser.add_argument("--configfile", default="config.yaml", help="of that run")
    given, more = parser.parse_known_args()
    if given.run:
        print_run(given.run, given.configfile, more)
    else:
        print_table()
        for m in (1_000, 11_000):
            print_parts(100_000, m, 46, 4)


if __name__ == "__main__":
    main()
