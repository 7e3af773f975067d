"""Sequences, labels, folds and substitution matrices, right and wrong, for ``fuzz.py``."""

import bz2
from random import Random

import numpy as np

from flat_files import entry
from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.sequences.collapse import Records, collapse
from kreinflow.sequences.folds import assign_folds, count_folds
from kreinflow.sequences.labels import check_columns, read_pairs
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.sources.registry import make_source
from series.fuzzing import UNSEEN, Case, file_case, unseen, word

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX"
LONGEST = 60
_COMMON = {
    "illegal_residues": "refuse",
    "conflicting_labels": "drop",
    "max_length": LONGEST,
    "too_long": "refuse",
    "min_class_size": 2,
}


def labelled(dataset):
    """Return id, label and residues of each record that is kept."""
    return [
        (id, dataset.classes[code], dataset.sequences[row].decode())
        for id, code, row in zip(dataset.ids, dataset.labels, dataset.rows, strict=True)
    ]


def doubtful(found):
    """What no record may have."""
    strange = set().union(*(residues for _, _, residues in found)) - set(LETTERS)
    longest = max(len(residues) for _, _, residues in found)
    if strange or longest > LONGEST:
        return f"residues {sorted(strange)}, {longest} at most"
    return unseen(text for id, label, _ in found for text in (id, label))


def _of_source(random, settings, key, name, data, kept, wrong):
    """A file that a source of these settings reads; ``kept`` are its records if it is right."""

    def read(path):
        return labelled(make_source(settings | {key: path.name}, path.parent).load(LETTERS, 1))

    return file_case(random, name, data, read, kept, wrong, doubtful)


def some_records(random):
    """Return id, label and residues of four to eight records of two classes."""
    labels = random.choice(
        (("a", "b"), ("zinc finger", "Kinase"), ("می\u200cرود", "κ-chain"), ("1", "2"))
    )
    number = random.randint(4, 8)
    ids = [f"{word(random, 'ABCXYZ019_|.-')}{i}" for i in range(number)]
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


_FASTA_FAULTS = {
    "no id": lambda r, i, c, s: f">\n{s}\n",
    "no residues": lambda r, i, c, s: f">{i} class={c};\n",
    "stops alone": lambda r, i, c, s: f">{i} class={c};\n*--\n",
    "illegal residue": lambda r, i, c, s: f">{i} class={c};\n{s}{r.choice('1!@?/:*-')}{s[:3]}\n",
    "letter of another script": lambda r, i, c, s: f">{i} class={c};\n{s}{r.choice('ÅА３')}K\n",
    "too long": lambda r, i, c, s: f">{i} class={c};\n{'MKVLA' * 13}\n",
    "far too long": lambda r, i, c, s: f">{i} class={c};\n{'MKVLA' * 30_000}\n",
    "unseen in the id": lambda r, i, c, s: f">{i[0]}{r.choice(UNSEEN[:-2])}{i} class={c};\n{s}\n",
    "unseen in the label": lambda r, i, c, s: f">{i} class=x{r.choice(UNSEEN)}y;\n{s}\n",
    "no label": lambda r, i, c, s: f">{i} {c}\n{s}\n",
    "labels that look alike": lambda r, i, c, s: (
        f">{i} class=e\u0301;\n{s}\n>{i}o class=\u00e9;\n{s}\n"
    ),
}  # fmt: skip
_FASTA_FILES = {
    "text before it": lambda d: b"id\tlabel\n" + d,
    "UTF-16": lambda d: d.decode().encode("utf-16"),
    "bzip2": bz2.compress,
    "nothing": lambda d: b"",
    "blank lines": lambda d: b"\n \n",
    "header not UTF-8": lambda d: d.replace(b"class", b"\xe4class", 1),
    "twice": lambda d: d + d,
}


def fasta(random: Random) -> Case:
    """A FASTA file with the labels in its headers."""
    records = some_records(random)
    texts, wrong = [written(random, *record) for record in records], None
    if random.random() < 0.35:
        at, what = random.randrange(len(texts)), random.choice(list(_FASTA_FAULTS))
        texts[at] = _FASTA_FAULTS[what](random, *records[at])
        named = {"labels that look alike": "", "no label": records[at][0]}
        wrong = what, named.get(what, f"record {at + 1} (line ")
    text = "".join(texts)
    if wrong is None and random.random() < 0.2:
        what = random.choice(list(_FASTA_FILES))
        wrong, data = (what, ""), _FASTA_FILES[what](text.encode())
    elif wrong is None:
        text = random.choice(("", "", "\ufeff")) + random.choice(("", "\n")) + text
        data = text.replace("\n", random.choice(("\n", "\n", "\r\n", "\r"))).encode()
    else:
        data = text.encode()
    labels = {"pattern": "class=(.+?);"}
    settings = _COMMON | {"type": "fasta", "labels": labels, "molecule": "protein"}
    settings["unmatched"] = "refuse"
    return _of_source(random, settings, "fasta", "x.fasta", data, records, wrong)


_TABLE_FAULTS = {
    "too few fields": lambda r, row: row[: r.randrange(1, len(row))],
    "too many fields": lambda r, row: [*row, "more"],
    "empty id": lambda r, row: ["", *row[1:]],
    "empty label": lambda r, row: [row[0], " ", *row[2:]],
    "unseen": lambda r, row: [row[0], f"x{r.choice(UNSEEN)}y", *row[2:]],
    "unseen in the id": lambda r, row: [f"x{r.choice(UNSEEN[:-2])}y", *row[1:]],
    "open quotation mark": lambda r, row: [row[0], '"' + row[1], *row[2:]],
}


def table(random: Random) -> Case:
    """A table of labels."""
    records, delimiter = some_records(random), random.choice("\t,")
    more = random.randint(0, 2)
    rows = [[id, label, *(word(random) for _ in range(more))] for id, label, _ in records]
    header = ["id", "label", *(f"more{i}" for i in range(more))]
    wrong, quote, ends = None, random.choice(("{}", "{}", '"{}"')), random.choice(("\n", "\r\n"))
    if random.random() < 0.35:
        others = ["no column", "a column twice", "an id twice", "only a header"]
        what, quote, ends = random.choice([*_TABLE_FAULTS, *others]), "{}", "\n"
        at, named = random.randrange(len(rows)), ""
        if what in _TABLE_FAULTS:
            rows[at], named = _TABLE_FAULTS[what](random, rows[at]), "line "
        elif what == "no column":
            header[random.randrange(2)] = "other"
        elif what == "a column twice":
            header.append(header[random.randrange(2)])
            rows = [[*row, "x"] for row in rows]
        elif what == "an id twice":
            rows.append(rows[at])
            named = f"line {len(rows) + 1}"
        else:
            rows = []
        wrong = what, named
    lines = [delimiter.join(quote.format(field) for field in row) for row in (header, *rows)]
    text = ends.join(lines) + random.choice(("", ends, ends + ends))

    def read(path):
        check_columns(path, "id", "label")
        return read_pairs(path, "id", "label")

    return file_case(
        random,
        "l.tsv" if delimiter == "\t" else "l.csv",
        text.encode(),
        read,
        {id: label for id, label, _ in records},
        wrong,
        lambda found: unseen([*found, *found.values()]),
    )


_ENTRY_FAULTS = {
    "another length": lambda r, id, s, label: entry(id, s, [label], length=len(s) + 1),
    "too long": lambda r, id, s, label: entry(id, "MKVLA" * r.choice((13, 13, 20_000)), [label]),
    "illegal residue": lambda r, id, s, label: entry(id, f"{s}J!K", [label]),
    "twice": lambda r, id, s, label: 2 * entry(id, s, [label]),
    "no accession": lambda r, id, s, label: entry(id, s, [label]).replace("AC   ", "CC   ", 1),
    "unseen": lambda r, id, s, label: entry(f"P1{r.choice(UNSEEN[:-2])}x", s, [label]),
}


def flat_file(random: Random) -> Case:
    """A flat file of UniProtKB."""
    kept = [
        (f"P{random.randrange(1000):03}{i}A", f"PS0000{1 + i % 2}", word(random, LETTERS, 5, 55))
        for i in range(random.randint(4, 7))
    ]
    texts, wrong = [entry(id, residues, [label]) for id, label, residues in kept], None
    if random.random() < 0.35:
        what = random.choice([*_ENTRY_FAULTS, "no end", "FASTA", "no label"])
        at, named = random.randrange(len(kept)), ""
        if what in _ENTRY_FAULTS:
            id, label, residues = kept[at]
            texts[at] = _ENTRY_FAULTS[what](random, id, residues, label)
            named = f"entry {at + 1 + (what == 'twice')} (line "
        elif what == "no end":
            texts[-1], named = texts[-1].replace("//\n", ""), f"entry {len(kept)} (line "
        elif what == "FASTA":
            texts, named = [">a\nMKV\n"], "line 1"
        else:
            texts = [text.replace("DR   PROSITE", "DR   Pfam") for text in texts]
        wrong = what, named
    labels = {"from": "prosite", "levels": 4, "multiple": "drop", "classes": None}
    settings = _COMMON | {"type": "swissprot", "labels": labels, "fragments": "drop"}
    settings["download"] = None
    data = "".join(texts).encode()
    return _of_source(random, settings, "swissprot", "x.dat", data, kept, wrong)


def folds(random: Random) -> Case:
    """A table of folds."""
    ids = [f"s{i}" for i in range(9)]
    texts = [f"{LETTERS[i]}{'MKVLAAGH' * 3}" for i in range(9)]
    labels = ["a", "b", "a", "b", *(random.choice("ab") for _ in range(4)), "a"]
    texts[8] = texts[0]
    names = random.choice((("1", "2"), ("one", "two"), ("test", "train")))
    of = {id: names[i // 2 % 2] for i, id in enumerate(ids)} | {"s8": names[0]}
    numbers = {name: i for i, name in enumerate(sorted({*names} - {"train"}))} | {"train": -1}
    expected, wrong, extra = {id: numbers[of[id]] for id in ids}, None, ""
    if random.random() < 0.4:
        some, other = f"s{random.randrange(9)}", f"x{random.choice(UNSEEN)}y"
        what, named, changed = random.choice(
            (
                ("all train", "", dict.fromkeys(of, "train")),
                ("one fold", "", dict.fromkeys(of, "1")),
                ("case", "upper and lower case", {"s6": "Fold", "s7": "fold"}),
                ("no fold", some, {}),
                ("unknown id", "stranger", {"stranger": names[0]}),
                ("twice", "line 11", {}),
                ("twins", "'s8'", {"s8": names[1]}),
                ("unseen", "line 6", {"s4": other}),
            )
        )
        of |= changed
        if what == "no fold":
            del of[some]
        extra = f"s3\t{names[0]}\n" if what == "twice" else ""
        wrong = what, named
    data = "id\tfold\n" + "".join(f"{id}\t{fold}\n" for id, fold in of.items()) + extra

    def read(path):
        settings = {"method": "table", "table": path.name}
        records = Records(ids, labels, Sequences(tuple(map(str.encode, texts))), 9)
        dataset = collapse(records, "drop", 2, ())
        known = {number for _, number in count_folds(settings, path.parent)}
        found = assign_folds(settings, dataset, 1, path.parent)
        assert set(found["fold"]) <= known | {-1}
        return dict(zip(found["id"], found["fold"], strict=True))

    return file_case(random, "f.tsv", data.encode(), read, expected, wrong)


def substitution(random: Random) -> Case:
    """A substitution matrix in the format of NCBI."""
    letters = random.sample(LETTERS, random.randint(2, 20))
    n = len(letters)
    scores = [[random.randint(-9, 15) for _ in letters] for _ in letters]
    for i in range(n):
        for j in range(i):
            scores[i][j] = scores[j][i]
    fields = [[str(score) for score in row] for row in scores]
    i, j = random.sample(range(n), 2)
    heads, rows, wrong = list(letters), list(letters), None
    if random.random() < 0.4:
        what = random.choice(
            [
                "asymmetric",
                "no integer",
                "field missing",
                "row missing",
                "row twice",
                "huge",
                "letter twice",
                "two letters",
                "nothing there",
            ]
        )
        if what == "asymmetric":
            fields[i][j] = str(scores[i][j] + 1)
        elif what == "no integer":
            fields[i][j] = random.choice(("1.5", "x", "1_0", "--1", "9" * 5000, "0x1"))
        elif what == "huge":
            fields[i][j] = fields[j][i] = random.choice(("10001", "-10001", "9" * 30, "2147483648"))
        elif what == "field missing":
            del fields[i][j]
        elif what == "row missing":
            del fields[i], rows[i]
        elif what == "row twice":
            fields.append(fields[i])
            rows.append(rows[i])
        elif what == "letter twice":
            heads[i] = heads[j]
        elif what == "two letters":
            heads[i] += "A"
        else:
            heads, rows = [], []
        wrong = what, "line " if what in ("no integer", "field missing", "two letters") else ""
    space = random.choice((" ", "  ", "\t"))
    lines = [space.join([head, *row]) for head, row in zip(rows, fields, strict=False)]
    data = "\n".join(["# made up", space.join(heads), *lines, ""]).encode()

    def read(path):
        found = load_substitution_matrix(path.name, path.parent)
        return found.alphabet, found.scores.tolist()

    def fault(found):
        array = np.array(found[1])
        good = (array == array.T).all() and array.shape == (len(found[0]),) * 2
        return "" if good and abs(array).max() <= 10_000 and found[0].isascii() else "no matrix"

    expected = "".join(letters), scores
    return file_case(random, "m.txt", data, read, expected, wrong, fault, packed=0)
