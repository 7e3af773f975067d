"""Download of a file that the config names, continued where it broke off, checked at the end."""

import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kreinflow import __version__
from kreinflow.base.errors import InputError, KreinflowError

_FRUITLESS = 6
"""Tries in a row that bring no byte before the download is given up."""
_SECONDS = 60.0
"""The longest wait for an answer, and between two tries."""
_NETWORK = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)


def check_checksum(path: Path, download: Mapping[str, Any]) -> None:
    """Refuse a file whose checksum is not that in the part ``download`` of its source."""
    name, wanted, found = _checksums(path, download)
    if found != wanted:
        raise InputError(
            f"{path}: its {name} is {found}, not {wanted} as download.{name} says. Another "
            "release, or damaged: correct the config, or remove the file to download it again."
        )


def _checksums(path: Path, download: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the name of the checksum, the wanted one and that of the file."""
    name = "sha256" if download["sha256"] else "md5"
    with path.open("rb") as file:
        return name, download[name].lower(), hashlib.file_digest(file, name).hexdigest()


def fetch(
    target: Path,
    download: Mapping[str, Any],
    say: Callable[[str], None] = lambda line: None,
    wait: float = 1.0,
) -> None:
    """Download a file; what a broken connection or a kill left is continued.

    The bytes go to ``target`` with the ending ``.part`` until they are all there and have the right
    checksum. A wrong file is downloaded once more, whole.

    ``say`` takes a line of progress, ``wait`` is seconds before the second of several fruitless
    tries; each further wait is twice as long. An InputError says that the server refuses, or sends
    a wrong file twice; a KreinflowError that it cannot be reached, or nothing can be written.
    """
    url, part = download["url"], target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(2):
            _fetch_part(url, part, say, wait)
            name, wanted, found = _checksums(part, download)
            if found == wanted:
                os.replace(part, target)
                say(f"{target}: {target.stat().st_size} bytes, {name} {found}")
                return
            part.unlink()
            say(f"{url}: {name} is {found}, not {wanted}; thrown away")
    except _NETWORK as error:
        if _is_refusal(error):
            raise InputError(f"download.url {url}: {_reason(error)}. Correct the URL.") from error
        raise KreinflowError(
            f"{url}: cannot be downloaded ({_reason(error)}). Run again to continue, or put the "
            f"file at {target} yourself."
        ) from error
    except OSError as error:
        raise KreinflowError(
            f"{part}: could not be written ({error.strerror or error}). "
            "Free some space, then run again to continue."
        ) from error
    raise InputError(
        f"download.url {url}: the file's {name} is {found}, not {wanted}. "
        f"Correct download.{name} or the URL: it may have another release by now."
    )


def _is_refusal(error: Exception) -> bool:
    """Return whether the server would say the same again: 408 is too slow, 429 too many."""
    code = error.code if isinstance(error, urllib.error.HTTPError) else 500
    return code < 500 and code not in (408, 429)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code} {error.reason}"
    return str(getattr(error, "reason", "") or error or type(error).__name__)


def _fetch_part(url: str, part: Path, say: Callable[[str], None], wait: float) -> None:
    """Download to ``part``, behind the bytes that it has, until nothing is missing."""
    fruitless = 0
    while True:
        before = _size(part)
        fault: Exception = ConnectionError("the connection closes before the file ends")
        try:
            if _one_connection(url, part):
                return
        except _NETWORK as error:
            fault = error
        fruitless = 0 if _size(part) > before else fruitless + 1
        if fruitless >= _FRUITLESS or _is_refusal(fault):
            raise fault
        say(f"{url}: {_reason(fault)} at byte {_size(part)}; going on")
        if fruitless:
            time.sleep(min(wait * 2 ** (fruitless - 1), _SECONDS))


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _one_connection(url: str, part: Path) -> bool:
    """Append what one connection brings; return whether the file is complete."""
    have = _size(part)
    # Compressed on the way it would have another length, and no ranges.
    headers = {"User-Agent": f"kreinflow/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing behind what we have: the checksum will tell
            return True
        raise
    with response:
        begin = have if response.status == 206 else 0
        with part.open("ab" if begin else "wb") as file:
            shutil.copyfileobj(response, file)
    length = response.headers.get("Content-Length", "")
    return not length.isdigit() or _size(part) >= begin + int(length)
