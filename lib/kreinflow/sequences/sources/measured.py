"""What sources of a matrix or of vectors share: a file with a row for each object, and labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.sequences.files import counted, refuse_control
from kreinflow.sequences.labels import (
    check_matched,
    join_labels,
    read_lines,
    several_labels,
)
from kreinflow.sequences.sources.source import (
    LABEL_COLUMNS,
    SEVERAL_LABELS,
    Source,
    optional_text,
)


def labels_schema(of: str) -> Mapping[str, Any]:
    """Return the schema of the labels of what a file holds."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "lines": optional_text("text file with one label a line"),
            "table": optional_text(f"TSV or CSV with ids and labels in the order of the {of}"),
            **LABEL_COLUMNS,
            **SEVERAL_LABELS,
        },
        "description": "exactly one of lines and table",
    }


VARIABLE = {"variable": optional_text("name of the variable in a .mat file")}


def numbers(n: int) -> list[str]:
    """Return the ids of rows that have none."""
    return [str(row) for row in range(1, n + 1)]


class MeasuredSource(Source):
    """A file with a row for each object, and another one with their labels."""

    label_ways = ("table", "lines")

    @property
    def path(self) -> Path:
        """The file with the rows."""
        return self.data_folder / str(self.settings[self.type])

    def _read_labels(self) -> list[str] | dict[str, str]:
        """Return the labels of the lines of a text, or those of the ids of a table."""
        ((kind, path),) = self._label_files.items()
        if kind == "table":
            return self._read_pairs(path)
        labels = read_lines(path)
        places = [f"{path}, line {i}" for i, _ in enumerate(labels, 1)]
        refuse_control("label", labels, places)
        if self.several:
            separator = self.settings["labels"]["separator"]
            labels = [
                join_labels(several_labels(text, separator, place))
                for text, place in zip(labels, places, strict=True)
            ]
        return labels

    def _labels(
        self, given: list[str] | dict[str, str], ids: tuple[str, ...] | None, n: int
    ) -> tuple[list[str], list[str]]:
        """Return ids and labels of the n rows.

        ``ids`` are those of the file itself, if it has any; else they are the table's, in its
        order, or numbers from 1.
        """
        (path,) = self._label_files.values()
        _check_count(path, len(given), self.path, n)
        if isinstance(given, list):
            return list(ids or numbers(n)), given
        found = list(ids or given)
        check_matched(found, given, str(path), "row", may_drop=False)
        return found, [given[id] for id in found]


def _check_count(label_path: Path, labels: int, path: Path, rows: int) -> None:
    if labels != rows:
        raise InputError(
            f"{label_path}: has {counted(labels, 'label')}, but {path.name} has "
            f"{counted(rows, 'row')}. "
            "Give one label for each row."
        )
