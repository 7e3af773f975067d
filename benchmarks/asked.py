"""What jobs ask a cluster for, beside what they took.

    python benchmarks/asked.py                      the stages and sizes of scale.tsv
    python benchmarks/asked.py --run results/demo   the jobs of a run: a dry run says what they ask
    python benchmarks/asked.py --run results-pfam30/pfam30 --configfile examples/pfam30.yaml

The first makes nothing new: what is asked for is a formula (``kreinflow.config.part_costs``), what
was used is in scale.tsv. Seconds asked are those beyond the minutes that every job has for its
start.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from kreinflow.config import costs
from kreinflow.config.part_costs import (
    SPARE,
    START_MINUTES,
    Cost,
    decisions,
    factor,
    fit,
    pair_seconds,
)
from kreinflow.learners.learner import Learner
from kreinflow.learners.registry import LEARNERS, make_learner

TABLE = Path(__file__).with_name("scale.tsv")
THREADS = 2
"""Of the runs in the table."""
SNAKEMAKES_MB = 2 * 165
LEAST_SECONDS = 1.0
"""Below these a start is most of what was measured."""
CLASSES, RESIDUES = 46, 150
"""Of the data in the table."""


class Line(NamedTuple):
    """A stage at a size, and the seconds that it asks for and used."""

    part: str
    n: int
    m: int
    stage: str
    asked: float
    used: float


def learner(method: str, **settings: Any) -> Learner:
    """Return a learner with the defaults of the config."""
    schema = LEARNERS[method].settings_schema
    defaults = {key: entry.get("default") for key, entry in schema.items()}
    return make_learner({"method": method, **defaults, **settings})


def lines() -> list[Line]:
    """Return what each line of scale.tsv would ask for, and what it used."""
    table = pd.read_csv(TABLE, sep="\t", keep_default_na=False)
    found: list[Line] = []
    rank = 0
    for row in table.to_dict("records"):
        part, n, m, stage = row["part"], row["N"], row["m"], row["stage"]
        figures = dict(pair.split("=") for pair in row["figures"].split())
        rank = int(figures.get("rank", rank))
        if stage in ("bare", "read"):  # the C loop; by the size of files
            continue
        if stage == "method":  # of one thread, in processor seconds
            taken = fit(learner(figures["method"]), n, m, CLASSES).on(1)
            found.append(Line(part, n, m, figures["method"], SPARE * taken, row["seconds"]))
            continue
        if stage == "full":
            pairs = n * (n + 1) / 2 if n == m else n * m
            for name in ("align", "factor", "ny_ikfd", "ny_pcvm"):
                taken = expected(name, n, m, m, 10, "pooled", 20, pairs).on(THREADS)
                found.append(Line(part, n, m, name, SPARE * taken, float(figures[name])))
            continue
        learned = n - n // 11 if part == "laptop" else n
        scatter = "balanced" if part == "laptop" and rank > m // 2 else "pooled"
        steps = 20 if part == "learners" else 500
        one = expected(stage, learned, m, rank, CLASSES, scatter, steps, n * m)
        found.append(Line(part, n, m, stage, SPARE * one.on(THREADS), row["seconds"]))
    return found


def expected(
    stage: str, n: int, m: int, rank: int, classes: int, scatter: str, steps: int, pairs: float
) -> Cost:
    """Return what is expected of a stage."""
    fisher = learner("ny_ikfd", scatter=scatter)
    pcvm = learner("ny_pcvm", max_iter=steps)
    return {
        "align": Cost(shared=pairs * pair_seconds(RESIDUES, RESIDUES)),
        "columns": Cost(costs.GATHERED * pairs),
        "landmarks": Cost(costs.LOOKED_AT * pairs),
        "factor": factor(n, m),
        "ny_ikfd": fit(fisher, n, rank, classes),
        "ny_pcvm": fit(pcvm, n, rank, classes),
        "predict": decisions(n, m, classes),
    }[stage]


def print_table() -> None:
    """Print the lines, and the ratios of those that took long enough."""
    print("part       N        m     stage      s asked    used  ratio   min")
    ratios = []
    for line in lines():
        long = line.used >= LEAST_SECONDS
        ratio = line.asked / line.used if long else float("nan")
        ratios += [ratio] if long else []
        print(
            f"{line.part:10} {line.n:<8} {line.m:<5} {line.stage:19} {line.asked:8.1f} "
            f"{line.used:7.2f} {ratio:6.1f} {START_MINUTES + line.asked / 60:5.0f}"
        )
    print(f"asked / used: {min(ratios):.1f} to {max(ratios):.1f} (of 1 s and more)")


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


if __name__ == "__main__":
    main()
