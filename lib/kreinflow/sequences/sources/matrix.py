"""A matrix of similarities or dissimilarities, as given."""

from collections.abc import Sequence
from typing import ClassVar

from kreinflow.base.settings import SettingsSchema
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.matrix_files import (
    MATRIX_KINDS,
    check_matrix,
    check_numbers_file,
    read_matrix,
)
from kreinflow.sequences.payload import MATRIX_FILE, Matrix
from kreinflow.sequences.sources.measured import VARIABLE, MeasuredSource, row_labels_schema
from kreinflow.sequences.sources.source import MIN_CLASS_SIZE, choice, text


class MatrixSource(MeasuredSource):
    """A square matrix of all objects, each a row and a column."""

    type = "matrix"
    noun = "a matrix"
    path_key = "matrix"
    array = MATRIX_FILE
    settings_schema: ClassVar[SettingsSchema] = {
        "matrix": text("square matrix: .npy, .csv[.gz], .tsv[.gz] or .mat"),
        "kind": choice(
            "what its entries are; a dissimilarity d is squared on reading; asymmetric: "
            "similarities with a direction, of the row's object with the column's",
            *MATRIX_KINDS,
        ),
        "labels": row_labels_schema("matrix"),
        **VARIABLE,
        "symmetry_tolerance": {
            "description": "largest |k_ij - k_ji| allowed, as a share of the largest |k|; "
            "no limit if the kind is asymmetric",
            "type": "number",
            "minimum": 0,
            "maximum": 0.1,
            "default": 1e-06,
        },
        **MIN_CLASS_SIZE,
    }

    @property
    def kind(self) -> str:
        return MATRIX_KINDS[self.settings["kind"]]

    def check(self) -> None:
        check_numbers_file(self.path)
        super().check()

    def load(self, alphabet: str | None, seed: int, unknown: Sequence[str] = ()) -> Dataset:
        settings = self.settings
        given = self._read_labels()
        read = read_matrix(self.path, settings["variable"])
        ids, labels = self._labels(given, read.ids, len(read.values))
        values, asymmetry = check_matrix(
            self.path, read.values, settings["kind"], settings["symmetry_tolerance"]
        )
        nameless = read.ids is None and "lines" in settings["labels"]
        matrix = Matrix(values, kind=self.kind, numbered=nameless)
        records = SourceRecords(ids, labels, matrix, len(ids), self.files())
        return self._collapse(records, unknown).with_statistics(asymmetry=asymmetry)

    def describe(self) -> str:
        kind = self.settings["kind"]
        more = {
            "dissimilarity": ", whose entries were squared",
            "asymmetric": " of similarities of rows with columns",
        }
        return f"The data are a given {kind.replace('_', ' ')} matrix{more.get(kind, '')}."
