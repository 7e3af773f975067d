"""How a finished run would be spread over cores: makespan, idle share and critical path.

    python benchmarks/schedule.py FOLDER/config.yaml
    python benchmarks/schedule.py FOLDER/config.yaml --blocks 32 --threads 1

The job graph, and the threads of each job, are those of a dry run for so many cores; the work of a
job is what the run on ``--cores`` measured (``times/*.tsv``). A job of t threads takes its work
over t, but for :data:`SERIAL`. Blocks share the work of their stage, and have a start of their own.
A free core takes the ready job with the longest way to the end. Left out are Snakemake itself (0.3
to 1 s a job), and that cores share memory and caches.
"""

import argparse
import heapq
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
CORES = (1, 2, 4, 8, 16, 32)
START = 0.5
"""Seconds of a job that does next to nothing: it starts Python and imports."""

SERIAL = {"model": 0.5}
"""The share of a stage's work in one thread: ``whole.py`` has 25.5 s in one, 20.6 in two."""


@dataclass
class Job:
    """A job of the dry run."""

    name: str
    threads: int
    outputs: list[str]
    inputs: list[str]
    work: float = START
    after: set[int] = field(default_factory=set)
    rest: float = 0.0
    """Seconds from its start to the end of the run, on any number of cores."""

    def pace(self, cores: int) -> float:
        """Return the share of its work that it takes as seconds, with its threads on some cores."""
        serial = SERIAL.get(self.name.partition(".")[0], 0.0)
        return serial + (1 - serial) / min(self.threads, cores)


def asked_jobs(folder: Path, config: dict[str, Any], cores: int) -> list[Job]:
    """Return the jobs of a dry run, each with the jobs it waits for."""
    command = [sys.executable, "-m", "snakemake", "-n", "--forceall", "--cores", str(cores)]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(config, file)
        file.flush()
        done = subprocess.run([*command, "--configfile", file.name], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    text = done.stdout
    jobs = []
    for part in re.split(r"^(?:local)?rule ", text, flags=re.MULTILINE)[1:]:
        of = dict(re.findall(r"^    (\w+): (.*)$", part, re.MULTILINE))
        name = Path(of.get("benchmark", part.split(":")[0])).stem
        files = (of.get(key, "").split(", ") for key in ("output", "input"))
        if "output" in of:
            jobs.append(Job(name, int(of.get("threads", 1)), *files))
    makers = {path: number for number, job in enumerate(jobs) for path in job.outputs}
    for job in jobs:
        job.after = {makers[path] for path in job.inputs if path in makers}
    return jobs


def weigh(jobs: list[Job], cores: int, ran: list[Job], ran_on: int, times: Path) -> None:
    """Give each job the work that a run measured, blocks their share, and what waits for it."""
    pace = {job.name: job.pace(ran_on) for job in ran}
    measured = {
        path.stem: float(pd.read_csv(path, sep="\t")["s"].iloc[0]) / pace.get(path.stem, 1.0)
        for path in times.glob("*.tsv")
    }
    for job in jobs:
        stage, _, block = job.name.partition(".")
        blocks = [value for name, value in measured.items() if re.fullmatch(rf"{stage}\.\d+", name)]
        if block.isdecimal():
            number = sum(other.name.startswith(f"{stage}.") for other in jobs)
            job.work = START + max(sum(blocks) - START * len(blocks), 0) / number
        elif job.name in measured:
            job.work = measured[job.name]
        else:
            print(f"{job.name} has no table of times: {START} s")

    def rest(number: int) -> float:
        job = jobs[number]
        if not job.rest:
            later = (rest(other) for other, of in enumerate(jobs) if number in of.after)
            job.rest = job.work * job.pace(cores) + max(later, default=0.0)
        return job.rest

    for number in range(len(jobs)):
        rest(number)


def makespan(jobs: list[Job], cores: int) -> float:
    """Return the seconds of a list schedule, those with the longest way to the end first."""
    waits = [len(job.after) for job in jobs]
    ready = [(-job.rest, number) for number, job in enumerate(jobs) if not job.after]
    running: list[tuple[float, int, int]] = []
    heapq.heapify(ready)
    now, free = 0.0, cores
    while ready or running:
        while ready and free >= min(jobs[ready[0][1]].threads, cores):
            number = heapq.heappop(ready)[1]
            used = min(jobs[number].threads, cores)
            free -= used
            ends = now + jobs[number].work * jobs[number].pace(used)
            heapq.heappush(running, (ends, number, used))
        now, ended, used = heapq.heappop(running)
        free += used
        for number, job in enumerate(jobs):
            if ended in job.after:
                waits[number] -= 1
                if not waits[number]:
                    heapq.heappush(ready, (-job.rest, number))
    return now


def main() -> None:
    """Print the table and the critical path."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("config", type=Path, help="of a finished run of one data set")
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=4, help="of a job that aligns")
    parser.add_argument("--cores", type=int, default=2, help="of the finished run")
    asked = parser.parse_args()
    config = yaml.safe_load(asked.config.read_text())
    (name,) = config["datasets"]
    folder = asked.config.resolve().parent
    alignment = {"blocks": asked.blocks, "threads": asked.threads}
    ran = asked_jobs(folder, config, asked.cores)
    print("| cores | seconds | idle, % |\n|---|---|---|")
    for cores in CORES:
        jobs = asked_jobs(folder, config | {"alignment": alignment}, cores)
        weigh(jobs, cores, ran, asked.cores, folder / config["results"] / name / "times")
        seconds, work = makespan(jobs, cores), sum(job.work for job in jobs)
        print(f"| {cores} | {seconds:.0f} | {100 * (1 - work / (cores * seconds)):.0f} |")
    print(f"\n{len(jobs)} jobs, {work:.0f} seconds of work. The critical path on {cores} cores:")
    ready = range(len(jobs))
    while ready:
        first = max(ready, key=lambda number: jobs[number].rest)
        print(f"{jobs[first].work * jobs[first].pace(cores):6.1f} s  {jobs[first].name}")
        ready = [number for number, other in enumerate(jobs) if first in other.after]


if __name__ == "__main__":
    main()
