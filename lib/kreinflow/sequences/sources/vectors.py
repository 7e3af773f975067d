"""Vectors or strings, and the kernel that compares them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from kreinflow.base.settings import SettingsSchema
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import make_kernel
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.objects import check_objects_file, read_objects
from kreinflow.sequences.payload import VECTORS_FILE, Compared
from kreinflow.sequences.sources.measured import VARIABLE, MeasuredSource, row_labels_schema
from kreinflow.sequences.sources.source import (
    MIN_CLASS_SIZE,
    Source,
    conflicting_labels,
    text,
)


class ComparedSource(Source):
    """Objects that a kernel compares: what vectors of a file and generated ones share."""

    def __init__(
        self, settings: Mapping[str, Any], data_folder: Path, separator: str | None = None
    ) -> None:
        super().__init__(settings, data_folder, separator)
        self.kernel: Kernel = make_kernel(self.settings["kernel"])
        self.array = None if self.kernel.strings else VECTORS_FILE

    @property
    def kind(self) -> str:
        return self.kernel.kind

    def describe(self) -> str:
        cited = "; ".join(f"@{key}" for key in self.kernel.references)
        return (
            f"The data are {self._objects_text()}, compared by {self.kernel.describe()}"
            f"{f' [{cited}]' if cited else ''}."
        )

    def _objects_text(self) -> str:
        return "given strings" if self.kernel.strings else "given vectors"

    def _payload(self, objects: Objects) -> Compared:
        same = objects if self.kernel.strings else objects + 0.0  # -0.0 is 0.0
        return Compared(same, self.kernel, kind=self.kind)


class VectorsSource(ComparedSource, MeasuredSource):
    """A table with a vector a row, or a text with a string a line."""

    type = "vectors"
    noun = "vectors"
    path_key = "vectors"
    settings_schema: ClassVar[SettingsSchema] = {
        "vectors": text(
            "one vector a row: .npy, .csv[.gz], .tsv[.gz] or .mat; for edit_distance one string a "
            "line: .txt[.gz]"
        ),
        "kernel": {"$ref": "#/$defs/kernel"},
        "labels": row_labels_schema("vectors"),
        **VARIABLE,
        **conflicting_labels("vectors"),
        **MIN_CLASS_SIZE,
    }

    def check(self) -> None:
        check_objects_file(self.path, self.kernel)
        super().check()

    def load(self, alphabet: str | None, seed: int, unknown: Sequence[str] = ()) -> Dataset:
        given = self._read_labels()
        read = read_objects(self.path, self.kernel, self.settings["variable"])
        ids, labels = self._labels(given, read.ids, len(read.values))
        records = SourceRecords(ids, labels, self._payload(read.values), len(ids), self.files())
        return self._collapse(records, unknown)
