"""The command as a process of its own: its streams, its exit codes, and signals."""

import os
import resource
import shlex
import signal
import subprocess
import sys

import pytest

KREINFLOW = [sys.executable, "-m", "kreinflow.commands.main"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["schema", "inspect", "classify"])
def test_a_screen_that_cannot_be_written(trained, command):
    files = {"schema": [], "inspect": [trained.path], "classify": [trained.path, trained.fasta]}
    arguments = [*KREINFLOW, command, *files[command]]
    with open("/dev/full", "w") as full:
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "kreinflow error: standard output, or a cache: could not be written (No space left on "
        "device). Free some space or write elsewhere, then run again."
    )
    assert "Traceback" not in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 0, "the reader has seen enough"
    assert "Error" not in done.stderr


def test_a_screen_that_takes_a_part_only(trained, tmp_path):
    """Python itself loses the rest, with no error, where its streams have no buffer."""

    def little():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    with (tmp_path / "screen").open("wb") as screen:
        done = subprocess.run(
            [*KREINFLOW, "classify", trained.path, trained.fasta],
            stdout=screen,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            preexec_fn=little,
            text=True,
        )
    assert done.returncode == 1
    assert "could not be written (File too large)" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_half_written(trained, tmp_path, number):
    (tmp_path / "folder").mkdir()
    process = subprocess.Popen(
        [*KREINFLOW, "classify", trained.path, "-", "-o", tmp_path / "folder" / "x.tsv"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(">a\n" + "MKV\n" * 100_000)  # no pipe holds it: it is being read
    assert list((tmp_path / "folder").glob(".x.tsv.*.part"))
    process.send_signal(number)
    said = process.communicate()[1]
    assert process.returncode == 128 + number
    assert said == "kreinflow: interrupted; no file is left half-written.\n"
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize(
    ("closed", "code"), [("<&-", 2), (">&-", 0), ("2>&-", 0)], ids=["input", "output", "error"]
)
def test_closed_streams(trained, closed, code):
    new = "-" if closed == "<&-" else str(trained.fasta)
    command = shlex.join([*KREINFLOW, "classify", str(trained.path), new])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, text=True)
    assert done.returncode == code
    if closed == "<&-":
        assert done.stderr == "kreinflow input error: standard input: is closed. Name a file.\n"
    elif closed == ">&-":
        assert done.stderr.startswith("kreinflow: 30 records: 30 classified")
    else:
        assert len(done.stdout.splitlines()) == 31
