"""Matrices, vectors, configs and models, right and wrong, for ``fuzz.py``."""

import copy
import io
import json
import tempfile
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import safetensors.numpy
import yaml

from answering.cascades import cascade_model
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import score_new
from kreinflow.config.configuration import load_configuration
from kreinflow.sequences.sources.registry import make_source
from series.fuzzed_texts import written
from series.fuzzing import UNSEEN, Case, file_case, unseen, word
from small_inputs import configuration, families, model_of, write_fasta

WRONG_NUMBERS = ("x", "", "nan", "-inf", "1_0", "8.5\u0663", "\u0661", "1;5", "0x1", "1e999", "--1")
"""What is no finite number, though Python's float() takes some."""


def npy(array, **more):
    """Return an array as the bytes of a file."""
    file = io.BytesIO()
    np.save(file, array, **more)
    return file.getvalue()


def cells_of(random, values, ids, columns):
    """Return numbers as fields: plain, with ids, or with ids and a header; and which it is."""
    way = random.choice(("plain", "rows", "both"))
    cells = [[repr(float(value)) for value in row] for row in values]
    if way != "plain":
        cells = [[id, *row] for id, row in zip(ids, cells, strict=True)]
    if way == "both":
        cells = [[random.choice(("", "id", "x")), *columns], *cells]
    return way, cells


def written_cells(cells, delimiter):
    """Return the bytes of a table."""
    return ("\n".join(delimiter.join(row) for row in cells) + "\n").encode()


def _wrong_array(random, values):
    n = len(values)
    data = npy(values)
    return random.choice(
        (
            ("complex", npy(values + 0j)),
            ("texts", npy(values.astype(str))),
            ("objects", npy(values.astype(object), allow_pickle=True)),
            ("three dimensions", npy(values[None])),
            ("not square", npy(values[1:])),
            ("truncated", data[: -random.randrange(1, len(data))]),
            ("not finite", npy(np.where(np.eye(n), np.nan, values))),
            ("a large size", data.replace(b"(%d, %d)" % (n, n), b"(%d, 9)" % 10**15)),
        )
    )


def _make_wrong(random, cells, way, kind, ids):
    """Put a fault into the fields of a matrix; return what, and what the message names."""
    n, top, left = len(ids), int(way == "both"), int(way != "plain")
    i, j = random.sample(range(n), 2)
    row, column, named = i + top, j + left, ""
    faults = ["no number", "a field missing", "a row twice", "a row missing", "of the diagonal"]
    faults += ["not symmetric"] * (kind != "asymmetric")
    faults += ["an id twice", "an unseen id"] * (way == "rows")
    faults += ["ids that differ"] * (way == "both")
    what = random.choice(faults)
    if what == "no number":
        if way == "plain" and i == 0:  # or the rows would begin with ids
            row = n - 1
        cells[row][column], named = random.choice(WRONG_NUMBERS), f"row {row - top + 1}"
    elif what == "a field missing":
        del cells[row][column]
        named = "" if i < 2 else f"row {i + 1}"  # the second row says how long rows are
    elif what == "a row twice":
        cells.append(cells[-1])
    elif what == "a row missing":
        del cells[row]
    elif what == "of the diagonal":
        cells[row][i + left] = "-3" if "diss" in kind else "nan"
    elif what == "not symmetric":
        cells[row][column] = "77"
    else:
        new = {"an id twice": ids[j], "an unseen id": f"x{random.choice(UNSEEN[:-2])}y"}
        cells[row][0] = new.get(what, "else")
    return what, named


def matrix(random: Random) -> Case:
    """A square matrix and its labels."""
    n = random.randint(4, 9)
    points = np.array([(random.uniform(-3, 3), random.uniform(-3, 3)) for _ in range(n)])
    D = np.abs(points[:, None] - points).sum(axis=2)
    kind = random.choice(("dissimilarity", "squared_dissimilarity", "similarity", "asymmetric"))
    values = np.exp(-D) if kind in ("similarity", "asymmetric") else D
    labels = [*"ab" * (n // 2), *"a" * (n % 2)]
    ids, way, wrong = [f"o{i}" for i in range(n)], "plain", None
    ending, delimiter = random.choice((("csv", ","), ("tsv", "\t"), ("npy", "")))
    if ending == "npy":
        data = npy(values)
        if random.random() < 0.4:
            what, data = _wrong_array(random, values)
            wrong = what, ""
    else:
        way, cells = cells_of(random, values, ids, ids)
        if random.random() < 0.4:
            wrong = _make_wrong(random, cells, way, kind, ids)
        data = written_cells(cells, delimiter)
    if wrong is None and random.random() < 0.2:
        at, what = random.randrange(n), random.choice(("missing", "more", "unseen"))
        unseen_one = [f"x{random.choice(UNSEEN)}y"] if what == "unseen" else []
        labels[at : at + (what != "more")] = ["a", "a"][: 2 * (what == "more")] or unseen_one
        wrong = f"a label {what}", ""
    settings = {
        "type": "matrix",
        "kind": kind,
        "labels": {"lines": "y.txt"},
        "variable": None,
        "symmetry_tolerance": 1e-6,
        "min_class_size": 2,
    }

    def read(path):
        dataset = make_source(settings | {"matrix": path.name}, path.parent).load(None, 1)
        return dataset.ids, dataset.matrix[np.ix_(dataset.rows, dataset.rows)].tolist()

    def fault(found):
        numbers = np.array(found[1])
        good = np.isfinite(numbers).all()
        good &= kind == "asymmetric" or (numbers == numbers.T).all()
        return unseen(found[0]) if good else "no matrix"

    names = [str(k + 1) for k in range(n)] if way == "plain" else ids
    expected = tuple(names), (D * D if kind == "dissimilarity" else values).tolist()
    packed, y = 0.25 * (ending != "npy"), "\n".join(labels).encode()
    return file_case(random, f"k.{ending}", data, read, expected, wrong, fault, packed, y=y)


def _wrong_vectors(random, cells, way, ids, d):
    i, j, n = random.randrange(len(ids)), random.randrange(d), len(ids)
    top, left, named = int(way == "both"), int(way != "plain"), ""
    choices = ["no number", "a field more", "a row more"]
    what = random.choice(choices + ["an id twice", "an unknown id"] * (way != "plain"))
    if what == "no number":
        number = random.choice(WRONG_NUMBERS)
        if way != "plain" and (top or i) and (d > 1 or number.strip()):
            named = f"row {i + 1}"
        elif i == 0 or j == 0 or d == 1:  # may be a header, ids, or an empty line
            number = "nan"
        cells[i + top][j + left] = number
    elif what == "a field more":
        cells[i + top].append("1")
    elif what == "a row more":
        cells.append(["else", *cells[-1][1:]] if left else cells[-1])
    elif what == "an id twice":
        cells[i + top][0] = ids[(i + 1) % n]
    else:
        cells[i + top][0] = named = "stranger"
    return what, named


def vectors(random: Random) -> Case:
    """Vectors, or strings, with a table of labels."""
    n, d = random.randint(4, 9), random.randint(1, 5)
    ids, wrong = [f"o{i}" for i in range(n)], None
    strings, faulty = random.random() < 0.3, random.random() < 0.35
    if strings:
        values = [word(random, "abcdefgh \u03bb", 1, 30).strip() + str(i) for i in range(n)]
        lines, i = [text.encode() for text in values], random.randrange(n)
        if faulty:
            what = random.choice(("an empty line", "a line more", "not UTF-8"))
            wrong = what, f"line {i + 1}" if what == "an empty line" else ""
            if what == "not UTF-8":
                lines[i] += b"\xff"
            else:
                lines.insert(*((i, b" ") if what == "an empty line" else (n, b"more")))
        name, data, way = "x.txt", b"\n".join(lines), "plain"
    else:
        values = [[round(random.uniform(-9, 9), random.randint(0, 12)) for _ in range(d)]]
        values += [[x + k for x in values[0]] for k in range(1, n)]
        way, cells = cells_of(random, values, ids, [f"c{k}" for k in range(d)])
        if faulty:
            wrong = _wrong_vectors(random, cells, way, ids, d)
        name, data = "x.csv", written_cells(cells, ",")
    settings = {
        "type": "vectors",
        "kernel": {"name": "edit_distance"} if strings else {"name": "gaussian", "width": 1.0},
        "labels": {"table": "l.txt", "lines": None, "id_column": "id", "label_column": "label"},
        "variable": None,
        "conflicting_labels": "drop",
        "min_class_size": 2,
    }

    def read(path):
        dataset = make_source(settings | {"vectors": path.name}, path.parent).load(None, 1)
        return dataset.ids, dataset.payload.objects[dataset.rows].tolist()

    def fault(found):
        good = strings or np.isfinite(np.array(found[1])).all()
        return unseen(found[0]) if good else "a number is not finite"

    table = "id\tlabel\n" + "".join(f"{id}\t{'ab'[k % 2]}\n" for k, id in enumerate(ids))
    expected = tuple(ids), values
    return file_case(random, name, data, read, expected, wrong, fault, l=table.encode())


_CONFIG = configuration({"type": "fasta", "fasta": "x.fasta", "labels": {"table": "l.tsv"}})
_SETTINGS = {
    "seed": (lambda r: r.randint(0, 99), ("-1", "x", "1.5", "[1]", "\u0663", "'1'")),
    "reject_error": (lambda r: r.choice((0.01, 0.2)), ("2", "-0.1", ".nan", "x", "1e-2")),
    "inner_folds": (lambda r: r.randint(2, 9), ("1", "2.5", "many", "{}")),
    "results": (lambda r: f"r{r.randint(1, 9)}", ("1", "'a{b}'", '"a\\nb"', "[x]")),
}


def _laughter(random):
    """Return aliases of aliases: a few lines that stand for more than any memory holds."""
    text = "a0: &a0 {x: 1}\n"
    for level in range(1, random.randint(6, 40)):
        nine = ", ".join([f"*a{level - 1}"] * 9)
        named = ", ".join(f"k{i}: *a{level - 1}" for i in range(9))
        text += f"a{level}: &a{level} {random.choice((f'[{nine}]', f'{{{named}}}'))}\n"
    return text


def config(random: Random) -> Case:
    """A config."""
    chosen = {key: make(random) for key, (make, _) in _SETTINGS.items()}
    content, wrong, added = copy.deepcopy(_CONFIG) | chosen, None, ""
    if random.random() < 0.5:
        key = random.choice(list(_SETTINGS))
        damages = {
            "a wrong value": (key, f"{key}: {random.choice(_SETTINGS[key][1])}\n"),
            "a key twice": (key, f"{key}: 1\n{key}: 1\n"),
            "an unknown key": ("", f"{key}{word(random)}: 1\n"),
            "laughter": ("", _laughter(random)),
            "code": ("", f"{key}: !!python/object/apply:os.getcwd []\n"),
            "no YAML": ("", f"{key}: [1, {{\n"),
            "holds itself": ("", f"{key}: &x [*x]\n"),
            "deep": ("", f"{key}: {'[' * random.choice((200, 1000))}\n"),
        }
        what = random.choice([*damages, "a missing key"])
        if what == "a missing key":
            key = named = random.choice(("datasets", "recipes"))
        else:
            named, added = damages[what]
        wrong = what, named
        del content[key]
    text = yaml.safe_dump(content, default_flow_style=False)
    text = added + text if random.random() < 0.5 else text + added

    def read(path):
        found = load_configuration(path)
        return {key: found[key] for key in chosen}

    return file_case(random, "c.yaml", text.encode(), read, chosen, wrong, packed=0)


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
            make(folder / what)[0].save(folder / what / "m")
            made[what] = (folder / what / "m").read_bytes()
        records = families(9, each=4, length=40)
        write_fasta(folder / "q.fasta", records)
        model = Model.load(folder / "sequences" / "m")
        (batch,) = score_new(model, folder / "q.fasta")
        rows = [(*r, s.tolist()) for r, s in zip(records, batch.scores, strict=True)]
    return made, model, rows


def _parts(data):
    arrays = safetensors.numpy.load(data)
    length = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + length])["__metadata__"]["kreinflow"]
    return arrays, json.loads(metadata)


_HEADER = [
    (("kind",), "kreinflow model 99"),
    (("header",), []),
    (("header", "landmark_ids"), None),
    (("header", "landmark_ids"), ["x"]),
    (("header", "landmark_ids", 0), "x\u202ey"),
    (("header", "kernel"), {"name": "magic"}),
    (("header", "classifier", "classes"), ["a", "a", "b"]),
    (("header", "classifier", "classes", 0), "a\u200bb"),
    (("header", "classifier", "kind"), "magic"),
    (("header", "classifier", "temperature"), 0),
    (("header", "classifier", "reject_threshold"), "x"),
    (("header", "classifier", "transform"), {"name": "exp", "constants": {}}),
    (("header", "about"), None),
]
_ARRAYS = [
    lambda a: a[:-1],
    lambda a: a[..., None],
    lambda a: a.astype(np.complex64) if a.dtype != np.complex64 else a,
    lambda a: np.repeat(a, 3, axis=0),
    lambda a: a.astype(np.float16) if a.dtype.kind != "f" else a * np.nan,
]


def _wrong_model(random, data):
    if random.random() < 0.3:
        return "cut", data[: random.randrange(1, len(data))]
    arrays, content = _parts(data)
    chance = random.random()
    if chance < 0.5:
        place, value = random.choice(_HEADER)
        part = content
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        what = ".".join(map(str, place))
    elif chance < 0.6:
        arrays["more"], what = np.zeros(random.randint(1, 9)), "an array more"
    elif chance < 0.7:
        what = random.choice(list(arrays))
        del arrays[what]
    else:
        what = random.choice([name for name, array in arrays.items() if array.size])
        arrays[what] = random.choice(_ARRAYS)(arrays[what])
    return what, safetensors.numpy.save(arrays, metadata={"kreinflow": json.dumps(content)})


def model(random: Random) -> Case:
    """A model file."""
    made, *_ = _models()
    data, wrong = made[random.choice(list(made))], None
    header = _parts(data)[1]["header"]
    expected = tuple(header["landmark_ids"]), tuple(header["classifier"]["classes"])
    if random.random() < 0.6:
        what, data = _wrong_model(random, data)
        wrong = what, ""

    def read(path):
        found = Model.load(path)
        return found.landmark_ids, found.classifier.classes

    def fault(found):
        return unseen([*found[0], *found[1]])

    return file_case(random, "m.safetensors", data, read, expected, wrong, fault, packed=0)


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

    return file_case(random, "q.fasta", "".join(texts).encode(), read, expected, None, fault)
