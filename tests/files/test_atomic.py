"""Files are written whole or not at all, beside each other, with the rights of any new file."""

import errno
import os
import stat

import pytest

from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.files import atomic
from kreinflow.files.atomic import read_text, replacing, write_text


def test_text_is_utf8(tmp_path):
    write_text(tmp_path / "a.svg", "<svg>\u00e5</svg>")
    assert read_text(tmp_path / "a.svg") == "<svg>\u00e5</svg>"
    (tmp_path / "a.svg").write_bytes(b"<svg>\xe5</svg>")
    with pytest.raises(InputError, match="a.svg: not UTF-8.*Delete it and run again"):
        read_text(tmp_path / "a.svg")


def test_nothing_half_written_is_left(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def fail():
        with replacing(path) as part:
            part.write_text("half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_named(tmp_path):
    def fill():
        with replacing(tmp_path / "x.txt"), open("/dev/full", "w") as full:
            full.write("x")
            full.flush()

    with pytest.raises(KreinflowError, match="No space left on device.*Free some space") as caught:
        fill()
    assert caught.value.exit_code == 1
    assert os.listdir(tmp_path) == []


def test_what_a_kill_left_behind_is_cleared_away(tmp_path):
    for name in (".x.json.abcdefgh.part", ".x.json.12345678.part", ".x.json.z.abcdefgh.part"):
        (tmp_path / name).write_text("half")
    write_text(tmp_path / "x.json", "text")
    assert sorted(os.listdir(tmp_path)) == [".x.json.z.abcdefgh.part", "x.json"]


def test_two_writers_at_once(tmp_path):
    path = tmp_path / "x.txt"
    with replacing(path) as first:
        first.write_text("first")
        with replacing(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
        assert sorted(os.listdir(tmp_path)) == [first.name, "x.txt"]
        (tmp_path / ".x.txt.abcdefgh.part").write_text("half")  # no writer holds this one
        write_text(path, "third")
        assert sorted(os.listdir(tmp_path)) == [first.name, "x.txt"]
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_disk_that_has_no_locks_is_written_as_ever(tmp_path, monkeypatch):
    def none(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic.fcntl, "flock", none)
    (tmp_path / ".x.txt.abcdefgh.part").write_text("half")
    write_text(tmp_path / "x.txt", "text")
    assert os.listdir(tmp_path) == ["x.txt"]


def test_rights_are_those_of_any_new_file_or_of_the_older_one(tmp_path):
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            write_text(tmp_path / "x", "new")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == mode
        (tmp_path / "x").unlink()
    for mode in (0o600, 0o440):
        (tmp_path / "x").touch()
        (tmp_path / "x").chmod(mode)
        write_text(tmp_path / "x", "newer")
        assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == mode


def test_a_folder_may_be_a_link_and_a_linked_file_is_not_written_through(tmp_path):
    """As Snakemake does, which removes what a job is to write: no other run's results change."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to("disk")
    (tmp_path / "other").write_text("of another run")
    (tmp_path / "disk" / "x").symlink_to("../other")
    write_text(tmp_path / "results" / "x", "new")
    assert (tmp_path / "results").is_symlink()
    assert (tmp_path / "disk" / "x").read_text() == "new"
    assert (tmp_path / "other").read_text() == "of another run"
