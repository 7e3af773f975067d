"""Checksums that files carry themselves: a damaged file is refused, not believed.

The checksum is the CRC-32 of all bytes of the file, with zeros for the eight digits that it is
written in. It finds every change of a single bit, and of any bits within 32 neighbouring ones; of
other changes it misses one in four thousand million. It does not protect against people.

A file has ``crc32:`` and the digits within its first 256 bytes, or as its last bytes.
"""

import os
import re
import zlib
from io import FileIO

from kreinflow.base.errors import InputError

UNSET = "crc32:00000000"
"""The place that a writer leaves for the checksum of :func:`seal`."""

_SEAL = re.compile(rb"crc32:([0-9a-f]{8})")
_HEAD, _DIGITS = 256, 8
_BLOCK = 1 << 20  # bytes read at once: they stay in the processor's cache
_sound: set[tuple[int, ...]] = set()  # large files that were checked: they are read several times


def file_checksum(path: str | os.PathLike[str]) -> str:
    """Return the CRC-32 of a file's bytes, as text; for a file that has no place for its own."""
    with open(path, "rb", buffering=0) as file:
        return f"crc32:{_crc(file, None):08x}"


def seal(path: str | os.PathLike[str]) -> None:
    """Replace :data:`UNSET` in a file by its checksum."""
    with open(path, "rb+", buffering=0) as file:
        found = _find(file)
        assert found is not None, "the writer left no place for a checksum"
        place, _ = found
        crc = _crc(file, place)
        file.seek(place)
        file.write(b"%08x" % crc)


def check_seal(path: str | os.PathLike[str], advice: str) -> None:
    """Compare a file with the checksum that it carries.

    A file of more than a megabyte is read once by a process, as long as it keeps its size and time.
    An InputError, which ends with ``advice``, if it does not match, has none, or cannot be read.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            about = os.fstat(file.fileno())
            known = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
            if known in _sound:
                return
            found = _find(file)
            if found is None:
                raise InputError(
                    f"{path}: has no checksum: it is damaged, truncated or not of kreinflow. "
                    f"{advice}"
                )
            place, crc = found
            if _crc(file, place) != crc:
                raise InputError(
                    f"{path}: damaged or truncated, it does not match its checksum. {advice}"
                )
            if about.st_size > _BLOCK:
                _sound.add(known)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). {advice}") from error


def _find(file: FileIO) -> tuple[int, int] | None:
    """Return where the digits of the checksum are, and what they say."""
    for start in (0, max(file.seek(0, os.SEEK_END) - len(UNSET), 0)):
        file.seek(start)
        if found := _SEAL.search(file.read(_HEAD)):
            return start + found.start(1), int(found[1], 16)
    return None


def _crc(file: FileIO, place: int | None) -> int:
    """Return the CRC-32 of a file with zeros for the digits at a place."""
    crc = start = 0
    block = bytearray(_BLOCK)
    file.seek(0)
    while count := file.readinto(block):
        if place is not None:
            first, end = max(place - start, 0), min(place + _DIGITS - start, count)
            if first < end:
                block[first:end] = b"0" * (end - first)
        crc = zlib.crc32(memoryview(block)[:count], crc)
        start += count
    return crc
