"""Sequences, labels, folds and substitution matrices, right and wrong, for ``tests/fuzz.py``."""

import bz2
from random import Random

import numpy as np

from flat_files import entry
from fuzzing import (
    ACCEPTED,
    EITHER,
    REFUSED,
    UNSEEN,
    Case,
    damaged_or_packed,
    unseen,
    word,
)
from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.sequences.collapse import Records, collapse
from kreinflow.sequences.folds import assign_folds, count_folds
from kreinflow.sequences.labels import check_columns, read_pairs
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.sources.registry import make_source

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


def _of_source(settings, name, data, verdict, what, kept, named):
    """A file that a source of these settings reads; ``kept`` are its records if it is right."""
    return Case(
        {name: data},
        lambda folder: labelled(make_source(settings, folder).load(LETTERS, 1)),
        verdict,
        what,
        kept if verdict == ACCEPTED else None,
        named,
        doubtful,
    )


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
    texts = [written(random, *record) for record in records]
    what, named, name, kept = "nothing", "", "x.fasta", list(records)
    if random.random() < 0.35:
        at = random.randrange(len(texts))
        what = random.choice(list(_FASTA_FAULTS))
        texts[at] = _FASTA_FAULTS[what](random, *records[at])
        named = "" if "alike" in what else f"record {at + 1} (line "
        if what == "no label":
            named = records[at][0]
        verdict, data = REFUSED, "".join(texts).encode()
    elif random.random() < 0.2:
        what = random.choice(list(_FASTA_FILES))
        verdict, data = REFUSED, _FASTA_FILES[what]("".join(texts).encode())
    else:
        text = random.choice(("", "", "\ufeff")) + random.choice(("", "\n")) + "".join(texts)
        text = text.replace("\n", random.choice(("\n", "\n", "\r\n", "\r")))
        name, data, verdict = damaged_or_packed(random, name, text.encode())
        what = "damage" if verdict == EITHER else "nothing"
    settings = {
        **_COMMON,
        "type": "fasta",
        "fasta": name,
        "labels": {"pattern": "class=(.+?);"},
        "molecule": "protein",
        "unmatched": "refuse",
    }
    named = "" if what in _FASTA_FILES else named
    return _of_source(settings, name, data, verdict, what, kept, named)


_TABLE_FAULTS = {
    "too few fields": lambda r, row, d: row[: r.randrange(1, len(row))],
    "too many fields": lambda r, row, d: [*row, "more"],
    "empty id": lambda r, row, d: ["", *row[1:]],
    "empty label": lambda r, row, d: [row[0], " ", *row[2:]],
    "unseen": lambda r, row, d: [row[0], f"x{r.choice(UNSEEN)}y", *row[2:]],
    "unseen in the id": lambda r, row, d: [f"x{r.choice(UNSEEN[:-2])}y", *row[1:]],
    "open quotation mark": lambda r, row, d: [row[0], '"' + row[1], *row[2:]],
}


def table(random: Random) -> Case:
    """A table of labels."""
    records, delimiter = some_records(random), random.choice("\t,")
    name = "l.tsv" if delimiter == "\t" else "l.csv"
    more = random.randint(0, 2)
    rows = [[id, label, *(word(random) for _ in range(more))] for id, label, _ in records]
    header = ["id", "label", *(f"more{i}" for i in range(more))]
    verdict, what, named = ACCEPTED, "nothing", ""
    if random.random() < 0.35:
        verdict, what = REFUSED, random.choice(
            [*_TABLE_FAULTS, "no column", "a column twice", "an id twice", "only a header"]
        )  # fmt: skip
        at = random.randrange(len(rows))
        if what in _TABLE_FAULTS:
            rows[at] = _TABLE_FAULTS[what](random, rows[at], delimiter)
            named = "line "
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
    quote = random.choice(('{}', '{}', '"{}"'))  # fmt: skip
    lines = [header, *rows]
    if quote != "{}" and verdict == ACCEPTED:
        lines = [[quote.format(field) for field in row] for row in lines]
    text = "\n".join(delimiter.join(row) for row in lines) + random.choice(("", "\n", "\n\n"))
    text = text.replace("\n", random.choice(("\n", "\r\n")) if verdict == ACCEPTED else "\n")
    data = text.encode()
    if verdict == ACCEPTED:
        name, data, verdict = damaged_or_packed(random, name, data)
        what = "damage" if verdict == EITHER else what

    def read(folder):
        check_columns(folder / name, "id", "label")
        return read_pairs(folder / name, "id", "label")

    wanted = {id: label for id, label, _ in records} if verdict == ACCEPTED else None
    return Case(
        {name: data}, read, verdict, what, wanted, named,
        lambda found: unseen([*found, *found.values()]),
    )  # fmt: skip


def flat_file(random: Random) -> Case:
    """A flat file of UniProtKB."""
    signatures = ("PS00001", "PS00002")
    number = random.randint(4, 7)
    kept, texts = [], []
    for i in range(number):
        id, label = f"P{random.randrange(1000):03}{i}A", signatures[i % 2]
        sequence = word(random, LETTERS, 5, LONGEST - 5)
        kept.append((id, label, sequence))
        texts.append(entry(id, sequence, [label]))
    at = random.randrange(number)
    id, label, sequence = kept[at]
    faults = {
        "another length": lambda: entry(id, sequence, [label], length=len(sequence) + 1),
        "too long": lambda: entry(id, "MKVLA" * 13, [label]),
        "far too long": lambda: entry(id, "MKVLA" * random.choice((13, 13, 13, 20_000)), [label]),
        "illegal residue": lambda: entry(id, f"{sequence}J!K", [label]),
        "an accession twice": lambda: texts[at] + texts[at],
        "no accession": lambda: texts[at].replace("AC   ", "CC   ", 1),
        "unseen in the accession": lambda: entry(
            f"P1{random.choice(UNSEEN[:-2])}x", sequence, [label]
        ),
    }
    name, what, verdict, named = "x.dat", "nothing", ACCEPTED, ""
    if random.random() < 0.35:
        what, verdict = random.choice([*faults, "no end", "FASTA", "no label"]), REFUSED
        named = f"entry {at + 1 + (what == 'an accession twice')} (line "
        if what in faults:
            texts[at] = faults[what]()
        elif what == "no end":
            texts[-1], named = texts[-1].replace("//\n", ""), f"entry {number} (line "
        elif what == "FASTA":
            texts, named = [">a\nMKV\n"], "line 1"
        else:
            texts, named = [text.replace("DR   PROSITE", "DR   Pfam") for text in texts], ""
        data = "".join(texts).encode()
    else:
        name, data, verdict = damaged_or_packed(random, name, "".join(texts).encode())
        what = "damage" if verdict == EITHER else what
    settings = {
        **_COMMON,
        "type": "swissprot",
        "swissprot": name,
        "labels": {"from": "prosite", "levels": 4, "multiple": "drop", "classes": None},
        "fragments": "drop",
        "download": None,
    }
    return _of_source(settings, name, data, verdict, what, kept, named)


def folds(random: Random) -> Case:
    """A table of folds."""
    ids = [f"s{i}" for i in range(9)]
    texts = [f"{LETTERS[i]}{'MKVLAAGH' * 3}" for i in range(9)]
    texts[8] = texts[0]
    labels = [random.choice("ab") for _ in ids]
    labels[:4], labels[8] = ["a", "b", "a", "b"], "a"
    names = random.choice((("1", "2"), ("one", "two"), ("test", "train")))
    of = {id: names[i // 2 % 2] for i, id in enumerate(ids)}
    of["s8"] = of["s0"]
    verdict, what, named, extra = ACCEPTED, "nothing", "", []
    if random.random() < 0.4:
        verdict = REFUSED
        what = random.choice(
            ("all train", "one fold", "case", "no fold", "unknown id", "twice", "twins", "unseen")
        )
        if what == "all train":
            of = dict.fromkeys(of, "train")
        elif what == "one fold":
            of = dict.fromkeys(of, "1")
        elif what == "case":
            of["s5"], named = of["s4"].capitalize(), "upper and lower case"
            of |= {"s6": "Fold", "s7": "fold"}
        elif what == "no fold":
            named = f"s{random.randrange(9)}"
            del of[named]
        elif what == "unknown id":
            of["nobody"], named = names[0], "nobody"
        elif what == "twice":
            extra, named = [("s3", names[0])], "line 11"
        elif what == "twins":
            of["s8"], named = next(name for name in names if name != of["s0"]), "'s8'"
        else:
            of["s4"], named = f"x{random.choice(UNSEEN)}y", "line 6"
    rows = [*of.items(), *extra]
    data = ("id\tfold\n" + "".join(f"{id}\t{fold}\n" for id, fold in rows)).encode()
    name = "f.tsv"
    if verdict == ACCEPTED:
        name, data, verdict = damaged_or_packed(random, name, data)
        what = "damage" if verdict == EITHER else what
    settings = {"method": "table", "table": name}

    def read(folder):
        records = Records(ids, labels, Sequences(tuple(map(str.encode, texts))), 9)
        dataset = collapse(records, "drop", 2, ())
        numbers = count_folds(settings, folder)
        found = assign_folds(settings, dataset, 1, folder)
        assert set(found["fold"]) <= {*(fold for _, fold in numbers), -1}
        return dict(zip(found["id"], found["fold"], strict=True))

    numbers = {name: i for i, name in enumerate(sorted({*names} - {"train"}))} | {"train": -1}
    wanted = {id: numbers[of[id]] for id in ids} if verdict == ACCEPTED else None
    return Case({name: data}, read, verdict, what, wanted, named)


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
    heads, rows = list(letters), list(letters)
    verdict, what, named, name = ACCEPTED, "nothing", "", "m.txt"
    if random.random() < 0.4:
        verdict = REFUSED
        what = random.choice(
            ("asymmetric", "no integer", "field missing", "row missing", "row twice", "huge",
             "letter twice", "two letters", "nothing there")
        )  # fmt: skip
        if what == "asymmetric":
            fields[i][j] = str(scores[i][j] + 1)
        elif what == "no integer":
            fields[i][j] = random.choice(("1.5", "x", "1_0", "\u0663", "--1", "9" * 5000, "0x1"))
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
        named = "line " if what in ("no integer", "field missing", "two letters") else ""
    space = random.choice((" ", "  ", "\t"))
    lines = ["# made up", space.join(heads)]
    lines += [space.join([head, *row]) for head, row in zip(rows, fields, strict=False)]
    data = "\n".join(lines).encode() + b"\n"
    if named and what == "no integer" and not data.isascii():
        named = ""
    if verdict == ACCEPTED:
        name, data, verdict = damaged_or_packed(random, name, data, share=0)
        what = "damage" if verdict == EITHER else what

    def read(folder):
        found = load_substitution_matrix(name, folder)
        return found.alphabet, found.scores.tolist()

    def fault(found):
        array = np.array(found[1])
        good = (array == array.T).all() and array.shape == (len(found[0]),) * 2
        return "" if good and abs(array).max() <= 10_000 and found[0].isascii() else "no matrix"

    wanted = ("".join(letters), scores) if verdict == ACCEPTED else None
    return Case({name: data}, read, verdict, what, wanted, named, fault)
