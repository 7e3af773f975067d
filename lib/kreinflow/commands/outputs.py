"""What subcommands write: standard output, a device or pipe, or a file that appears whole."""

import errno
import gzip
import os
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
    """Yield a function that writes text or bytes to what an ``option`` names.

    A file appears, or is replaced, when the block ends well; a link to it stays a link. Devices and
    pipes are opened. If the name ends in ``.gz``, the output is packed. None, ``-`` and
    ``/dev/stdout`` are standard output. ``inputs`` are read, and so not written over; ``-`` is
    standard input.

    An InputError says before the block that nothing can be written there, a KreinflowError later
    that it failed, for example because the disk is full.
    """
    shown = "standard output" if name is None else f"{option} {name}"
    name = STANDARD_OUTPUT if name is None else name
    screen = is_standard_output(name)
    with ExitStack() as stack:
        try:
            _refuse_inputs(name, inputs)
            file = _opened(name, stack)
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
    """Refuse by an InputError that two outputs, as for :func:`output`, are the same file."""
    own = [STANDARD_OUTPUT if name is None else name for name in names]
    files = {STANDARD_OUTPUT if is_standard_output(n) else os.path.realpath(n) for n in own}
    if len(files) < len(own):
        shown = ("standard output" if name == STANDARD_OUTPUT else name for name in own)
        raise InputError(f"{', '.join(shown)}: two of these are one file. Give other names.")


def is_standard_output(name: str) -> bool:
    """Return whether a name stands for standard output, as ``-`` and ``/dev/stdout`` do."""
    return name in (STANDARD_OUTPUT, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def _opened(name: str, stack: ExitStack) -> BinaryIO:
    """Open an output, closed by ``stack``; a ValueError says why it cannot be one."""
    if is_standard_output(name):
        sys.stdout.flush()
        return cast(BinaryIO, sys.stdout.buffer)
    if os.path.basename(name) in ("", ".", "..") or os.path.isdir(name):
        raise ValueError("names no file. Give the name of one.")
    if os.path.exists(name) and not os.path.isfile(name):  # a device or a pipe
        opened = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
        return stack.enter_context(os.fdopen(opened, "wb"))
    if os.path.exists(name) and not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        part = stack.enter_context(replacing(Path(os.path.realpath(name))))
        return stack.enter_context(part.open("wb"))
    except KreinflowError as error:  # of the new file beside it
        raise error.__cause__ or error from None


def _refuse_inputs(name: str, inputs: tuple[str | None, ...]) -> None:
    """Refuse, by a ValueError, to write over what is read."""
    for path in inputs:
        with suppress(OSError):  # one of them is not there
            here = os.stat(1 if is_standard_output(name) else name)
            there = os.stat(0 if path == "-" else path or "")
            if stat.S_ISREG(here.st_mode) and os.path.samestat(here, there):
                raise ValueError("is what is read. Name another file.")
