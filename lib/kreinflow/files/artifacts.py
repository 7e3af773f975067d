"""Reading and writing of artifacts: atomic, checked, and safe to open.

Three formats are all there is: tables (TSV), arrays with a header (safetensors) and single large
arrays (``.npy``, read as memory maps). None of them can carry code. Arrays and JSON carry their
checksum, see :mod:`kreinflow.files.checksums`.
"""

import contextlib
import fcntl
import gzip
import hashlib
import io
import json
import os
import secrets
import stat
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors
from numpy.typing import NDArray

from kreinflow.base.errors import InputError, named, unwritable
from kreinflow.files.checksums import UNSET, check_seal, no_seal, seal

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, renamed onto it when the block ends well.

    Raises
    ------
    KreinflowError
        If the disk is full or the folder cannot be written; nothing is left behind.
    """
    target, part, lock = Path(path), None, None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        prefix, suffix = f".{_short(target.name)}.", ".part"
        _clear_away(target.parent, prefix, suffix)
        part, lock = _new_part(target.parent, prefix, suffix)
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        _keep_mode(target, part)
        os.replace(part, target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _new_part(folder: Path, prefix: str, suffix: str) -> tuple[Path, int]:
    """Make a file, and lock it for as long as what is returned beside its path is open."""
    while True:
        part = folder / f"{prefix}{secrets.token_hex(4)}{suffix}"
        # As any new file: by the umask, and what the folder hands down (its group, an ACL).
        made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        _lock(made)
        if part.exists():
            return part, made
        os.close(made)  # another writer was faster, and has cleared it away


def _lock(file: int, how: int = 0) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | how)
    except BlockingIOError:
        raise
    except OSError:  # some disks have no locks
        pass


def _short(name: str) -> str:
    """Return a name that has room for more: a file system may allow no more than 143 bytes."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= 120 else hashlib.sha256(encoded).hexdigest()


def _keep_mode(target: Path, part: Path) -> None:
    """Let a file that takes the place of another have its permissions."""
    with contextlib.suppress(FileNotFoundError):
        mode = target.lstat().st_mode
        if stat.S_ISREG(mode) and mode != part.stat().st_mode:
            part.chmod(stat.S_IMODE(mode))


def _clear_away(folder: Path, prefix: str, suffix: str) -> None:
    """Remove what a kill left behind: what another writer works at is locked."""
    length = len(prefix) + 8 + len(suffix)  # eight random characters
    with os.scandir(folder) as entries:
        left = [
            entry.path
            for entry in entries
            if entry.name.startswith(prefix)
            and entry.name.endswith(suffix)
            and len(entry.name) == length
        ]
    for path in left:
        with (
            contextlib.suppress(FileNotFoundError, PermissionError, BlockingIOError),
            open(path, "rb") as file,
        ):
            _lock(file.fileno(), fcntl.LOCK_NB)
            os.unlink(path)  # before the lock is given back: its writer may just begin


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, atomically."""
    with replacing(path) as part:
        part.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    write_bytes(path, text.encode())


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object with sorted keys, behind its checksum, atomically."""
    text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
    with replacing(path) as part:
        part.write_text(f'{{\n  "checksum": "{UNSET}"{"," if content else ""}{text[1:]}\n')
        seal(part)


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object written by :func:`write_json`.

    Raises
    ------
    InputError
        If the file is missing or damaged.
    """
    sealed = check_seal(path, _AGAIN)
    try:
        content = json.loads(_read_bytes(path))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not a JSON file ({error}). {_AGAIN}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds no JSON object. {_AGAIN}")
    if not sealed:
        raise no_seal(path, _AGAIN)
    del content["checksum"]
    return content


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file of UTF-8."""
    try:
        return _read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}). {_AGAIN}") from error


_AGAIN = "Delete it and run again, or give the right file."
_LONGEST_HEADER = 10_000  # of an array: what numpy reads of one that nobody vouches for
_PART = 4_000_000  # bytes of a table that are split at once, in memory that is used again


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error


def write_table(path: str | os.PathLike[str], table: "pd.DataFrame") -> None:
    """Write a TSV (gzip if the name ends in ``.gz``), floats with all their digits, atomically."""
    data = table_text(table).encode()
    if str(path).endswith(".gz"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    write_bytes(path, data)


def table_text(table: "pd.DataFrame", header: bool = True, separator: str = "\t") -> str:
    """Return a table as the text of a TSV, floats with all their digits.

    The text is that of ``DataFrame.to_csv``, which takes longer.
    """
    columns: list[list[str]] = []
    for name, values in table.items():
        present = values.astype(object).where(values.notna(), "")
        cells = [str(name)] if header else []
        cells += map(str, present.tolist())  # of a float: the shortest text that reads back as it
        if _has_signs("".join(cells), separator):
            cells = [_quoted(cell) if _has_signs(cell, separator) else cell for cell in cells]
        columns.append(cells)
    if len(columns) == 1:  # else a row would be an empty line
        columns[0] = [cell or _quoted(cell) for cell in columns[0]]
    return "".join(f"{line}\n" for line in map(separator.join, zip(*columns, strict=True)))


def _has_signs(text: str, separator: str) -> bool:
    return '"' in text or separator in text or "\n" in text


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    text: Sequence[str] = (),
    whole: Sequence[str] = (),
    finite: Sequence[str] = (),
) -> "pd.DataFrame":
    """Read a TSV written by :func:`write_table`.

    Parameters
    ----------
    path : path
    columns : sequence of str
        Columns that must be there; others may be.
    text : sequence of str
        Columns to be read as text whatever they hold (ids and labels: ``NA`` is a label too).
    whole, finite : sequence of str
        Columns that must be there and hold a whole number, or a finite one, in each row.

    Raises
    ------
    InputError
        If the file is missing, truncated, lacks a column or holds something else in one.
    """
    import pandas as pd  # slow to import: a run that finds nothing to do needs none

    data = _read_bytes(path)
    if str(path).endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise InputError(f"{path}: truncated or not gzip ({error}). {_AGAIN}") from error
    _refuse_open_end(path, data)
    types: dict[str, type] = dict.fromkeys(text, str) | dict.fromkeys(whole, np.int64)
    types |= dict.fromkeys(finite, np.float64)
    try:
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            # Numbers too large for 64 bits are refused, and lines longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.BytesIO(data),
                sep="\t",
                lineterminator="\n",
                index_col=False,
                dtype=types,
                keep_default_na=False,
                na_values={},
            )
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        raise InputError(f"{path}: not a table ({str(error).strip()}). {_AGAIN}") from error
    _refuse_missing(path, [*columns, *whole, *finite], table.columns)
    for name in finite:
        if not np.isfinite(table[name]).all():
            raise InputError(f"{path}: column {name!r} holds a number that is not finite. {_AGAIN}")
    return table


def read_measures(
    path: str | os.PathLike[str], columns: Sequence[str], text: Sequence[str]
) -> "pd.DataFrame":
    """Read a table in which all columns but those of ``text`` hold numbers, or yes and no.

    A cell may be empty. For the rest see :func:`read_table`.

    Raises
    ------
    InputError
        Also if there is anything else in such a column.
    """
    import pandas as pd  # slow to import

    table = read_table(path, columns, text)
    mixed = table.select_dtypes(exclude=["number", "bool"])
    for name in mixed.columns.difference(list(text)):
        cells = table[name].astype(str)
        known = cells.isin(["", "True", "False"]) | pd.to_numeric(cells, errors="coerce").notna()
        if not known.all():
            raise InputError(
                f"{path}: {cells[~known].iloc[0]!r} in column {name!r} is no number. {_AGAIN}"
            )
    return table


def read_plain_columns(path: str | os.PathLike[str], columns: Sequence[str]) -> list[list[bytes]]:
    """Read columns of a TSV in which no entry is quoted, as bytes.

    For a million sequences: pandas takes several times as long and several times the memory.

    Raises
    ------
    InputError
        If the file is missing, truncated, lacks a column or has a line of another width.
    """
    found: list[list[bytes]] = [[] for _ in columns]
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    with file:
        header = file.readline()
        _refuse_open_end(path, header)
        names = header.decode("utf-8", "replace").rstrip("\n").split("\t")
        _refuse_missing(path, columns, names)
        width, places = len(names), [names.index(name) for name in columns]
        ends_of_a_line = np.arange(width) == width - 1
        while data := file.read(_PART) + file.readline():  # whole lines
            _refuse_open_end(path, data)
            signs = np.frombuffer(data, dtype=np.uint8)
            ends = signs[(signs == 9) | (signs == 10)] == 10  # of lines, among those of cells
            if ends.size % width or (ends != np.tile(ends_of_a_line, ends.size // width)).any():
                raise InputError(
                    f"{path}: not a table (lines have different numbers of columns). {_AGAIN}"
                )
            cells = data.replace(b"\n", b"\t").split(b"\t")[:-1]  # nothing is behind the last end
            for column, place in zip(found, places, strict=True):
                column += cells[place::width]
    return found


def _refuse_open_end(path: str | os.PathLike[str], data: bytes) -> None:
    if data and not data.endswith(b"\n"):
        raise InputError(f"{path}: truncated, its last line has no end. {_AGAIN}")


def _refuse_missing(
    path: str | os.PathLike[str], columns: Sequence[str], present: Collection[str]
) -> None:
    for name in columns:
        if name not in present:
            raise InputError(f"{path}: column {name!r} is missing. {_AGAIN}")


def write_array(path: str | os.PathLike[str], array: NDArray[Any]) -> None:
    """Write one array as ``.npy``, its checksum behind the numbers, atomically."""
    with replacing(path) as part:
        with part.open("wb") as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            file.write(UNSET.encode())
        seal(part)


@contextmanager
def new_array(
    path: str | os.PathLike[str], dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Iterator[NDArray[Any]]:
    """Yield a memory map that becomes a ``.npy`` file when the block ends well.

    For arrays that need not fit in memory. The checksum is behind the numbers.

    Raises
    ------
    KreinflowError
        If the disk has no room for it.
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


def open_array(path: str | os.PathLike[str], ndim: int, advice: str = _AGAIN) -> NDArray[Any]:
    """Open a ``.npy`` file of ours as a read-only memory map, after it was checked whole.

    Parameters
    ----------
    path : path
    ndim : int
        Its dimensions.
    advice : str
        What messages say last.

    Raises
    ------
    InputError
        If it is missing, damaged, holds objects, or has another number of dimensions.
    """
    sealed = check_seal(path, advice)
    try:
        array = map_array(path)
    except ValueError as error:
        raise InputError(f"{path}: truncated or not a .npy array ({error}). {advice}") from error
    if array.ndim != ndim:
        raise InputError(f"{path}: not an array of {ndim} dimensions. {advice}")
    if not sealed:
        raise no_seal(path, advice)
    return array


def map_array(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return anybody's ``.npy`` file as a read-only memory map; no checksum is asked for.

    Raises
    ------
    ValueError
        If it is anything else, or damaged.
    """
    try:
        with open(path, "rb") as file:
            begin = file.read(12)
        # Before it is read: the lengths of later versions are of four bytes, and may be of a hole.
        if begin[6:7] > b"\1" and int.from_bytes(begin[8:12], "little") > _LONGEST_HEADER:
            raise ValueError("its header is too long")
        with np.errstate(over="ignore"):  # of the sizes of a damaged header
            array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # the reader lets any kind of error of a damaged file through
        raise ValueError(error) from error
    return array


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def write_arrays(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write named arrays and a JSON header as one safetensors file with its checksum, atomically.

    Parameters
    ----------
    path : path
    kind : str
        What the file is, for example ``"kreinflow model 2"``; checked on reading.
    header : mapping
        Anything JSON can hold.
    arrays : mapping of str to ndarray or TiledMatrix
        Numbers or booleans, no objects. They are read some rows at a time.
    """
    # The checksum comes first, where it is looked for.
    content = {"checksum": UNSET, "header": header, "kind": kind}
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
"""Of arrays, as numpy calls them, in the order in which safetensors writes them."""

_TENSOR_TYPE = {
    name: "BOOL" if name == "b1" else f"{name[0].upper()}{8 * int(name[1])}" for name in _TYPES
}


def _blocks(array: Any) -> Iterator[memoryview]:
    """Yield the bytes of an array, some rows at a time: it need not fit in memory."""
    if not array.nbytes:
        return
    step = max(1, len(array) * _PART // array.nbytes)
    for start in range(0, len(array), step):
        own = array[start : start + step]
        yield (
            np.ascontiguousarray(own, dtype=own.dtype.newbyteorder("<")).reshape(-1).data.cast("B")
        )


def _map_tensor(path: str | os.PathLike[str], name: str) -> NDArray[Any]:
    """Return one array of a safetensors file, which was checked, as a read-only memory map."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(size))[name]
    (dtype,) = (own for own, other in _TENSOR_TYPE.items() if other == entry["dtype"])
    start = 8 + size + entry["data_offsets"][0]
    return np.memmap(path, f"<{dtype}", "r", start, tuple(entry["shape"]))


Sizes = Mapping[str, tuple[str, tuple[int, ...]]]
"""Of arrays by name: the kind of the numbers, as in ``dtype.kind``, and the largest shape."""


def read_arrays(
    path: str | os.PathLike[str],
    kind: str,
    advice: str = _AGAIN,
    unsealed: str | None = None,
    sizes: Callable[[dict[str, Any]], Sizes] | None = None,
    mapped: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`write_arrays` wrote: the header and the arrays.

    All sizes are checked against the size of the file before anything is allocated.

    Parameters
    ----------
    path : path
    kind : str
        As for :func:`write_arrays`.
    advice : str
        What a message about a file that is none, or damaged, says last.
    unsealed : str, optional
        A kind of older files, which have no checksum and are read too.
    sizes : callable, optional
        Takes the header and returns the arrays that may be there. All are checked before one is
        read: what nobody asked for takes no memory.
    mapped : collection of str
        Arrays that need not fit in memory: they become read-only memory maps.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another kind, not safetensors, or has other arrays.
    """
    if not os.path.isfile(path):
        if not os.path.exists(path):
            raise InputError(f"{path}: no such file.")
        what = "a folder" if os.path.isdir(path) else "not a plain file"
        raise InputError(f"{path}: is {what}. {advice}")
    sealed = check_seal(path, advice)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {})["kreinflow"]
            content = json.loads(text, parse_constant=_refuse_constant)
            found, header = content["kind"], content["header"]
            older = found == unsealed and not sealed
            if found != kind and not older:
                raise InputError(
                    f"{path}: holds a {found!r} where a {kind!r} is expected. "
                    "Give the right file, or use the version of kreinflow that wrote it."
                )
            # Another job may have given it one since: a new file, under the same name.
            if not sealed and not older and not check_seal(path, advice):
                raise no_seal(path, advice)
            if sizes is not None:
                with named(str(path)):
                    _refuse_others(file, sizes(header))
            arrays = {
                name: _map_tensor(path, name) if name in mapped else file.get_tensor(name)
                for name in sorted(file.keys())
            }
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path}: truncated or not a safetensors file ({error}). {advice}") from (
            error
        )
    except _NOT_OURS as error:
        raise InputError(f"{path}: not a file of kreinflow's ({error!r}). {advice}") from error
    return header, arrays


_NOT_OURS = ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError


def _refuse_others(file: Any, sizes: Sizes) -> None:
    for name in sorted(file.keys()):
        array = file.get_slice(name)
        shape, found = tuple(array.get_shape()), array.get_dtype()[0].lower()
        kind, largest = sizes.get(name, ("", ()))
        small = len(shape) == len(largest) and all(map(int.__le__, shape, largest))
        if found != kind or not small:
            raise ValueError(f"the array {name[:60]!r} of shape {shape} does not fit its header")
