"""Surroundings that are not kind: runs of the workflow in each, beside one that is undisturbed.

    python tests/series surroundings                  some minutes of one core
    python tests/series surroundings --only memory    the rows with this word

Each row of the table is a run of a small data set, whose labels and file names are not ASCII. It
must end with the bytes of the undisturbed run; or, where a limit cannot be kept, with exit code 1
or 2, one message that says what is missing, no traceback, and nothing half-written, and go on to
the same bytes when the limit is gone. Rows that this machine cannot have (some want root or
mounts) say why. The exit code is 1 if a row fails.
"""

import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
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
LIMITED = """
import importlib, os, re, resource, runpy, sys
import snakemake.iocontainers
script, what, room = sys.argv[1], sys.argv[2], float(sys.argv[3])
for module in re.findall(r"^from (kreinflow[.\\w]*) import", open(script).read(), re.MULTILINE):
    importlib.import_module(module)
if what == "NPROC":  # the user has no other processes; little work is given to threads, too
    importlib.import_module("kreinflow.alignment.engine")._LEAST_CELLS = 1
    limit = len(os.listdir("/proc/self/task")) + int(room)
else:
    name = {"AS": "VmSize", "DATA": "VmData"}[what]
    (used,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith(name))
    limit = int(used) * 1024 + int(room * 2**20)
resource.setrlimit(getattr(resource, f"RLIMIT_{what}"), (limit, limit))
runpy.run_path(script, run_name="__main__")
"""


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
        refused: str = "",
        limits: Callable[[], object] | None = None,
        whole: bool = True,
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
        if bool(done.returncode) != bool(refused) or refused not in said or shows_a_fault(said):
            self.faults.append(f"exit code {done.returncode}: {said[-3000:]}")
        self.look(run, self.reference, whole and not refused)


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


def with_reader_gone(place: Place) -> None:
    """Snakemake ends there; the same command goes on."""
    run = place.folder()
    place.run(run, shell="{} 2>&1 >/dev/null | head -n 80", whole=False)
    place.run(run)


def unprivileged(place: Place, run: Workflow) -> tuple[list[str], dict[str, str]]:
    """Give a run to another user; return what to put before a command of theirs, and variables."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise NotTriedError("wants root and setpriv")
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
    return command, own


def as_another_user(place: Place, **changed: str | None) -> None:
    """To whom only the folder belongs, and nothing else can be written."""
    run = place.folder()
    command, own = unprivileged(place, run)
    place.run(run, *command, **own | changed)
    if left := [p.name for p in Path(own["TMPDIR"]).iterdir() if "kreinflow" in p.name]:
        place.faults.append(f"left behind: {left}")


def limited_job(
    place: Place, what: str, stage: str, rooms: tuple[float, ...], compiled: bool = True
) -> None:
    """A limit inside of a job: it gets some MB, or threads, more than its imports took."""
    run = place.fresh(place.reference)
    job, files = next(both for both in place.jobs if both[0].name == stage)
    script = str(shutil.copy(job.script, run.folder))
    before, own = unprivileged(place, run) if what == "NPROC" else ([], {})  # root has no limit
    environment = os.environ | own
    environment |= {"PYTHONPATH": str(run.root / "lib"), "KREINFLOW_JOB": "yes"}
    for room in rooms:
        for name in files:
            (run.folder / name).unlink(missing_ok=True)
        if not compiled:
            environment |= {"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=place.home)}
        command = [*before, "timeout", "120", sys.executable, "-c", LIMITED, script, what]
        done = subprocess.run(
            [*command, str(room)], cwd=run.folder, env=environment, capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        clear = "out of memory" in said or "no thread could be started" in said
        clear |= "OpenBLAS error: Memory allocation still failed" in said
        if done.returncode not in (0, 1) or shows_a_fault(said) or (done.returncode and not clear):
            place.faults.append(f"with {room}: exit code {done.returncode}: {said[-1500:]}")
        place.look(run, place.reference, whole=done.returncode == 0)
    subprocess.run([sys.executable, script], cwd=run.folder, env=environment)
    place.look(run, place.reference, whole=True)


def from_the_future(place: Place) -> None:
    """A clock that was wrong: half of the files come from tomorrow, and a run goes on."""
    run = place.fresh(place.reference)
    tomorrow = time.time() + 86_400
    for path in sorted((run.folder / "results").rglob("*"))[::2]:
        os.utime(path, (tomorrow, tomorrow))
    place.run(run)
    os.utime(run.folder / DATA, (2 * tomorrow, 2 * tomorrow))
    place.run(run)


def with_full_folder(place: Place, variable: str, refused: str = "") -> None:
    """A disk without room, at the folder that a variable names."""
    run = place.folder()
    mounts = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    full = run.folder / "full"
    full.mkdir()
    prepare = f"mount -t tmpfs -o size=64k tmpfs {shlex.quote(str(full))}"
    if shutil.which("unshare") is None or subprocess.run([*mounts, prepare]).returncode:
        raise NotTriedError("wants to mount a file system")
    fill = f"{prepare} && (cat /dev/zero > {shlex.quote(str(full))}/zeros; true) 2>/dev/null; "
    inner = fill + shlex.join(run.command(cores="1"))
    shell = shlex.join([*mounts, inner]).replace("{", "{{").replace("}", "}}") + " #{}"
    place.run(run, shell=shell, refused=refused, **{variable: str(full)})
    if refused:
        place.run(run)


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
    yield "NUMBA_CACHE_DIR is full", partial(with_full_folder, variable="NUMBA_CACHE_DIR")
    yield "TMPDIR is missing", but(TMPDIR="/nowhere")
    no_space = "No space left on device"  # says Snakemake, whose scheduler writes there
    yield "TMPDIR is full", partial(with_full_folder, variable="TMPDIR", refused=no_space)
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64))
    yield "64 open files (ulimit -n)", but(limits=few)
    yield "LANG=C, labels and names of files that are not ASCII", but(LANG="C", LC_ALL="C")
    yield "a path with blanks, quotes, $ and é", but(name="a b'c\"d $HOME é")
    yield "files of tomorrow", from_the_future
    for stream, closed in (("input", "<&-"), ("output", ">&-"), ("error", "2>&-")):
        yield f"standard {stream} is closed", but(shell=f"{{}} {closed}")
    yield "the reader of standard error is gone", with_reader_gone
    fresh = partial(limited_job, rooms=(150, 170, 190, 210, 400), compiled=False)
    name = "memory: RLIMIT_AS inside of alignment, nothing compiled yet"
    yield name, partial(fresh, what="AS", stage="alignment")
    stages = ("alignment", "columns", "landmarks", "model", "report")
    for what, stage in [*(("AS", stage) for stage in stages), ("DATA", "model")]:
        limited = partial(limited_job, what=what, stage=stage, rooms=(0, 2, 8, 30))
        yield f"memory: RLIMIT_{what} inside of {stage}", limited
    name = "processes: RLIMIT_NPROC (ulimit -u) inside of alignment"
    yield name, partial(limited_job, what="NPROC", stage="alignment", rooms=(0, 1, 3))


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
