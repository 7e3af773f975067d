"""A table of pairs: read as a naive loop reads it, and what is wrong in it is named."""

import gzip
from itertools import product

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.kernels.pair_table import PairsKernel
from kreinflow.kernels.registry import known_kernel

IDS = ["a", "b", "c c", "d", "e"]


def written(path, pairs, name="pairs.tsv", sep="\t"):
    path = path / name
    text = "".join(f"{sep.join(map(str, line))}\n" for line in pairs)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def asking(path, **settings):
    return PairsKernel({"pairs": path.name, **settings}).loaded([path.parent])


def compared(kernel, X, Y):
    X, Y = (np.array(side, dtype=object) for side in (X, Y))
    return kernel.compare(X, Y, X.tolist(), Y.tolist())


@pytest.mark.parametrize("kind", ["similarity", "dissimilarity", "asymmetric"])
@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.csv", "pairs.m8.gz"])
def test_scores_are_those_of_a_loop(kind, name, tmp_path):
    rng = np.random.default_rng(4)
    lines = {}
    for a, b in product(IDS, IDS):
        of_itself = a == b and kind == "dissimilarity"
        if rng.random() < 0.6 and (kind == "asymmetric" or (b, a) not in lines) and not of_itself:
            lines[a, b] = round(float(rng.random()), 3)
    rows = [("# of a program",), ("query", "target", "score")]
    more = [0] * 9 if "m8" in name else []
    rows += [(a, b, *more, score) for (a, b), score in lines.items()]
    kernel = asking(written(tmp_path, rows, name, "," if "csv" in name else "\t"), kind=kind)
    kernel.settings |= {"missing": 7, "self": 1}
    found = compared(kernel, [*IDS, "new"], IDS)
    for (i, a), (j, b) in product(enumerate([*IDS, "new"]), enumerate(IDS)):
        turned = None if kind == "asymmetric" else lines.get((b, a))
        if a != b:
            expected = lines.get((a, b), 7 if turned is None else turned)
            assert found[i, j] == (expected**2 if kind == "dissimilarity" else expected)


def test_of_several_lines_of_m8_the_best_counts(tmp_path):
    rows = [(a, b, *[0] * 9, s) for a, b, s in (("a", "b", 2), ("a", "b", 5), ("b", "a", 9))]
    path = written(tmp_path, rows, "pairs.m8")
    for kind, best in (("similarity", 9), ("squared_dissimilarity", 2), ("asymmetric", 5)):
        assert compared(asking(path, kind=kind), ["a"], ["b"]) == best
    rows = [row[:2] + row[11:] for row in rows[::2]]
    path = written(tmp_path, rows)
    with pytest.raises(InputError, match=r"lines 1 and 2: the score of a with b is 2, and 9"):
        asking(path)
    assert compared(asking(path, kind="asymmetric"), ["b"], ["a"]) == 9


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([("a", "b", 1), ("a", "c", "high")], r"tsv, line 2: 'a.tc.thigh' has no two names and a"),
        ([("a", "b", 1), ("a", "c")], "line 2: .* has no two names and a number in column 3"),
        ([("a", "b", "inf"), ("a", "", 1)], "line 2: .* has no two names"),
        ([("a", "b", "score")], "has no line with a score"),
        ([("a", "b", "NA"), ("a", "c", 2)], r"tsv, line 1: has no number, .* as a has other lines"),
        (
            [("a", "b", 0.9), ("a", "c", 1e9), ("b", "a", 0.8)],
            r"lines 1 and 3: the score of a with b is 0\.9, and 0\.8",
        ),
        (
            [("a", "b", 1), ("c", "d", 2), ("a", "b", 3)],
            r"lines 1 and 3: the score of a with b is 1, and 3\. Give one; if it has a direction",
        ),
    ],
)
def test_lines_that_are_wrong(lines, message, tmp_path):
    with pytest.raises(InputError, match=message):
        asking(written(tmp_path, lines))


def test_a_pair_without_a_line_has_a_stated_score_or_is_named(tmp_path):
    path = written(tmp_path, [("a", "b", 3), ("a", "c", 1), ("a", "a", 8)])
    assert compared(asking(path), ["a"], ["a", "b", "c"]).tolist() == [[8, 3, 1]]
    with pytest.raises(InputError, match=r"no line for b with c\. .*: 'missing'"):
        compared(asking(path), ["b"], ["a", "c"])
    for missing in ("worst", 0):
        with pytest.raises(InputError, match=r"pairs\.tsv: has no line for b with itself.*'self'"):
            compared(asking(path, missing=missing), ["b"], ["b"])
    assert compared(asking(path, missing="worst"), ["b"], ["c"]) == 1
    apart = written(tmp_path, [("a", "b", 3), ("a", "c", 1)])
    apart = asking(apart, missing="worst", kind="dissimilarity")
    assert compared(apart, ["b"], ["c"]) == 3**2
    assert asking(path, self=2).alone(np.array(["a", "b"]), ["a", "b"]).tolist() == [2, 2]


@pytest.mark.parametrize("settings", [{"self": 1}, {"kind": "dissimilarity"}])
def test_lines_of_ids_with_themselves_agree_with_what_is_said(settings, tmp_path):
    right = 1 if "self" in settings else 0
    asking(written(tmp_path, [("a", "b", 3), ("b", "b", right)]), **settings)
    path = written(tmp_path, [("a", "b", 3), ("b", "b", 8)])
    with pytest.raises(InputError, match=rf"line 2: the score of b with itself is 8, .* {right}"):
        asking(path, **settings)


def test_new_ids_stand_first(tmp_path):
    path = written(tmp_path, [("new", "a", 3), ("new", "b", 1), ("a", "b", 8)])
    assert asking(path).at(path, ["a", "b", "c"]).new == ["new", "a"]
    path = written(tmp_path, [("a", "new", 3), ("b", "new", 1)])
    with pytest.raises(InputError, match="a and all else that the model knows stand first"):
        asking(path).at(path, ["b", "a", "c"])


def test_its_name_is_what_it_holds(tmp_path):
    path = written(tmp_path, [("a", "b", 3)])
    first = asking(path)
    assert first.digest == asking(path).digest != asking(path, missing=0).digest
    written(tmp_path, [("a", "b", 4)])
    assert asking(path).digest != first.digest
    stored = {"name": "pairs", **asking(path, missing="worst").settings}
    assert known_kernel(stored).settings["missing"] == 4


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_complete_columns_are_those_of_a_loop(ordered, seed, tmp_path):
    rng = np.random.default_rng(seed)
    full = set(rng.choice(IDS, 2, replace=False))
    pairs = {(a, b) for a, b in product(IDS, IDS) if b in full or rng.random() < 0.4}
    pairs |= {(b, a) for a, b in pairs if b in full and seed % 2}
    path = written(tmp_path, [(*pair, 1) for pair in sorted(pairs)])
    kind = "asymmetric" if ordered else "similarity"
    table, hits = asking(path, kind=kind), asking(path, kind=kind, missing=0)

    def has(a, b):
        there = (a, b) in pairs, (b, a) in pairs
        return a == b or (all if ordered else any)(there)

    expected = [all(has(x, y) for x in IDS) for y in IDS]
    assert table.complete(IDS).tolist() == expected
    assert not table.complete([*IDS, "f"]).any()
    ends = [{pair[side] for pair in pairs} for side in (0, 1)]
    assert hits.complete(IDS).tolist() == [y in ends[0] & ends[1] for y in IDS]
