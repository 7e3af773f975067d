"""The inputs of ``fuzz.py``: right by construction, with what must be read of them."""

import copy
import io
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import yaml

from flat_files import entry
from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.config.configuration import load_configuration
from kreinflow.sequences.collapse import SourceRecords, collapse
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.labels import read_pairs
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.sources.registry import make_source
from kreinflow.sequences.user_tables import check_columns
from small_inputs import configuration

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX"
LONGEST = 60
UNSEEN = (*"\u202e\u202d\u2066\u200f\u200b\u2060\ufeff\u2028", "\x1b[31m")
"""What turns the direction of text, has no width, ends a line, or is obeyed by a terminal."""
_NEVER = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


class Case(NamedTuple):
    """A file, what reads it, what must be read if it is right, and what must never be read."""

    name: str
    data: bytes
    read: Callable[[Path], Any]
    expected: Any
    fault: Callable[[Any], str] = lambda found: ""
    packed: float = 0.25
    beside: tuple[tuple[str, str], ...] = ()
    right: bool = True


def word(random: Random, letters: str = "abcdefghijklmnopqrstuvwxyz", least=1, most=8) -> str:
    """Return a random word."""
    return "".join(random.choices(letters, k=random.randint(least, most)))


def unseen(texts) -> str:
    """Return what is wrong with ids or labels that were accepted."""
    for text in texts:
        if not text or text != text.strip():
            return f"{text!r} is empty or has spaces around it"
        if _NEVER.search(text):
            return f"{text!r} has a character that is obeyed, or has no width"
    return ""


def some_records(random: Random) -> list[tuple[str, str, str]]:
    """Return id, label and residues of four to eight records of two classes."""
    labels = random.choice(
        (("a", "b"), ("zinc finger", "Kinase"), ("می\u200cرود", "κ-chain"), ("1", "2"))
    )
    ids = [f"{word(random, 'ABCXYZ019_|.-')}{i}" for i in range(random.randint(4, 8))]
    return [(id, labels[i % 2], word(random, LETTERS, 5, LONGEST - 10)) for i, id in enumerate(ids)]


def written(random, id, label, residues):
    """Write a record in one of the ways that mean the same."""
    if random.random() < 0.2:
        residues = residues.lower()
    if random.random() < 0.2:
        residues += random.choice(("*", "---", "."))
    width = random.choice((7, 60, 1000))
    space = random.choice(("", "", " ", "\n\n"))
    lines = [residues[i : i + width] + space for i in range(0, len(residues), width)]
    return f">{random.choice(('', '', ' '))}{id} class={label};\n" + "\n".join(lines) + "\n"


def of_source(random: Random, settings: dict[str, Any], name: str, text: str, kept: Any) -> Case:
    """The case of a file of sequences that a source reads."""

    def read(path):
        common = {"conflicting_labels": "drop", "max_length": LONGEST, "min_class_size": 2}
        common |= {"illegal_residues": "refuse", "too_long": "refuse", settings["type"]: path.name}
        dataset = make_source(settings | common, path.parent).load(LETTERS, 1)
        return [
            (id, dataset.classes[code], dataset.sequences[row].decode())
            for id, code, row in zip(dataset.ids, dataset.labels, dataset.rows, strict=True)
        ]

    def fault(found):
        strange = set().union(*(residues for _, _, residues in found)) - set(LETTERS)
        longest = max(len(residues) for _, _, residues in found)
        if strange or longest > LONGEST:
            return f"residues {sorted(strange)}, {longest} at most"
        return unseen(text for id, label, _ in found for text in (id, label))

    return Case(name, text.encode(), read, kept, fault)


def fasta(random: Random) -> Case:
    """A FASTA file with the labels in its headers."""
    records = some_records(random)
    text = "".join(written(random, *record) for record in records)
    text = random.choice(("", "", "\ufeff")) + random.choice(("", "\n")) + text
    text = text.replace("\n", random.choice(("\n", "\n", "\r\n", "\r")))
    settings = {"type": "fasta", "labels": {"pattern": "class=(.+?);"}, "molecule": "protein"}
    return of_source(random, settings | {"unmatched": "refuse"}, "x.fasta", text, records)


def flat_file(random: Random) -> Case:
    """A flat file of UniProtKB."""
    kept = [
        (f"P{random.randrange(1000):03}{i}A", f"PS0000{1 + i % 2}", word(random, LETTERS, 5, 55))
        for i in range(random.randint(4, 7))
    ]
    text = "".join(entry(id, residues, [label]) for id, label, residues in kept)
    labels = {"from": "prosite", "levels": 4, "multiple": "drop", "classes": None}
    settings = {"type": "swissprot", "labels": labels, "fragments": "drop", "download": None}
    return of_source(random, settings, "x.dat", text, kept)


def table(random: Random) -> Case:
    """A table of labels."""
    records, delimiter = some_records(random), random.choice("\t,")
    more = random.randint(0, 2)
    rows = [["id", "label", *(f"more{i}" for i in range(more))]]
    rows += [[id, label, *(word(random) for _ in range(more))] for id, label, _ in records]
    quote, ends = random.choice(("{}", "{}", '"{}"')), random.choice(("\n", "\r\n"))
    lines = [delimiter.join(quote.format(field) for field in row) for row in rows]
    text = ends.join(lines) + random.choice(("", ends, ends + ends))

    def read(path):
        check_columns(path, "id", "label")
        return read_pairs(path, "id", "label")

    def fault(found):
        return unseen([*found, *found.values()])

    name = "l.tsv" if delimiter == "\t" else "l.csv"
    return Case(name, text.encode(), read, {id: label for id, label, _ in records}, fault)


def folds(random: Random) -> Case:
    """A table of folds."""
    ids = [f"s{i}" for i in range(9)]
    texts = [f"{LETTERS[i]}{'MKVLAAGH' * 3}" for i in range(9)]
    names = random.choice((("1", "2"), ("one", "two"), ("test", "train")))
    of = {id: names[i // 2 % 2] for i, id in enumerate(ids)}
    numbers = {name: i for i, name in enumerate(sorted({*names} - {"train"}))} | {"train": -1}

    def read(path):
        records = SourceRecords(ids, list("ababababa"), Sequences(tuple(map(str.encode, texts))), 9)
        settings = {"method": "table", "table": path.name, "k": 2}
        found = assign_folds(settings, collapse(records, "drop", 2, ()), 1, path.parent)
        return dict(zip(found["id"], found["fold"], strict=True))

    text = "id\tfold\n" + "".join(f"{id}\t{fold}\n" for id, fold in of.items())
    return Case("f.tsv", text.encode(), read, {id: numbers[of[id]] for id in ids})


def substitution(random: Random) -> Case:
    """A substitution matrix in the format of NCBI."""
    letters = random.sample(LETTERS, random.randint(2, 20))
    space = random.choice((" ", "  ", "\t"))
    upper = np.triu([[random.randint(-9, 15) for _ in letters] for _ in letters])
    scores = (upper + np.triu(upper, 1).T).tolist()
    rows = zip(letters, scores, strict=True)
    lines = [space.join([head, *map(str, row)]) for head, row in rows]

    def read(path):
        found = load_substitution_matrix(path.name, path.parent)
        return found.alphabet, found.scores.tolist()

    def fault(found):
        array = np.array(found[1])
        good = (array == array.T).all() and array.shape == (len(found[0]),) * 2
        return "" if good and abs(array).max() <= 10_000 and found[0].isascii() else "no matrix"

    text = "\n".join(["# made up", space.join(letters), *lines, ""])
    return Case("m.txt", text.encode(), read, ("".join(letters), scores), fault, packed=0)


def written_numbers(random: Random, values: Any, ids: list[str], columns: list[str], cut: str):
    """Return numbers as text, and whether with ids: plain, with ids, or with ids and a header."""
    way = random.choice(("plain", "rows", "both"))
    cells = [[repr(float(value)) for value in row] for row in values]
    if way != "plain":
        cells = [[id, *row] for id, row in zip(ids, cells, strict=True)]
    if way == "both":
        cells = [[random.choice(("", "id", "x")), *columns], *cells]
    return ("\n".join(cut.join(row) for row in cells) + "\n").encode(), way != "plain"


def matrix(random: Random) -> Case:
    """A square matrix and its labels."""
    n = random.randint(4, 9)
    points = np.array([(random.uniform(-3, 3), random.uniform(-3, 3)) for _ in range(n)])
    D = np.abs(points[:, None] - points).sum(axis=2)
    kind = random.choice(("dissimilarity", "squared_dissimilarity", "similarity", "asymmetric"))
    values = np.exp(-D) if kind in ("similarity", "asymmetric") else D
    ids, named, file = [f"o{i}" for i in range(n)], False, io.BytesIO()
    ending, delimiter = random.choice((("csv", ","), ("tsv", "\t"), ("npy", "")))
    np.save(file, values)
    data = file.getvalue()
    if delimiter:
        data, named = written_numbers(random, values, ids, ids, delimiter)
    settings = {"type": "matrix", "kind": kind, "labels": {"lines": "y.txt"}, "variable": None}
    settings |= {"symmetry_tolerance": 1e-6, "min_class_size": 2}

    def read(path):
        dataset = make_source(settings | {"matrix": path.name}, path.parent).load(None, 1)
        return dataset.ids, dataset.matrix[np.ix_(dataset.rows, dataset.rows)].tolist()

    def fault(found):
        numbers = np.array(found[1])
        good = np.isfinite(numbers).all()
        good &= kind == "asymmetric" or (numbers == numbers.T).all()
        return unseen(found[0]) if good else "no matrix"

    names = ids if named else [str(k + 1) for k in range(n)]
    expected = tuple(names), (D * D if kind == "dissimilarity" else values).tolist()
    beside = (("y.txt", "\n".join("ab"[k % 2] for k in range(n))),)
    return Case(f"k.{ending}", data, read, expected, fault, 0.25 * bool(delimiter), beside)


def vectors(random: Random) -> Case:
    """Vectors, or strings, with a table of labels."""
    n, d = random.randint(4, 9), random.randint(1, 5)
    ids, strings = [f"o{i}" for i in range(n)], random.random() < 0.3
    kernel = {"name": "edit_distance"} if strings else {"name": "gaussian", "width": 1.0}
    if strings:
        values = [word(random, "abcdefgh \u03bb", 1, 30).strip() + str(i) for i in range(n)]
        data = "\n".join(values).encode()
    else:
        first = [round(random.uniform(-9, 9), random.randint(0, 12)) for _ in range(d)]
        values = [[x + k for x in first] for k in range(n)]
        data, _ = written_numbers(random, values, ids, [f"c{k}" for k in range(d)], ",")
    labels = {"table": "l.txt", "lines": None, "id_column": "id", "label_column": "label"}
    settings = {"type": "vectors", "kernel": kernel, "labels": labels, "variable": None}
    settings |= {"conflicting_labels": "drop", "min_class_size": 2}

    def read(path):
        dataset = make_source(settings | {"vectors": path.name}, path.parent).load(None, 1)
        return dataset.ids, dataset.payload.objects[dataset.rows].tolist()

    def fault(found):
        good = strings or np.isfinite(np.array(found[1])).all()
        return unseen(found[0]) if good else "a number is not finite"

    text = "id\tlabel\n" + "".join(f"{id}\t{'ab'[k % 2]}\n" for k, id in enumerate(ids))
    name = "x.txt" if strings else "x.csv"
    return Case(name, data, read, (tuple(ids), values), fault, 0.25, (("l.txt", text),))


_CONFIG = configuration({"type": "fasta", "fasta": "x.fasta", "labels": {"table": "l.tsv"}})


def config(random: Random) -> Case:
    """A config."""
    chosen = {"seed": random.randint(0, 99), "reject_error": random.choice((0.01, 0.2))}
    chosen |= {"inner_folds": random.randint(2, 9), "results": f"r{random.randint(1, 9)}"}

    def read(path):
        found = load_configuration(path)
        return {key: found[key] for key in chosen}

    text = yaml.safe_dump(copy.deepcopy(_CONFIG) | chosen, default_flow_style=False)
    return Case("c.yaml", text.encode(), read, chosen, packed=0)


KINDS = {
    "FASTA": (fasta, 25),
    "table of labels": (table, 15),
    "UniProtKB flat file": (flat_file, 10),
    "table of folds": (folds, 10),
    "substitution matrix": (substitution, 10),
    "matrix": (matrix, 15),
    "vectors and strings": (vectors, 10),
    "config": (config, 5),
}
"""What makes an input, and of 100 inputs how many are such."""
