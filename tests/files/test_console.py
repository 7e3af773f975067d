"""What a job says where: to its log, and to the terminal."""

import contextlib
import errno
import os
import signal
import subprocess
import sys

import pytest

from kreinflow.base.errors import InputError, ending_tidily
from kreinflow.files.console import logged

needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


@pytest.fixture
def full(tmp_path):
    """A log on a disk without room."""
    (tmp_path / "x.log").symlink_to("/dev/full")
    return tmp_path / "x.log"


def failing(log, error):
    def job():
        with logged(log):
            print("to the log")
            raise error

    with pytest.raises(SystemExit) as caught:
        job()
    return caught.value.code


def test_the_log_has_all_and_the_terminal_the_message(tmp_path, capsys):
    log = tmp_path / "logs" / "x.log"
    assert failing(log, InputError("x.fasta: is empty.")) == 2
    assert capsys.readouterr().err == "kreinflow input error: x.fasta: is empty.\n"
    first, second = log.read_text().splitlines()
    assert first == "to the log"
    assert second.endswith(" kreinflow input error: x.fasta: is empty.")
    with logged(log) as console:
        console.say("done \udcff")
    assert log.read_text().endswith(" done \\udcff\n")
    assert log.with_suffix(".json").exists()


def test_an_interrupt_that_a_library_takes_for_its_own_fault_is_one_still():
    def load():
        with contextlib.suppress(BaseException):
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        raise OSError("failed to locate the library")

    with pytest.raises(KeyboardInterrupt), ending_tidily():
        load()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_job_says_so_in_one_line(tmp_path, number):
    job = f"""
import os, signal
import kreinflow.files.console
print(signal.getsignal(signal.SIGINT), flush=True)
with kreinflow.files.console.logged("x.log"):
    os.kill(os.getpid(), {int(number)})
    signal.pause()
"""
    done = subprocess.run(
        [sys.executable, "-c", job],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"KREINFLOW_JOB": "yes"},
        timeout=60,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # the tests may run by nohup
    )
    assert done.returncode == 128 + number
    assert done.stdout == "0\n", "Ctrl-C during the imports ends the process without a traceback"
    assert done.stderr == "kreinflow: x.log: interrupted. What is finished is kept.\n"
    assert (tmp_path / "x.log").read_text().endswith(done.stderr)
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize(
    ("before", "job", "after"),
    [("SIG_DFL", None, "Python's"), ("SIG_IGN", "yes", "SIG_IGN")],
)
def test_only_jobs_change_what_an_interrupt_does(before, job, after):
    environment = {name: os.environ[name] for name in os.environ if name != "KREINFLOW_JOB"}
    asked = (
        "import signal, kreinflow;"
        'print(getattr(signal.getsignal(signal.SIGINT), "name", "Python\'s"))'
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        capture_output=True,
        text=True,
        env=environment | ({"KREINFLOW_JOB": job} if job else {}),
        preexec_fn=lambda: signal.signal(signal.SIGINT, getattr(signal, before)),
    )
    assert done.stdout == f"{after}\n", done.stderr


def test_a_terminal_that_is_gone_ends_no_job(tmp_path):
    job = """
from kreinflow.files.console import logged
with logged("x.log") as console:
    for _ in range(3):
        console.show("line")
        print("progress", file=console.terminal)
"""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", job], cwd=tmp_path, stderr=writer)
    os.close(writer)
    assert done.returncode == 0
    assert (tmp_path / "x.log").read_text().count(" line\n") == 3


def test_what_is_ignored_stays_ignored(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with logged(tmp_path / "x.log"):
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def in_a_circle():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "out of memory; lower alignment.memory_mb"),
        (MemoryError("3 GiB"), "out of memory (3 GiB); lower alignment.memory_mb"),
        (in_a_circle(), "a fault of the program"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out of memory ([Errno 12] Cannot"),
        (ImportError("a.so: failed to map segment from shared object"), "out of memory (a.so: f"),
        (RuntimeError("can't start new thread"), "no thread could be started; raise the limit"),
    ],
)
def test_a_job_without_memory_is_no_fault_of_the_program(tmp_path, capsys, error, said):
    assert failing(tmp_path / "x.log", error) == 1
    assert capsys.readouterr().err.startswith(f"kreinflow error: {said}")
    other = OSError("Could not find/load shared object file 'libllvmlite.so'")
    other.__context__ = error
    assert failing(tmp_path / "x.log", other) == 1
    assert capsys.readouterr().err.startswith(f"kreinflow error: {said}")


@needs_full
def test_a_log_without_room_hides_no_message_and_ends_no_job(full, capsys):
    assert failing(full, InputError("x.fasta: is empty.")) == 2
    assert capsys.readouterr().err == "kreinflow input error: x.fasta: is empty.\n"
    with logged(full) as console:
        print("line", file=sys.stderr)
        console.say("line")
    assert full.with_suffix(".json").exists()


def test_a_log_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as caught, logged(tmp_path / "file" / "x.log"):
        raise AssertionError("the job has begun")
    assert caught.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith(f"kreinflow error: {tmp_path}/file/x.log: could not be written (")
    assert said.count("\n") == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_disk_without_room_is_no_fault_of_the_program(tmp_path, capsys, number):
    error = OSError(number, os.strerror(number), "scratch")
    assert failing(tmp_path / "x.log", error) == 1
    said = capsys.readouterr().err
    assert said == (
        f"kreinflow error: scratch: could not be written ({os.strerror(number)}). "
        "Free some space or write elsewhere, then run again.\n"
    )


def test_a_message_does_not_repeat_what_is_as_long_as_a_file():
    path = "/".join(["f" * 255] * 3)
    said = str(InputError(f"{path}: the id {'x' * 70_000} stands twice."))
    assert said == f"{path}: the id {'x' * 60}... stands twice."
