"""Against a server of our own, which knows ranges, breaks off, and errs."""

import hashlib

import pytest

from file_server import serving
from kreinflow.errors import InputError, KreinflowError
from kreinflow.sequences.download import fetch

CONTENT = bytes(range(256)) * 20_000  # 5 MB


@pytest.fixture
def server():
    with serving(CONTENT) as server:
        yield server


def settings(server, sha256=None, md5=None):
    if not sha256 and not md5:
        sha256 = hashlib.sha256(CONTENT).hexdigest()
    return {"url": server.url, "release": None, "sha256": sha256, "md5": md5}


def test_a_file_is_downloaded_and_checked(server, tmp_path):
    target = tmp_path / "data" / "sprot.dat.gz"
    said = []
    fetch(target, settings(server), said.append)
    assert target.read_bytes() == CONTENT
    assert server.asked == [None]
    assert said == [f"{target}: {len(CONTENT)} bytes, sha256 {settings(server)['sha256']}"]
    assert list(target.parent.iterdir()) == [target]
    target.unlink()
    fetch(target, settings(server, md5=hashlib.md5(CONTENT).hexdigest()))
    assert target.read_bytes() == CONTENT


def test_a_broken_connection_is_continued(server, tmp_path):
    server.faults = ["drop", "drop"]
    fetch(tmp_path / "x", settings(server), wait=0)
    assert (tmp_path / "x").read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert server.asked == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]


def test_what_a_kill_left_is_continued(server, tmp_path):
    (tmp_path / "x.part").write_bytes(CONTENT[:1_000_000])
    fetch(tmp_path / "x", settings(server))
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert server.asked == ["bytes=1000000-"]
    (tmp_path / "y.part").write_bytes(CONTENT)  # killed before it was renamed
    fetch(tmp_path / "y", settings(server))
    assert (tmp_path / "y").read_bytes() == CONTENT
    assert not (tmp_path / "y.part").exists()


def test_a_server_without_ranges_begins_again(server, tmp_path):
    server.faults = ["drop", "no ranges"]
    fetch(tmp_path / "x", settings(server), wait=0)
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_part_of_another_file_is_thrown_away(server, tmp_path):
    (tmp_path / "x.part").write_bytes(b"another release" * 1000)
    fetch(tmp_path / "x", settings(server))
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert server.asked == ["bytes=15000-", None]


def test_a_wrong_file_is_downloaded_once_more(server, tmp_path):
    server.faults = ["wrong"]
    said = []
    fetch(tmp_path / "x", settings(server), said.append)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert len(server.asked) == 2
    assert "thrown away" in said[0]


def test_a_file_that_stays_wrong_is_refused(server, tmp_path):
    found = hashlib.sha256(CONTENT).hexdigest()
    with pytest.raises(InputError) as error:
        fetch(tmp_path / "x", settings(server, sha256="0" * 64))
    assert f"the file's sha256 is {found}, not {'0' * 64}. Correct download.sha256" in str(
        error.value
    )
    assert list(tmp_path.iterdir()) == []


def test_what_the_server_refuses(server, tmp_path):
    server.faults = [404]
    with pytest.raises(InputError, match=r"sprot.dat.gz: the server says 404 Not Found\. Correct"):
        fetch(tmp_path / "x", settings(server))
    assert len(server.asked) == 1
    server.faults = [503, 429, "drop", 500]
    fetch(tmp_path / "x", settings(server), wait=0)
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_server_that_cannot_be_reached(server, tmp_path):
    unreachable = settings(server)
    server.shutdown()
    server.server_close()
    with pytest.raises(
        KreinflowError, match=r"cannot be downloaded \(.*refused.*Run again to cont"
    ):
        fetch(tmp_path / "x", unreachable, wait=0)
    assert not (tmp_path / "x").exists()
