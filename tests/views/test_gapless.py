"""Segments without gaps against plain loops, and whether they tell relatives from chance."""

import numpy as np
import pytest

from kreinflow.alignment.scoring import SubstitutionMatrix, load_substitution_matrix
from kreinflow.alignment.statistics import ungapped_constants
from kreinflow.views import gapless as module
from kreinflow.views import seeds as seeds_module
from kreinflow.views.gapless import Gapless, by_chance, letter_scores
from kreinflow.views.seeds import NUCLEOTIDE, PROTEIN, SeedIndex, Seeds
from plain_seeds import has_relative, plain_segments
from sequence_pairs import AMINO_ACIDS, drawn, related_pair


def sequences(groups, n, longest, seed):
    rng = np.random.default_rng(seed)
    if groups == NUCLEOTIDE:
        return [b"", b"N", b"ACGTNU", *drawn(rng, b"ACGT", n, 1, longest)]
    return [b"", b"X", b"WWXW*", *(own for _ in range(n) for own in related_pair(rng, longest))]


def compile_or_not(monkeypatch, compiled):
    monkeypatch.setattr(module, "worth_compiling", lambda microseconds: compiled)


CASES = {
    "proteins": (PROTEIN, 8, 90),
    "nucleotides": (NUCLEOTIDE, 16, 90),
    "several times 512 diagonals": (PROTEIN, 2, 900),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_plain_loops(case, compiled, monkeypatch):
    compile_or_not(monkeypatch, compiled)
    groups, *asked = CASES[case]
    records, rng = sequences(groups, *asked, seed=1), np.random.default_rng(3)
    if case == "several times 512 diagonals":
        records = [*records[:3], records[4] + records[3], records[6] + records[5] + records[6]]
    own, nonzero = Gapless(groups, records), 0
    for query in (records[-1][7:], *records[:4], records[-2][3:] + records[-1]):
        bands = rng.integers(0, 32, len(records))
        bands[len(bands) // 2 :] = [*[0, 1] * 99][: -(-len(bands) // 2)]  # around 0 and -16
        places = np.arange(len(records))
        found = own.scores([query], places[None], bands[None], np.array([len(records)]))[0]
        expected = [
            plain_segments(groups, query, r, b) for r, b in zip(records, bands, strict=True)
        ]
        assert found.tolist() == expected
        nonzero += np.count_nonzero(expected)
    assert nonzero > 3


@pytest.mark.parametrize("groups", [PROTEIN, NUCLEOTIDE])
def test_what_chance_gives_has_an_e_value_of_1(groups):
    matrix = load_substitution_matrix("blosum62")
    if groups == NUCLEOTIDE:
        scores = np.where(np.eye(4, dtype=bool), 3, -3).astype(np.int32)
        matrix = SubstitutionMatrix("match", "ACGT", scores)
    (rate, K), lengths = ungapped_constants(matrix), np.array([50, 300])
    e_values = K * lengths * 1e5 * np.exp(-rate * (by_chance(groups, lengths, 1e5) + 18))
    np.testing.assert_allclose(e_values, 1.0, rtol=0.01)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_score_that_fills_16_bits_stays_there(compiled, monkeypatch):
    compile_or_not(monkeypatch, compiled)
    record = b"W" * 3200  # 11 each
    one = np.array([[0]]), np.array([[1]]), np.array([1])
    assert Gapless(PROTEIN, [record]).scores([record], *one).tolist() == [[32 * (32767 - 18)]]


def test_scores_of_letters():
    numbers, scores = letter_scores(PROTEIN)
    of = {letter: numbers[ord(letter)] for letter in "AWXB*"}
    assert scores[of["W"], of["W"]] == 11
    assert scores[of["A"], of["W"]] == -3
    assert of["X"] == of["B"] == of["*"] == len(scores) - 1
    assert (scores[-1] == -1).all()
    numbers, scores = letter_scores(NUCLEOTIDE)
    assert scores[numbers[ord("T")], numbers[ord("U")]] == 3
    assert scores[numbers[ord("A")], numbers[ord("C")]] == -3


def evolved(rng, record, share):
    """A sequence of which a share is drawn anew, with an insertion in the middle."""
    letters = np.frombuffer(record, dtype=np.uint8).copy()
    changed = rng.random(letters.size) < share
    letters[changed] = rng.choice(AMINO_ACIDS, changed.sum())
    middle = letters.size // 2
    return letters[:middle].tobytes() + b"AVG" + letters[middle:].tobytes()


@pytest.fixture(scope="module")
def family():
    rng = np.random.default_rng(5)
    records = drawn(rng, bytes(AMINO_ACIDS), 1500, 150, 250)
    return records, [evolved(rng, record, 0.72) for record in records[:60]]


def test_distant_parents_are_found_first_more_often_than_by_seeds(family):
    records, queries = family
    index, own = SeedIndex(Seeds.of(records), records), np.arange(len(queries))
    by_hits, nearest = index.by_hits(queries, 100)[0], index.nearest(queries, 100)[0]
    there = (by_hits == own[:, None]).any(axis=1)
    assert np.mean(by_hits[:, 0] == own) < 0.8 < 0.95 <= np.mean(nearest[there, 0] == own[there])


@pytest.mark.parametrize(("q", "shapes"), [(1, 4), (40, 4), (2000, 4), (40, 1)])
def test_the_order_is_that_of_scores_and_what_is_not_looked_at_follows(
    q, shapes, family, monkeypatch
):
    """By the first shape, and where that finds no relative by all, and more are looked at."""
    records, queries = family
    for of in (module, seeds_module):
        monkeypatch.setattr(of, "MANY", 120)
    seeds = Seeds(PROTEIN, Seeds.of(records).shapes[:shapes])
    index, own = SeedIndex(seeds, records), Gapless(seeds.groups, records)
    places, scores = index.nearest([*queries[:8], records[0], b"", b"XXXX"], q)
    assert (places[9:] == -1).all()
    assert not scores[9:].any()
    first = []
    for row, query in enumerate([*queries[:8], records[0]]):
        for n_shapes, few in ((1, 100), (shapes, 120)):
            [by_hits], [hits], [bands] = index._by_hits([query], 1500, n_shapes)
            there = int((hits > 0).sum())
            looked = min(there, few)
            some = by_hits[:looked]
            [g] = own.scores([query], some[None], bands[None], np.array([looked]))
            if has_relative(seeds.groups, query, records, g.max()):
                break
        first.append(few == 100)
        order = some[np.argsort(-g, kind="stable")].tolist() + by_hits[looked:there].tolist()
        said = [*np.sort(g)[::-1].tolist(), *[g.min()] * (there - looked)]
        none = len(records) - there
        assert places[row].tolist() == (order + [-1] * none)[:q]
        assert scores[row].tolist() == (said + [0] * none)[:q]
    assert 0 < sum(first) < len(first)


def test_relatives_that_are_left_out_do_not_end_the_search(family, monkeypatch):
    records, _ = family
    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(20), 2)
    twice = [own for record in records[:20] for own in (record, evolved(rng, record, 0.3))]
    every, own = [*twice, *records[20:]], np.append(codes, np.arange(20, len(records)))
    index = SeedIndex(Seeds.of(records), every)
    alone, _ = index.nearest(twice, 200)
    left_out, _ = index.nearest(twice, 200, (codes, own))
    monkeypatch.setattr(module, "SURE", 0.0)
    with np.errstate(divide="ignore"):
        all_shapes, _ = index.nearest(twice, 200)
    assert (left_out == all_shapes).all()
    assert not (alone == all_shapes).all(axis=1).any()


def test_where_it_takes_too_long_the_order_by_seeds_stays(family, monkeypatch):
    records, queries = family
    monkeypatch.setattr(module, "_ROWS", 1000)
    index = SeedIndex(Seeds.of(records), records)
    np.testing.assert_array_equal(index.nearest(queries, 9), index.by_hits(queries, 9))
