"""The interface of a source of data, and the parts of schemas that sources share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.base.errors import InputError, named
from kreinflow.base.hierarchy import nodes_of, paths_of
from kreinflow.base.settings import Configured, SettingsSchema, number, one_of, text
from kreinflow.base.wording import abridged
from kreinflow.files.text_files import check_file, plain_files, refuse_control
from kreinflow.sequences.collapse import SourceRecords, collapse, collapse_several, examples
from kreinflow.sequences.dataset import ORGANISM, Dataset
from kreinflow.sequences.labels import SEPARATOR, join_labels, label_columns, read_pairs
from kreinflow.sequences.roll_up import level_counts
from kreinflow.sequences.user_tables import Column, check_columns


def labels_schema(
    ways: Mapping[str, Any], described: str, after: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """Return the schema of where the labels of a source come from: one of some ways."""
    columns = {
        "id_column": {
            "description": "column of the ids; its number, from 1, where a table has no header",
            "type": ["string", "integer"],
            "minimum": 1,
            "default": "id",
        },
        "label_column": {
            "description": "column of the labels, or its number; or a list of columns: one for "
            "each level, or without levels one for each label, with 1 where a record has it",
            "type": ["string", "integer", "array"],
            "minimum": 1,
            "items": {"type": ["string", "integer"], "minimum": 1},
            "minItems": 1,
            "uniqueItems": True,
            "default": "label",
        },
        "multiple": one_of(
            "refuse",
            "all",
            about="records with several labels: refused, or each label is learned against the rest",
        ),
        "separator": text(
            "multiple: all: between the labels of a record; a table may have several lines of an "
            "id too"
        )
        | {"default": ";"},
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {**ways, **columns, **(after or {})},
        "description": described,
    }


def conflicting_labels(what: str) -> SettingsSchema:
    """Return the schema of what to do with identical objects of two classes."""
    return {
        "conflicting_labels": one_of(
            "drop", "refuse", about=f"identical {what} with different labels"
        )
    }


MIN_CLASS_SIZE: SettingsSchema = {
    "min_class_size": number(
        "smaller classes are dropped; of paths see levels", 2, type="integer", minimum=2
    )
}


class Source(Configured, ABC):
    """A source of data: one subclass, and its line in the registry.

    ``settings`` is the checked part ``source`` of a data set's configuration, ``separator`` that of
    the levels of labels that are paths. Relative paths start at ``data_folder``. ``type`` is its
    name in the config, ``noun`` what messages call the data, ``path_key`` the key of its settings
    that names the user's files; exactly one of the ``label_ways`` says where labels come from;
    ``memory_per_mb`` is megabytes of memory that reading takes for each megabyte of the files.
    """

    named_by = "type"
    type: ClassVar[str]
    noun: ClassVar[str] = "sequences"
    aligned: ClassVar[bool] = False
    path_key: ClassVar[str | None] = None
    label_ways: ClassVar[tuple[str, ...]] = ()
    memory_per_mb: ClassVar[int] = 40

    def __init__(
        self, settings: Mapping[str, Any], data_folder: Path, separator: str | None = None
    ) -> None:
        super().__init__(settings)
        self.data_folder = data_folder
        self.separator = separator

    @property
    def kind(self) -> str:
        """The kind of the data set; see :class:`kreinflow.sequences.payload.Payload`."""
        return "sequences"

    @property
    def asked(self) -> dict[str, Any] | None:
        """The settings of the user's own score, if there is one; see :mod:`kernels.asked`."""
        return None

    @property
    def asked_of_records(self) -> dict[str, Any] | None:
        """The same where it may be asked for pairs of records, for cascades and p-values.

        These need scores without a direction.
        """
        return None if self.kind == "asymmetric" else self.asked

    @property
    def stored(self) -> bool:
        """Whether scores cost so much that a store keeps them."""
        return self.aligned or self.asked is not None

    array: str | None = None
    """The file of numbers that the data set has beside its tables, if it has one."""

    @property
    def several(self) -> bool:
        """Whether its records may have several labels."""
        return bool(self.settings.get("labels", {}).get("multiple") == "all")

    @property
    def _id_column(self) -> Column | None:
        """The column of the ids in a table, None where records have numbers."""
        numbered = self.settings.get("ids") == "numbers"
        return None if numbered else self.settings["labels"].get("id_column", "id")

    def _read_pairs(self, path: Path, skip_empty: bool = False) -> dict[str, str]:
        """Return the label, or all labels joined, of each id of a table of labels."""
        way = self.settings["labels"]
        separator = way["separator"] if self.several else self.separator
        columns = self._id_column, way["label_column"]
        return read_pairs(path, *columns, skip_empty, separator, self.several)

    @property
    def _label_files(self) -> dict[str, Path]:
        labels = self.settings.get("labels", {})
        given = [way for way in ("table", "lines") if way in self.label_ways and labels.get(way)]
        return {way: self.data_folder / labels[way] for way in given}

    def files(self) -> list[Path]:
        """Return the user's files that it reads; a folder stands for all files in it, sorted."""
        named = self.settings[self.path_key] if self.path_key else []
        names = [named] if isinstance(named, str) else named
        paths = [*(self.data_folder / name for name in names), *self._label_files.values()]
        return list(dict.fromkeys(file for path in paths for file in plain_files(path)))

    def downloads(self) -> dict[Path, Mapping[str, Any]]:
        """Return where files come from that need not be there yet."""
        return {}

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with settings that the schema allows: the key, and why."""
        if not self.label_ways:
            return
        labels = self.settings["labels"]
        if sum(bool(labels.get(way)) for way in self.label_ways) != 1:
            yield "labels", f"give exactly one of {', '.join(self.label_ways)}."
        elif labels.get("table"):
            columns, id_column = labels["label_column"], labels["id_column"]
            why = ""
            if id_column in label_columns(columns):
                why = f"{id_column!r} is the column of the ids. Name the one of the labels."
            elif isinstance(columns, list) and self.several and self.separator is not None:
                why = "of several labels in columns none has levels. Leave out one of the two."
            if why:
                yield "labels.label_column", why

    def check(self) -> None:
        """Check the user's files cheaply, before any job runs: their names and beginnings."""
        labels = self._label_files
        if "lines" in labels:
            check_file(labels["lines"])
        if "table" in labels:
            of = self.settings["labels"]
            check_columns(labels["table"], self._id_column, *label_columns(of["label_column"]))

    def alphabet(self, scoring: Mapping[str, Any]) -> str | None:
        """Return the letters that sequences may have, by the settings of their scoring."""
        if not self.aligned:
            return None
        return load_substitution_matrix(scoring["matrix"], self.data_folder).alphabet

    @abstractmethod
    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        """Read and check the records.

        The ``alphabet`` is that of the substitution matrix, if any; the ``seed`` is for what is
        drawn. An InputError tells the first fault that the configuration does not ask to drop.
        """

    def load(
        self, alphabet: str | None, seed: int, unknown: Sequence[str] = (), small: str = "parent"
    ) -> Dataset:
        """Read, check and collapse the data; see :meth:`read`.

        What is kept of the other classes does not depend on the ``unknown`` ones that are to be
        held out: an object of theirs that is identical to one of another class is dropped, and
        counted. The ``statistics`` are those of docs/files.md, and what a source adds. Of labels
        that are paths, records of small classes are learned at the ``parent``, or ``drop`` drops
        them.
        """
        records, settings = self.read(alphabet, seed), self.settings
        if self.separator is not None:
            with named(abridged([str(path) for path in records.files], 2)):
                labels = self._paths(records, self.separator)
            if labels and not any(self.separator in path for path in labels):
                raise InputError(
                    f"levels: no label has the separator {self.separator!r}; the first one is "
                    f"{records.labels[0]!r}. Give the separator of the labels, or leave out levels."
                )
            records = replace(records, labels=labels)
        records = self.oriented(records, alphabet, unknown)
        how = settings.get("conflicting_labels", "drop"), settings["min_class_size"]
        if self.several:
            dataset = collapse_several(records, *how)
        elif self.separator is None or small == "drop":
            dataset = collapse(records, *how, unknown)
        else:
            dataset = collapse(records, *how, unknown, self.separator)
            dataset = _with_paths(dataset, records, self.separator, unknown)
        return replace(
            dataset.with_statistics(**records.statistics),
            dropped=(*dataset.dropped, *(id for id, _ in records.unlabelled)),
            unlabelled=records.unlabelled,
            organisms=_organism_columns(dataset, records.organisms, unknown),
        )

    def _paths(self, records: SourceRecords, separator: str) -> list[str]:
        """Return labels as paths; a record with several has all nodes on the ways to them."""
        if not self.several:
            return paths_of(records.ids, records.labels, separator)
        each = [text.split(SEPARATOR) for text in records.labels]
        ids = [id for id, own in zip(records.ids, each, strict=True) for _ in own]
        paths = iter(paths_of(ids, chain.from_iterable(each), separator))
        return [
            join_labels(
                node for path in islice(paths, len(own)) for node in nodes_of(path, separator)
            )
            for own in each
        ]

    def oriented(
        self, records: SourceRecords, alphabet: str | None, unknown: Sequence[str]
    ) -> SourceRecords:
        """Return the records with those turned that stand on another strand, if they have one.

        Those of the ``unknown`` classes say nothing about the others.
        """
        return records

    def describe(self) -> str:
        """Return what the methods paragraph says of the data; nothing of the user's sequences.

        References stand in it as ``[@key; @key]``, with keys of
        :data:`kreinflow.base.references.REFERENCES`.
        """
        return ""


def _with_paths(
    dataset: Dataset, records: SourceRecords, separator: str, unknown: Sequence[str]
) -> Dataset:
    """Return the data set with the whole labels, and counts of those that are learned above."""
    label_of = dict(zip(records.ids, records.labels, strict=True))
    paths, learned = [label_of[id] for id in dataset.ids], dataset.joined_labels
    known = [i for i, label in enumerate(learned) if label not in unknown]
    up = [dataset.ids[i] for i in known if learned[i] != paths[i]]
    levels = {
        name: level_counts((of[i] for i in known), separator)
        for name, of in (("labels", paths), ("learned", learned))
    }
    told = dataset.with_statistics(levels=levels, rolled_up=examples(up))
    return replace(told, paths=tuple(paths))


def _organism_columns(
    dataset: Dataset, organisms: Mapping[str, tuple[str, str]], unknown: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the organism of each record; none if one of a class to be learned has none."""
    for id, code in zip(dataset.ids, dataset.labels.tolist(), strict=True):
        if id not in organisms and dataset.classes[code] not in unknown:
            return {}
    found = [organisms.get(id, ("", "")) for id in dataset.ids]
    refuse_control("organism", (name for _, name in found), dataset.ids)
    return {name: tuple(row[i] for row in found) for i, name in enumerate(ORGANISM)}
