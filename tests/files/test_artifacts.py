"""Artifacts: they come back as they went, and what is truncated or foreign is named and refused."""

import contextlib
import errno
import gzip
import json
import os
import re
import stat
import struct

import numpy as np
import pandas as pd
import pytest

from flipped_bits import count_refused, each_flip
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.files import artifacts
from kreinflow.files.checksums import UNSET


@pytest.fixture
def arrays():
    return {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], dtype=np.int16)}


@pytest.fixture
def path(tmp_path, arrays):
    artifacts.write_arrays(tmp_path / "x.safetensors", "thing 1", {"n": 3}, arrays)
    return tmp_path / "x.safetensors"


def test_arrays_come_back(path, arrays):
    header, back = artifacts.read_arrays(path, "thing 1")
    assert header == {"n": 3}
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
    first = path.read_bytes()
    artifacts.write_arrays(path, "thing 1", {"n": 3}, dict(reversed(arrays.items())))
    assert path.read_bytes() == first


def test_the_order_of_a_header_and_of_arrays_is_not_in_the_file(tmp_path, arrays):
    header = {"b": {"y": 1, "x": [2.5]}, "a": None}
    turned = {"a": None, "b": {"x": [2.5], "y": 1}}
    artifacts.write_arrays(tmp_path / "one", "kind 1", header, arrays)
    artifacts.write_arrays(tmp_path / "two", "kind 1", turned, dict(reversed(arrays.items())))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        artifacts.write_arrays(tmp_path / "three", "kind 1", {"a": np.nan}, arrays)


def test_arrays_have_the_bytes_that_the_library_of_safetensors_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(artifacts, "_PART", 50)  # several blocks an array
    from safetensors.numpy import save

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
    artifacts.write_arrays(path, "thing 1", header, arrays)
    content = {"checksum": UNSET, "header": header, "kind": "thing 1"}
    text = json.dumps(content, sort_keys=True)
    expected = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"kreinflow": text},
    )
    assert re.sub(rb"crc32:\w{8}", UNSET.encode(), path.read_bytes()) == expected
    _, read = artifacts.read_arrays(path, "thing 1")
    _, maps = artifacts.read_arrays(path, "thing 1", mapped=("F", 'é"0', 'é"5'))
    for name, array in maps.items():
        assert isinstance(array, np.memmap) == (name in ("F", 'é"0', 'é"5'))
        assert array.dtype == read[name].dtype
        np.testing.assert_array_equal(array, read[name])


def test_every_truncation_of_arrays_is_refused(path):
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match="x.safetensors: (damaged or )?truncated"):
            artifacts.read_arrays(path, "thing 1")


def written_in_a_map(path):
    with artifacts.new_array(path, np.dtype(np.int16), (3, 5)) as out:
        out[:] = np.arange(15).reshape(3, 5)


FORMATS = {
    "a.safetensors": (
        lambda path: artifacts.write_arrays(path, "k 1", {"n": 3}, {"b": np.arange(4.0)}),
        lambda path: artifacts.read_arrays(path, "k 1"),
    ),
    "a.npy": (
        lambda path: artifacts.write_array(path, np.arange(6.0)),
        lambda path: artifacts.open_array(path, 1),
    ),
    "mapped.npy": (written_in_a_map, lambda path: artifacts.open_array(path, 2)),
    "a.json": (
        lambda path: artifacts.write_json(path, {"b": ["x", 1.5], "a": {}}),
        artifacts.read_json,
    ),
    "empty.json": (lambda path: artifacts.write_json(path, {}), artifacts.read_json),
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


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_lost_its_checksum_is_refused(tmp_path, name):
    write, read = FORMATS[name]
    path = tmp_path / name
    write(path)
    path.write_bytes(path.read_bytes().replace(b"crc32:", b"other:"))
    with pytest.raises(InputError, match=f"{name}: has no checksum.* Delete it and run again"):
        read(path)


def test_older_files_have_no_checksum_and_are_read_if_their_kind_says_so(tmp_path, arrays):
    from safetensors.numpy import save_file

    path, text = tmp_path / "x.safetensors", '{"header": {"n": 3}, "kind": "thing 1"}'
    save_file(arrays, path, metadata={"kreinflow": text})
    header, back = artifacts.read_arrays(path, "thing 2", unsealed="thing 1")
    assert header == {"n": 3}
    np.testing.assert_array_equal(back["a"], arrays["a"])
    with pytest.raises(InputError, match="has no checksum"):
        artifacts.read_arrays(path, "thing 1")
    with pytest.raises(InputError, match="holds a 'thing 1' where a 'thing 2' is expected"):
        artifacts.read_arrays(path, "thing 2", unsealed="thing 0")
    artifacts.write_arrays(path, "thing 1", {"n": 3}, arrays)
    with pytest.raises(InputError, match="holds a 'thing 1' where a 'thing 2' is expected"):
        artifacts.read_arrays(path, "thing 2", unsealed="thing 1")


def test_other_readers_see_the_files_as_before(path, tmp_path, arrays):
    import json

    from safetensors.numpy import load_file

    np.testing.assert_array_equal(load_file(path)["a"], arrays["a"])
    artifacts.write_array(tmp_path / "a.npy", arrays["a"])
    written_in_a_map(tmp_path / "b.npy")
    for name, array in (("a.npy", arrays["a"]), ("b.npy", np.arange(15).reshape(3, 5))):
        np.testing.assert_array_equal(np.load(tmp_path / name), array)
        np.testing.assert_array_equal(np.load(tmp_path / name, mmap_mode="r"), array)
    artifacts.write_json(tmp_path / "a.json", {"b": 1})
    content = json.loads((tmp_path / "a.json").read_text())
    assert list(content) == ["checksum", "b"]
    assert artifacts.read_json(tmp_path / "a.json") == {"b": 1}


def test_another_kind_is_refused(path):
    with pytest.raises(InputError, match="holds a 'thing 1' where a 'model 2' is expected"):
        artifacts.read_arrays(path, "model 2")


def test_a_foreign_safetensors_file_is_refused(tmp_path, path, arrays):
    from safetensors.numpy import save_file

    deep = "[" * 100_000
    for metadata in (None, {"kreinflow": "[]"}, {"kreinflow": deep}):
        save_file(arrays, path, metadata=metadata)
        with pytest.raises(InputError, match="not a file of kreinflow's"):
            artifacts.read_arrays(path, "thing 1")
    (tmp_path / "x.json").write_text(deep)
    with pytest.raises(InputError, match="not a JSON file"):
        artifacts.read_json(tmp_path / "x.json")


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
def test_tables_come_back_with_all_digits(tmp_path, name):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"id": ["NA", "1e5", "nan"], "x": rng.normal(size=3) * 10.0 ** rng.integers(-200, 200, 3)}
    )
    path = tmp_path / name
    artifacts.write_table(path, table)
    first = path.read_bytes()
    back = artifacts.read_table(path, ["id", "x"], text=["id"])
    assert back["id"].tolist() == ["NA", "1e5", "nan"]
    assert (back["x"].to_numpy() == table["x"].to_numpy()).all()
    artifacts.write_table(path, back)
    assert path.read_bytes() == first


@pytest.mark.parametrize("separator", ["\t", ","])
@pytest.mark.parametrize("header", [True, False])
def test_the_text_of_a_table_is_that_of_pandas(header, separator):
    rng = np.random.default_rng(2)
    n = 200
    words = np.array(
        ["", "a", "b c", 'say "x"', '"', "a\tb", "a,b", "a\nb", "NA", "å"], dtype=object
    )
    numbers = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n)
    numbers[:6] = np.nan, np.inf, -np.inf, -0.0, 1e22, 5e-324
    missing = rng.random(n) < 0.2
    table = pd.DataFrame(
        {
            "text": rng.choice(words, n),
            "missing": np.where(missing, None, rng.choice(words, n)),
            "numbers": numbers,
            "single": rng.normal(size=n).astype(np.float32),
            "whole": rng.integers(-(2**62), 2**62, n),
            "small": rng.integers(0, 9, n, dtype=np.uint8),
            "yes": missing,
            "mixed": np.array([1, 2.5, None, True, "x"] * (n // 5), dtype=object),
            "nullable": pd.array(np.where(missing, None, 3), dtype="Int64"),
            "a name,\tquoted": 1,
        }
    )
    parts = [table, table.iloc[:1], table.iloc[:0], *(table[[name]] for name in table)]
    for part in parts:
        expected = part.to_csv(
            sep=separator,
            index=False,
            header=header,
            lineterminator="\n",
            float_format=lambda value: repr(float(value)),
        )
        assert artifacts.table_text(part, header, separator) == expected


def test_truncated_tables_and_missing_columns_are_refused(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("id\tx\na\t1\n")
    with pytest.raises(InputError, match="column 'label' is missing"):
        artifacts.read_table(path, ["id", "label"])
    path.write_text("id\tx\na\t1\nb\t2")
    with pytest.raises(InputError, match="truncated"):
        artifacts.read_table(path, ["id"])
    packed = gzip.compress(b"id\tx\na\t1\n" * 50)
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(packed[:-9])
    with pytest.raises(InputError, match="truncated or not gzip"):
        artifacts.read_table(path, ["id"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\t1\t0.5", None),
        ("a\t-1\t1e-300", None),
        ("a\t1", "not a table"),
        ("a\t1\t0.5\t", "not a table"),
        ("a\t\t0.5", "not a table"),
        ("a\t1.5\t0.5", "not a table"),
        ("a\tx\t0.5", "not a table"),
        ("a\t10000000000000000000\t0.5", "not a table"),
        ("a\tinf\t0.5", "not a table"),
        ("a\t\u0663\t0.5", "not a table"),
        ("a\t1\t", "not a table"),
        ("a\t1\t0.5.1", "not a table"),
        ("a\t1\tnan", "not a table"),
        ("a\t1\t1e999", "column 'x' holds a number that is not finite"),
        ("a\t1\t-inf", "column 'x' holds a number that is not finite"),
    ],
)
def test_columns_of_numbers_hold_numbers(tmp_path, line, message):
    path = tmp_path / "t.tsv"
    path.write_text(f"id\trow\tx\nb\t2\t1.0\n{line}\n", encoding="utf-8")

    def read():
        return artifacts.read_table(path, ["id"], ["id"], ["row"], ["x"])

    if message is None:
        assert read().dtypes[["row", "x"]].tolist() == [np.int64, np.float64]
        return
    with pytest.raises(InputError, match=f"t.tsv: {message}.*Delete it and run again"):
        read()


def test_tables_whose_lines_are_longer_than_the_header_are_refused(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("row\tx\n1\t2\t3\n4\t5\t6\n")
    with pytest.raises(InputError, match="t.tsv: not a table.*Length of header"):
        artifacts.read_table(path, ["row"])
    path.write_text("row\n4\n")
    for missing in ({"whole": ["x"]}, {"finite": ["x"]}):
        with pytest.raises(InputError, match="t.tsv: column 'x' is missing"):
            artifacts.read_table(path, ["row"], **missing)


@pytest.mark.parametrize("cell", ["", "True", "False", "3", "1e-5", "inf", "-0.25"])
def test_measures_are_numbers_or_yes_and_no_or_nothing(tmp_path, cell):
    path = tmp_path / "t.tsv"
    path.write_text(f"recipe\tx\na\t1\nTrue\t{cell}\n")
    table = artifacts.read_measures(path, ["x"], ["recipe"])
    assert table["recipe"].tolist() == ["a", "True"]
    for wrong in ("Tsue", "0,5", "1\x1b[31m", "\u0663x", "--1"):
        path.write_text(f"recipe\tx\na\t{cell}\nb\t{wrong}\nc\t\n")
        with pytest.raises(InputError, match="t.tsv: '.*' in column 'x' is no number. Delete it"):
            artifacts.read_measures(path, ["x"], ["recipe"])


def test_every_flip_of_a_bit_in_a_packed_table_gives_the_table_or_a_refusal(tmp_path):
    path = tmp_path / "t.tsv.gz"
    table = pd.DataFrame({"id": ["a", "b"], "x": [1, 2]})
    artifacts.write_table(path, table)
    bits = 8 * len(path.read_bytes())

    def read(path):
        assert artifacts.read_table(path, ["id", "x"], ["id"])["x"].tolist() == [1, 2]

    # Of the header's ten bytes, those that say nothing of the content may change.
    assert bits - 80 <= count_refused(path, read, flips=bits) < bits


def test_text_is_utf8(tmp_path):
    artifacts.write_text(tmp_path / "a.svg", "<svg>\u00e5</svg>")
    assert artifacts.read_text(tmp_path / "a.svg") == "<svg>\u00e5</svg>"
    (tmp_path / "a.svg").write_bytes(b"<svg>\xe5</svg>")
    with pytest.raises(InputError, match="a.svg: not UTF-8.*Delete it and run again"):
        artifacts.read_text(tmp_path / "a.svg")


def test_plain_columns_are_those_of_the_table(tmp_path):
    path = tmp_path / "t.tsv"
    table = pd.DataFrame({"digest": ["00", "1e5"], "length": [2, 3], "sequence": ["NA", "MKV"]})
    artifacts.write_table(path, table)
    columns = artifacts.read_plain_columns(path, ["sequence", "digest"])
    assert columns == [[b"NA", b"MKV"], [b"00", b"1e5"]]
    artifacts.write_table(path, table[:0])
    assert artifacts.read_plain_columns(path, ["digest"]) == [[]]
    for text, message in (
        ("digest\tsequence\n00\tMKV", "truncated"),
        ("digest\tlength\n00\t3\n", "column 'sequence' is missing"),
        ("digest\tsequence\n00\tMKV\n01\n", "different numbers of columns"),
        ("digest\tsequence\n00\tMKV\t1\n01\n02\tMKL\n", "different numbers of columns"),
        ("digest\tsequence", "truncated"),
        ("", "column 'digest' is missing"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            artifacts.read_plain_columns(path, ["digest", "sequence"])


def test_npy_is_checked(tmp_path):
    path = tmp_path / "a.npy"
    artifacts.write_array(path, np.eye(3))
    np.testing.assert_array_equal(artifacts.open_array(path, 2), np.eye(3))
    with pytest.raises(InputError, match="not an array of 1 dimensions"):
        artifacts.open_array(path, 1)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match="truncated"):
        artifacts.open_array(path, 2)
    np.save(path, np.eye(3))  # not of ours
    with pytest.raises(InputError, match="has no checksum"):
        artifacts.open_array(path, 2)
    np.testing.assert_array_equal(artifacts.map_array(path), np.eye(3))
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a .npy array"):
        artifacts.open_array(path, 1)
    path.write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(InputError, match="not a .npy array"):
        artifacts.open_array(path, 1)


def test_nothing_half_written_is_left(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def fail():
        with artifacts.replacing(path) as part:
            part.write_text("half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_named(tmp_path):
    def fill():
        with artifacts.replacing(tmp_path / "x.txt"), open("/dev/full", "w") as full:
            full.write("x")
            full.flush()

    with pytest.raises(KreinflowError, match="No space left on device.*Free some space") as caught:
        fill()
    assert caught.value.exit_code == 1
    assert os.listdir(tmp_path) == []


def test_what_a_kill_left_behind_is_cleared_away(tmp_path):
    for name in (".x.json.abcdefgh.part", ".x.json.12345678.part", ".x.json.z.abcdefgh.part"):
        (tmp_path / name).write_text("half")
    artifacts.write_json(tmp_path / "x.json", {"a": 1})
    assert sorted(os.listdir(tmp_path)) == [".x.json.z.abcdefgh.part", "x.json"]


def test_two_writers_at_once(tmp_path):
    path = tmp_path / "x.txt"
    with artifacts.replacing(path) as first:
        first.write_text("first")
        with artifacts.replacing(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
        assert sorted(os.listdir(tmp_path)) == [first.name, "x.txt"]
        (tmp_path / ".x.txt.abcdefgh.part").write_text("half")  # nobody holds this one
        artifacts.write_text(path, "third")
        assert sorted(os.listdir(tmp_path)) == [first.name, "x.txt"]
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_disk_that_has_no_locks_is_written_as_ever(tmp_path, monkeypatch):
    def none(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(artifacts.fcntl, "flock", none)
    (tmp_path / ".x.txt.abcdefgh.part").write_text("half")
    artifacts.write_text(tmp_path / "x.txt", "text")
    assert os.listdir(tmp_path) == ["x.txt"]


@contextlib.contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_rights_are_those_of_any_new_file_or_of_the_file_before(tmp_path):
    path = tmp_path / "x"
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        with umask(mask):
            artifacts.write_text(path, "new")
        assert mode_of(path) == mode
        path.unlink()
    for mode in (0o600, 0o440):
        path.write_text("old")
        path.chmod(mode)
        artifacts.write_text(path, "new")
        assert (path.read_text(), mode_of(path)) == ("new", mode)
        path.unlink()


def test_a_folder_hands_down_its_group_and_its_access_list(tmp_path):
    if os.geteuid() == 0:
        os.chown(tmp_path, 0, 12345)
    tmp_path.chmod(0o2775)
    with umask(0o022):
        artifacts.write_text(tmp_path / "x", "new")
    assert (tmp_path / "x").stat().st_gid == tmp_path.stat().st_gid
    # In a binary access list: version 2, then tag, permissions and id of each entry. A new file is
    # for its owner and group to read and write, whatever the umask is.
    entries = ((1, 6), (4, 6), (16, 6), (32, 0))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e, 2**32 - 1) for e in entries)
    try:
        os.setxattr(tmp_path, "system.posix_acl_default", acl)
    except (AttributeError, OSError):
        pytest.skip("no access lists here")
    with umask(0o077):
        artifacts.write_text(tmp_path / "y", "new")
    assert mode_of(tmp_path / "y") == 0o660


def test_a_folder_may_be_a_link_and_a_linked_file_is_not_written_through(tmp_path):
    """As Snakemake does, which removes what a job is to write: no other run's results change."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to("disk")
    (tmp_path / "other").write_text("of another run")
    (tmp_path / "disk" / "x").symlink_to("../other")
    artifacts.write_text(tmp_path / "results" / "x", "new")
    assert (tmp_path / "results").is_symlink()
    assert (tmp_path / "disk" / "x").read_text() == "new"
    assert (tmp_path / "other").read_text() == "of another run"


def test_names_as_long_as_a_file_system_allows(tmp_path):
    for name in ("x" * 255, "\u00e4" * 127):
        artifacts.write_text(tmp_path / name, "one")
        artifacts.write_text(tmp_path / name, "two")
        assert (tmp_path / name).read_text() == "two"
    assert len(os.listdir(tmp_path)) == 2
