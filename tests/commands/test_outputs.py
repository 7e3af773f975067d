"""The files that subcommands write: where they may be, and how they appear."""

import gzip
import os
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from small_inputs import write_fasta
from warm.server import warm_python


@pytest.fixture
def place(trained, tmp_path):
    """A folder with a model, some new sequences and a log."""
    (tmp_path / "model").write_bytes(trained.path.read_bytes())
    write_fasta(tmp_path / "new.fasta", trained.records[:3])
    (tmp_path / "log").write_text("what stood there\n")
    return tmp_path


@pytest.fixture
def shell(place):
    """A function that runs a line of bash there, in which $K is the command."""

    def run(line, code=0, **more):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail\n{line}"],
            cwd=place,
            env=os.environ | {"K": str(Path(warm_python()).with_name("kreinflow"))},
            capture_output=True,
            timeout=300,
            **more,
        )
        error = done.stderr.decode()
        assert done.returncode == code, error
        assert "Traceback" not in error
        assert "Exception ignored" not in error
        return done.stdout, error

    return run


EVERY_OUTPUT = [
    "classify model new.fasta -o",
    "classify model --landmarks -o",
    "explain model new.fasta --id a0 -o",
    "export model --landmarks",
]


EXPORT = f"$K {EVERY_OUTPUT[3]}"
OLD = b"what stood there\n"


@pytest.mark.parametrize("command", EVERY_OUTPUT)
def test_each_option(shell, place, command):
    out = shell(f"$K {command} plain && $K {command} packed.gz > other")[0]
    expected = (place / "plain").read_bytes()
    assert gzip.decompress((place / "packed.gz").read_bytes()) == expected
    assert (place / "other").read_bytes() == out
    error = shell(f"$K {command} /dev/stdout >> log")[1]
    assert (place / "log").read_bytes() == OLD + expected
    assert out.decode() in error  # what else is said is not put into a table
    assert (out != b"") == command.startswith("explain")


def test_links_stay_links(shell, place):
    (place / "kept").write_text("old")
    (place / "link").symlink_to("chain")
    (place / "chain").symlink_to("kept")
    (place / "dangling").symlink_to("folder/made")
    shell(f"{EXPORT} plain && {EXPORT} link && {EXPORT} dangling")
    assert [os.readlink(place / name) for name in ("link", "chain")] == ["chain", "kept"]
    assert os.readlink(place / "dangling") == "folder/made"
    for name in ("kept", "folder/made"):
        assert (place / name).read_bytes() == (place / "plain").read_bytes()
        assert not (place / name).is_symlink()


def test_pipes(shell, place):
    shell(f"{EXPORT} plain")
    expected = (place / "plain").read_bytes()
    os.mkfifo(place / "pipe")
    (place / "link").symlink_to("pipe")
    shell(f"cat pipe > other & {EXPORT} link && wait $!")
    assert (place / "other").read_bytes() == expected
    assert (place / "pipe").is_fifo()


def test_an_end_that_is_asked_for_waits_for_no_reader(place):
    write_fasta(place / "new.fasta", [(f"r{i}", "", "MKVLAW" * 4) for i in range(3000)])
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "kreinflow.commands.main", "classify", "model", "new.fasta"],
        cwd=place,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    assert select.select([reader], [], [], 120)[0]  # it is full soon: 3,000 rows are 290 kB
    time.sleep(0.5)
    process.terminate()
    assert process.communicate(timeout=60)[1].startswith(b"kreinflow: interrupted;")
    assert process.returncode == 128 + signal.SIGTERM
    os.close(reader)


def test_where_nothing_can_be_written(refused, trained, tmp_path):
    """It is refused before the work: the input is not even looked at."""
    (tmp_path / "plain").write_text("old")
    absent = tmp_path / "absent"
    for option, command in (
        ("-o", ("classify", trained.path, absent)),
        ("-o", ("explain", trained.path, absent, "--id", "a0")),
        ("--landmarks", ("export", absent)),
    ):
        for path in (".", "", f"{tmp_path}/new/", tmp_path / "plain" / "out"):
            assert f"{option} {path}: " in refused(*command, option, path)
    assert (tmp_path / "plain").read_text() == "old"
    assert os.listdir(tmp_path) == ["plain"]


def test_a_disk_without_room_leaves_what_there_was(shell, place):
    def little():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    (place / "x").write_text("old")
    (place / "link").symlink_to("x")
    before = sorted(os.listdir(place))
    for command in (EVERY_OUTPUT[0], EVERY_OUTPUT[3]):
        error = shell(f"$K {command} link", 1, preexec_fn=little)[1]
        assert "link: could not be written (File too large)." in error
        assert (place / "x").read_text() == "old"
    assert sorted(os.listdir(place)) == before


def test_nothing_is_written_over_what_is_read(refused, shell, trained, place):
    model, new = place / "model", place / "new.fasta"
    (place / "link.tsv").symlink_to(new)
    for arguments in (
        ("classify", model, new, "-o", new),
        ("classify", model, new, "-o", place / "link.tsv"),
        ("classify", model, new, "-o", model),
        ("classify", model, "--landmarks", "-o", model),
        ("export", model, "--landmarks", model),
        ("explain", model, new, "--id", trained.records[0][0], "-o", new),
    ):
        message = refused(*arguments)
        assert f"{arguments[-1]}: is what is read. Name another file." in message
    for line, name in (
        ("classify model new.fasta >> new.fasta", "standard output"),
        ("classify model - -o new.fasta < new.fasta", "-o new.fasta"),
        ("export model --landmarks - >> model", "--landmarks -"),
    ):
        error = shell(f"$K {line}", 2)[1]
        assert error.endswith(f": {name}: is what is read. Name another file.\n"), line
    assert model.read_bytes() == trained.path.read_bytes()
    assert new.read_text() == "".join(f">{i} family={c};\n{s}\n" for i, c, s in trained.records[:3])
