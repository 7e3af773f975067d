"""The index by seeds against plain loops, whatever runs it."""

import tracemalloc
from functools import cache
from math import log

import numpy as np
import pytest

from kreinflow.base.numerics import limited
from kreinflow.views import seeds as module
from kreinflow.views.seeds import NUCLEOTIDE, PROTEIN, SHAPES, SeedIndex, Seeds, seed_index
from plain_seeds import plain_seed_scores
from sequence_pairs import AMINO_ACIDS, drawn, related_pair

OF_PROTEINS, OF_NUCLEOTIDES = (
    Seeds(of, SHAPES[of][1 << 23, mean]) for of, mean in ((PROTEIN, 1 << 11), (NUCLEOTIDE, 1 << 13))
)
FEW = Seeds(("AC", "DEF", "GHIKLMN"), ("101", "11"))  # many seeds are the same, others have none


def pairs(n, longest, seed=0):
    """Records, and as many queries, half of them related; some of no length or no group."""
    rng = np.random.default_rng(seed)
    records, queries = zip(*(related_pair(rng, longest) for _ in range(n)), strict=True)
    records = [b"", b"X", *(r.replace(b"W", b"X") if i % 3 else r for i, r in enumerate(records))]
    return records, [b"", b"WW", b"*" * 20, *queries]


def nucleotides():
    rng = np.random.default_rng(1)
    records = [b"", *drawn(rng, b"ACGT", 50, 1, 300)]
    return records, [
        records[3][5:].replace(b"T", b"U"),
        *records[5:8],
        *drawn(rng, b"ACGU", 4, 1, 99),
    ]


def repeats():
    """One record has so many seeds on a band that they no longer fit."""
    return [b"K" * 300, *[b"AC"] * 1200, b"K" * 20], [b"R" * 400, b"K" * 30]


CASES = {
    "few seeds": (FEW, *pairs(60, 30)),
    "proteins": (OF_PROTEINS, *pairs(60, 200)),
    "nucleotides": (OF_NUCLEOTIDES, *nucleotides()),
    "several parts": (OF_PROTEINS, pairs(760, 60)[0], pairs(760, 60)[1][:14]),
    "long": (OF_PROTEINS, *(of[:24] for of in pairs(40, 2500, seed=3))),
    "repeats": (OF_PROTEINS, *repeats()),
}


@cache
def plain(case):
    """The scores of a case, and its records in order."""
    seeds, records, queries = CASES[case]
    scores = plain_seed_scores(seeds, queries, records)
    return scores, [sorted(range(len(of)), key=lambda j, of=of: (-of[j], j)) for of in scores]


def compile_or_not(monkeypatch, compiled):
    monkeypatch.setattr(module, "worth_compiling", lambda microseconds: compiled)


@pytest.mark.parametrize(
    ("tile", "residues", "hits"), [(25, 1 << 22, 1 << 22), (700, 3000, 9), (8192, 1 << 22, 100)]
)
@pytest.mark.parametrize("case", CASES)
def test_the_nearest_are_those_of_plain_loops(case, tile, residues, hits, monkeypatch):
    """Of equal scores the first; -1 for a score of 0; whatever is done at once."""
    for name, value in (("_RECORDS", tile), ("_RESIDUES", residues), ("_HITS", hits)):
        monkeypatch.setattr(module, name, value)
    seeds, records, queries = CASES[case]
    index, n = SeedIndex(seeds, records), len(records)
    expected, order = plain(case)
    for compiled in (False, True):
        compile_or_not(monkeypatch, compiled)
        for q in (9, n + 3) if tile == 25 else (1, 9, n, n + 3):  # each tile takes its time
            places, scores = index.by_hits(queries, q)
            best = [[s[j] for j in of[:q]] for s, of in zip(expected, order, strict=True)]
            assert scores.tolist() == best
            assert places.tolist() == [
                [j if s[j] else -1 for j in of[:q]] for s, of in zip(expected, order, strict=True)
            ]


def test_all_records_of_a_tile_are_told_apart(monkeypatch):
    letters = np.random.default_rng(5).choice([*b"ARNDCQEGHILKMFPSTWYV"], (module.MOST + 40, 24))
    records = [row.astype(np.uint8).tobytes() for row in letters]
    index, found = SeedIndex(Seeds.of(records), records), []
    own = [0, 4095, 4096, module.MOST - 1, module.MOST, len(records) - 1]
    for compiled in (False, True):
        compile_or_not(monkeypatch, compiled)
        found.append(index.by_hits([records[i] for i in own], 50))
        assert found[-1][0][:, 0].tolist() == own
    np.testing.assert_array_equal(*found)


def test_the_cases_have_what_they_are_for():
    scores = {case: np.array(plain(case)[0]) for case in CASES}
    assert scores["repeats"].max() == 2 * 65535
    assert max(map(len, CASES["long"][1])) > 1024 < max(map(len, CASES["long"][2]))
    for own in scores.values():
        assert (own == 0).any(), "a record without hits"
    for case in set(CASES) - {"repeats"}:
        assert any(np.unique(row[row > 0]).size < (row > 0).sum() for row in scores[case])


def test_a_score_by_hand():
    """What a seed weighs, and which bands are neighbours."""
    seeds = Seeds(("A", "C", "G"), ("11",))
    records = [b"AC" + 30 * b"X" + b"CAAG", *[b"GG"] * 4, b"AG", *[b""] * 4]
    one, two = round(4 * log(11)), round(4 * log(11 / 2))  # of 10 records
    for query, expected in (
        (b"AC", one),
        (b"CAAG", one + one + two),
        (b"ACCA", 2 * one),  # diagonals 0 and 30
        (b"CAXAC", one),  # 32 and -3
        (b"XAC" + 20 * b"X" + b"CA", 2 * one),  # -1 and 9
        (b"GG", 0),  # too many have it
        (b"A", 0),
    ):
        assert SeedIndex(seeds, records).by_hits([query], 1)[1].tolist() == [[expected]], query


@pytest.mark.parametrize("compiled", [False, True])
def test_a_result_depends_on_the_object_and_the_records_alone(compiled, monkeypatch):
    compile_or_not(monkeypatch, compiled)
    seeds, records, queries = CASES["proteins"]
    index = SeedIndex(seeds, records)
    places, scores = index.nearest(queries, 7)
    for block, threads, step in ((1, 2, 1), (5, 1, -1), (5, 2, 2), (64, 2, -1)):
        monkeypatch.setattr(module, "_BLOCK", block)
        with limited(threads):
            found = index.nearest(queries[::step], 7)
        np.testing.assert_array_equal(found, [places[::step], scores[::step]])
    assert [of.shape for of in index.nearest([], 7)] == [(0, 7)] * 2


@pytest.mark.parametrize(("wide", "kept"), [(256, 1 << 20), (3, 1 << 20), (1, 1000)])
def test_what_was_found_before_changes_nothing(wide, kept, monkeypatch):
    """The indexes of few records are kept, the last ones, and what they found."""
    for name, value in (("_WIDE", wide), ("_KEPT", kept)):
        monkeypatch.setattr(module, name, value)
    seeds, records, queries = CASES["proteins"]
    plain, index = SeedIndex(seeds, records), seed_index(seeds, records)
    for own, q in ((queries[:9], 7), (queries, 5), (queries[::-1], 40), (queries * 2, 2), ([], 3)):
        np.testing.assert_array_equal(index.nearest(own, q), plain.nearest(own, q))
    assert seed_index(seeds, list(records)) is index
    others = [seed_index(seeds, records[:n]) for n in range(8, 8 + module._INDEXES)]
    assert seed_index(seeds, records[:9]) is others[1]
    assert seed_index(seeds, records) is not index
    monkeypatch.setattr(module, "_SMALL", 10)
    assert seed_index(seeds, records[:7]).kept is None


def test_a_sequence_that_has_changed_finds_its_parent_first():
    rng = np.random.default_rng(5)
    records = drawn(rng, bytes(AMINO_ACIDS), 300, 150, 250)
    queries = []
    for record in records[:60]:
        letters = np.frombuffer(record, dtype=np.uint8).copy()
        changed = rng.random(letters.size) < 0.5
        letters[changed] = rng.choice(AMINO_ACIDS, changed.sum())
        queries.append(letters[:70].tobytes() + b"AVG" + letters[70:].tobytes())
    places, _ = SeedIndex(Seeds.of(records), records).by_hits(queries, 1)
    assert places[:, 0].tolist() == list(range(60))


def peak(function, *args):
    """The bytes that a call takes at most."""
    tracemalloc.start()
    function(*args)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def alike(rng, letters, count, length):
    return drawn(rng, bytes(letters), count, length, length + 1)


def test_memory_is_bounded_by_what_is_done_at_once(monkeypatch):
    """Long records are built, and a long object is looked up, in parts."""
    for name in ("_RESIDUES", "_HITS"):
        monkeypatch.setattr(module, name, 1 << 16)
    compile_or_not(monkeypatch, False)
    rng = np.random.default_rng(6)
    long = alike(rng, AMINO_ACIDS, 60, 10_000)
    index = SeedIndex(OF_PROTEINS, long)
    assert peak(SeedIndex, OF_PROTEINS, long) < index.nbytes + 200 * (1 << 16)
    few = SeedIndex(OF_PROTEINS, alike(rng, AMINO_ACIDS, 300, 300))
    assert peak(few.nearest, alike(rng, AMINO_ACIDS, 1, 100_000), 1) < 64 << 20


@pytest.mark.parametrize(
    ("letters", "length", "changed"), [(AMINO_ACIDS, 12_000, 0.65), (b"ACGT", 50_000, 0.2)]
)
def test_long_records_have_seeds_that_tell_them_apart(letters, length, changed):
    """A quarter of each record is that of a query, changed."""
    rng = np.random.default_rng(7)
    queries, pool = alike(rng, letters, 40, length), np.frombuffer(bytes(letters), dtype=np.uint8)
    records = []
    for query, rest in zip(queries, alike(rng, letters, 40, length * 3 // 4), strict=True):
        own = np.frombuffer(query[: length // 4], dtype=np.uint8).copy()
        other = rng.random(len(own)) < changed
        own[other] = rng.choice(pool, other.sum())
        records.append(own.tobytes() + rest)
    places, _ = SeedIndex(Seeds.of(records), records).by_hits(queries, 1)
    assert places[:, 0].tolist() == list(range(40))


@pytest.mark.parametrize(
    ("sequences", "groups"),
    [
        ([b"ACGT", b"NNU"], NUCLEOTIDE),
        ([b"ACGT" * 9 + b"RY"], NUCLEOTIDE),  # of which one is not known
        ([b"ACGTACGTE"], PROTEIN),
        ([bytes(AMINO_ACIDS)], PROTEIN),
    ],
)
def test_groups_and_shapes_are_those_of_the_records(sequences, groups):
    seeds = Seeds.of(sequences)
    assert (seeds.groups, seeds.shapes) == (groups, next(iter(SHAPES[groups].values())))
    assert Seeds.from_dict(seeds.to_dict()) == seeds


def test_the_letters_of_the_matrix_say_what_the_groups_are():
    assert Seeds.of([b"ACGTAC"], "ARNDCQEGHILKMFPSTWYVBZX*").groups == PROTEIN
    assert Seeds.of([b"RYKMRYKM"], "ATGCSWRYKMBVHDN*").groups == NUCLEOTIDE


@pytest.mark.parametrize(("letter", "groups"), [(b"C", NUCLEOTIDE), (b"K", PROTEIN)])
def test_more_and_longer_records_have_longer_shapes(letter, groups):
    def shapes(residues, length):
        return Seeds.of([letter * length] * (residues // length)).shapes

    table = SHAPES[groups]
    for (residues, mean), own in table.items():
        most, longest = min(residues, 1 << 26), min(mean, 1 << 20)
        assert shapes(most, longest) == own
        assert shapes(2 * most, longest) != own or residues > most
        assert shapes(most, 2 * longest) != own or mean > longest
    places = [{shape.count("1") for shape in shapes} for shapes in table.values()]
    assert [len(of) for of in places] == [1] * len(places), "of one number of places"
    assert sorted(places, key=min) == places
