"""Inputs made at random, right and damaged, and whether each is taken for what it is.

    python tests/series fuzz --number 100000            some minutes of one core
    python tests/series fuzz --only matrix --case 7     one input again, with what was said of it

Each input is made right by construction. Then it is left so (it must be accepted, and what is read
must be what was written), or damaged at random: either will do, but not a traceback; a refusal is
one message that names the file; and what is accepted may have no control character, none that turns
the direction of text, no space without a width, no residue that is none, no number that is not
finite. One that takes more than five seconds, or 200 MB, fails. Single known faults, and the line
or record that their messages name, have tests where the files are read.

The same number and seed make the same input. The exit code is 1 if one was not taken for what it
is.
"""

import copy
import gzip
import io
import re
import resource
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import yaml

from answering.cascades import cascade_model
from flat_files import entry
from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.base.errors import InputError
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import score_new
from kreinflow.config.configuration import load_configuration
from kreinflow.sequences.collapse import SourceRecords, collapse
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.labels import read_pairs
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.sources.registry import make_source
from kreinflow.sequences.user_tables import check_columns
from small_inputs import configuration, families, model_of, write_fasta

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX"
LONGEST = 60
PART = 100  # inputs that a process is given at once
SPACE = 2_500_000_000  # bytes that a process may ask for
SECONDS = 5  # of the processor: an input is a few kilobytes
MEGABYTES = 200  # more than before
GOOD = ("accepted", "refused")
OF_ALL = ("the data have ", "the labels ")
"""How messages on all records together begin: they are of no file alone."""
UNSEEN = (*"\u202e\u202d\u2066\u200f\u200b\u2060\ufeff\u2028", "\x1b[31m")
"""What turns the direction of text, has no width, ends a line, or is obeyed by a terminal."""
_NEVER = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)
TOKENS = [
    *(b"\0", b"\x1b[31m", b"\xff\xfe", b"\r", b"\n", b"\n\n", b'"', b"\t", b",", b";", b" ", b">"),
    *(b"nan", b"-inf", b"1e999", b"-", b"_", b"8.5", b"0", b"//\n", b"ID   ", b"#", b"&a *a", b"{"),
    *(b"\xc2\xa0", b"9" * 5000, b"A" * 70_000, b"\xf0\x9f\x98\x80"),
    *(c.encode() for c in (*UNSEEN, "\u0663", "\u00e9", "\u0301")),
]


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


def with_damage(random: Random, case: Case) -> Case:
    """Return a case that is packed, or damaged, or both, or neither."""
    name, data, right = case.name, case.data, True
    if random.random() < 0.6:
        data, right = damaged(random, data), False
    if random.random() < case.packed:
        name, data = f"{name}.gz", gzip.compress(data, 1)
        if random.random() < 0.5:
            data, right = damaged(random, data), False
    return case._replace(name=name, data=data, right=right)


def damaged(random: Random, data: bytes) -> bytes:
    """Return data with one to three places changed at random."""
    for _ in range(random.randint(1, 3)):
        a = random.randrange(len(data) + 1)
        b = min(len(data), a + int(2 ** random.uniform(0, 8)))
        c = random.randrange(len(data) + 1)
        before, part, behind = data[:a], data[a:b], data[b:]
        way = random.randrange(7)
        if way == 0:
            data = before + random.choice(TOKENS) + part + behind
        elif way == 1:
            data = before + random.randbytes(b - a) + behind
        elif way == 2:
            flipped = bytes(byte ^ 1 << random.randrange(8) for byte in part[:1])
            data = before + flipped + part[1:] + behind
        elif way == 3:
            data = before + behind
        elif way == 4:
            data = before + part * random.randint(2, 40) + behind
        elif way == 5:
            data = data[:c] + part + data[c:]
        else:
            data = before
    return data


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


@cache
def _models():
    """Models of sequences, of a matrix, of vectors, with cascades; and sequences of the first."""
    made = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, make in {
            "sequences": lambda path: model_of(path, "sequences"),
            "matrix": lambda path: model_of(path, "dissimilarity"),
            "vectors": lambda path: model_of(path, {"name": "gaussian", "width": 2.0}),
            "cascade": cascade_model,
            "apart": lambda path: cascade_model(path, apart=True),
        }.items():
            (folder / what).mkdir()
            built = make(folder / what)[0]
            built.save(folder / what / "m")
            expected = built.landmark_ids, built.classifier.classes
            made[what] = (folder / what / "m").read_bytes(), expected
        records = families(9, each=4, length=40)
        write_fasta(folder / "q.fasta", records)
        model = Model.load(folder / "sequences" / "m")
        (batch,) = score_new(model, folder / "q.fasta")
        rows = [(*r, s.tolist()) for r, s in zip(records, batch.scores, strict=True)]
    return made, model, rows


def model(random: Random) -> Case:
    """A model file."""
    data, expected = random.choice(list(_models()[0].values()))

    def read(path):
        found = Model.load(path)
        return found.landmark_ids, found.classifier.classes

    def fault(found):
        return unseen([*found[0], *found[1]])

    return Case("m.safetensors", data, read, expected, fault, packed=0)


_BAD_QUERIES = {
    "no id": lambda r, id, s: f">\n{s}\n",
    "no residues": lambda r, id, s: f">{id}\n",
    "illegal": lambda r, id, s: f">{id}\n{s}1\n",
    "of another script": lambda r, id, s: f">{id}\nM\u0391{s}\n",
    "unseen": lambda r, id, s: f">x{r.choice(UNSEEN[:-2])}{id}\n{s}\n",
    "a long header": lambda r, id, s: f">{id} {'name ' * 300_000}\n{s}\n",
    "too long": lambda r, id, s: f">{id}\n{s * 30_000}\n",
}


def query(random: Random) -> Case:
    """New sequences, some of which cannot be classified: the others must be scored as ever."""
    _, model, known = _models()
    texts, expected = [], []
    for id, label, residues, scores in random.sample(known, random.randint(1, 6)):
        bad = random.random() < 0.3
        if bad:
            what = random.choices(list(_BAD_QUERIES), [5, 5, 5, 5, 5, 1, 1])[0]
            texts.append(_BAD_QUERIES[what](random, id, residues))
        else:
            texts.append(written(random, id, label, residues))
        expected.append(None if bad else (id, scores))

    def read(path):
        found = []
        for batch in score_new(model, path):
            of = dict(zip(batch.scored.tolist(), batch.scores.tolist(), strict=True))
            assert of.keys() | batch.faults.keys() == set(range(len(batch.ids)))
            assert not of.keys() & batch.faults.keys()
            found += [(id, of[i]) if i in of else None for i, id in enumerate(batch.ids)]
        return found

    def fault(found):
        return unseen(record[0] for record in found if record is not None)

    return Case("q.fasta", "".join(texts).encode(), read, expected, fault)


KINDS = {
    "FASTA": (fasta, 20),
    "table of labels": (table, 15),
    "UniProtKB flat file": (flat_file, 10),
    "table of folds": (folds, 10),
    "substitution matrix": (substitution, 10),
    "matrix": (matrix, 15),
    "vectors and strings": (vectors, 10),
    "config": (config, 3),
    "model file": (model, 5),
    "FASTA to classify": (query, 2),
}
"""What makes an input, and of 100 inputs how many are such."""


class TooSlowError(BaseException):
    """Not an Exception: nothing that is tried catches it."""


@contextmanager
def _limited(seconds: float):
    def stop(number, frame):
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _memory(what: str) -> float:
    """Return megabytes of this process: ``VmRSS`` now, or ``VmHWM``, the most."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1e3 for line in status if line.startswith(what))


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Write the files of a case and read them; return one of GOOD or what is wrong, and words."""
    for file in folder.iterdir():
        file.unlink()
    for name, text in case.beside:
        (folder / name).write_text(text)
    (folder / case.name).write_bytes(case.data)
    Path("/proc/self/clear_refs").write_text("5")  # the most begins again with what there is now
    before = _memory("VmRSS")
    try:
        with _limited(SECONDS):
            found = case.read(folder / case.name)
    except TooSlowError:
        return "too slow", ""
    except MemoryError:
        return "too much memory", ""
    except InputError as error:
        outcome = _of_refusal(case, str(error))
    except Exception:
        return "traceback", traceback.format_exc()
    else:
        outcome = _of_content(case, found)
    grown = _memory("VmHWM") - before
    return ("too much memory", f"{grown:.0f} MB") if grown > MEGABYTES else outcome


def _of_refusal(case: Case, said: str) -> tuple[str, str]:
    if case.right:
        return "wrongly refused", said
    named = said.startswith(OF_ALL) or case.name in said or any(n in said for n, _ in case.beside)
    clear = named and len(said) <= 1000 and said.isprintable()
    return "refused" if clear else "unclear message", said[:1000]


def _of_content(case: Case, found: object) -> tuple[str, str]:
    if case.right and found != case.expected:
        return "other content", f"{found!r:.300} in place of {case.expected!r:.300}"
    fault = case.fault(found)
    return ("wrongly accepted", fault) if fault else ("accepted", "")


def made(kind: str, number: int, seed: int) -> Case:
    """Return an input by its number."""
    random = Random(f"{seed} {kind} {number}")
    return with_damage(random, KINDS[kind][0](random))


def outcomes(part, seed):
    """Return how often each outcome was met by kind, and what was not taken right."""
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    counts, wrong = Counter(), []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for kind, number in part:
            case = made(kind, number, seed)
            what, said = judge(case, Path(folder))
            counts[kind, what] += 1
            if what not in GOOD:
                last = (said.strip().splitlines() or [""])[-1][:300]
                wrong.append(
                    f"{kind} {number}, {'right' if case.right else 'damaged'}: {what}: {last}"
                )
    return counts, wrong


def tried(total, seed=0, jobs=1, only=""):
    """Try inputs; return what :func:`outcomes` does, of all."""
    inputs = [
        (kind, i)
        for kind, (_, share) in KINDS.items()
        for i in range(-(-total * share // 100))
        if only in ("", kind)
    ]
    parts = [inputs[i : i + PART] for i in range(0, len(inputs), PART)]
    counts, wrong = Counter(), []
    with ProcessPoolExecutor(jobs) as pool:
        for some, faults in pool.map(outcomes, parts, [seed] * len(parts)):
            counts += some
            wrong += faults
    return counts, wrong


def run(asked: Any) -> int:
    """Try inputs and print how many of each kind there were."""
    if asked.case is not None:
        case = made(asked.only, asked.case, asked.seed)
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            outcome = judge(case, Path(folder))
        print(case.name, case.data, "right" if case.right else "damaged", *outcome, sep="\n")
        return 0
    counts, wrong = tried(asked.number, asked.seed, asked.jobs, asked.only)
    print(*wrong, "| kind | accepted | refused | other |\n|---|---|---|---|", sep="\n")
    for kind in KINDS:
        good = [counts[kind, what] for what in GOOD]
        rest = sum(n for (k, _), n in counts.items() if k == kind) - sum(good)
        print(f"| {kind} | {good[0]:,} | {good[1]:,} | {rest} |")
    return int(bool(wrong))
