"""A matrix as given, or objects with what compares them: a kernel, or a score of the user's."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.settings import SettingsSchema, flag, number, one_of, optional_text, text
from kreinflow.base.wording import abridged, plural
from kreinflow.files.text_files import refuse_control
from kreinflow.kernels.asked import FIELDS, READ_BY_SOURCE
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.pair_table import PairsKernel
from kreinflow.kernels.registry import ASKED, asked_kernel, make_kernel
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.labels import check_matched, read_lines, several_labels
from kreinflow.sequences.matrix_files import (
    MATRIX_KINDS,
    check_matrix,
    check_numbers_file,
    check_objects_file,
    read_matrix,
    read_objects,
)
from kreinflow.sequences.payload import MATRIX_FILE, VECTORS_FILE, Compared, Matrix
from kreinflow.sequences.sources.source import (
    MIN_CLASS_SIZE,
    Source,
    conflicting_labels,
    labels_schema,
)


def _row_labels_schema(of: str) -> SettingsSchema:
    ways = {
        "lines": optional_text("text file with one label a line"),
        "table": optional_text(f"TSV or CSV with ids and labels in the order of the {of}"),
    }
    return {
        "labels": labels_schema(ways, "exactly one of lines and table"),
        "variable": optional_text("name of the variable in a .mat file"),
    }


class MeasuredSource(Source):
    """A file with a row for each object, and another one with their labels."""

    label_ways: ClassVar[tuple[str, ...]] = ("table", "lines")

    @property
    def path(self) -> Path:
        """The file with the rows."""
        return self.data_folder / str(self.settings[self.type])

    def _labels(self, ids: tuple[str, ...] | None, n: int) -> tuple[list[str], list[str]]:
        """Return ids and labels of the n rows: of the lines of a text, or of the ids of a table.

        The ids are those of the file itself, if it has any; else the table's, or numbers from 1.
        """
        ((kind, path),) = self._label_files.items()
        table = self._read_pairs(path) if kind == "table" else {}
        labels = list(table.values()) if table else read_lines(path)
        if len(labels) != n:
            raise InputError(
                f"{path}: has {plural(len(labels), 'label')}, but {self.path.name} has "
                f"{plural(n, 'row')}. Give one label for each row."
            )
        if table:
            found = list(ids or table)
            check_matched(found, table, str(path), "row", may_drop=False)
            return found, [table[id] for id in found]
        places = [f"{path}, line {i}" for i, _ in enumerate(labels, 1)]
        refuse_control("label", labels, places)
        if self.several:
            separator = self.settings["labels"]["separator"]
            labels = list(map(several_labels, labels, [separator] * n, places))
        return list(ids or map(str, range(1, n + 1))), labels


class MatrixSource(MeasuredSource):
    """A square matrix of all objects, each a row and a column."""

    type = "matrix"
    noun = "a matrix"
    path_key = "matrix"
    array = MATRIX_FILE
    settings_schema: ClassVar[SettingsSchema] = {
        "matrix": text("square matrix: .npy, .csv[.gz], .tsv[.gz] or .mat"),
        "kind": one_of(
            *MATRIX_KINDS,
            about="what its entries are; a dissimilarity d is squared on reading; asymmetric: "
            "similarities with a direction, of the row's object with the column's",
        ),
        **_row_labels_schema("matrix"),
        "symmetry_tolerance": number(
            "largest |k_ij - k_ji| allowed, as a share of the largest |k|; no limit if the kind is "
            "asymmetric",
            1e-06,
            minimum=0,
            maximum=0.1,
        ),
        **MIN_CLASS_SIZE,
    }

    @property
    def kind(self) -> str:
        return MATRIX_KINDS[self.settings["kind"]]

    def check(self) -> None:
        check_numbers_file(self.path)
        super().check()

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        settings = self.settings
        read = read_matrix(self.path, settings["variable"])
        ids, labels = self._labels(read.ids, len(read.values))
        values, asymmetry = check_matrix(
            self.path, read.values, settings["kind"], settings["symmetry_tolerance"]
        )
        nameless = read.ids is None and "lines" in settings["labels"]
        matrix = Matrix(values, kind=self.kind, numbered=nameless)
        statistics = {"asymmetry": asymmetry}
        return SourceRecords(ids, labels, matrix, len(ids), self.files(), statistics=statistics)

    def describe(self) -> str:
        kind = self.settings["kind"]
        more = {
            "dissimilarity": ", whose entries were squared",
            "asymmetric": " of similarities of rows with columns",
        }
        return f"The data are a given {kind.replace('_', ' ')} matrix{more.get(kind, '')}."


class ComparedSource(Source):
    """Objects that a kernel compares: what vectors of a file and generated ones share."""

    def __init__(
        self, settings: Mapping[str, Any], data_folder: Path, separator: str | None = None
    ) -> None:
        super().__init__(settings, data_folder, separator)
        self.kernel = self._kernel()
        self.array = None if self.kernel.strings else VECTORS_FILE

    def _kernel(self) -> Kernel:
        return make_kernel(self.settings["kernel"])

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
        return Compared(same, self.kernel)


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
        **_row_labels_schema("vectors"),
        **conflicting_labels("vectors"),
        **MIN_CLASS_SIZE,
    }

    def check(self) -> None:
        check_objects_file(self.path, self.kernel)
        super().check()

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        read = read_objects(self.path, self.kernel, self.settings["variable"])
        ids, labels = self._labels(read.ids, len(read.values))
        return SourceRecords(ids, labels, self._payload(read.values), len(ids), self.files())


def _score_schema() -> dict[str, Any]:
    """Return the schema of a score of the user's, which has exactly one of the keys of ASKED."""
    properties: dict[str, Any] = {}
    for name, kernel in ASKED.items():
        own = {k: v for k, v in kernel.settings_schema.items() if k not in READ_BY_SOURCE}
        properties |= own | {name: optional_text(own[name]["description"])}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "description": f"your own score, by exactly one of {', '.join(ASKED)}",
    }


class ObjectsSource(ComparedSource, MeasuredSource):
    """Any objects, and a score of the user's that is asked for the pairs that are needed."""

    type = "objects"
    noun = "objects"
    path_key = "objects"
    settings_schema: ClassVar[SettingsSchema] = {
        "objects": text(
            "one a line of a .txt[.gz]; a column of a .tsv or .csv; the files of a folder; or "
            "arrays, one a row of a .npy"
        ),
        "files": flag("true: the texts of a file are paths, which start at its folder"),
        "object_column": FIELDS,
        "score": _score_schema(),
        "labels": _row_labels_schema("objects")["labels"],
        **conflicting_labels("objects"),
        **MIN_CLASS_SIZE,
    }

    @property
    def asked(self) -> dict[str, Any]:
        score = self.settings["score"]
        name = next((name for name in ASKED if score.get(name)), "function")
        known = ASKED[name].settings_schema.keys() & score.keys()
        how = "arrays" if self.path.suffix.lower() == ".npy" else "texts"
        return {
            "name": name,
            **{key: score[key] for key in sorted(known)},
            "objects": "files" if self.path.is_dir() or self.settings["files"] else how,
            "column": self.settings["object_column"],
            "id_column": self.settings["labels"]["id_column"],
        }

    def _kernel(self) -> Kernel:
        return asked_kernel(self.asked)

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from super().faults()
        given = [name for name in ASKED if self.settings["score"].get(name)]
        if len(given) != 1:
            yield "score", f"give exactly one of {', '.join(ASKED)}."
        elif fault := ASKED[given[0]].fault(self.settings["score"]):
            yield f"score.{given[0]}", fault
        elif self.asked["objects"] not in ASKED[given[0]].takes:
            yield f"score.{given[0]}", "compares no arrays. Give texts, or files."

    def check(self) -> None:
        check_objects_file(self.path, self.kernel)
        super().check()

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        read = read_objects(self.path, self.kernel)
        ids, labels = self._labels(read.ids, len(read.values))
        payload = Compared(read.values, self.kernel)
        return SourceRecords(ids, labels, payload, len(ids), self.files())

    def _objects_text(self) -> str:
        return "given objects"


_OF_PAIRS = ("pairs", "score_column", "missing", "kind", "self")


class PairsSource(ObjectsSource):
    """The scores of pairs in a table; only ids whose column is there may be landmarks."""

    type = "pairs"
    noun = "a table of pairs"
    path_key = "pairs"
    label_ways = ("table",)
    settings_schema: ClassVar[SettingsSchema] = {
        **{key: PairsKernel.settings_schema[key] for key in _OF_PAIRS},
        "labels": labels_schema({"table": text("TSV or CSV with ids and labels")}, "labels by id"),
        **MIN_CLASS_SIZE,
    }

    @property
    def asked(self) -> dict[str, Any]:
        return {"name": self.type} | {key: self.settings[key] for key in _OF_PAIRS}

    def faults(self) -> Iterator[tuple[str, str]]:
        return MeasuredSource.faults(self)

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        kernel, path = PairsKernel(self.asked).at(self.path), self._label_files["table"]
        labels, known = self._read_pairs(path), kernel.number
        check_matched(known, {id: id for id in known if id in labels}, str(path), may_drop=False)
        ids, complete = list(labels), kernel.complete(list(labels))
        alone = [id for id in ids if id not in known]
        if alone and kernel.settings["missing"] is None:
            raise InputError(f"{self.path}: has no line of {abridged(alone)}, which have labels.")
        for id in ids if kernel.asks_alone else ():  # one without a score is refused here
            kernel.values([id], [id], "", np.ones((1, 1), dtype=np.bool_))
        if complete.sum() < 2:
            stated = kernel.settings["missing"] is not None
            why = "stand first and second in lines" if stated else "have a score with all others"
            raise InputError(f"{self.path}: fewer than two ids {why}. Add more, or say 'missing'.")
        payload = Compared(np.array(ids, dtype=object), kernel, complete)
        own = {"without_line": abridged(alone)} if alone else {}
        given = ids, list(labels.values()), payload, len(ids), self.files()
        return SourceRecords(*given, statistics=own)
