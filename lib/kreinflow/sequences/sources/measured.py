"""The part that sources of a matrix or of vectors share: a row for each object, and labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.base.wording import plural
from kreinflow.sequences.labels import check_matched, join_labels, read_lines, several_labels
from kreinflow.sequences.sources.source import Source, labels_schema, optional_text
from kreinflow.sequences.text_files import refuse_control


def row_labels_schema(of: str) -> Mapping[str, Any]:
    """Return the schema of the labels of the rows of a file."""
    ways = {
        "lines": optional_text("text file with one label a line"),
        "table": optional_text(f"TSV or CSV with ids and labels in the order of the {of}"),
    }
    return labels_schema(ways, "exactly one of lines and table")


VARIABLE = {"variable": optional_text("name of the variable in a .mat file")}


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

        The ids are those of the file itself, if it has any; else the table's, or numbers from 1.
        """
        (path,) = self._label_files.values()
        if len(given) != n:
            raise InputError(
                f"{path}: has {plural(len(given), 'label')}, but {self.path.name} has "
                f"{plural(n, 'row')}. Give one label for each row."
            )
        if isinstance(given, list):
            return list(ids or map(str, range(1, n + 1))), given
        found = list(ids or given)
        check_matched(found, given, str(path), "row", may_drop=False)
        return found, [given[id] for id in found]
