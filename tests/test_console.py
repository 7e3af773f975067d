"""What a job says where: to its log, and to the terminal."""

import errno
import os
import sys

import pytest

from kreinflow.console import logged
from kreinflow.errors import InputError

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


@needs_full
def test_a_log_without_room_hides_no_message_and_no_exit_code(full, capsys):
    lost = f"kreinflow: {full}: the log is not whole (No space left on device).\n"
    assert failing(full, InputError("x.fasta: is empty.")) == 2
    assert capsys.readouterr().err == lost + "kreinflow input error: x.fasta: is empty.\n"
    assert failing(full, ValueError("a slip")) == 1
    said = capsys.readouterr().err
    assert said.startswith(lost)
    assert "ValueError: a slip" in said
    assert said.count("a fault of the program") == 1


@needs_full
def test_a_log_without_room_ends_no_job(full, capsys):
    with logged(full) as console:
        print("line", file=sys.stderr)
        console.say("line")
    assert capsys.readouterr().err.count("the log is not whole") == 1
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
