"""Surroundings that are not kind: runs of the workflow in each, beside one that is undisturbed.

    python tests/series surroundings                  some minutes of one core
    python tests/series surroundings --only umask     the rows with this word

Each row of the table is a run of a small data set, whose labels and file names are not ASCII. It
must end with the bytes of the undisturbed run. Rows that this machine cannot have (some want root)
say why. The exit code is 1 if a row fails.
"""

import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from series.harness import Bench, shows_a_fault
from small_inputs import families, fasta_source, write_fasta
from workflow.conftest import SMALL, Workflow

DATA = "séquences 家族.fasta"
CONFIG = SMALL | {
    "alignment": {"blocks": 1, "threads": 2},
    "datasets": {"small": {"source": fasta_source(DATA), "folds": {"k": 2}}},
    "selectors": {"meb": {"method": "meb", "epsilon": 0.1}},
    "recipes": [{"name": "ikfd", "selector": "meb", "learner": "ikfd"}],
}
USER = 65534  # an unprivileged one


class NotTriedError(Exception):
    """Why a row cannot be had here."""


class Place(Bench):
    """The undisturbed run, and a folder for others."""

    def folder(self, name: str = "run") -> Workflow:
        run = Workflow(self.home / name, CONFIG, self.reference.root)
        shutil.copy(self.reference.folder / DATA, run.folder)
        return run

    def run(
        self,
        run: Workflow,
        *before: str,
        shell: str = "{}",
        limits: Callable[[], object] | None = None,
        **changed: str | None,
    ) -> None:
        """Run the workflow: ``before`` are words before the command, ``shell`` is around it."""
        environment = os.environ | {"PYTHONPATH": ""} | changed
        done = subprocess.run(
            ["sh", "-c", shell.format(shlex.join([*before, *run.command(cores="1")]))],
            cwd=run.folder,
            env={name: value for name, value in environment.items() if value is not None},
            capture_output=True,
            preexec_fn=limits,
        )
        said = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode or shows_a_fault(said):
            self.faults.append(f"exit code {done.returncode}: {said[-3000:]}")
        self.look(run, self.reference, whole=True)


def undisturbed_but(place: Place, name: str = "run", **how: object) -> None:
    place.run(place.folder(name), **how)


def without_home(place: Place) -> None:
    # An absolute path: others do not count as such a folder.
    undisturbed_but(place, HOME="/dev/null/home", XDG_CACHE_HOME=str(place.home / "caches"))


def with_umask(place: Place, mask: int) -> None:
    run = place.folder()
    place.run(run, limits=lambda: os.umask(mask))
    for path in (run.folder / "results").rglob("*"):
        expected = (0o777 if path.is_dir() else 0o666) & ~mask
        if path.stat().st_mode & 0o777 != expected:
            place.faults.append(f"{path.name}: mode {path.stat().st_mode & 0o777:o}")


def as_another_user(place: Place, **changed: str | None) -> None:
    """To whom only the folder belongs, and nothing else can be written."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise NotTriedError("wants root and setpriv")
    run = place.folder()
    command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    for path in (place.home, place.home.parent):
        path.chmod(path.stat().st_mode | 0o055)
    temporary = run.folder / "tmp"
    temporary.mkdir()
    for path in (run.folder, *run.folder.rglob("*")):
        os.chown(path, USER, USER)
    asked = [*command, sys.executable, "-c", "import snakemake, sys; print(sys.version)"]
    done = subprocess.run(asked, capture_output=True, cwd=run.folder, text=True)
    if done.stdout != sys.version + "\n":
        raise NotTriedError(f"other users cannot read {sys.executable}, its library or packages")
    if subprocess.run([*command, "test", "-w", str(run.root)]).returncode == 0:
        raise NotTriedError("other users may write to the clone")
    # Snakemake itself wants a folder of caches.
    own = {"HOME": "/", "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(temporary / "cache")}
    place.run(run, *command, **own | changed)
    if left := [path.name for path in temporary.iterdir() if "kreinflow" in path.name]:
        place.faults.append(f"left behind: {left}")


def rows() -> Iterator[tuple[str, Callable[[Place], None]]]:
    """Yield the names of the rows, and what is done."""
    but = partial(partial, undisturbed_but)
    yield "an unprivileged user, the clone read-only", as_another_user
    without = {"HOME": "/nowhere", "NUMBA_CACHE_DIR": "/nowhere"}
    yield "the same without a folder of caches", partial(as_another_user, **without)
    yield "umask 077", partial(with_umask, mask=0o077)
    yield "umask 000", partial(with_umask, mask=0)
    yield "HOME is not set", but(HOME=None)
    yield "HOME cannot be made, XDG_CACHE_HOME is set", without_home
    yield "NUMBA_CACHE_DIR cannot be made", but(NUMBA_CACHE_DIR="/dev/null/cache")
    yield "TMPDIR is missing", but(TMPDIR="/nowhere")
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64))
    yield "64 open files (ulimit -n)", but(limits=few)
    yield "LANG=C, labels and names of files that are not ASCII", but(LANG="C", LC_ALL="C")
    yield "a path with blanks, quotes, $ and é", but(name="a b'c\"d $HOME é")
    for stream, closed in (("input", "<&-"), ("output", ">&-"), ("error", "2>&-")):
        yield f"standard {stream} is closed", but(shell=f"{{}} {closed}")


def run(asked: Any) -> int:
    """Try the rows, and print the table."""
    failed, table = 0, "| surroundings | result |\n|---|---|\n"
    with tempfile.TemporaryDirectory(prefix="surroundings-") as name:
        reference = Workflow(Path(name) / "reference", CONFIG)
        write_fasta(reference.folder / DATA, families(4, classes=("家族", "éa", "b")))
        reference.run("--skip-script-cleanup")
        for row, series in rows():
            if asked.only not in row:
                continue
            place = Place(Path(name) / "place", reference)
            try:
                series(place)
                result = "FAILED" if place.faults else "as it should be"
            except NotTriedError as reason:
                result = f"not tried: {reason}"
            print(f"{row}: {result}", *place.faults, sep="\n  ", file=sys.stderr, flush=True)
            failed += bool(place.faults)
            table += f"| {row} | {result} |\n"
            shutil.rmtree(place.home)
    print(table, end="")
    return int(failed > 0)
