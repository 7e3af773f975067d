"""Files that are written whole or not at all, and read with one clear message."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kreinflow.base.errors import InputError, unwritable

AGAIN = "Delete it and run again, or give the right file."
"""The end of messages about damaged files."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, renamed onto it when the block ends well.

    A KreinflowError if the disk is full or the folder cannot be written; nothing is left behind.
    """
    target, part, lock = Path(path), None, None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{target.name[:60]}."  # a name may leave no room for more
        _remove_leftovers(target.parent, prefix)
        part, lock = _new_part(target.parent, prefix)
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        if target.is_file() and not target.is_symlink():  # it hands down who may read it
            shutil.copymode(target, part)
        os.replace(part, target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _new_part(folder: Path, prefix: str) -> tuple[Path, int]:
    """Make a file, and lock it for as long as the descriptor is open."""
    while True:
        part = folder / f"{prefix}{secrets.token_hex(4)}.part"
        # As any new file: by the umask, and what the folder hands down (its group, an ACL).
        made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        _lock(made)
        if part.exists():
            return part, made
        os.close(made)  # another writer was faster, and has removed it


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove the parts that a kill left behind; those of a writer at work are locked."""
    length = len(prefix) + 8 + len(".part")  # eight random characters
    for name in os.listdir(folder):
        if name.startswith(prefix) and name.endswith(".part") and len(name) == length:
            with (
                contextlib.suppress(FileNotFoundError, PermissionError, BlockingIOError),
                open(folder / name, "rb") as file,
            ):
                _lock(file.fileno(), fcntl.LOCK_NB)
                os.unlink(folder / name)  # while it is locked: its writer may just begin


def _lock(file: int, how: int = 0) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | how)
    except BlockingIOError:
        raise
    except OSError:  # some disks have no locks
        pass


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, atomically."""
    with replacing(path) as part:
        part.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    write_bytes(path, text.encode())


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a file; an :class:`~kreinflow.base.errors.InputError` says why it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file of UTF-8; see :func:`read_bytes`."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}). {AGAIN}") from error
