"""Objects that the user's own score compares, as texts or as names of files."""

from collections.abc import Sequence
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged
from kreinflow.files.text_files import check_file, name_endings, plain_files
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.pair_table import PairsKernel
from kreinflow.sequences.labels import label_columns, read_lines, read_pairs
from kreinflow.sequences.user_tables import Column, check_columns, read_columns

BETWEEN = "|"  #: the fields of an object of several columns


def check_texts(path: Path, kernel: AskedKernel) -> None:
    """Refuse what cannot hold texts or files, by its name and beginning alone."""
    if path.is_dir():
        _files_of(path)
        return
    check_file(path)
    if name_endings(path)[1] != ".txt" and not isinstance(kernel, PairsKernel):
        id_column, columns = _columns(kernel)
        check_columns(path, id_column, *columns)


def read_texts(path: Path, kernel: AskedKernel) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return ids, if there are any, and objects: texts, or paths of files.

    They are the lines of a ``.txt[.gz]``; columns of a table; or the files of a folder, with their
    names without endings as ids. Paths in a file start at its folder. Of a table of pairs they are
    the ids of its first column. Texts of several columns are joined by :data:`BETWEEN`. An
    InputError says that they cannot be read, or two have one id.
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
        id_column, columns = _columns(kernel)
        if len(columns) > 1:
            found = _joined(path, id_column, columns)
        else:
            found = read_pairs(path, id_column, columns[0])
        ids, texts = tuple(found), list(found.values())
    if kernel.settings["objects"] == "files":
        texts = [str(path.parent / text) for text in texts]
        for text in texts:
            check_file(Path(text))
    return ids, texts


def _joined(path: Path, id_column: Column, columns: Sequence[Column]) -> dict[str, str]:
    """Return the texts of several columns of each id, joined; all but one may be empty."""
    fields = [
        {id: text for _, id, text in read_columns(path, (id_column, column), skip_empty=True)}
        for column in columns
    ]
    found = {}
    for id in read_pairs(path, id_column, id_column):
        texts = [of.get(id, "") for of in fields]
        if not any(texts) or any(BETWEEN in text for text in texts):
            raise InputError(
                f"{path}, {id}: the columns {abridged([*map(str, columns)])} are all empty, or one "
                f"has {BETWEEN!r} in it, which joins them. Correct it, or remove the line."
            )
        found[id] = BETWEEN.join(texts)
    return found


def _columns(kernel: AskedKernel) -> tuple[Column, list[Column]]:
    return kernel.settings["id_column"], label_columns(kernel.settings["column"])


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
