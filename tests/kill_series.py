"""Series of kills for kills.py: what is ended in which way, and what is looked at then."""

import contextlib
import fcntl
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from random import Random
from signal import SIGCONT, SIGKILL, SIGQUIT, SIGSTOP
from typing import Any

from kreinflow.alignment.segments import KIND
from kreinflow.base.errors import InputError
from kreinflow.files.artifacts import open_array, read_arrays, read_table
from undisturbed import PATIENCE, Bench, Found, look, shows_a_fault, wait_for
from workflow.conftest import SMALL, Workflow

QUICK = 30.0  # seconds within which a process must have ended after a signal
SHORT = 0.5  # seconds between segments, where a job of minutes is to be had in seconds


def ended(
    process: "subprocess.Popen[str]", run: Workflow, number: int, found: Found, hit: bool
) -> None:
    """Look at the end of a process that got a signal, and at what it said."""
    begin = time.monotonic()
    wait_for(process, found, QUICK)
    found.slowest = max(found.slowest, time.monotonic() - begin)
    codes = {-number, 128 + number, *(() if number == SIGKILL else (0,))}
    said = (run.folder / "said.txt").read_text(errors="replace")
    if (hit and process.returncode not in codes) or shows_a_fault(said):
        found.faults.append(
            f"{signal.Signals(number).name}: exit code {process.returncode}: {said[-1500:]}"
        )


def begun(run: Workflow, outputs: list[str]) -> bool:
    """Tell whether a file of these is being written."""
    folders = {run.folder / Path(name).parent for name in outputs}
    return any(
        entry.name.endswith(".part")
        for folder in folders
        if folder.is_dir()
        for entry in os.scandir(folder)
    )


def of_jobs(bench: Bench, rng: Random, kills: int, number: int, writing: bool = False) -> Found:
    """Signals to the process of one job; with ``writing`` while a file of it is begun."""
    found, job = Found(), rng.choice(bench.jobs)
    run = bench.fresh(bench.reference)
    for _ in range(20 * kills):
        if found.kills == kills:
            break
        for name in job.outputs:
            (run.folder / name).unlink(missing_ok=True)
        process = bench.start(job.command(), run)
        if writing:
            while process.poll() is None and not begun(run, job.outputs):
                time.sleep(0.0001)
            time.sleep(rng.uniform(0.0, 0.002))
        else:
            time.sleep(rng.uniform(0.0, job.seconds))
        if hit := process.poll() is None:
            found.kills += 1
            process.send_signal(number)
        ended(process, run, number, found, hit)
        look(run, bench.reference, found, whole=False)
    seconds = bench.finish(job.command(), run, found)
    job.seconds = 0.5 * (job.seconds + seconds)
    look(run, bench.reference, found, whole=True)
    if number != SIGKILL and (left := list(bench.scratch.iterdir())):
        found.faults.append(f"left behind: {' '.join(map(str, left))}")
    found.faults = [f"{job.name}: {fault}" for fault in found.faults]
    return found


def of_stopped_jobs(bench: Bench, rng: Random, kills: int) -> Found:
    """Jobs that are stopped and go on."""
    found = Found()
    for _ in range(kills):
        job, run = rng.choice(bench.jobs), bench.fresh(bench.reference)
        for name in job.outputs:
            (run.folder / name).unlink()
        process = bench.start(job.command(), run)
        time.sleep(rng.uniform(0.0, 0.9 * job.seconds))
        process.send_signal(SIGSTOP)
        time.sleep(rng.uniform(0.0, 0.3))
        look(run, bench.reference, found, whole=False)
        process.send_signal(SIGCONT)
        wait_for(process, found, PATIENCE)
        if process.returncode:
            found.faults.append(f"{job.name}: exit code {process.returncode}")
        look(run, bench.reference, found, whole=True)
        found.kills += 1
    return found


def of_twins(bench: Bench, rng: Random, kills: int) -> Found:
    """Two processes of one alignment job at once, one of which is killed."""
    found = Found()
    job = rng.choice([job for job in bench.jobs if job.name == "alignment"])
    run = bench.fresh(bench.reference)
    for _ in range(kills):
        for name in job.outputs:
            (run.folder / name).unlink(missing_ok=True)
        twins = [bench.start(job.command(), run) for _ in range(2)]
        time.sleep(rng.uniform(0.0, 1.5 * job.seconds))
        killed = rng.choice(twins)
        found.kills += killed.poll() is None
        killed.kill()
        for twin in twins:
            wait_for(twin, found, PATIENCE)
            if twin is not killed and twin.returncode:
                found.faults.append(f"the other ends with {twin.returncode}")
        look(run, bench.reference, found, whole=True)
    bench.finish(job.command(), run, found)
    look(run, bench.reference, found, whole=True)
    return found


def of_long_alignments(
    bench: Bench, rng: Random, kills: int, number: int, interval: float | None = SHORT
) -> Found:
    """Signals to a job that is in the compiled loop; it goes on from its segments."""
    assert bench.long is not None
    found, run = Found(), bench.fresh(bench.long)
    (job,) = (job for job in bench.long_jobs if "/columns." in job.outputs[0])
    store = run.folder / "results" / "small" / "scores"
    shutil.rmtree(store)
    for name in job.outputs:
        (run.folder / name).unlink(missing_ok=True)
    most = interval or 10.0
    for _ in range(kills):
        process = bench.start(job.command(interval), run)
        while process.poll() is None and not _holds(process.pid, store):
            time.sleep(0.01)
        begin = time.time()
        time.sleep(rng.uniform(0.0, 3.0) if interval else rng.uniform(11.0, 16.0))
        if process.poll() is not None:
            break
        process.send_signal(number)
        killed = time.time()
        found.kills += 1
        ended(process, run, number, found, hit=True)
        look(run, bench.long, found, whole=False)
        written = [path.stat().st_mtime for path in store.rglob("segment_*")]
        lost = killed - max([begin, *written])
        if lost > most + 2.0:  # an interval, a call, and what a busy machine adds
            found.faults.append(f"the work of {lost:.1f} s is lost")
    bench.finish(job.command(interval), run, found)
    look(run, bench.long, found, whole=True)
    return found


def _holds(pid: int, store: Path) -> bool:
    """Tell whether a process holds the lock of a block, behind which it aligns."""
    with contextlib.suppress(OSError):
        files = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
        return any(name.startswith(str(store)) for name in files)
    return False


WRITER = """
import sys, itertools, numpy as np, pandas as pd
from pathlib import Path
from kreinflow.files import artifacts
from kreinflow.alignment.segments import SegmentWriter, writing
kind, once = sys.argv[1], len(sys.argv) > 2
big = np.arange(2_000_000)
for value in itertools.count(1):
    if kind == "table":
        artifacts.write_table("results/x", pd.DataFrame({"a": np.full(50_000, value)}))
    elif kind == "array":
        artifacts.write_array("results/x", np.full(2_000_000, value))
    elif kind == "mapped array":
        with artifacts.new_array("results/x", np.dtype(int), (2_000_000,)) as out:
            out[:] = value
    elif kind == "file of arrays":
        artifacts.write_arrays("results/x", "x", {}, {"a": np.full(2_000_000, value)})
    else:
        table = np.random.default_rng(1).integers(0, 256, (1000, 16), dtype=np.uint8)
        with writing(Path("results")):
            segments = SegmentWriter(Path("results"), "0" * 64, table, 1)
            for i in range(1, 1 if once else 4):
                all_of_it = np.arange(1000)
                segments.add_panel(all_of_it, all_of_it, np.full((1000, 1000), 7, np.int32))
    if once:
        break
"""


def of_writers(bench: Bench, rng: Random, kills: int, what: str) -> Found:
    """Kills of a process that does nothing but write, one file after the other."""
    found = Found()
    run = Workflow(bench.home / "writer", {}, bench.reference.root)
    shutil.rmtree(run.folder / "results", ignore_errors=True)
    command = [sys.executable, "-c", WRITER, what]
    for _ in range(kills):
        process = bench.start(command, run)
        while process.poll() is None and not list(run.folder.glob("results/[xs]*")):
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.2))
        found.kills += process.poll() is None
        process.kill()
        ended(process, run, SIGKILL, found, hit=True)
        try:
            _read_written(run.folder / "results", what)
        except (InputError, AssertionError) as error:
            found.faults.append(f"{what}: {error!r}")
        if what == "segment":
            for path in list((run.folder / "results").glob("segment_*"))[20:]:
                path.unlink()
    bench.finish([*command, "once"], run, found)
    if left := list((run.folder / "results").glob(".*.part")):
        found.faults.append(f"left behind: {left}")
    shutil.rmtree(run.folder / "results")
    return found


def _read_written(folder: Path, what: str) -> None:
    if what == "segment":
        for path in folder.glob("segment_*"):
            assert (read_arrays(path, KIND)[1]["scores"] == 7).all(), path
        return
    path = folder / "x"
    if what == "table":
        values = read_table(path, ["a"])["a"].to_numpy()
    elif what == "file of arrays":
        values = read_arrays(path, "x")[1]["a"]
    else:
        values = open_array(path, 1)
    assert values.size in (50_000, 2_000_000)
    assert (values == values[0]).all()
    assert values[0] >= 1


def _undone(bench: Bench, rng: Random) -> Workflow:
    """Return a copy of the finished run as it was at some moment, or of its beginning."""
    run = bench.fresh(bench.reference)
    if rng.random() < 0.1:
        shutil.rmtree(run.folder / "results")
        return run
    times = {n: (run.folder / n).stat().st_mtime for job in bench.jobs for n in job.outputs}
    moment = rng.choice(sorted(times.values())[len(times) // 4 :])
    for name, made in times.items():
        if made >= moment and "/scores/" not in name:
            (run.folder / name).unlink()
    return run


def _moment(process: Any, run: Workflow, rng: Random) -> None:
    """Wait for a moment of a run: by jobs begun, whatever the machine, and then by time."""
    left, said = rng.randint(0, 4), run.folder / "said.txt"
    while process.poll() is None:
        lines = said.read_text(errors="replace").splitlines()
        if sum(line.startswith(("rule ", "localrule ")) for line in lines) >= left:
            break
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 1.0))


def of_runs(bench: Bench, rng: Random, kills: int, end: str) -> Found:
    """Ends of the whole workflow."""
    found, run = Found(), _undone(bench, rng)
    for _ in range(20 * kills):
        if found.kills == kills:
            break
        before = found.kills
        command = run.command(cores=rng.choice("12"))
        if end in ("Ctrl-C", "terminal closed"):
            _at_a_terminal(bench, run, command, rng, end, found)
        else:
            process = bench.start(command, run)
            _moment(process, run, rng)
            if process.poll() is None:
                found.kills += 1
                _end(process, bench, run, rng, end, found)
        if found.kills == before:  # it was over first
            look(run, bench.reference, found, whole=True)
            run = _undone(bench, rng)
    bench.finish(run.command(cores="2"), run, found)
    look(run, bench.reference, found, whole=True)
    return found


def _end(
    process: "subprocess.Popen[str]",
    bench: Bench,
    run: Workflow,
    rng: Random,
    end: str,
    found: Found,
) -> None:
    if end == "main":  # its jobs run on, and what comes next meets them
        process.kill()
        wait_for(process, found, QUICK)
    elif end == "SIGTERM":
        process.terminate()
        wait_for(process, found, PATIENCE)
        _no_bad_words(run, found)
    elif end == "stopped":
        os.killpg(process.pid, SIGSTOP)
        time.sleep(rng.uniform(0.0, 0.5))
        os.killpg(process.pid, SIGCONT)
        wait_for(process, found, PATIENCE)
        if process.returncode:
            found.faults.append(f"ends with {process.returncode}")
    else:
        if end == "two":
            _second_is_refused(bench, run, found)
        os.killpg(process.pid, SIGKILL)
        wait_for(process, found, QUICK)


def _no_bad_words(run: Workflow, found: Found) -> None:
    said = (run.folder / "said.txt").read_text(errors="replace")
    if shows_a_fault(said):
        found.faults.append(said[-3000:])


def _second_is_refused(bench: Bench, run: Workflow, found: Found) -> None:
    """Start a second run beside one that has begun."""
    said = run.folder / "said.txt"
    if not re.search(r"^(local)?rule ", said.read_text(), re.MULTILINE):
        return  # the first may not have the lock yet, and then the second has it
    done = subprocess.run(
        run.command(), cwd=run.folder, env=bench.environment, capture_output=True, text=True
    )
    if done.returncode == 0 and "Nothing to be done" in done.stderr:
        return
    if done.returncode != 2 or "another run is writing there" not in done.stderr:
        found.faults.append(f"the second run: {done.returncode}: {done.stderr[-1000:]}")


def _at_a_terminal(
    bench: Bench, run: Workflow, command: list[str], rng: Random, end: str, found: Found
) -> None:
    """Start a run in the foreground of a terminal; press Ctrl-C there, or close it."""
    ours, theirs = pty.openpty()

    def take_it() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    said = run.folder / "said.txt"
    process = subprocess.Popen(
        command,
        cwd=run.folder,
        env=bench.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=take_it,
    )
    os.close(theirs)
    os.set_blocking(ours, False)

    def read() -> None:
        with said.open("ab") as file, contextlib.suppress(OSError):
            while data := os.read(ours, 65536):
                file.write(data)

    class Read:
        @staticmethod
        def poll() -> int | None:
            read()
            return process.poll()

    said.write_bytes(b"")
    _moment(Read, run, rng)
    if hit := process.poll() is None:
        found.kills += 1
        if end == "Ctrl-C":
            os.write(ours, b"\x03")
        else:
            os.close(ours)
    finish = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < finish:
        if end == "Ctrl-C":
            read()
        time.sleep(0.02)
    wait_for(process, found, 1.0)
    if not (hit and end == "terminal closed"):
        read()
        os.close(ours)
    if hit and process.returncode == 0:
        found.faults.append(f"{end}: exit code 0: {said.read_text(errors='replace')[-1000:]}")
    _no_bad_words(run, found)


def of_commands(bench: Bench, rng: Random, kills: int, command: str, number: int) -> Found:
    """Signals to ``kreinflow classify -o`` and ``kreinflow check``."""
    found = Found()
    shutil.rmtree(bench.home / "command", ignore_errors=True)
    run = Workflow(bench.home / "command", SMALL, bench.reference.root)
    results = bench.reference.folder / "results" / "small"
    table = read_table(results / "dataset" / "distinct.tsv", ["sequence"], ["sequence"])
    new, out = run.folder / "new.fasta", run.folder / "out.tsv"
    new.write_text("".join(f">{i}\n{s}\n" for i, s in enumerate(table["sequence"].tolist() * 100)))
    arguments = [sys.executable, "-m", "kreinflow.commands.main", command]
    if command == "classify":
        arguments += [str(results / "model.safetensors"), str(new), "-o", str(out)]
    else:
        arguments += ["config.yaml"]
    seconds = bench.finish(arguments, run, found)
    expected = out.read_bytes() if out.exists() else None
    for _ in range(20 * kills):
        if found.kills == kills:
            break
        before = rng.choice([b"old\n", None]) if command == "classify" else None
        out.unlink(missing_ok=True)
        if before is not None:
            out.write_bytes(before)
        process = bench.start(arguments, run)
        time.sleep(rng.uniform(0.0, seconds))
        if hit := process.poll() is None:
            found.kills += 1
            process.send_signal(number)
        ended(process, run, number, found, hit)
        after = out.read_bytes() if out.exists() else None
        if after not in (before, expected):
            found.faults.append(f"the table is neither the old one nor the new one: {after!r}")
        if number not in (SIGKILL, SIGQUIT) and list(run.folder.glob(".*.part")):
            found.faults.append("left behind: part of a table")
    bench.finish(arguments, run, found)
    if (out.read_bytes() if out.exists() else None) != expected:
        found.faults.append("another table")
    left = {path.name for path in run.folder.iterdir()}
    if more := left - {"config.yaml", "new.fasta", "out.tsv", "said.txt"}:
        found.faults.append(f"left behind: {' '.join(more)}")
    return found
