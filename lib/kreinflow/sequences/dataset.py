"""The data set: canonical, checked, and with each distinct sequence once."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.artifacts import (
    open_array,
    read_json,
    read_plain_columns,
    read_table,
    write_array,
    write_json,
    write_table,
)
from kreinflow.errors import InputError
from kreinflow.kernels.generators import generate
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import make_kernel
from kreinflow.numerics import FloatArray
from kreinflow.provenance import file_sha256
from kreinflow.sequences.fasta import FASTA_ENDINGS, check_begin, read_fasta
from kreinflow.sequences.files import (
    check_file,
    counted,
    first_few,
    name_endings,
    refuse_control,
)
from kreinflow.sequences.headers import known_by, organism
from kreinflow.sequences.labels import (
    HeaderPattern,
    check_columns,
    check_matched,
    read_lines,
    read_pairs,
    refuse_lookalikes,
)
from kreinflow.sequences.matrices import check_ending, check_matrix, read_matrix
from kreinflow.sequences.objects import check_objects_file, read_objects, refuse_unfit
from kreinflow.sequences.simulation import LETTERS, simulate_families
from kreinflow.sequences.strands import on_other_strand
from kreinflow.sequences.swissprot import check_flat_file, label_source, read_swissprot

ALIGNED = ("fasta", "swissprot", "simulated")
"""The types of source whose objects are sequences, which are aligned."""

EXAMPLES = 20
"""Ids listed for each reason why records were dropped."""


@dataclass(frozen=True)
class Dataset:
    """Labelled objects, checked. Identical ones share a distinct row, except in a matrix."""

    ids: tuple[str, ...]
    """Of each record, in the order of the input."""
    labels: NDArray[np.intp]
    """Class of each record: a place in ``classes``."""
    classes: tuple[str, ...]
    """Sorted."""
    rows: NDArray[np.int64]
    """Distinct row of each record; rows are numbered by first appearance."""
    digests: tuple[str, ...]
    """Of each distinct row: first 32 hexadecimal digits of the sha256 of its residues, of the bytes
    of its vector or string, or, for a matrix, of its id."""
    sequences: tuple[bytes, ...] | None
    """Of each distinct row, if they are aligned."""
    kind: str
    """``sequences``, ``similarity`` or ``squared_dissimilarity``."""
    matrix: NDArray[np.floating] | None
    """Of shape (distinct rows, distinct rows), if one was given."""
    statistics: dict[str, Any]
    """What the report says about the data; see :func:`load_dataset`."""
    dropped: tuple[str, ...] = ()
    """Ids of all records that were dropped, held out or left to be classified by request."""
    objects: Objects | None = None
    """Vectors or strings of the distinct rows, if a kernel compares them."""
    kernel: Mapping[str, Any] | None = None
    """That kernel, as in the config."""
    unlabelled: tuple[tuple[str, bytes], ...] = ()
    """Id and residues of the records without a label that are to be classified. They are not among
    what :func:`write_dataset` writes."""
    organisms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each record, where the input says it: ``taxonomy`` (NCBI's number) and ``organism``."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Residues of each distinct row; 0 if they are not aligned."""
        if self.sequences is None:
            return np.zeros(len(self.digests), dtype=np.int64)
        return np.array([len(s) for s in self.sequences], dtype=np.int64)

    @property
    def row_labels(self) -> list[str]:
        """The class of each distinct row: all its records have the same one."""
        labels = [""] * len(self.digests)
        for row, code in zip(self.rows.tolist(), self.labels.tolist(), strict=True):
            labels[row] = self.classes[code]
        return labels


def resolve(path: str, data_folder: Path) -> Path:
    """Return a path of the configuration; a relative one starts at the data folder."""
    return data_folder / path


def digest(content: bytes) -> str:
    """Return the name of a distinct row: 32 hexadecimal digits of the sha256 of its content."""
    return hashlib.sha256(content).hexdigest()[:32]


class _Drops:
    """Records that were dropped by request, by reason."""

    def __init__(self) -> None:
        self.by_reason: dict[str, list[str]] = {}

    def add(self, reason: str, id: str) -> None:
        self.by_reason.setdefault(reason, []).append(id)

    def statistics(self) -> dict[str, Any]:
        return {
            reason: {"count": len(ids), "examples": ids[:EXAMPLES]}
            for reason, ids in self.by_reason.items()
        }

    def ids(self) -> tuple[str, ...]:
        return tuple(id for ids in self.by_reason.values() for id in ids)


def check_source(source: Mapping[str, Any], data_folder: Path) -> None:
    """Check the files of a source cheaply, before any job runs.

    Parameters
    ----------
    source : mapping
        The part ``source`` of a data set's configuration.
    data_folder : Path
        Where relative paths start.

    Raises
    ------
    InputError
        With the message that :func:`load_dataset` would give: a file is missing, empty or not
        readable, its ending is unknown, it does not begin as FASTA, a table lacks a column, or
        a pattern is no regular expression.
    """
    labels = source.get("labels", {})
    if source["type"] == "fasta":
        for path in fasta_files(source["fasta"], data_folder):
            check_begin(path)
        if labels.get("pattern"):
            HeaderPattern(labels["pattern"])
    if source["type"] == "swissprot":
        path = resolve(source["swissprot"], data_folder)
        if path.exists() or source["download"] is None:
            check_flat_file(path)
    if source["type"] == "matrix":
        path = resolve(source["matrix"], data_folder)
        check_ending(path)
        check_file(path)
    if source["type"] == "vectors":
        check_objects_file(resolve(source["vectors"], data_folder), make_kernel(source["kernel"]))
    if labels.get("lines"):
        check_file(resolve(labels["lines"], data_folder))
    if labels.get("table"):
        check_columns(
            resolve(labels["table"], data_folder), labels["id_column"], labels["label_column"]
        )


def fasta_files(fasta: str | Sequence[str], data_folder: Path) -> list[Path]:
    """Return the FASTA files of a source: one, several, or all of a folder in order of name.

    Raises
    ------
    InputError
        If a folder has no file with an ending of FASTA.
    """
    paths: list[Path] = []
    for name in [fasta] if isinstance(fasta, str) else fasta:
        path = resolve(name, data_folder)
        if not path.is_dir():
            paths.append(path)
            continue
        found = sorted(
            p
            for p in path.iterdir()
            if p.is_file() and not p.name.startswith(".") and name_endings(p)[1] in FASTA_ENDINGS
        )
        if not found:
            raise InputError(
                f"{path}: has no FASTA file. Files must end in {', '.join(FASTA_ENDINGS)} "
                "(or these with .gz)."
            )
        paths += found
    return paths


def load_dataset(
    source: Mapping[str, Any],
    data_folder: Path,
    alphabet: str | None,
    seed: int,
    unknown: Sequence[str] = (),
) -> Dataset:
    """Read, check and collapse a data set.

    Parameters
    ----------
    source : mapping
        The part ``source`` of a data set's configuration, complete.
    data_folder : Path
        Where relative paths start.
    alphabet : str or None
        Letters of the substitution matrix, for the sources of :data:`ALIGNED`.
    seed : int
        Of the simulation or the generator.
    unknown : sequence of str
        Classes that are to be held out (:func:`kreinflow.sequences.unknown.without_unknown`). They
        are read with the others, but what is kept of the others does not depend on them: what is
        identical to an object of another class is dropped, and counted.

    Returns
    -------
    Dataset
        Its ``statistics`` has the keys ``records_read``, ``records_kept``, ``distinct``,
        ``dropped`` (reason to ``count`` and ``examples``), ``substitutions`` (kind to residues),
        ``class_sizes`` (label to records), ``lengths`` (``minimum``, ``lower_quartile``,
        ``median``, ``upper_quartile``, ``maximum``, ``mean`` of the distinct sequences; else
        empty), ``asymmetry`` (of a matrix: largest, as a share of the largest entry; else None)
        and ``files`` (name to sha256); of a UniProtKB flat file also ``several_labels`` (entries
        with more than one) and ``release`` (as in the config, or None); of FASTA, where they are to
        be classified, also ``unlabelled`` (records without a label); of nucleotides
        ``other_strand`` (``count`` and ``examples``, see
        :func:`~kreinflow.sequences.strands.on_other_strand`).

    Raises
    ------
    InputError
        At the first fault that the configuration does not ask to drop.
    """
    if source["type"] == "matrix":
        return _load_matrix(source, data_folder)
    if source["type"] == "vectors":
        return _load_vectors(source, data_folder, unknown)
    if source["type"] == "generated":
        return _load_generated(source, seed, unknown)
    if alphabet is None:
        raise InputError("sequences need the letters of a substitution matrix.")
    if source["type"] == "simulated":
        return _load_simulated(source, seed, unknown)
    if source["type"] == "swissprot":
        return _load_swissprot(source, data_folder, alphabet, unknown)
    return _load_fasta(source, data_folder, alphabet, unknown)


def _load_simulated(source: Mapping[str, Any], seed: int, unknown: Sequence[str]) -> Dataset:
    simulated = simulate_families(source["families"], source["sequences"], seed)
    return _collapse(
        [s.id for s in simulated],
        [s.label for s in simulated],
        [s.residues for s in simulated],
        _Drops(),
        Counter(),
        records_read=len(simulated),
        files={},
        conflicting="drop",
        min_class_size=source["min_class_size"],
        unknown=unknown,
    )


def _load_fasta(
    source: Mapping[str, Any], data_folder: Path, alphabet: str, unknown: Sequence[str]
) -> Dataset:
    paths = fasta_files(source["fasta"], data_folder)
    way = source["labels"]
    table = resolve(way["table"], data_folder) if way.get("table") else None
    pattern = HeaderPattern(way["pattern"]) if way.get("pattern") else None
    to_classify = source["unmatched"] == "classify"
    labels = read_pairs(table, way["id_column"], way["label_column"], to_classify) if table else {}
    residues_of = ResidueAlphabet(alphabet, source["molecule"])

    drops, substitutions = _Drops(), Counter[str]()
    places: dict[str, str] = {}
    kept: list[tuple[str, bytes]] = []
    organisms: dict[str, tuple[str, str]] = {}
    for path in paths:
        for record in read_fasta(path):
            id = record.id
            _note_place(places, id, record.place, "id", "Rename or remove one of them.")
            if not table:
                label = pattern.label(record.header) if pattern else name_endings(path)[0]
                if label is not None:
                    labels[id] = label
            residues = residues_of.clean(record.residues)
            if not residues:
                raise InputError(
                    f"{record.place}, {id}: has no residues but stops or gaps. Remove the record."
                )
            if _is_too_long(residues, source, record.place, id, drops):
                continue
            if _is_illegal(residues, residues_of, source, record.place, id, drops):
                continue
            kept.append((id, residues))
            if found := organism(record.header):
                organisms[id] = found
            substitutions += residues_of.substitutions(record.residues)
    if table:
        labels = known_by(places, labels, str(table))
    if source["unmatched"] == "refuse":
        where = f"{table}" if table else f"labels.pattern {way.get('pattern')!r}"
        check_matched(places, labels, where)
    unlabelled = tuple(record for record in kept if record[0] not in labels)
    for id, _ in () if to_classify else unlabelled:
        drops.add("no label", id)
    kept = [(id, residues) for id, residues in kept if id in labels]
    refuse_control("label", [labels[id] for id, _ in kept], [places[id] for id, _ in kept])
    if source["molecule"] == "protein" and set(LETTERS) <= set(alphabet):
        _refuse_nucleotides([residues for _, residues in kept], ", ".join(map(str, paths[:1])))
    without_sequence = [id for id in labels if id not in places]
    for id in without_sequence:
        drops.add("label without sequence", id)
    collapsed = _collapse(
        [id for id, _ in kept],
        [labels[id] for id, _ in kept],
        [residues for _, residues in kept],
        drops,
        substitutions,
        records_read=len(places),
        files=_checksums([*paths, *([table] if table else [])]),
        conflicting=source["conflicting_labels"],
        min_class_size=source["min_class_size"],
        unknown=unknown,
    )
    collapsed = replace(collapsed, organisms=_organisms(collapsed, organisms, unknown))
    if source["molecule"] == "nucleotide":
        turned = {"other_strand": _other_strand(collapsed, unknown)}
        collapsed = replace(collapsed, statistics=collapsed.statistics | turned)
    if not to_classify:
        return collapsed
    return replace(
        collapsed,
        statistics=collapsed.statistics | {"unlabelled": len(unlabelled)},
        dropped=(*collapsed.dropped, *(id for id, _ in unlabelled)),
        unlabelled=unlabelled,
    )


def _refuse_nucleotides(sequences: Sequence[bytes], where: str) -> None:
    """Refuse what is no protein beyond doubt: thousands of residues of five kinds."""
    if sum(map(len, sequences)) < 1000 or any(set(s) - set(b"ACGTUN") for s in sequences):
        return
    raise InputError(
        f"{where}: all residues are A, C, G, T or N, but the molecule is protein. "
        "Set 'source.molecule' to nucleotide."
    )


def _other_strand(dataset: Dataset, unknown: Sequence[str]) -> dict[str, Any]:
    """Return how many records of known classes look like the other strand of theirs."""
    assert dataset.sequences is not None
    known = np.array([label not in unknown for label in dataset.classes])[dataset.labels]
    rows = np.unique(dataset.rows[known])
    labels, found = dataset.row_labels, np.zeros(len(dataset.digests), dtype=np.bool_)
    found[rows] = on_other_strand(
        [dataset.sequences[row] for row in rows], [labels[row] for row in rows]
    )
    ids = [dataset.ids[record] for record in np.flatnonzero(found[dataset.rows] & known)]
    return {"count": len(ids), "examples": ids[:EXAMPLES]}


def _load_swissprot(
    source: Mapping[str, Any], data_folder: Path, alphabet: str, unknown: Sequence[str]
) -> Dataset:
    path = resolve(source["swissprot"], data_folder)
    way = source["labels"]
    if source["download"] is not None:
        if not path.exists():
            raise InputError(
                f"{path}: not there yet. `snakemake dataset` downloads it, or copy it there."
            )
        from kreinflow.sequences.download import check_checksum  # slow to import, seldom needed

        check_checksum(path, source["download"])
    residues_of = ResidueAlphabet(alphabet, "protein")
    drops, substitutions = _Drops(), Counter[str]()
    places: dict[str, str] = {}
    kept: list[tuple[str, str, bytes]] = []
    organisms: dict[str, tuple[str, str]] = {}
    several = 0
    for entry in read_swissprot(path, way):
        id = entry.id
        _note_place(places, id, entry.place, "accession", "Give a file that has each entry once.")
        several += len(entry.labels) > 1
        if not entry.labels:
            drops.add("no label", id)
            continue
        if entry.fragment and source["fragments"] == "drop":
            drops.add("fragment", id)
            continue
        if len(entry.labels) > 1 and way["multiple"] == "drop":
            drops.add("several labels", id)
            continue
        residues = residues_of.clean(entry.residues)
        if not residues:
            raise InputError(f"{entry.place}, {id}: has no residues. Remove the entry.")
        if _is_too_long(residues, source, entry.place, id, drops):
            continue
        if _is_illegal(residues, residues_of, source, entry.place, id, drops):
            continue
        substitutions += residues_of.substitutions(entry.residues)
        kept.append((id, entry.labels[0], residues))
        organisms[id] = (entry.taxonomy, entry.organism)
    for what, texts in (("accession", [r[0] for r in kept]), ("label", [r[1] for r in kept])):
        refuse_control(what, texts, [places[id] for id, _, _ in kept])
    if len(drops.by_reason.get("no label", ())) == len(places):
        raise InputError(
            f"{path}: none of {counted(len(places), 'entry', 'entries')} has "
            f"{label_source(way)}. Take the labels from something else, or give another file."
        )
    collapsed = _collapse(
        [id for id, _, _ in kept],
        [label for _, label, _ in kept],
        [residues for _, _, residues in kept],
        drops,
        substitutions,
        records_read=len(places),
        files=_checksums([path]),
        conflicting=source["conflicting_labels"],
        min_class_size=source["min_class_size"],
        unknown=unknown,
    )
    release = source["download"]["release"] if source["download"] is not None else None
    return replace(
        collapsed,
        statistics=collapsed.statistics | {"several_labels": several, "release": release},
        organisms=_organisms(collapsed, organisms, unknown),
    )


def _note_place(places: dict[str, str], id: str, place: str, what: str, advice: str) -> None:
    """Add the place of a record, and refuse an id that stood before."""
    if id in places:
        raise InputError(f"{place}: {what} {id!r} stands twice, first in {places[id]}. {advice}")
    places[id] = place


def _organisms(
    dataset: Dataset, found: Mapping[str, tuple[str, str]], unknown: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the organisms as columns; none if one is missing of a class that is not held out."""
    organisms = [found.get(id, ("", "")) for id in dataset.ids]
    for (taxonomy, _), code in zip(organisms, dataset.labels.tolist(), strict=True):
        if not taxonomy and dataset.classes[code] not in unknown:
            return {}
    return {
        name: tuple(organism[place] for organism in organisms)
        for place, name in enumerate(("taxonomy", "organism"))
    }


def _is_too_long(
    residues: bytes, source: Mapping[str, Any], place: str, id: str, drops: _Drops
) -> bool:
    if len(residues) <= source["max_length"]:
        return False
    if source["too_long"] == "refuse":
        raise InputError(
            f"{place}, {id}: has {len(residues)} residues, more than max_length = "
            f"{source['max_length']}. Raise it, or set 'too_long: drop'."
        )
    drops.add("too long", id)
    return True


def _is_illegal(
    residues: bytes,
    alphabet: ResidueAlphabet,
    source: Mapping[str, Any],
    place: str,
    id: str,
    drops: _Drops,
) -> bool:
    found = alphabet.illegal(residues)
    if found is None:
        return False
    if source["illegal_residues"] == "refuse":
        raise InputError(
            f"{place}, {id}: residue {found[0]} is {found[1]!r}, which the substitution matrix "
            "does not know. Correct the sequence, or set 'illegal_residues: drop'."
        )
    drops.add("illegal residues", id)
    return True


def _load_vectors(source: Mapping[str, Any], data_folder: Path, unknown: Sequence[str]) -> Dataset:
    path = resolve(source["vectors"], data_folder)
    kernel = make_kernel(source["kernel"])
    read = read_objects(path, kernel, source["variable"])
    ids, labels, label_path = _measured_labels(
        source["labels"], data_folder, path, read.ids, len(read.objects)
    )
    return _compared(
        kernel,
        ids,
        labels,
        read.objects,
        records_read=len(ids),
        files=_checksums([path, label_path]),
        source=source,
        conflicting=source["conflicting_labels"],
        unknown=unknown,
    )


def _load_generated(source: Mapping[str, Any], seed: int, unknown: Sequence[str]) -> Dataset:
    kernel = make_kernel(source["kernel"])
    vectors, labels = generate(source["generator"], seed)
    refuse_unfit(f"generator {source['generator']['name']}", kernel, vectors)
    return _compared(
        kernel,
        [str(i) for i in range(1, len(labels) + 1)],
        list(labels),
        vectors,
        records_read=len(labels),
        files={},
        source=source,
        conflicting="drop",
        unknown=unknown,
    )


def _compared(
    kernel: Kernel,
    ids: list[str],
    labels: list[str],
    objects: Objects,
    records_read: int,
    files: dict[str, str],
    source: Mapping[str, Any],
    conflicting: str,
    unknown: Sequence[str],
) -> Dataset:
    """Return the data set of vectors or strings: each distinct one once, by its bytes."""
    if kernel.strings:
        contents = [string.encode() for string in objects]
    else:
        objects = objects + 0.0  # -0.0 is 0.0
        contents = [row.tobytes() for row in objects]
    collapsed = _collapse(
        ids,
        labels,
        contents,
        _Drops(),
        Counter(),
        records_read,
        files,
        conflicting,
        source["min_class_size"],
        unknown,
        what="string" if kernel.strings else "vector",
    )
    place = {id: i for i, id in enumerate(ids)}
    first = np.unique(collapsed.rows, return_index=True)[1]
    return replace(
        collapsed,
        sequences=None,
        kind=kernel.kind,
        statistics=collapsed.statistics | {"lengths": {}},
        objects=objects[[place[collapsed.ids[record]] for record in first.tolist()]],
        kernel=dict(source["kernel"]),
    )


def _load_matrix(source: Mapping[str, Any], data_folder: Path) -> Dataset:
    path = resolve(source["matrix"], data_folder)
    read = read_matrix(path, source.get("variable"))
    n = len(read.values)
    given, labels, label_path = _measured_labels(source["labels"], data_folder, path, read.ids, n)
    values, asymmetry = check_matrix(
        path, read.values, source["kind"], source["symmetry_tolerance"]
    )

    refuse_lookalikes(labels)
    drops = _Drops()
    small = _small_classes(labels, range(n), source["min_class_size"])
    for id, label in zip(given, labels, strict=True):
        if label in small:
            drops.add("small class", id)
    keep = np.array([label not in small for label in labels])
    ids = tuple(id for id, kept in zip(given, keep, strict=True) if kept)
    labels = [label for label in labels if label not in small]
    classes, codes = _encode(labels, small, drops)
    similarity = source["kind"] == "similarity"
    return Dataset(
        ids=ids,
        labels=codes,
        classes=classes,
        rows=np.arange(len(ids), dtype=np.int64),
        digests=tuple(digest(id.encode()) for id in ids),
        sequences=None,
        kind="similarity" if similarity else "squared_dissimilarity",
        matrix=values if keep.all() else values[np.ix_(keep, keep)],
        statistics={
            "records_read": n,
            "records_kept": len(ids),
            "distinct": len(ids),
            "dropped": drops.statistics(),
            "substitutions": {},
            "class_sizes": dict(sorted(Counter(labels).items())),
            "lengths": {},
            "asymmetry": asymmetry,
            "files": _checksums([path, label_path]),
        },
        dropped=drops.ids(),
    )


def _measured_labels(
    way: Mapping[str, Any],
    data_folder: Path,
    path: Path,
    ids: tuple[str, ...] | None,
    n: int,
) -> tuple[list[str], list[str], Path]:
    """Return ids and labels of the n rows of a file, and the file of the labels.

    ``ids`` are those of the file itself, if it has any; else they are the table's, in its order,
    or numbers from 1.
    """
    label_path = resolve(way["lines"] if way.get("lines") else way["table"], data_folder)
    refuse_control("id", ids or (), [f"{path}, row {i}" for i, _ in enumerate(ids or (), 1)])
    if way.get("lines"):
        labels = read_lines(label_path)
        _check_count(label_path, len(labels), path, n)
        refuse_control("label", labels, [f"{label_path}, line {i}" for i in range(1, n + 1)])
        return list(ids or map(str, range(1, n + 1))), labels, label_path
    table = read_pairs(label_path, way["id_column"], way["label_column"])
    _check_count(label_path, len(table), path, n)
    found = list(ids or table)
    check_matched(found, table, str(label_path), "row", may_drop=False)
    return found, [table[id] for id in found], label_path


def _check_count(label_path: Path, labels: int, path: Path, rows: int) -> None:
    if labels != rows:
        raise InputError(
            f"{label_path}: has {counted(labels, 'label')}, but {path.name} has "
            f"{counted(rows, 'row')}. "
            "Give one label for each row."
        )


def _collapse(
    ids: list[str],
    labels: list[str],
    residues: list[bytes],
    drops: _Drops,
    substitutions: Counter[str],
    records_read: int,
    files: dict[str, str],
    conflicting: str,
    min_class_size: int,
    unknown: Sequence[str],
    what: str = "sequence",
) -> Dataset:
    """Return the data set of cleaned records: each distinct sequence once.

    A sequence of a class that is held out and of another one stays in the other alone.

    ``what`` the residues are, is for messages and counts: a vector or a string has bytes too.
    """
    refuse_lookalikes(labels)
    held = [label in unknown for label in labels]
    first: dict[bytes, int] = {}
    conflicts: set[bytes] = set()
    known: set[bytes] = set()
    # Those held out come last: what they meet is of a known class, or of another one held out.
    for i in sorted(range(len(labels)), key=held.__getitem__):
        sequence = residues[i]
        other = first.setdefault(sequence, i)
        if not held[i]:
            known.add(sequence)
        if labels[other] == labels[i]:
            continue
        if conflicting == "refuse":
            raise InputError(
                f"{ids[other]!r} and {ids[i]!r} are the same {what} with the labels "
                f"{labels[other]!r} and {labels[i]!r}. Correct one, or set "
                "'conflicting_labels: drop'."
            )
        if held[other] == held[i]:
            conflicts.add(sequence)
    records = []
    for record, out in zip(zip(ids, labels, residues, strict=True), held, strict=True):
        if out and record[2] in known:
            drops.add(f"unknown, identical to a {what} of a known class", record[0])
        elif record[2] in conflicts:
            drops.add(f"identical {what}s with different labels", record[0])
        else:
            records.append(record)
    small = _small_classes([r[1] for r in records], [r[2] for r in records], min_class_size)
    for id, label, _ in records:
        if label in small:
            drops.add("small class", id)
    records = [record for record in records if record[1] not in small]
    classes, codes = _encode([label for _, label, _ in records], small, drops)
    row_of: dict[bytes, int] = {}
    rows = [row_of.setdefault(sequence, len(row_of)) for _, _, sequence in records]
    sequences = tuple(row_of)
    return Dataset(
        ids=tuple(id for id, _, _ in records),
        labels=codes,
        classes=classes,
        rows=np.array(rows, dtype=np.int64),
        digests=tuple(digest(sequence) for sequence in sequences),
        sequences=sequences,
        kind="sequences",
        matrix=None,
        statistics={
            "records_read": records_read,
            "records_kept": len(records),
            "distinct": len(sequences),
            "dropped": drops.statistics(),
            "substitutions": dict(sorted(substitutions.items())),
            "class_sizes": dict(sorted(Counter(label for _, label, _ in records).items())),
            "lengths": length_quantiles([len(sequence) for sequence in sequences]),
            "asymmetry": None,
            "files": files,
        },
        dropped=drops.ids(),
    )


def _small_classes(labels: Sequence[str], objects: Iterable[Any], min_class_size: int) -> set[str]:
    """Return the classes with too few distinct objects: identical ones teach nothing new."""
    sizes = Counter(label for label, _ in set(zip(labels, objects, strict=True)))
    return {label for label, size in sizes.items() if size < min_class_size}


def _encode(
    labels: list[str], small: set[str], drops: _Drops
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    classes = tuple(sorted(set(labels)))
    if len(classes) < 2:
        why = [f"{len(ids)} {reason}" for reason, ids in drops.by_reason.items() if not small]
        if small:
            why = [f"as smaller than min_class_size: {first_few(sorted(small))}"]
        dropped = f"; dropped {', '.join(why)}" if why else ""
        left = counted(len(classes), "class", "classes")
        raise InputError(
            f"the data have {left} left ({', '.join(classes) or 'none'}{dropped}). "
            "At least two are needed."
        )
    code = {label: i for i, label in enumerate(classes)}
    return classes, np.array([code[label] for label in labels], dtype=np.intp)


def length_quantiles(lengths: list[int]) -> dict[str, float]:
    """Return the quartiles, the ends and the mean of lengths, as the statistics have them."""
    names = ("minimum", "lower_quartile", "median", "upper_quartile", "maximum")
    values = np.quantile(lengths, (0, 0.25, 0.5, 0.75, 1))
    quantiles = {name: float(value) for name, value in zip(names, values, strict=True)}
    return quantiles | {"mean": float(np.mean(lengths))}


def _checksums(paths: list[Path]) -> dict[str, str]:
    names = [path.name for path in paths]
    return {
        path.name if names.count(path.name) == 1 else f"{path.parent.name}/{path.name}": (
            file_sha256(path)
        )
        for path in paths
    }


def write_dataset(folder: Path, dataset: Dataset) -> None:
    """Write ``records.tsv``, ``distinct.tsv``, ``summary.json`` and the numbers, if there are any.

    ``records.tsv`` has the columns id, label and row, and taxonomy and organism where the input
    says them of all records; ``distinct.tsv`` has digest, length and sequence, one line for each
    row: the sequence, or with length 0 the string or nothing. The numbers are ``matrix.npy`` or
    ``vectors.npy``.
    """
    write_table(
        folder / "records.tsv",
        pd.DataFrame(
            {
                "id": dataset.ids,
                "label": [dataset.classes[code] for code in dataset.labels],
                "row": dataset.rows,
                **dataset.organisms,
            }
        ),
    )
    texts = [""] * len(dataset.digests)
    if dataset.sequences is not None:
        texts = [sequence.decode("ascii") for sequence in dataset.sequences]
    elif dataset.objects is not None and dataset.objects.ndim == 1:
        texts = dataset.objects.tolist()
    write_table(
        folder / "distinct.tsv",
        pd.DataFrame(
            {
                "digest": dataset.digests,
                "length": dataset.lengths,
                "sequence": texts,
            }
        ),
    )
    if dataset.matrix is not None:
        write_array(folder / "matrix.npy", dataset.matrix.astype(np.float64, copy=False))
    if dataset.objects is not None and dataset.objects.ndim == 2:
        write_array(folder / "vectors.npy", dataset.objects)
    write_json(
        folder / "summary.json",
        {
            "kind": dataset.kind,
            "kernel": dataset.kernel,
            "classes": list(dataset.classes),
            "statistics": dataset.statistics,
            "dropped_ids": list(dataset.dropped),
        },
    )


def _covers(numbers: NDArray[np.integer], count: int) -> bool:
    """Return whether the numbers are all of 0 to count - 1, each at least once."""
    return (
        len(numbers) >= count > 0
        and int(numbers.min()) >= 0
        and int(numbers.max()) < count
        and bool((np.bincount(numbers, minlength=count) > 0).all())
    )


def read_dataset(folder: Path) -> Dataset:
    """Read what :func:`write_dataset` wrote; matrix and vectors are read-only memory maps.

    Raises
    ------
    InputError
        If a file is missing, truncated or does not fit the others.
    """
    records = read_table(
        folder / "records.tsv",
        ("id", "label", "row"),
        text=("id", "label", "taxonomy", "organism"),
    )
    summary = read_json(folder / "summary.json")
    if not {"kind", "kernel", "classes", "statistics", "dropped_ids"} <= summary.keys():
        raise InputError(
            f"{folder / 'summary.json'}: not the summary of a data set. "
            "Delete the folder and run again."
        )
    kind, kernel, classes = summary["kind"], summary["kernel"], tuple(summary["classes"])
    rows = records["row"].to_numpy()
    labels = pd.Index(classes).get_indexer(pd.Index(records["label"]))
    sequences: tuple[bytes, ...] | None = None
    matrix: FloatArray | None = None
    objects: Objects | None = None
    if kind == "sequences":
        names, texts = read_plain_columns(folder / "distinct.tsv", ("digest", "sequence"))
        digests, sequences = tuple(name.decode("ascii", "replace") for name in names), tuple(texts)
    else:
        distinct = read_table(
            folder / "distinct.tsv",
            ("digest", "length", "sequence"),
            text=("digest", "sequence"),
        )
        digests = tuple(distinct["digest"].tolist())
        if kernel is None:
            matrix = open_array(folder / "matrix.npy", ndim=2)
        elif make_kernel(kernel).strings:
            objects = distinct["sequence"].to_numpy(dtype=object)
        else:
            objects = open_array(folder / "vectors.npy", ndim=2)
    fits = (
        _covers(labels, len(classes))
        and rows.dtype.kind == "i"
        and _covers(rows, len(digests))
        and (matrix is None or matrix.shape == (len(digests), len(digests)))
        and (objects is None or len(objects) == len(digests))
    )
    if not fits:
        raise InputError(
            f"{folder}: records, distinct rows and summary do not belong together. "
            "Delete the folder and run again."
        )
    return Dataset(
        ids=tuple(records["id"].tolist()),
        labels=labels,
        classes=classes,
        rows=rows.astype(np.int64),
        digests=digests,
        sequences=sequences,
        kind=str(kind),
        matrix=matrix,
        statistics=summary["statistics"],
        dropped=tuple(summary["dropped_ids"]),
        objects=objects,
        kernel=kernel,
        organisms={
            name: tuple(records[name]) for name in ("taxonomy", "organism") if name in records
        },
    )
