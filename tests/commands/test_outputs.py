"""The files that subcommands write: where they may be, and how they appear.

No test names the devices of the system: a private folder has links, pipes and devices like them,
which a fault may replace without harm.
"""

import gzip
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from kreinflow.classify.model_file import Model
from kreinflow.kernels.registry import make_kernel
from kreinflow.sequences.objects import read_objects
from small_inputs import model_of, write_fasta

KREINFLOW = f"{sys.executable} -m kreinflow.commands.main"


@pytest.fixture
def place(trained, tmp_path):
    """A folder with a model, some new sequences, a log and what a folder of devices has."""
    (tmp_path / "model").write_bytes(trained.path.read_bytes())
    write_fasta(tmp_path / "new.fasta", trained.records[:3])
    (tmp_path / "log").write_text("what stood there\n")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "fd").symlink_to("/proc/self/fd")
    (tmp_path / "dev" / "stdout").symlink_to("fd/1")
    (tmp_path / "dev" / "stderr").symlink_to("fd/2")
    return tmp_path


@pytest.fixture
def shell(place):
    """A function that runs a line of bash there, in which $K is the command."""

    def run(line, code=0, prefix="", folder=place, **more):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail\n{line}"],
            cwd=folder,
            env=os.environ | {"K": f"{prefix} {KREINFLOW}"},
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


@pytest.fixture
def unprivileged(tmp_path):
    """What is put before a command that an ordinary user runs, and a folder that this user has."""
    if os.geteuid() != 0:
        yield "", tmp_path
        return
    prefix = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    probe = [*prefix.split(), *KREINFLOW.split(), "schema"]
    if not shutil.which("setpriv") or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("root here, and no way to be another user")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        os.chmod(folder, 0o755)
        yield prefix, Path(folder)


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
    error = shell(f"$K {command} dev/stdout >> log")[1]
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


def test_what_is_open_is_written_where_it_stands(shell, place):
    shell(f"{EXPORT} plain")
    expected = (place / "plain").read_bytes()
    (place / "alias").symlink_to("dev/stdout")
    for name in ("-", "alias", "dev/fd/1", "/proc/self/fd/1"):
        (place / "log").write_bytes(OLD)
        assert shell(f"{EXPORT} {name} >> log") == (b"", "")
        assert (place / "log").read_bytes() == OLD + expected, name
        assert not (place / "log").is_symlink()
    for name in ("dev/stdout", "alias", "dev/fd"):
        assert (place / name).is_symlink()
    (place / "log").write_bytes(OLD)
    shell(f"exec 3>> log; {EXPORT} /proc/$$/fd/3; wait")  # of another process
    assert (place / "log").read_bytes() == OLD + expected
    shell(f"{{ echo first; {EXPORT} dev/fd/3 3>&1 >/dev/null; echo last; }} > log")
    assert (place / "log").read_bytes() == b"first\n" + expected + b"last\n"


def test_pipes(shell, place):
    shell(f"{EXPORT} plain")
    expected = (place / "plain").read_bytes()
    assert shell(f"{EXPORT} dev/stdout | cat")[0] == expected
    shell(f"{EXPORT} >(cat > other); wait $!")
    assert (place / "other").read_bytes() == expected
    os.mkfifo(place / "pipe")
    (place / "link").symlink_to("pipe")
    shell(f"cat pipe > other & {EXPORT} link && wait $!")
    assert (place / "other").read_bytes() == expected
    assert (place / "pipe").is_fifo()


def test_a_reader_that_has_seen_enough(shell, place):
    many = [(f"r{i}", "", "MKVLAW" * 4) for i in range(3000)]
    write_fasta(place / "new.fasta", many)
    for name in ("-", "dev/stdout", "dev/fd/3 3>&1"):
        out, error = shell(f"($K classify model new.fasta -o {name}; echo $? > code) | head -1")
        assert out.startswith(b"id\t")
        assert error == ""
        assert (place / "code").read_text() == "0\n"


@pytest.mark.parametrize("name", ["-", "/dev/fd/{}"])
def test_an_end_that_is_asked_for_waits_for_no_reader(place, name):
    write_fasta(place / "new.fasta", [(f"r{i}", "", "MKVLAW" * 4) for i in range(3000)])
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*KREINFLOW.split(), "classify", "model", "new.fasta", "-o", name.format(writer)],
        cwd=place,
        stdout=writer if name == "-" else None,
        stderr=subprocess.PIPE,
        pass_fds=[writer],
    )
    os.close(writer)
    assert select.select([reader], [], [], 120)[0]  # it is full soon: 3,000 rows are 290 kB
    time.sleep(0.5)
    process.terminate()
    assert process.communicate(timeout=60)[1].startswith(b"kreinflow: interrupted;")
    assert process.returncode == 128 + signal.SIGTERM
    os.close(reader)


def device(path, number):
    """Make a device like one of the system's, where that is allowed."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, number))
        path.write_text("")
    except OSError as error:
        if error.errno != 28:
            pytest.skip("no devices can be made here")


def test_devices(shell, place):
    device(place / "dev" / "null", 3)
    device(place / "dev" / "full", 7)
    (place / "link").symlink_to("dev/null")
    shell(f"{EXPORT} dev/null && {EXPORT} link")
    assert (place / "dev" / "null").is_char_device()
    assert (place / "link").is_symlink()
    for command in (EVERY_OUTPUT[0], EVERY_OUTPUT[3]):
        error = shell(f"$K {command} dev/full", code=1)[1]
        assert error.splitlines()[-1].startswith(
            "kreinflow error: dev/full: could not be written (No space left on device)."
        )
    assert (place / "dev" / "full").is_char_device()


def test_root_leaves_the_devices_of_the_system(shell, place):
    """In a space of mounts that is its own, and a folder of devices that is as the system's."""
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev"]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("no space of mounts of its own can be had")
    line = (
        "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && "
        "ln -s /proc/self/fd /dev/fd && ln -s /proc/self/fd/1 /dev/stdout && "
        f"{EXPORT} /dev/stdout >> log && {EXPORT} /dev/null && {EXPORT} >(cat > other) && "
        "test -L /dev/stdout && test -c /dev/null"
    )
    shell(f"unshare --mount bash -c '{line}'")
    assert (place / "log").read_text().startswith("what stood there\n")


@pytest.mark.parametrize("kernel", ["gaussian", "edit_distance"])
def test_landmarks_of_other_objects(shell, place, kernel):
    model, *_ = model_of(place, {"name": kernel})
    model.save(place / "model")
    model = Model.load(place / "model")
    export = "$K export model --landmarks"
    if kernel == "edit_distance":
        shell(f"{export} plain.txt && {export} packed.txt.gz")
        for name in ("plain.txt", "packed.txt.gz"):
            read = read_objects(place / name, make_kernel(model.kernel))
            assert read.objects.tolist() == model.landmarks.tolist()
        return
    (place / "stdout.npy").symlink_to("dev/stdout")
    shell(f"{export} x.npy && {export} x.NPY.gz && {export} stdout.npy >> log")
    np.testing.assert_array_equal(np.load(place / "x.npy"), model.landmarks)
    plain = (place / "x.npy").read_bytes()
    assert gzip.decompress((place / "x.NPY.gz").read_bytes()) == plain
    assert (place / "log").read_bytes() == OLD + plain
    shell(f"{export} x.tsv && {export} y.csv.gz && {export} - > z && {export} >(cat > p); wait $!")
    for name in ("x.tsv", "y.csv.gz"):
        read = read_objects(place / name, make_kernel(model.kernel))
        np.testing.assert_array_equal(read.objects, model.landmarks)
    table = (place / "x.tsv").read_bytes()
    assert (place / "z").read_bytes() == (place / "p").read_bytes() == table
    error = shell(f"{export} x.fasta", code=2)[1]
    assert "x.fasta: the landmarks are vectors (2 features). Name a .npy, .csv or .tsv" in error
    assert not (place / "x.fasta").exists()


def test_where_nothing_can_be_written(refused, trained, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("old")
    (tmp_path / "loop").symlink_to("loop")
    new, absent = tmp_path / "new", tmp_path / "absent.fasta"
    for option, command in (
        # What is refused before the work: the input is not even looked at.
        ("-o", ("classify", trained.path, absent)),
        ("-o", ("classify", absent, "--landmarks")),
        ("-o", ("explain", trained.path, absent, "--id", "a0")),
        ("--landmarks", ("export", absent)),
    ):
        for path, message in (
            (".", "is a folder. Name a file in it."),
            ("", "names no file. Give it a name."),
            (f"{new}/", "is a folder. Name a file in it."),
            (f"{new}/.", "is a folder. Name a file in it."),
            (f"{new}/..", "is a folder. Name a file in it."),
            (f"{plain}/", "is a folder. Name a file in it."),
            (plain / "out", "cannot be written (Not a directory). Name another file."),
            (tmp_path / "loop", "cannot be written (Too many levels of symbolic links)."),
            (tmp_path / ("x" * 256), "cannot be written (File name too long)."),
            ("/dev/fd/987", "cannot be written (Bad file descriptor)."),
        ):
            assert f"{option} {path}: {message}" in refused(*command, option, path)
    assert plain.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["loop", "plain"]
    assert "(File name too long)" in refused("classify", trained.path, tmp_path / ("x" * 256))


def test_a_failure_leaves_no_new_folder(refused, run, trained, tmp_path):
    (tmp_path / "there").mkdir()
    absent = tmp_path / "absent"
    for name in ("new/x.tsv", "new/er/x.tsv", "there/x.tsv", "there/new/x.tsv"):
        for command in (("classify", absent, absent), ("export", absent)):
            option = "-o" if command[0] == "classify" else "--landmarks"
            refused(*command, option, tmp_path / name)
            assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")] == ["there"]
    assert run("export", trained.path, "--landmarks", tmp_path / "new/er/x.tsv")[0] == 0
    refused("export", absent, "--landmarks", tmp_path / "new/y.tsv")
    assert os.listdir(tmp_path / "new") == ["er"]


def test_the_longest_names_can_be_written(run, trained, tmp_path):
    for name in ("x" * 255, "ä" * 127, "x" * 241 + ".fasta"):
        assert run("export", trained.path, "--landmarks", tmp_path / name)[0] == 0
        assert (tmp_path / name).read_text().startswith(">")
    assert len(os.listdir(tmp_path)) == 3


def test_a_file_that_is_open_for_reading(shell):
    error = shell("$K classify model new.fasta -o dev/fd/3 3< log", code=2)[1]
    assert error.endswith("-o dev/fd/3: is open for reading only. Name another file.\n")


def test_rights(shell, place, unprivileged):
    prefix, folder = unprivileged
    for name in ("model", "new.fasta"):
        if folder != place:
            shutil.copy(place / name, folder / name)
    new = folder / "new.fasta"
    with new.open("a") as file:
        file.write(">missing\n")  # the work would speak of it
    for name in ("locked", "open"):
        (folder / name).mkdir()
    (folder / "open" / "kept").write_text("old")
    (folder / "open" / "kept").chmod(0o444)
    (folder / "locked").chmod(0o555)
    for name in ("locked/x", "locked/new/x", "open/kept"):
        error = shell(f"$K classify model new.fasta -o {name}", 2, prefix, folder)[1]
        assert f"-o {name}: cannot be written (Permission denied)." in error
        assert error.count("\n") == 1
    (folder / "locked").chmod(0o755)
    assert (folder / "open" / "kept").read_text() == "old"
    assert os.listdir(folder / "open") == ["kept"]
    (folder / "private").mkdir()
    (folder / "private").chmod(0o777)
    shell(f"umask 077; {EXPORT} private/x", 0, prefix, folder)
    assert stat.S_IMODE((folder / "private" / "x").stat().st_mode) == 0o600


def test_a_file_that_is_replaced_keeps_its_rights(shell, place):
    (place / "x").write_text("old")
    for mode in (0o600, 0o664):
        (place / "x").chmod(mode)
        shell(f"{EXPORT} x")
        assert stat.S_IMODE((place / "x").stat().st_mode) == mode


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
        ("classify model new.fasta -o dev/stdout >> new.fasta", "-o dev/stdout"),
        ("classify model new.fasta -o dev/fd/3 3>> new.fasta", "-o dev/fd/3"),
        ("classify model - -o new.fasta < new.fasta", "-o new.fasta"),
        ("classify model /dev/stdin -o new.fasta < new.fasta", "-o new.fasta"),
        ("export model --landmarks - >> model", "--landmarks -"),
    ):
        error = shell(f"$K {line}", 2)[1]
        assert error.endswith(f": {name}: is what is read. Name another file.\n"), line
    assert model.read_bytes() == trained.path.read_bytes()
    assert new.read_text() == "".join(f">{i} family={c};\n{s}\n" for i, c, s in trained.records[:3])
