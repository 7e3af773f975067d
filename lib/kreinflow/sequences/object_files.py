"""Objects that the user's own score compares, as texts or as names of files."""

from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged
from kreinflow.files.text_files import check_file, name_endings, plain_files
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.pair_table import PairsKernel
from kreinflow.sequences.labels import read_lines, read_pairs
from kreinflow.sequences.user_tables import check_columns


def check_texts(path: Path, kernel: AskedKernel) -> None:
    """Refuse what cannot hold texts or files, by its name and beginning alone."""
    if path.is_dir():
        _files_of(path)
        return
    check_file(path)
    if name_endings(path)[1] != ".txt" and not isinstance(kernel, PairsKernel):
        check_columns(path, *_columns(kernel))


def read_texts(path: Path, kernel: AskedKernel) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return ids, if there are any, and objects: texts, or paths of files.

    They are the lines of a ``.txt[.gz]``; columns of a table; or the files of a folder, with their
    names without endings as ids. Paths in a file start at its folder. Of a table of pairs they are
    the ids of its first column. An InputError says that they cannot be read, or two have one id.
    """
    if path.is_dir():
        files = _files_of(path)
        return tuple(name_endings(file)[0] for file in files), [str(file) for file in files]
    ids: tuple[str, ...] | None = None
    if isinstance(kernel, PairsKernel):
        return tuple(kernel.new), list(kernel.new)
    if name_endings(path)[1] == ".txt":
        texts = read_lines(path, "object")
    else:
        found = read_pairs(path, *_columns(kernel))
        ids, texts = tuple(found), list(found.values())
    if kernel.settings["objects"] == "files":
        texts = [str(path.parent / text) for text in texts]
        for text in texts:
            check_file(Path(text))
    return ids, texts


def _columns(kernel: AskedKernel) -> tuple[str | int, str | int]:
    return kernel.settings["id_column"], kernel.settings["column"]


def _files_of(folder: Path) -> list[Path]:
    files = plain_files(folder)
    names = [name_endings(file)[0] for file in files]
    if not files:
        raise InputError(f"{folder}: has no files in it. Give the right folder.")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"{folder}: several files are called {abridged(twice)} but for their endings, which "
            "are the ids of the objects. Rename or remove some."
        )
    return files
