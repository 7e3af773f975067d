"""What subcommands write: standard output, what is open already, or a file that appears whole.

Each option that names an output goes through :func:`output`.
"""

import errno
import fcntl
import gzip
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from kreinflow.base.errors import InputError, KreinflowError, unwritable
from kreinflow.files.atomic import replacing

STANDARD_OUTPUT = "-"
"""The name of standard output."""


@contextmanager
def output(
    option: str, name: str | None, *inputs: str | None
) -> Iterator[Callable[[str | bytes], None]]:
    """Yield a function that writes text or bytes to what an option names.

    A file appears, or is replaced, when the block ends well; a link to it stays a link. Devices and
    pipes are opened. What is open already, as ``/dev/fd/3``, is written to where it stands. If the
    name ends in ``.gz``, the output is packed.

    Parameters
    ----------
    option : str
        For messages.
    name : str or None
        None, ``-`` and ``/dev/stdout`` are standard output.
    inputs : str or None
        What is read, ``-`` for standard input. It must not be written over.

    Raises
    ------
    InputError
        Before the block, if nothing can be written there.
    KreinflowError
        If it fails later, for example because the disk is full.
    """
    shown = "standard output" if name is None else f"{option} {name}"
    name = STANDARD_OUTPUT if name is None else name
    screen = is_standard_output(name)
    with ExitStack() as stack:
        try:
            _refuse_inputs(name, inputs)
            file = _standard_output() if screen else _opened(name, stack)
        except OSError as error:
            raise InputError(
                f"{shown}: cannot be written ({error.strerror}). Name another file."
            ) from error
        except ValueError as error:
            raise InputError(f"{shown}: {error}") from error
        packed = file
        if name.lower().endswith(".gz"):
            packed = stack.enter_context(cast(BinaryIO, gzip.GzipFile("", "wb", 6, file, mtime=0)))
        encoding = sys.stdout.encoding if screen else "utf-8"

        def write(data: str | bytes) -> None:
            if isinstance(data, str):
                data = data.encode(encoding, "backslashreplace")
            try:
                packed.write(data)
                file.flush()  # whoever reads a pipe has it now
            except OSError as error:
                if screen or isinstance(error, BrokenPipeError):
                    raise  # the command knows what to say
                raise unwritable(name, error) from error

        try:
            yield write
        except BaseException:
            if not screen:  # else closing would try to write the rest once more
                with open(os.devnull, "wb") as nothing:
                    os.dup2(nothing.fileno(), file.fileno())
            raise


def refuse_one_file(names: Iterable[str | None]) -> None:
    """Refuse by an InputError that two outputs are the same file, or both standard output.

    Parameters
    ----------
    names : iterable of str or None
        As for :func:`output`.
    """
    own = [STANDARD_OUTPUT if name is None else name for name in names]
    files = {STANDARD_OUTPUT if is_standard_output(n) else os.path.realpath(n) for n in own}
    if len(files) < len(own):
        shown = ("standard output" if name == STANDARD_OUTPUT else name for name in own)
        raise InputError(f"{', '.join(shown)}: two of these are one file. Give other names.")


def is_standard_output(name: str) -> bool:
    """Return whether a name stands for standard output, as ``-`` and ``/dev/stdout`` do."""
    return name == STANDARD_OUTPUT or _descriptor(name) == 1


def _standard_output() -> BinaryIO:
    sys.stdout.flush()
    return cast(BinaryIO, sys.stdout.buffer)


def _opened(name: str, stack: ExitStack) -> BinaryIO:
    """Open any other output, closed by ``stack``; a ValueError says why it cannot be one."""
    if not name:
        raise ValueError("names no file. Give it a name.")
    if os.path.basename(name) in ("", ".", "..") or os.path.isdir(name):
        raise ValueError("is a folder. Name a file in it.")
    number = _descriptor(name)
    if number is not None and number != _FOREIGN:
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise ValueError("is open for reading only. Name another file.")
        # A copy shares the place in the file, and whether all is appended.
        return stack.enter_context(os.fdopen(os.dup(number), "wb"))
    found = _status(name)
    if found and (number == _FOREIGN or not stat.S_ISREG(found.st_mode)):
        opened = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
        return stack.enter_context(os.fdopen(opened, "wb"))
    if found and not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        target = Path(os.path.realpath(name))
        stack.callback(_remove_empty, [f for f in target.parents if not f.exists()])
        part = stack.enter_context(replacing(target))
        return stack.enter_context(part.open("wb"))
    except KreinflowError as error:  # of the new file beside it
        raise error.__cause__ or error from None


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders that are new, the innermost first, up to one that has something in it."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


_FOREIGN = -1


def _descriptor(name: str) -> int | None:
    """Return the number of the open file that a name stands for: 3 for ``/dev/fd/3``.

    It is :data:`_FOREIGN` if another process has the file open, and None for all other names.
    """
    own = {os.path.realpath(f"{path}/fd") for path in ("/dev", "/proc/self", "/proc/thread-self")}
    for _ in range(40):  # link by link: the last one would lead to the file behind the number
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder)
        if re.fullmatch("[0-9]{1,9}", last) and folder in own:
            return int(last)
        if re.fullmatch("/proc/[0-9]+/(task/[0-9]+/)?fd", folder):
            return _FOREIGN
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            return None
        name = os.path.join(folder, os.readlink(name))
    return None


def _refuse_inputs(name: str, inputs: tuple[str | None, ...]) -> None:
    """Refuse, by a ValueError, to write over what is read."""
    for path in inputs:
        if path is None:
            continue
        try:
            here = os.stat(1 if name == STANDARD_OUTPUT else name)
            there = os.stat(0 if path == "-" else path)
        except OSError:  # one of them is not there
            continue
        if stat.S_ISREG(here.st_mode) and os.path.samestat(here, there):
            raise ValueError("is what is read. Name another file.")


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
