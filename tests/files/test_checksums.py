"""Checksums in files: the known CRC-32, wherever its digits lie; what is damaged is refused."""

import json
import tracemalloc
import zlib

import numpy as np
import pytest

from flipped_bits import each_flip
from kreinflow.base.errors import InputError
from kreinflow.files import checksums
from kreinflow.files.arrays import new_array, open_array, read_arrays, write_array, write_arrays
from kreinflow.files.checksums import UNSET, check_seal, file_checksum, seal
from kreinflow.files.json_files import read_json, write_json

CONTENTS = {
    "at the beginning": UNSET.encode() + b" and more" * 9,
    "in the head": b"x" * 200 + UNSET.encode() + b"y" * 300,
    "at the end": b"x" * 700 + UNSET.encode(),
    "alone": UNSET.encode(),
}


@pytest.fixture(params=CONTENTS)
def sealed(request, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(CONTENTS[request.param])
    seal(path)
    return path, CONTENTS[request.param]


def test_the_published_check_value(tmp_path):
    (tmp_path / "x").write_bytes(b"123456789")
    assert file_checksum(tmp_path / "x") == "crc32:cbf43926"


@pytest.mark.parametrize("block", [1, 5, 8, 207, 1 << 20])
def test_the_checksum_is_that_of_the_file_with_zeros_for_it(sealed, monkeypatch, block):
    path, content = sealed
    expected = f"crc32:{zlib.crc32(content):08x}".encode()
    assert path.read_bytes() == content.replace(UNSET.encode(), expected)
    monkeypatch.setattr(checksums, "_BLOCK", block)
    check_seal(path, "")
    seal(path)
    assert path.read_bytes() == content.replace(UNSET.encode(), expected)


def test_a_file_without_one_is_told_apart(tmp_path):
    path = tmp_path / "x"
    for content in (b"", b"crc32:", b"short", b"crc32:0000000G", b"crc32:ABCDEF00", bytes(5000)):
        path.write_bytes(content)
        with pytest.raises(InputError, match="x: has no checksum.*Delete it."):
            check_seal(path, "Delete it.")
    with pytest.raises(InputError, match="none: cannot be read"):
        check_seal(tmp_path / "none", "")


def test_a_large_file_is_read_once_in_little_memory(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(bytes(20_000_000) + UNSET.encode())
    tracemalloc.start()
    seal(path)
    check_seal(path, "")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000
    with monkeypatch.context() as patch:
        patch.setattr(checksums, "_crc", lambda *_: pytest.fail("read again"))
        check_seal(path, "")
    with path.open("ab") as file:  # another size, another file
        file.write(b"x")
    with pytest.raises(InputError, match="has no checksum"):
        check_seal(path, "")


def written_in_a_map(path):
    with new_array(path, np.dtype(np.int16), (3, 5)) as out:
        out[:] = np.arange(15).reshape(3, 5)


FORMATS = {
    "a.safetensors": (
        lambda path: write_arrays(path, "k 1", {"n": 3}, {"b": np.arange(4.0)}),
        lambda path: read_arrays(path, "k 1"),
    ),
    "a.npy": (
        lambda path: write_array(path, np.arange(6.0)),
        lambda path: open_array(path, 1),
    ),
    "mapped.npy": (written_in_a_map, lambda path: open_array(path, 2)),
    "a.json": (
        lambda path: write_json(path, {"b": ["x", 1.5], "a": {}}),
        read_json,
    ),
    "empty.json": (lambda path: write_json(path, {}), read_json),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_flipped_bit_anywhere_is_refused(tmp_path, name):
    write, read = FORMATS[name]
    path = tmp_path / name
    write(path)
    read(path)
    for damaged in each_flip(path):
        with pytest.raises(InputError) as caught:
            read(damaged)
        assert str(caught.value).startswith(f"{damaged}: ")
        assert "Delete it and run again" in str(caught.value)


def test_json_is_plain_and_what_is_none_is_refused(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"b": 1})
    assert list(json.loads(path.read_text())) == ["checksum", "b"]
    assert read_json(path) == {"b": 1}
    for text in ("crc32:", "[1]"):  # neither JSON nor an object, under a checksum of their own
        path.write_text(json.dumps([UNSET]) if text == "[1]" else UNSET)
        seal(path)
        with pytest.raises(InputError, match="not a JSON file of kreinflow's"):
            read_json(path)
