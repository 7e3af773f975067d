"""Flips: single bits turned in the files of a finished run, to see whether a later job notices.

    python tests/series flips --number 320          some minutes of one core
    python tests/series flips --only distinct.tsv   one kind of file

Bits are turned one at a time, as many in each kind of file that a later job reads. The jobs that
read the file run again, and those that read what these made, as long as anything is other than
before: as Snakemake would run them, but in processes that have the slow imports done. Where rules
look into the file to ask for resources, Snakemake plans the run first. What is seen:

    found     a job ends with one message that names the file and says what to delete
    unnamed   a job ends with a message that does not
    harmless  all results have the same bytes
    silent    a result is another one, and nothing was said
    fault     a traceback, in the log or on the terminal, or no end

Files with a checksum must have neither silent flips nor faults nor unnamed ones: the exit code is
then 1. Flips in text tables are told.
"""

import ast
import hashlib
import os
import random
import re
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from series.harness import Job, jobs_of
from series.processes import asked_of_workers, forked
from small_inputs import (
    configuration,
    families,
    fasta_source,
    points,
    vectors_source,
    without_times,
    write_fasta,
)
from warm.server import warm_python
from workflow.conftest import ROOT, Workflow

OUTCOMES = ("found", "unnamed", "harmless", "silent", "fault")
SECONDS = 120  # of the processor, for one job
KINDS = {
    "records.tsv": r"(unknown/)?dataset/records\.tsv",
    "distinct.tsv": r"(unknown/)?dataset/distinct\.tsv",
    "summary.json": r"(unknown/)?dataset/summary\.json",
    "other JSON": r"\w+\.json|(columns|alignment|evaluation|unknown)/[\w.]+\.json",
    "vectors.npy": r"(unknown/)?dataset/vectors\.npy",
    "scores.npy": r"(columns|unknown)/scores\.npy",
    "self_scores.npy": r"columns/self_scores\.npy",
    "score segments": r"scores/.*\.safetensors",
    "fold models": r"models/.*\.safetensors",
    "final model": r"model\.safetensors",
    "folds.tsv": r"folds\.tsv",
    "candidates.tsv": r"candidates\.tsv",
    "landmark tables": r"landmarks/.*\.tsv",
    "columns/landmarks.tsv": r"columns/landmarks\.tsv",
    "factors' tables": r"factors/.*\.tsv",
    "models' tables": r"models/.*\.tsv",
    "curves": r"cascade/.*\.tsv",
    "predictions": r".*predictions.*\.tsv\.gz",
    "evaluation": r"(evaluation|unknown)/\w+\.tsv",
    "map.tsv": r"map\.tsv",
    "other tables": r"(times|classified/\w+)\.tsv",
    "figures": r"figures/\w+\.svg",
}
"""Files by their paths in the folder of a data set: all that a later job reads, by the rules."""

MUST = re.compile(
    r".*\.(npy|safetensors|json)|.*dataset/(records|distinct)\.tsv"
    r"|.*/(evaluation|unknown)/(?!records)\w+\.tsv|.*/map\.tsv"
)
READ_BY_RULES = ("summary.json", "candidates.tsv", "landmark tables")
READ_THE_STORE = ("alignment", "columns", "landmarks", "unknown_scores")
"""Scripts that do: rules do not name its files, because it is kept."""


def whole_config(folder: Path) -> dict[str, Any]:
    """Write the inputs of the run, and return its config: sequences and vectors, classes held out
    as unknown, and new sequences to classify."""
    write_fasta(folder / "x.fasta", families(4, classes=("a", "b", "c", "d"), each=12))
    write_fasta(folder / "new.fasta", [(f"new{i}", "", s) for i, _, s in families(4, changed=0.4)])
    X, labels = points(4)
    np.save(folder / "x.npy", X)
    (folder / "y.txt").write_text("\n".join(labels))
    small = {"source": fasta_source(), "unknown": ["d"], "recipes": ["flip", "pcvm", "nearest"]}
    plane = {"source": vectors_source(), "recipes": ["svc"]}
    log = {"transform": "log", "selector": "meb"}
    return configuration({}) | {
        "alignment": {"blocks": 2, "threads": 1},
        "datasets": {"small": small | {"folds": {"k": 2}}, "plane": plane | {"folds": {"k": 2}}},
        "selectors": {
            "meb": {"method": "meb", "transform": "log", "epsilon": 0.1},
            "uniform": {"method": "uniform", "budget": 9},
        },
        "recipes": [
            log | {"name": "flip", "learner": "ikfd", "correction": "flip"},
            log | {"name": "pcvm", "learner": "pcvm"},
            log | {"name": "nearest", "selector": "uniform", "learner": "nearest"},
            {"name": "svc", "transform": "raw", "selector": "uniform", "learner": "svc"},
        ],
        "classify": {"new": {"input": "new.fasta", "dataset": "small"}},
    }


class FinishedRun(Workflow):
    """A run of the whole workflow in a folder, and its jobs, each behind those that it needs.

    Without a config it is there, run with ``--skip-script-cleanup``.
    """

    def __init__(self, folder: Path, config: dict[str, Any] | None = None) -> None:
        super().__init__(folder, config)
        if config is not None:
            self.run("--skip-script-cleanup")
        self.jobs_run = sorted(
            jobs_of(self), key=lambda job: (folder / job.outputs[0]).stat().st_mtime_ns
        )

    def files(self) -> dict[str, list[str]]:
        """The files that later jobs read, by kind."""
        stores = (self.folder / "results").glob("*/scores/**/*.safetensors")
        made = {path for job in self.jobs_run for path in job.outputs}
        made |= {path.relative_to(self.folder).as_posix() for path in stores}
        read = {path for job in self.jobs_run for path in job.inputs} & made
        found: dict[str, list[str]] = {}
        for path in sorted(made):
            within = path.split("/", 2)[-1]
            kinds = [kind for kind, names in KINDS.items() if re.fullmatch(names, within)]
            if len(kinds) > 1 or (path in read and not kinds):
                raise SystemExit(f"{path}: name one kind for it in KINDS, not {kinds}")
            for kind in kinds:
                found.setdefault(kind, []).append(path)
        return found


@dataclass(frozen=True)
class Flip:
    """One bit of a file."""

    kind: str
    path: str
    bit: int


def draw(run: FinishedRun, number: int, seed: int, only: str) -> list[Flip]:
    """As many flips of each kind of file, ``number`` in all."""
    files = run.files()
    flips = []
    for kind in [kind for kind in files if only in ("", kind)]:
        for count in range(number // len(files) if not only else number):
            rng = random.Random(f"{seed}|{kind}|{count}")
            path = rng.choice(files[kind])
            flips.append(Flip(kind, path, rng.randrange(8 * (run.folder / path).stat().st_size)))
    return flips


def _reads(job: Job, paths: set[str]) -> bool:
    """Whether it reads any of these; an array of a data set is read with its summary."""
    paths = {path.replace("dataset/vectors.npy", "dataset/summary.json") for path in paths}
    home = "/".join(job.outputs[0].split("/")[:2])
    stored = any(path.startswith(f"{home}/scores/") for path in paths)
    if job.name == "report" or (stored and job.name in READ_THE_STORE):
        return True  # the page takes what it finds in the folder
    return not paths.isdisjoint(job.inputs)


class Worker:
    """A copy of a run in which bits are turned."""

    def __init__(self, run: FinishedRun, folder: str) -> None:
        self.run = run
        self.folder = Path(tempfile.mkdtemp(dir=folder)) / "copy"
        shutil.copytree(run.folder, self.folder)
        self.said = self.folder / "said.txt"

    def start(self, job: Job) -> str:
        """Run a job in a process of its own; return what it says if it fails, else nothing."""
        for path in job.outputs:
            (self.folder / path).unlink(missing_ok=True)
        status, _ = forked(lambda: self._work(job), SECONDS, self.said)
        said = self.said.read_text(errors="replace")
        return "" if status == 0 else said or f"ended with {status}: a fault of the program"

    def _work(self, job: Job) -> int:
        os.chdir(self.folder)
        job.given.log = [str(self.folder / "said.log")]  # the logs of jobs stay as they were
        script = ROOT / "scripts" / f"{job.name}.py"
        try:
            exec(compile(script.read_text(), script, "exec"), {"snakemake": job.given})
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
            return 1
        return 0

    def changed(self, paths: list[str]) -> set[str]:
        """Those files that are not as in the healthy run.

        Files of blocks are left out: they say how many pairs were aligned and checked now.
        """
        results = [path for path in paths if "/alignment/" not in path]
        homes = self.folder, self.run.folder
        return {p for p in results if len({_digest(home / p) for home in homes}) > 1}

    def restore(self, paths: Iterable[str]) -> None:
        """Put healthy files back."""
        for path in paths:
            shutil.copy2(self.run.folder / path, self.folder / path)

    def __call__(self, flip: Flip) -> tuple[str, str]:
        """What comes of a flip, and what was said."""
        path = self.folder / flip.path
        data, stamp = bytearray(path.read_bytes()), path.stat()
        data[flip.bit // 8] ^= 1 << flip.bit % 8
        path.write_bytes(data)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        said, made, other = "", set[str](), {flip.path}
        if flip.kind in READ_BY_RULES:
            done = Workflow(self.folder, None).run("--dry-run", "--forceall", check=False)
            said = (done.stdout + done.stderr) * (done.returncode != 0)
        for job in self.run.jobs_run:
            if not said and _reads(job, other):
                said = self.start(job)
                made.update(job.outputs)
                other |= set() if said else self.changed(job.outputs)
        if "a fault of the program" in said:
            said += (self.folder / "said.log").read_text(errors="replace").splitlines()[-1]
        if said:
            named = flip.path in said and re.search(r"[Dd]elete|Give a model file", said)
            fault = re.search(r"Traceback|Error in|a fault of the program", said)
            found = "fault" if fault else "found" if named else "unnamed"
        else:
            found = "silent" if other != {flip.path} else "harmless"
        self.restore([flip.path, *made])
        home = "/".join(flip.path.split("/")[:2])
        # What was aligned again is in other files.
        shutil.rmtree(self.folder / home / "scores", ignore_errors=True)
        if (scores := self.run.folder / home / "scores").exists():
            shutil.copytree(scores, self.folder / home / "scores")
        return found, " ".join(said.split())


def _digest(path: Path) -> str:
    return hashlib.sha256(without_times(path)).hexdigest() if path.is_file() else ""


def _import_all() -> None:
    """Do the imports of all scripts, for the processes of jobs to have them done."""
    for script in (ROOT / "scripts").glob("*.py"):
        body = ast.parse(script.read_text()).body
        imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), script, "exec"), {})


def outcomes(
    run: FinishedRun, flips: list[Flip], folder: str, jobs: int = 1
) -> Iterator[tuple[Flip, str, str]]:
    """Turn bits one at a time; yield each flip with what came of it and what was said."""
    _import_all()
    warm_python()  # one for all workers
    for flip, (found, said) in asked_of_workers(Worker, (run, folder), flips, jobs):
        yield flip, found, said


def faults(tried: list[tuple[Flip, str, str]]) -> list[tuple[Flip, str, str]]:
    """What must not be: of files with a checksum anything that is not found by name, or harmless;
    of others a traceback."""
    return [
        (flip, found, said)
        for flip, found, said in tried
        if found == "fault" or (MUST.fullmatch(flip.path) and found in ("silent", "unnamed"))
    ]


def run(asked: Any) -> int:
    """Make the run, turn the bits, and print how many of each kind were found."""
    tried = []
    with tempfile.TemporaryDirectory(prefix="flips-") as folder:
        start = Path(folder) / "run"
        start.mkdir()
        whole = FinishedRun(start, whole_config(start))
        drawn = draw(whole, asked.number, asked.seed, asked.only)
        for flip, found, said in outcomes(whole, drawn, folder, asked.jobs):
            tried.append((flip, found, said))
            print(f"{flip.path}, bit {flip.bit}: {found}. {said[:300]}", flush=True)
    counts = Counter((kind, found) for flip, found, _ in tried for kind in (flip.kind, "all"))
    print(f"\n{'':24}" + "".join(f"{found:>9}" for found in OUTCOMES))
    for kind in dict.fromkeys([*(flip.kind for flip, *_ in tried), "all"]):
        print(f"{kind:24}" + "".join(f"{counts[kind, found]:9}" for found in OUTCOMES))
    return int(bool(faults(tried)))
