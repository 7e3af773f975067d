"""Arrays come back as they went; what is truncated or foreign is named and refused."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save, save_file

from kreinflow.base.errors import InputError
from kreinflow.files import arrays as files
from kreinflow.files.arrays import map_array, open_array, read_arrays, write_array, write_arrays
from kreinflow.files.checksums import UNSET, seal


@pytest.fixture
def arrays():
    return {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], dtype=np.int16)}


@pytest.fixture
def path(tmp_path, arrays):
    write_arrays(tmp_path / "x.safetensors", "thing 1", {"n": 3}, arrays)
    return tmp_path / "x.safetensors"


def test_the_order_of_a_header_and_of_arrays_is_not_in_the_file(tmp_path, arrays):
    header = {"b": {"y": 1, "x": [2.5]}, "a": None}
    turned = {"a": None, "b": {"x": [2.5], "y": 1}}
    write_arrays(tmp_path / "one", "kind 1", header, arrays)
    write_arrays(tmp_path / "two", "kind 1", turned, dict(reversed(arrays.items())))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_arrays(tmp_path / "three", "kind 1", {"a": np.nan}, arrays)


def test_arrays_have_the_bytes_that_the_library_of_safetensors_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_BLOCK", 50)  # several blocks an array
    rng, types = (
        np.random.default_rng(0),
        ["bool", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8"],
    )
    arrays = {f'é"{i}': (50 * rng.normal(size=(5, 3))).astype(t) for i, t in enumerate(types * 2)}
    arrays |= {
        "none": np.empty((0, 4)),
        "one": np.array(3.0),
        "F": np.asfortranarray(arrays['é"2']),
    }
    header = {"text": 'ü\n\t"\\ \x01\x7f', "n": 1.5}
    path = tmp_path / "x.safetensors"
    write_arrays(path, "thing 1", header, arrays)
    content = {"checksum": UNSET, "header": header, "kind": "thing 1"}
    text = json.dumps(content, sort_keys=True)
    expected = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"kreinflow": text},
    )
    assert re.sub(rb"crc32:\w{8}", UNSET.encode(), path.read_bytes()) == expected
    np.testing.assert_array_equal(load_file(path)["F"], arrays["F"])
    found, read = read_arrays(path, "thing 1")
    assert found == header
    _, maps = read_arrays(path, "thing 1", mapped=("F", 'é"0', 'é"5'))
    for name, array in maps.items():
        assert isinstance(array, np.memmap) == (name in ("F", 'é"0', 'é"5'))
        assert array.dtype == read[name].dtype
        np.testing.assert_array_equal(array, read[name])


def test_equal_arrays_are_written_once_and_read_as_one(tmp_path, monkeypatch):
    """Equal in every bit, type and shape; NaN too. Fortran's order is written as it is."""
    monkeypatch.setattr(files, "_WORTH", 64)
    a = np.random.default_rng(0).normal(size=(40, 5))
    a[3, 2] = np.nan
    zero = np.zeros((40, 5))
    given = {
        **{"b": a, "a": a.copy(), "turned": np.asfortranarray(a), "flat": a.ravel()},
        **{"zero": zero, "minus": -zero, "ints": zero.astype(np.int64), "c": a.copy()},
        **{"small": np.arange(3.0), "same": np.arange(3.0)},
    }
    path = tmp_path / "x.safetensors"
    write_arrays(path, "thing 1", {}, given)
    names = {name for name in load_file(path)}
    assert set(given) - names == {"b", "c"}
    _, read = read_arrays(path, "thing 1", mapped=["c"])
    assert read["a"] is read["b"] is read["c"]
    assert isinstance(read["c"], np.memmap)
    assert read.keys() == given.keys()
    for name, array in given.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert read[name].tobytes() == array.tobytes()


def test_another_kind_and_a_file_without_a_checksum_are_refused(path, arrays):
    with pytest.raises(InputError, match="holds a 'thing 1' where a 'thing 2' is expected"):
        read_arrays(path, "thing 2")
    text = '{"header": {"n": 3}, "kind": "thing 1"}'
    save_file(arrays, path, metadata={"kreinflow": text})
    with pytest.raises(InputError, match="has no checksum"):
        read_arrays(path, "thing 1")


def test_a_foreign_safetensors_file_is_refused(path, arrays):
    for metadata in ({"other": UNSET}, {"kreinflow": json.dumps([UNSET])}):
        save_file(arrays, path, metadata=metadata)
        seal(path)
        with pytest.raises(InputError, match="not a file of kreinflow's"):
            read_arrays(path, "thing 1")


def test_npy_is_checked(tmp_path):
    path = tmp_path / "a.npy"
    write_array(path, np.eye(3))
    np.testing.assert_array_equal(open_array(path, 2), np.eye(3))
    np.testing.assert_array_equal(np.load(path, mmap_mode="r"), np.eye(3))
    with pytest.raises(InputError, match="not an array of 1 dimensions"):
        open_array(path, 1)
    np.save(path, np.eye(3))  # not of ours
    with pytest.raises(InputError, match="has no checksum"):
        open_array(path, 2)
    np.testing.assert_array_equal(map_array(path), np.eye(3))
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="objects"):
        map_array(path)
    path.write_text(UNSET)
    seal(path)
    with pytest.raises(InputError, match="not a .npy array"):
        open_array(path, 1)
