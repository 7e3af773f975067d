"""Surroundings that are not kind: runs of the workflow in each, beside one that is undisturbed.

    python tests/series surroundings                  some minutes of one core
    python tests/series surroundings --only umask     the rows with this word

Each row of the table is a run of a small data set, whose labels, file names and folder are not
ASCII. It must end with the bytes of the undisturbed run and leave no temporary file. Rows that this
machine cannot have (some want root) say why. The exit code is 1 if a row fails.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from series.harness import Bench, shows_a_fault
from small_inputs import families, fasta_source, write_fasta
from workflow.conftest import SMALL, Workflow

DATA = "séquences 家族.fasta"
FOLDER = "a b'c\"d $HOME é"
CONFIG = SMALL | {
    "alignment": {"blocks": 1, "threads": 2},
    "datasets": {"small": {"source": fasta_source(DATA), "folds": {"k": 2}}},
    "selectors": {"meb": {"method": "meb", "epsilon": 0.1}},
    "recipes": [{"name": "ikfd", "selector": "meb", "learner": "ikfd"}],
}
USER = 65534  # an unprivileged one
AS_USER = f"setpriv --reuid={USER} --regid={USER} --clear-groups"
CACHES = 'XDG_CACHE_HOME="$TMPDIR/caches"'  # an absolute path: others do not count as a folder
ROWS = {
    "an unprivileged user, the clone read-only": f"HOME=/ {CACHES} {AS_USER} {{}}",
    "the same without a folder of caches": (
        f"HOME=/nowhere NUMBA_CACHE_DIR=/nowhere {CACHES} {AS_USER} {{}}"
    ),
    "umask 077": "umask 077; {}",
    "umask 000": "umask 000; {}",
    "HOME is not set": "unset HOME; {}",
    "HOME cannot be made, XDG_CACHE_HOME is set": f"HOME=/dev/null/home {CACHES} {{}}",
    "NUMBA_CACHE_DIR cannot be made": "NUMBA_CACHE_DIR=/dev/null/cache {}",
    "TMPDIR is missing": "TMPDIR=/nowhere {}",
    "64 open files (ulimit -n)": "ulimit -n 64; {}",
    "LANG=C": "LANG=C LC_ALL=C {}",
    "standard input is closed": "{} <&-",
    "standard output is closed": "{} >&-",
    "standard error is closed": "{} 2>&-",
}
"""What is told to a shell, around the command."""


def give_away(run: Workflow) -> str:
    """Give a folder to a user who can write to nothing else, or return why that cannot be."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return "wants root and setpriv"
    for path in run.folder.parents[:2]:
        path.chmod(path.stat().st_mode | 0o055)
    for path in (run.folder, *run.folder.rglob("*")):
        os.chown(path, USER, USER)
    asked = [*AS_USER.split(), sys.executable, "-c", "import snakemake, sys; print(sys.version)"]
    done = subprocess.run(asked, capture_output=True, cwd=run.folder, text=True)
    if done.stdout != sys.version + "\n":
        return f"other users cannot read {sys.executable}, its library or packages"
    may_write = subprocess.run([*AS_USER.split(), "test", "-w", str(run.root)]).returncode == 0
    return "other users may write to the clone" if may_write else ""


def tried(bench: Bench, shell: str) -> str:
    """Run the workflow so, and return the result."""
    run = Workflow(bench.home / FOLDER, CONFIG, bench.reference.root)
    shutil.copy(bench.reference.folder / DATA, run.folder)
    temporary = run.folder / "tmp"
    temporary.mkdir()
    if AS_USER in shell and (reason := give_away(run)):
        return f"not tried: {reason}"
    done = subprocess.run(
        ["sh", "-c", shell.format(shlex.join(run.command(cores="1")))],
        cwd=run.folder,
        env=os.environ | {"PYTHONPATH": "", "TMPDIR": str(temporary)},
        capture_output=True,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode or shows_a_fault(said):
        bench.faults.append(f"exit code {done.returncode}: {said[-3000:]}")
    bench.look(run, bench.reference, whole=True)
    if left := [path.name for path in temporary.iterdir() if "kreinflow" in path.name]:
        bench.faults.append(f"left behind: {left}")
    return "FAILED" if bench.faults else "as it should be"


def run(asked: Any) -> int:
    """Try the rows, and print the table."""
    failed, table = 0, "| surroundings | result |\n|---|---|\n"
    with tempfile.TemporaryDirectory(prefix="surroundings-") as name:
        reference = Workflow(Path(name) / "reference", CONFIG)
        write_fasta(reference.folder / DATA, families(4, classes=("家族", "éa", "b")))
        reference.run("--skip-script-cleanup")
        for row in [row for row in ROWS if asked.only in row]:
            bench = Bench(Path(name) / "place", reference)
            result = tried(bench, ROWS[row])
            print(f"{row}: {result}", *bench.faults, sep="\n  ", file=sys.stderr, flush=True)
            failed += bool(bench.faults)
            table += f"| {row} | {result} |\n"
            shutil.rmtree(bench.home)
    print(table, end="")
    return int(failed > 0)
