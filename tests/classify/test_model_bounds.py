"""A model file takes the memory that its header asks for, not that of whatever is in it."""

import json

import pytest

from answering.cascades import with_cascade
from kreinflow.classify.model_file import Model
from kreinflow.files.checksums import seal
from memory_peaks import peak_of
from small_inputs import lifted_model

MOST = 60
"""Megabytes; each array would take 400."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    with_cascade(*lifted_model(folder)).save(folder / "model.safetensors")
    return folder / "model.safetensors"


def with_hole(path, target, name, dtype, shape, size):
    """Write a model with one array more, or another one in its place, that is a hole."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, values = json.loads(data[8 : 8 + length]), data[8 + length :]
    begin = len(values)
    if name in header:  # what was there stays, under a name that comes in its place
        begin = header[name]["data_offsets"][0]
        header = {
            key: part
            for key, part in header.items()
            if key == "__metadata__" or part["data_offsets"][1] <= begin
        }
        values = values[:begin]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with target.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + values)
        file.truncate(8 + len(text) + begin + size)
    seal(target)
    return target


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "size"),
    [
        ("extra", "F64", [50_000_000], 400_000_000),
        ("landmark_residues", "U8", [400_000_000], 400_000_000),
        ("weights", "F64", [50_000_000, 1], 400_000_000),
        ("lift_scores", "F32", [6, 16_000_000], 384_000_000),
        ("records_index_residues", "U8", [400_000_000], 400_000_000),
        ("cascade_pair_landmark_weights", "F64", [2, 25_000_000], 400_000_000),
        ("record_digests", "U8", [30, 13_000_000], 390_000_000),
    ],
)
def test_an_array_that_nobody_asked_for_is_refused_before_it_is_read(
    saved, tmp_path, name, dtype, shape, size
):
    Model.load(saved)
    path = with_hole(saved, tmp_path / "x.safetensors", name, dtype, shape, size)
    assert path.stat().st_size > size > 100_000 > path.stat().st_blocks * 512, "no holes here"
    megabytes, said = peak_of(
        "from kreinflow.classify.model_file import Model", f"Model.load({str(path)!r})"
    )
    assert said.startswith(f"{path}: not a file of kreinflow's")
    assert f"the array {name!r} of shape {tuple(shape)} does not fit its header" in said
    assert megabytes < MOST
