"""Arrays: single ones as ``.npy``, named ones with a header as safetensors; checked, without code.

Each file carries its checksum, see :mod:`kreinflow.files.checksums`.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import safetensors
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.files.atomic import AGAIN, replacing
from kreinflow.files.checksums import UNSET, check_seal, seal

_BLOCK = 4_000_000  # bytes that are written at once
_WORTH = 4096  # bytes of an array that is looked for among the others


def write_array(path: str | os.PathLike[str], array: NDArray[Any]) -> None:
    """Write one array as ``.npy``, its checksum behind the numbers, atomically."""
    with new_array(path, array.dtype, array.shape) as out:
        out[...] = array


@contextmanager
def new_array(
    path: str | os.PathLike[str], dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Iterator[NDArray[Any]]:
    """Yield a memory map that becomes a ``.npy`` file when the block ends well.

    A KreinflowError if the disk has no room for it.
    """
    with replacing(path) as part:
        out = np.lib.format.open_memmap(part, mode="w+", dtype=dtype, shape=shape)
        # The file has holes yet: writing to a map of a full disk would end in SIGBUS.
        with part.open("rb+") as file:
            os.posix_fallocate(file.fileno(), 0, part.stat().st_size)
        yield out
        out.flush()
        with part.open("ab") as file:
            file.write(UNSET.encode())
        seal(part)


def open_array(path: str | os.PathLike[str], ndim: int, advice: str = AGAIN) -> NDArray[Any]:
    """Open a ``.npy`` file of :func:`write_array` as a read-only memory map, checked whole.

    An InputError, which ends with ``advice``, if it is missing, damaged, holds objects, or has
    another number of dimensions.
    """
    check_seal(path, advice)
    try:
        array = map_array(path)
    except ValueError as error:
        raise InputError(f"{path}: not a .npy array ({error}). {advice}") from error
    if array.ndim != ndim:
        raise InputError(f"{path}: not an array of {ndim} dimensions. {advice}")
    return array


def map_array(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return any ``.npy`` file as a read-only memory map; a ValueError if it is none."""
    try:
        with np.errstate(over="ignore"):  # of the sizes of a damaged header
            array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # the reader lets any kind of error of a damaged file through
        raise ValueError(error) from error
    return array


def write_arrays(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write named arrays and a JSON header as one safetensors file with its checksum, atomically.

    ``kind`` says what the file is, such as ``"kreinflow model 2"``; it is checked on reading. The
    arrays, of numbers or booleans, may be tiled matrices: they are read some rows at a time. Of
    equal arrays one is written.
    """
    same = _equal_arrays(arrays)
    arrays = {name: array for name, array in arrays.items() if name not in same}
    # The checksum comes first, where it is looked for.
    content = {
        "checksum": UNSET,
        "header": header,
        "kind": kind,
        **({"same": same} if same else {}),
    }
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    given = {name: array if array.ndim else array[None] for name, array in arrays.items()}
    names = {name: np.dtype(array.dtype).str[1:] for name, array in given.items()}
    order = sorted(given, key=lambda name: (_TYPES.index(names[name]), name))
    # One key of metadata only: its order is that of the text.
    entries: dict[str, Any] = {"__metadata__": {"kreinflow": text}}
    end = 0
    for name in order:
        start, end = end, end + given[name].nbytes
        entries[name] = {
            "dtype": _TENSOR_TYPE[names[name]],
            "shape": list(given[name].shape),
            "data_offsets": [start, end],
        }
    head = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % 8)
    with replacing(path) as part:
        with part.open("wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for name in order:
                for block in _blocks(given[name]):
                    file.write(block)
        seal(part)


_TYPES = ("u8", "i8", "f8", "f4", "u4", "i4", "f2", "u2", "i2", "i1", "u1", "b1")
"""The types of arrays, as numpy calls them, in the order in which safetensors writes them."""

_TENSOR_TYPE = {
    name: "BOOL" if name == "b1" else f"{name[0].upper()}{8 * int(name[1])}" for name in _TYPES
}


def _equal_arrays(arrays: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of arrays that are equal to one before them, with the name of that one."""
    first: dict[Any, dict[str, NDArray[Any]]] = {}
    same: dict[str, str] = {}
    for name in sorted(arrays):
        array = arrays[name]
        if isinstance(array, np.ndarray) and array.flags.c_contiguous and array.nbytes >= _WORTH:
            bits = array.view(f"u{array.itemsize}")
            alike = first.setdefault((array.dtype, array.shape), {})
            equal = (other for other, own in alike.items() if np.array_equal(own, bits))
            if (other := next(equal, None)) is None:
                alike[name] = bits
            else:
                same[name] = other
    return same


def _blocks(array: Any) -> Iterator[memoryview]:
    """Yield the bytes of an array, some rows at a time: it need not fit in memory."""
    if not array.nbytes:
        return
    step = max(1, len(array) * _BLOCK // array.nbytes)
    for start in range(0, len(array), step):
        rows = array[start : start + step]
        rows = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("<"))
        yield rows.reshape(-1).data.cast("B")


def _map_tensor(path: str | os.PathLike[str], name: str) -> NDArray[Any]:
    """Return one array of a safetensors file, which was checked, as a read-only memory map."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(size))[name]
    (dtype,) = (own for own, other in _TENSOR_TYPE.items() if other == entry["dtype"])
    start = 8 + size + entry["data_offsets"][0]
    return np.memmap(path, f"<{dtype}", "r", start, tuple(entry["shape"]))


def read_arrays(
    path: str | os.PathLike[str],
    kind: str,
    advice: str = AGAIN,
    mapped: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the header and the arrays that :func:`write_arrays` wrote.

    Those that are ``mapped`` become read-only memory maps. Equal arrays are one. An InputError,
    which ends with ``advice``, if the file is missing, damaged, of another kind, or not
    safetensors.
    """
    if not os.path.exists(path):
        raise InputError(f"{path}: no such file.")
    check_seal(path, advice)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            content = json.loads(file.metadata()["kreinflow"])
            header, found = content["header"], content["kind"]
            if found != kind:
                raise InputError(
                    f"{path}: holds a {found!r} where a {kind!r} is expected. "
                    "Give the right file, or use the version of kreinflow that wrote it."
                )
            same = content.get("same", {})
            mapped = {same.get(name, name) for name in mapped}
            arrays = {
                name: _map_tensor(path, name) if name in mapped else file.get_tensor(name)
                for name in sorted(file.keys())
            }
            arrays |= {name: arrays[other] for name, other in same.items()}
    except (safetensors.SafetensorError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a file of kreinflow's ({error!r}). {advice}") from error
    return header, arrays
