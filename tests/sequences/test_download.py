"""Against a server of our own, which knows ranges, breaks off, and errs."""

import hashlib

import pytest

from file_server import serving
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.sequences.download import fetch

CONTENT = bytes(range(256)) * 20_000  # 5 MB
HALF = len(CONTENT) // 2


@pytest.fixture
def server():
    with serving(CONTENT) as server:
        yield server


def settings(server, **changes):
    checksums = {"sha256": hashlib.sha256(CONTENT).hexdigest(), "md5": None}
    return {"url": server.url, "release": None} | checksums | changes


def test_a_file_is_downloaded_and_checked(server, tmp_path):
    target = tmp_path / "data" / "sprot.dat.gz"
    said = []
    fetch(target, settings(server), said.append)
    assert target.read_bytes() == CONTENT
    assert server.asked == [None]
    assert said == [f"{target}: {len(CONTENT)} bytes, sha256 {settings(server)['sha256']}"]
    assert list(target.parent.iterdir()) == [target]
    target.unlink()
    fetch(target, settings(server, sha256=None, md5=hashlib.md5(CONTENT).hexdigest()))
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("left", "faults", "asked"),
    [
        (b"", ["drop", "drop"], [None, f"bytes={HALF}-", f"bytes={HALF + HALF // 2}-"]),
        (b"", ["drop", "no ranges"], [None, f"bytes={HALF}-"]),
        (b"", ["wrong"], [None, None]),
        (b"", [503, 429, "drop", 500], [None, None, None, f"bytes={HALF}-", f"bytes={HALF}-"]),
        (CONTENT[:1_000_000], [], ["bytes=1000000-"]),
        (CONTENT, [], [f"bytes={len(CONTENT)}-"]),  # killed before it was renamed
        (b"another release" * 1000, [], ["bytes=15000-", None]),
    ],
)
def test_what_a_kill_or_a_fault_left_is_continued_or_thrown_away(
    server, tmp_path, left, faults, asked
):
    if left:
        (tmp_path / "x.part").write_bytes(left)
    server.faults = list(faults)
    said = []
    fetch(tmp_path / "x", settings(server), said.append, wait=0)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert server.asked == asked
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert ("thrown away" in said[0]) == ("wrong" in faults or left.startswith(b"another"))


def test_what_the_server_refuses_and_a_file_that_stays_wrong(server, tmp_path):
    server.faults = [404]
    with pytest.raises(InputError, match=r"sprot.dat.gz: the server says 404 Not Found\. Correct"):
        fetch(tmp_path / "x", settings(server))
    assert len(server.asked) == 1
    found = hashlib.sha256(CONTENT).hexdigest()
    message = f"the file's sha256 is {found}, not {'0' * 64}. Correct download.sha256"
    with pytest.raises(InputError, match=message):
        fetch(tmp_path / "x", settings(server, sha256="0" * 64))
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_cannot_be_reached(server, tmp_path):
    unreachable = settings(server)
    server.shutdown()
    server.server_close()
    message = r"cannot be downloaded \(.*refused.*Run again to cont"
    with pytest.raises(KreinflowError, match=message):
        fetch(tmp_path / "x", unreachable, wait=0)
    assert not (tmp_path / "x").exists()
