"""The files that subcommands write: where they may be, and how they appear."""

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from kreinflow.errors import InputError


@contextmanager
def output(path: str | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes text to the screen, or to a file that appears when all is done.

    A file whose name ends in ``.gz`` is packed. One that cannot be written is an InputError.
    """
    from kreinflow.artifacts import replacing

    if path is None:
        yield lambda text: print(text, end="")
        return
    target = Path(os.path.realpath(path))  # a link stays one
    with ExitStack() as stack:
        part = target
        if not _is_device(target):  # else nothing is to be replaced
            check_writable("-o", Path(path))
            part = stack.enter_context(replacing(target))
        file: BinaryIO = stack.enter_context(part.open("wb"))
        if target.suffix == ".gz":
            packed = gzip.GzipFile("", "wb", 6, file, mtime=0)
            file = stack.enter_context(cast(BinaryIO, packed))

        def write(text: str) -> None:
            file.write(text.encode())

        yield write


def refuse_same(option: str, output: str | None, *inputs: str | None) -> None:
    """Refuse, by an InputError, to write over what is read."""
    for path in inputs:
        if not (output and path and os.path.isfile(output) and os.path.isfile(path)):
            continue
        if os.path.samefile(output, path):
            raise InputError(f"{option} {output}: is what is read. Name another file.")


def check_writable(option: str, path: Path) -> None:
    """Refuse, by an InputError, what cannot be a new file, before the work is done."""
    try:
        if path.is_dir():
            raise InputError(f"{option} {path}: is a folder. Name a file in it.")
        if _is_device(path):
            raise InputError(f"{option} {path}: is not a plain file. Name another one.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {path}: cannot be written ({error.strerror}). Name another file."
        ) from error


def _is_device(path: Path) -> bool:
    # os.path has no error for a name that is too long.
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
