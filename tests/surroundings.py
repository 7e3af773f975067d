"""Surroundings that are not kind: runs of the workflow in each, beside one that is undisturbed.

    python tests/surroundings.py                  some minutes of one core
    python tests/surroundings.py --only memory    the rows with this word

Each row of the table is a run of a small data set, whose labels and file names are not ASCII. It
must end with the bytes of the undisturbed run; or, where a limit cannot be kept, with exit code 1
or 2, one message that says what is missing, no traceback, and nothing half-written, and go on to
the same bytes when the limit is gone. Rows that this machine cannot have (some want root or
mounts) say why. The exit code is 1 if a row fails.
"""

import argparse
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from small_inputs import families, fasta_source, write_fasta
from undisturbed import Found, jobs_of, look, shows_a_fault
from workflow.conftest import SMALL, Workflow

DATA = "séquences 家族.fasta"
CONFIG = SMALL | {
    "alignment": {"blocks": 1, "threads": 2},
    "datasets": {"small": {"source": fasta_source(DATA), "folds": {"k": 2}}},
    "selectors": {"meb": {"method": "meb", "epsilon": 0.1}},
    "recipes": [{"name": "ikfd", "selector": "meb", "learner": "ikfd"}],
}
NOBODY = 65534

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


@dataclass
class Place:
    """The undisturbed run, and a folder for others."""

    home: Path
    reference: Workflow
    faults: list[str] = field(default_factory=list)

    def folder(self, name: str = "run") -> Workflow:
        run = Workflow(self.home / name, CONFIG, self.reference.root)
        shutil.copy(self.reference.folder / DATA, run.folder)
        return run

    def finished(self) -> Workflow:
        run = Workflow(self.home / "run", CONFIG, self.reference.root)
        shutil.copytree(self.reference.folder, run.folder, dirs_exist_ok=True)
        return run

    def run(
        self,
        run: Workflow,
        *before: str,
        shell: str = "{}",
        refused: str = "",
        limits: Callable[[], object] | None = None,
        **changed: str | None,
    ) -> str:
        """Run the workflow: ``before`` are words before the command, ``shell`` is around it."""
        command = shell.format(shlex.join([*before, *run.command(cores="1")]))
        environment = os.environ | {"PYTHONPATH": ""} | changed
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=run.folder,
            env={name: value for name, value in environment.items() if value is not None},
            capture_output=True,
            preexec_fn=limits,
        )
        said = (done.stdout + done.stderr).decode(errors="replace")
        if bool(done.returncode) != bool(refused) or refused not in said or shows_a_fault(said):
            self.faults.append(f"exit code {done.returncode}: {said[-3000:]}")
        return said

    def same(self, run: Workflow, whole: bool = True) -> None:
        found = Found()
        look(run, self.reference, found, whole)
        self.faults += found.faults


def changed_environment(place: Place, **changed: str | None) -> None:
    run = place.folder()
    place.run(run, **changed)
    place.same(run)


def without_home(place: Place) -> None:
    # An absolute path: others do not count as such a folder.
    caches = str(place.home / "caches")
    changed_environment(place, HOME="/dev/null/home", XDG_CACHE_HOME=caches)


def with_few_files(place: Place, most: int) -> None:
    run = place.folder()
    place.run(run, limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
    place.same(run)


def with_umask(place: Place, mask: int) -> None:
    run = place.folder()
    place.run(run, limits=lambda: os.umask(mask))
    place.same(run)
    for path in (run.folder / "results").rglob("*"):
        expected = (0o777 if path.is_dir() else 0o666) & ~mask
        if path.stat().st_mode & 0o777 != expected:
            place.faults.append(f"{path.name}: mode {path.stat().st_mode & 0o777:o}")


def in_shell(place: Place, shell: str) -> None:
    run = place.folder()
    place.run(run, shell=shell)
    place.same(run)


def with_reader_gone(place: Place) -> None:
    """Snakemake ends there; the same command goes on."""
    run = place.folder()
    place.run(run, shell="{} 2>&1 >/dev/null | head -n 80")
    place.same(run, whole=False)
    place.run(run)
    place.same(run)


def of_a_name(place: Place, name: str) -> None:
    run = place.folder(name)
    place.run(run)
    place.same(run)


def as_nobody(place: Place, **changed: str | None) -> None:
    """An unprivileged user, to whom only the folder belongs, and nothing else can be written."""
    run = place.folder()
    command, own = unprivileged(place, run)
    place.run(run, *command, **own | changed)
    place.same(run)
    if left := [p.name for p in Path(own["TMPDIR"]).iterdir() if "kreinflow" in p.name]:
        place.faults.append(f"left behind: {left}")


def unprivileged(place: Place, run: Workflow) -> tuple[list[str], dict[str, str]]:
    """Give a run to another user; return what to put before a command of theirs, and variables."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise NotTriedError("wants root and setpriv")
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    for path in (place.home, place.home.parent):
        path.chmod(path.stat().st_mode | 0o055)
    temporary = run.folder / "tmp"
    temporary.mkdir()
    for path in (run.folder, *run.folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    asked = [*command, sys.executable, "-c", "import snakemake, sys; print(sys.version)"]
    done = subprocess.run(asked, capture_output=True, cwd=run.folder, text=True)
    if done.stdout != sys.version + "\n":
        raise NotTriedError(f"other users cannot read {sys.executable}, its library or packages")
    if subprocess.run([*command, "test", "-w", str(run.root)]).returncode == 0:
        raise NotTriedError("everybody may write to the clone")
    # Snakemake itself wants a folder of caches.
    own = {"HOME": "/", "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(temporary / "cache")}
    return command, own


def limited_job(
    place: Place, what: str, stage: str, rooms: tuple[float, ...], compiled: bool = True
) -> None:
    """A limit inside of a job: it gets some MB, or threads, more than its imports took."""
    run = place.finished()
    job = next(job for job in jobs_of(place.reference) if job.name == stage)
    script = Path(shutil.copy(job.script, run.folder))
    before, own = unprivileged(place, run) if what == "NPROC" else ([], {})  # root has no limit
    results = [run.folder / name for name in job.outputs]
    for room in rooms:
        for path in results:
            path.unlink(missing_ok=True)
        environment = os.environ | own
        environment |= {"PYTHONPATH": str(run.root / "lib"), "KREINFLOW_JOB": "yes"}
        if not compiled:
            environment |= {"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=place.home)}
        command = [*before, sys.executable, "-c", LIMITED, str(script), what, str(room)]
        done = _limited(run, command, environment)
        said = done.stdout + done.stderr
        clear = "out of memory" in said or "no thread could be started" in said
        gave_up = "OpenBLAS error: Memory allocation still failed" in said
        if done.returncode not in (0, 1) or shows_a_fault(said):
            place.faults.append(f"with {room}: exit code {done.returncode}: {said[-1500:]}")
        elif done.returncode == 1 and not (clear or gave_up):
            place.faults.append(f"with {room}: no clear message: {said[-1500:]}")
        place.same(run, whole=done.returncode == 0)
    subprocess.run([sys.executable, str(script)], cwd=run.folder, env=environment)
    place.same(run)


def _limited(
    run: Workflow, command: list[str], environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command, cwd=run.folder, env=environment, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", "has not ended after 120 s")


def from_the_future(place: Place) -> None:
    """A clock that was wrong: half of the files come from tomorrow, and a run goes on."""
    run = place.finished()
    tomorrow = time.time() + 86_400
    for path in sorted((run.folder / "results").rglob("*"))[::2]:
        os.utime(path, (tomorrow, tomorrow))
    place.run(run)
    place.same(run)
    os.utime(run.folder / DATA, (2 * tomorrow, 2 * tomorrow))
    place.run(run)
    place.same(run)


def with_full_folder(place: Place, variable: str, refused: str = "") -> None:
    """A disk without room, at the folder that a variable names."""
    run = place.folder()
    mounts = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    full = run.folder / "full"
    full.mkdir()
    prepare = f"mount -t tmpfs -o size=64k tmpfs {shlex.quote(str(full))}"
    try:
        if subprocess.run([*mounts, prepare], capture_output=True).returncode:
            raise NotTriedError("wants to mount a file system")
    except FileNotFoundError:
        raise NotTriedError("wants the command unshare") from None
    fill = f"{prepare} && (cat /dev/zero > {shlex.quote(str(full))}/zeros; true) 2>/dev/null"
    inner = f"{fill}; {shlex.join(run.command(cores='1'))}"
    done = subprocess.run(
        [*mounts, inner],
        cwd=run.folder,
        env=os.environ | {"PYTHONPATH": "", variable: str(full)},
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    if bool(done.returncode) != bool(refused) or refused not in said or shows_a_fault(said):
        place.faults.append(f"exit code {done.returncode}: {said[-3000:]}")
    if done.returncode:
        place.run(run)
    place.same(run)


def rows() -> Iterator[tuple[str, Callable[[Place], None]]]:
    """Yield the names of the rows, and what is done."""
    yield "an unprivileged user, the clone read-only", as_nobody
    yield (
        "the same without a folder of caches",
        partial(as_nobody, HOME="/nowhere", NUMBA_CACHE_DIR="/nowhere"),
    )
    yield "umask 077", partial(with_umask, mask=0o077)
    yield "umask 000", partial(with_umask, mask=0)
    yield "HOME is not set", partial(changed_environment, HOME=None)
    yield "HOME cannot be made, XDG_CACHE_HOME is set", without_home
    yield (
        "NUMBA_CACHE_DIR cannot be made",
        partial(changed_environment, NUMBA_CACHE_DIR="/dev/null/cache"),
    )
    yield "NUMBA_CACHE_DIR is full", partial(with_full_folder, variable="NUMBA_CACHE_DIR")
    yield "TMPDIR is missing", partial(changed_environment, TMPDIR="/nowhere")
    no_space = "No space left on device"  # says Snakemake, whose scheduler writes there
    yield "TMPDIR is full", partial(with_full_folder, variable="TMPDIR", refused=no_space)
    yield "64 open files (ulimit -n)", partial(with_few_files, most=64)
    yield (
        "LANG=C, labels and names of files that are not ASCII",
        partial(changed_environment, LANG="C", LC_ALL="C"),
    )
    yield "a path with blanks, quotes, $ and é", partial(of_a_name, name="a b'c\"d $HOME é")
    yield "files of tomorrow", from_the_future
    yield "standard input is closed", partial(in_shell, shell="{} <&-")
    yield "standard output is closed", partial(in_shell, shell="{} >&-")
    yield "standard error is closed", partial(in_shell, shell="{} 2>&-")
    yield "whoever reads standard error is gone", with_reader_gone
    fresh = partial(limited_job, rooms=(150, 170, 190, 210, 400), compiled=False)
    yield (
        "memory: RLIMIT_AS inside of alignment, nothing compiled yet",
        partial(fresh, what="AS", stage="alignment"),
    )
    stages = ("alignment", "columns", "landmarks", "model", "report")
    for what, stage in [*(("AS", stage) for stage in stages), ("DATA", "model")]:
        yield (
            f"memory: RLIMIT_{what} inside of {stage}",
            partial(limited_job, what=what, stage=stage, rooms=(0, 2, 8, 30)),
        )
    yield (
        "processes: RLIMIT_NPROC (ulimit -u) inside of alignment",
        partial(limited_job, what="NPROC", stage="alignment", rooms=(0, 1, 3)),
    )


def main() -> int:
    """Try the rows, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", default="", help="words in the names of rows")
    asked = parser.parse_args()
    failed, table = 0, "| surroundings | result | seconds |\n|---|---|---|\n"
    with tempfile.TemporaryDirectory(prefix="surroundings-") as name:
        reference = Workflow(Path(name) / "reference", CONFIG)
        write_fasta(reference.folder / DATA, families(4, classes=("家族", "éa", "b")))
        reference.run("--skip-script-cleanup")
        for row, series in rows():
            if asked.only not in row:
                continue
            place, begin = Place(Path(name) / "place", reference), time.monotonic()
            place.home.mkdir()
            try:
                series(place)
                result = "FAILED" if place.faults else "as it should be"
            except NotTriedError as reason:
                result = f"not tried: {reason}"
            for fault in place.faults:
                print(f"{row}: {fault}", file=sys.stderr, flush=True)
            failed += bool(place.faults)
            print(f"{row}: {result}", file=sys.stderr, flush=True)
            table += f"| {row} | {result} | {time.monotonic() - begin:.0f} |\n"
            shutil.rmtree(place.home)
    print(table, end="")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
