"""Matrices, vectors, configs and models, right and wrong, for ``tests/fuzz.py``."""

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
from fuzzed_texts import written
from fuzzing import ACCEPTED, EITHER, REFUSED, UNSEEN, Case, damaged_or_packed, unseen, word
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import score_new
from kreinflow.config.configuration import load_configuration
from kreinflow.sequences.sources.registry import make_source
from small_inputs import configuration, families, model_of, write_fasta

WRONG_NUMBERS = ("x", "", "nan", "-inf", "1_0", "8.5\u0663", "\u0661", "1;5", "0x1", "1e999", "--1")
"""What is no finite number, though Python's float() takes some."""


def npy(array, **more):
    """Return an array as the bytes of a file."""
    file = io.BytesIO()
    np.save(file, array, **more)
    return file.getvalue()


def text_of(random, values, ids, columns, delimiter):
    """Write numbers with or without ids; return the text and its fields."""
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


def matrix(random: Random) -> Case:
    """A square matrix and its labels."""
    n = random.randint(4, 9)
    points = [(random.uniform(-3, 3), random.uniform(-3, 3)) for _ in range(n)]
    D = np.array([[abs(a - c) + abs(b - d) for c, d in points] for a, b in points])
    kind = random.choice(("dissimilarity", "squared_dissimilarity", "similarity", "asymmetric"))
    values = np.exp(-D) if kind in ("similarity", "asymmetric") else D
    labels = ["a", "b"] * (n // 2) + ["a"] * (n % 2)
    ids = [f"o{i}" for i in range(n)]
    expected = [[float(x) for x in row] for row in (D * D if kind == "dissimilarity" else values)]
    ending, delimiter = random.choice(((".csv", ","), (".tsv", "\t"), (".npy", "")))
    name, what, verdict, named = f"k{ending}", "nothing", ACCEPTED, ""
    i, j = random.sample(range(n), 2)
    wrong = random.random() < 0.4
    if ending == ".npy":
        data = npy(values)
        if wrong:
            what, data = random.choice(
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
    else:
        way, cells = text_of(random, values, ids, ids, delimiter)
        row, column = i + (way == "both"), j + (way != "plain")
        faults = ["no number", "a field missing", "a row twice", "a row missing", "of the diagonal"]
        faults += ["not symmetric"] * (kind != "asymmetric")
        faults += ["an id twice", "an unseen id"] * (way == "rows")
        faults += ["ids that differ"] * (way == "both")
        if wrong:
            what = random.choice(faults)
            named = f"row {i + 1}" if what in ("no number", "a field missing") else ""
        if what == "no number":
            wrong_one = random.choice(WRONG_NUMBERS)
            if way == "plain" and i == 0:  # or the rows would begin with ids
                row, named = n - 1, f"row {n}"
            cells[row][column] = wrong_one
        elif what == "a field missing":
            del cells[row][column]
            named = "" if i < 2 else named  # the second row says how long rows are
        elif what == "a row twice":
            cells.append(cells[-1])
        elif what == "a row missing":
            del cells[row]
        elif what == "of the diagonal":
            cells[i + (way == "both")][i + (way != "plain")] = "-3" if "diss" in kind else "nan"
        elif what == "not symmetric":
            cells[row][column] = "77"
        elif what == "an id twice":
            cells[row][0] = ids[j]
        elif what == "an unseen id":
            cells[row][0] = f"x{random.choice(UNSEEN[:-2])}y"
        elif what == "ids that differ":
            cells[row][0] = "else"
        data = written_cells(cells, delimiter)
    label_lines = list(labels)
    if wrong:
        verdict = REFUSED
    elif random.random() < 0.2:
        what, verdict = random.choice(
            (("a label missing", REFUSED), ("a label more", REFUSED), ("an unseen label", REFUSED))
        )
        if what == "a label missing":
            del label_lines[i]
        elif what == "a label more":
            label_lines.append("a")
        else:
            label_lines[i] = f"x{random.choice(UNSEEN)}y"
    else:
        name, data, verdict = damaged_or_packed(random, name, data, share=0.25 * (ending != ".npy"))
        what = "damage" if verdict == EITHER else what
    settings = {
        "type": "matrix",
        "matrix": name,
        "kind": kind,
        "labels": {"lines": "y.txt"},
        "variable": None,
        "symmetry_tolerance": 1e-6,
        "min_class_size": 2,
    }

    def read(folder):
        dataset = make_source(settings, folder).load(None, 1)
        return dataset.ids, dataset.matrix[np.ix_(dataset.rows, dataset.rows)].tolist()

    def fault(found):
        numbers = np.array(found[1])
        whole = np.isfinite(numbers).all() and (
            kind == "asymmetric" or (numbers == numbers.T).all()
        )
        return unseen(found[0]) if whole else "no matrix"

    wanted = None
    if verdict == ACCEPTED:
        named_ids = ending != ".npy" and way != "plain"
        wanted = (tuple(ids) if named_ids else tuple(str(k + 1) for k in range(n)), expected)
    files = {name: data, "y.txt": "\n".join(label_lines).encode()}
    return Case(files, read, verdict, what, wanted, named, fault)


def vectors(random: Random) -> Case:
    """Vectors, or strings, with a table of labels."""
    n, d = random.randint(4, 9), random.randint(1, 5)
    ids = [f"o{i}" for i in range(n)]
    labels = dict(zip(ids, ["a", "b"] * (n // 2) + ["a"] * (n % 2), strict=True))
    strings = random.random() < 0.3
    values = [[round(random.uniform(-9, 9), random.randint(0, 12)) for _ in range(d)] for _ in ids]
    texts = [word(random, "abcdefgh \u03bb", 1, 30).strip() + str(i) for i in range(n)]
    way, delimiter = "plain", ","
    what, verdict, named, name = "nothing", ACCEPTED, "", "x.csv"
    i, j = random.randrange(n), random.randrange(d)
    wrong = random.random() < 0.35
    if strings:
        name = "x.txt"
        if wrong:
            what = random.choice(("an empty line", "a line more", "not UTF-8"))
        lines = [text.encode() for text in texts]
        if what == "an empty line":
            lines.insert(i, b" ")
            named = f"line {i + 1}"
        elif what == "a line more":
            lines.append(b"more")
        elif what == "not UTF-8":
            lines[i] += b"\xff"
        data = b"\n".join(lines)
    else:
        way, cells = text_of(random, values, ids, [f"c{k}" for k in range(d)], delimiter)
        row, column = i + (way == "both"), j + (way != "plain")
        if wrong:
            choices = ["no number", "a field more", "a row more"]
            what = random.choice(choices + ["an id twice", "an unknown id"] * (way != "plain"))
        if what == "no number":
            if i == 0 and d == 1:
                row, i = row + 1, 1
            cells[row][column], named = random.choice(WRONG_NUMBERS), f"row {i + 1}"
            if way == "plain" and (i == 0 or j == 0):  # may be a header, or ids
                named = ""
            if (way != "both" and i == 0) or (d == 1 and not cells[row][column].strip()):
                cells[row][column], named = "nan", ""
        elif what == "a field more":
            cells[row].append("1")
        elif what == "a row more":
            cells.append(["else", *cells[-1][1:]] if way != "plain" else cells[-1])
        elif what == "an id twice":
            cells[row][0] = ids[(i + 1) % n]
        elif what == "an unknown id":
            cells[row][0], named = "nobody", "nobody"
        data = written_cells(cells, delimiter)
    if wrong:
        verdict = REFUSED
    else:
        name, data, verdict = damaged_or_packed(random, name, data)
        what = "damage" if verdict == EITHER else what
    settings = {
        "type": "vectors",
        "vectors": name,
        "kernel": {"name": "edit_distance"} if strings else {"name": "gaussian", "width": 1.0},
        "labels": {"table": "l.tsv", "lines": None, "id_column": "id", "label_column": "label"},
        "variable": None,
        "conflicting_labels": "drop",
        "min_class_size": 2,
    }

    def read(folder):
        dataset = make_source(settings, folder).load(None, 1)
        objects = dataset.payload.objects[dataset.rows]
        return dataset.ids, objects.tolist()

    def fault(found):
        good = strings or np.isfinite(np.array(found[1])).all()
        return unseen(found[0]) if good else "a number is not finite"

    whole = values if not strings else texts
    if not strings and len({tuple(row) for row in values}) < n:
        verdict = EITHER if verdict == ACCEPTED else verdict
    wanted = (tuple(ids), whole) if verdict == ACCEPTED else None
    table = "id\tlabel\n" + "".join(f"{id}\t{label}\n" for id, label in labels.items())
    return Case(
        {name: data, "l.tsv": table.encode()}, read, verdict, what, wanted, named, fault
    )  # fmt: skip


_CONFIG = configuration({"type": "fasta", "fasta": "x.fasta", "labels": {"table": "l.tsv"}})
_SETTINGS = {
    "seed": (lambda r: r.randint(0, 99), ("-1", "x", "1.5", "[1]", "\u0663", "'1'")),
    "reject_error": (lambda r: r.choice((0.01, 0.2)), ("2", "-0.1", ".nan", "x", "1e-2")),
    "inner_folds": (lambda r: r.randint(2, 9), ("1", "2.5", "many", "{}")),
    "results": (lambda r: f"r{r.randint(1, 9)}", ("1", "'a{b}'", '"a\\nb"', "[x]")),
}


def config(random: Random) -> Case:
    """A config."""
    content = copy.deepcopy(_CONFIG)
    chosen = {key: make(random) for key, (make, _) in _SETTINGS.items()}
    content |= chosen
    text = yaml.safe_dump(content, default_flow_style=random.choice((None, False)))
    what, verdict, named = "nothing", ACCEPTED, ""
    if random.random() < 0.5:
        verdict = REFUSED
        what = random.choice(("a wrong value", "an unknown key", "a key twice", "laughter", "code",
                              "no YAML", "a missing key", "holds itself", "deep"))  # fmt: skip
        key = named = random.choice(list(_SETTINGS))
        levels = random.randint(6, 40)
        laughter = "a0: &a0 {x: 1}\n"
        for level in range(1, levels):
            alias = f"*a{level - 1}"
            laughter += f"a{level}: &a{level} " + random.choice(
                (
                    f"[{', '.join([alias] * 9)}]\n",
                    f"{{{', '.join(f'k{i}: {alias}' for i in range(9))}}}\n",
                    f"{{<<: [{', '.join([alias] * 9)}]}}\n",
                )
            )
        damages = {
            "a wrong value": f"{key}: {random.choice(_SETTINGS[key][1])}\n",
            "an unknown key": f"{key}{word(random)}: 1\n",
            "a key twice": f"{key}: 1\n{key}: 1\n",
            "laughter": laughter,
            "code": f"{key}: !!python/object/apply:os.getcwd []\n",
            "no YAML": f"{key}: [1, {{\n",
            "holds itself": f"{key}: &x [*x]\n",
            "deep": f"{key}: {'[' * random.choice((200, 1000))}\n",
        }
        if what == "a missing key":
            part, named = random.choice((("datasets", "datasets"), ("recipes", "recipes")))
            del content[part]
            text = yaml.safe_dump(content)
        else:
            del content[key]
            text = yaml.safe_dump(content)
            text = damages[what] + text if random.random() < 0.5 else text + damages[what]
        if what in ("laughter", "code", "no YAML", "holds itself", "deep", "an unknown key"):
            named = ""
    name, data = "c.yaml", text.encode()
    if verdict == ACCEPTED:
        name, data, verdict = damaged_or_packed(random, name, data, share=0)
        what = "damage" if verdict == EITHER else what

    def read(folder):
        found = load_configuration(folder / name)
        return {key: found[key] for key in chosen}

    return Case({name: data}, read, verdict, what, chosen if verdict == ACCEPTED else None, named)


@cache
def _models():
    """Models of sequences, of a matrix, of vectors, with cascades; and sequences of the first."""
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, objects in (
            ("sequences", "sequences"),
            ("matrix", "dissimilarity"),
            ("vectors", {"name": "gaussian", "width": 2.0}),
        ):
            path = Path(folder) / name
            path.mkdir()
            model_of(path, objects)[0].save(path / "m")
            made[name] = (path / "m").read_bytes()
        for name, apart in (("cascade", False), ("apart", True)):
            path = Path(folder) / name
            path.mkdir()
            cascade_model(path, apart=apart)[0].save(path / "m")
            made[name] = (path / "m").read_bytes()
        write_fasta(Path(folder) / "q.fasta", families(9, each=4, length=40))
        model = Model.load(Path(folder) / "sequences" / "m")
        (batch,) = score_new(model, Path(folder) / "q.fasta")
        records = families(9, each=4, length=40)
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


def model(random: Random) -> Case:
    """A model file."""
    made, *_ = _models()
    which = random.choice(list(made))
    data, what, verdict = made[which], "nothing", ACCEPTED
    chance = random.random()
    if chance < 0.4:
        arrays, content = _parts(data)
        verdict = REFUSED
        if random.random() < 0.5:
            place, value = random.choice(_HEADER)
            part = content
            for key in place[:-1]:
                part = part[key]
            part[place[-1]] = value
            what = ".".join(map(str, place))
        elif random.random() < 0.3:
            arrays["more"], what = np.zeros(random.randint(1, 9)), "an array more"
        elif random.random() < 0.3:
            what = random.choice(list(arrays))
            del arrays[what]
        else:
            what = random.choice([name for name, array in arrays.items() if array.size])
            arrays[what] = random.choice(_ARRAYS)(arrays[what])
        data = safetensors.numpy.save(arrays, metadata={"kreinflow": json.dumps(content)})
    elif chance < 0.6:
        what, verdict = "cut", REFUSED
        data = data[: random.randrange(1, len(data))]
    else:
        _, data, verdict = damaged_or_packed(random, "", data, share=0)
        what = "damage" if verdict == EITHER else what

    def read(folder):
        found = Model.load(folder / "m.safetensors")
        return found.landmark_ids, found.classifier.classes

    wanted = None
    if verdict == ACCEPTED:
        header = _parts(data)[1]["header"]
        wanted = (tuple(header["landmark_ids"]), tuple(header["classifier"]["classes"]))
    return Case(
        {"m.safetensors": data}, read, verdict, what, wanted,
        fault=lambda found: unseen([*found[0], *found[1]]),
    )  # fmt: skip


def query(random: Random) -> Case:
    """New sequences, some of which cannot be classified: the others must be scored as ever."""
    _, model, known = _models()
    records = random.sample(known, random.randint(1, 6))
    bad = {
        "no id": lambda id, s: f">\n{s}\n",
        "no residues": lambda id, s: f">{id}\n",
        "illegal": lambda id, s: f">{id}\n{s}1\n",
        "of another script": lambda id, s: f">{id}\nM\u0391{s}\n",
        "unseen": lambda id, s: f">x{random.choice(UNSEEN[:-2])}{id}\n{s}\n",
        "a long header": lambda id, s: f">{id} {'name ' * 300_000}\n{s}\n",
        "too long": lambda id, s: f">{id}\n{s * 30_000}\n",
    }
    texts, wanted, what = [], [], "nothing"
    for id, label, residues, scores in records:
        if random.random() < 0.3:
            fault = random.choice(list(bad))
            if fault in ("too long", "a long header") and random.random() < 0.8:
                fault = "illegal"
            texts.append(bad[fault](id, residues))
            what = fault
            wanted.append(None)
        else:
            texts.append(written(random, id, label, residues))
            wanted.append((id, scores))
    name, data, verdict = damaged_or_packed(random, "q.fasta", "".join(texts).encode())
    what = "damage" if verdict == EITHER else what

    def read(folder):
        found = []
        for batch in score_new(model, folder / name):
            of = dict(zip(batch.scored.tolist(), batch.scores.tolist(), strict=True))
            assert of.keys() | batch.faults.keys() == set(range(len(batch.ids)))
            assert not of.keys() & batch.faults.keys()
            found += [(id, of[i]) if i in of else None for i, id in enumerate(batch.ids)]
        return found

    return Case(
        {name: data}, read, verdict, what, wanted if verdict == ACCEPTED else None,
        fault=lambda found: unseen(record[0] for record in found if record is not None),
    )  # fmt: skip
