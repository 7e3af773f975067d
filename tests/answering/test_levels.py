"""Predictions that go down the tree of the classes as far as they are sure."""

import numpy as np
import pytest

from kreinflow.answering.levels import NO_NODE, NOT_LEARNED, Levels, lineages
from kreinflow.answering.query_and_answers import EVERY_LEVEL
from kreinflow.base.hierarchy import path_of
from kreinflow.fitting.reject_threshold import ABOVE_HALF, NOTHING_ACCEPTED, fitted_levels

CLASSES = ("1.1.1", "1.1.2", "1.1", "1.2.1", "2.1.1", "2.1.2", "2", "3")
PATHS = [path_of(label, ".") for label in CLASSES]


def probabilities(seed):
    p = np.exp(4 * np.random.default_rng(seed).normal(size=(200, len(CLASSES))))
    return p / p.sum(axis=1, keepdims=True)


def by_walking(row, back_off):
    """From the root to the likeliest child, while it is sure enough; sums by the names."""
    here, sure = (), 1.0
    while True:
        size = len(here) + 1
        below = {p[:size] for p in PATHS if p[: size - 1] == here and len(p) >= size}
        sums = {b: sum(row[i] for i, p in enumerate(PATHS) if p[:size] == b) for b in below}
        best = max(sums, key=sums.get, default=None)
        if best is None or sums[best] < back_off:
            return here, sure
        here, sure = best, sums[best]


@pytest.mark.parametrize("back_off", [0.6, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_is_where_a_walk_down_the_tree_ends(seed, back_off):
    levels = Levels.of(CLASSES, ".", back_off)
    p = probabilities(seed)
    nodes = levels.nodes(p)
    ended = set()
    for row, (node, level, sure) in zip(p, zip(*nodes, strict=True), strict=True):
        path, probability = by_walking(row, back_off)
        assert levels.tree.nodes[node] == ".".join(path)
        assert level == len(path)
        assert sure == pytest.approx(probability, abs=1e-12)
        ended.add(int(level))
    assert ended == {0, 1, 2, 3}


def test_a_row_does_not_depend_on_the_others(monkeypatch):
    levels, p = Levels.of(CLASSES, ".", 0.8), probabilities(3)
    whole = levels.nodes(p)
    monkeypatch.setattr("kreinflow.answering.levels._CELLS", 50)
    for step in (1, -1):
        for one, other in zip(levels.nodes(p[::step]), whole, strict=True):
            np.testing.assert_array_equal(one[::step], other)


@pytest.mark.parametrize("seed", range(3))
def test_what_has_a_limit_is_answered_no_deeper(seed):
    levels, p = Levels.of(CLASSES, ".", 0.6), probabilities(seed)
    deepest = np.random.default_rng(seed).choice([0, 1, 2, EVERY_LEVEL], len(p))
    nodes, moved = levels.nodes(p, deepest), set()
    for row, most, node, level in zip(p, deepest, nodes.node, nodes.level, strict=True):
        free = by_walking(row, 0.6)[0]
        path = free[:most]
        assert levels.tree.nodes[node] == ".".join(path)
        assert level == len(path)
        moved.add((len(free), len(path)))
    assert {(3, 0), (3, 1), (3, 2), (3, 3), (1, 0), (1, 1), (0, 0)} <= moved
    free, whole = levels.nodes(p), levels.nodes(p, np.full(len(p), EVERY_LEVEL))
    for one, other in zip(free, whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_lineage_has_the_node_of_each_level():
    tree = Levels.of(("a.b", "a", "c.d.e"), ".", 0.9).tree
    named = [[tree.nodes[node] if node >= 0 else None for node in row] for row in lineages(tree)]
    assert named == [
        ["", None, None, None],
        ["", "a", None, None],
        ["", "a", "a.b", None],
        ["", "c", None, None],
        ["", "c", "c.d", None],
        ["", "c", "c.d", "c.d.e"],
    ]


def drawn(rng, n, sharper):
    """Probabilities, and classes that are drawn by them; sharpened ones are too sure."""
    decisions = 3 * rng.normal(size=(n, len(CLASSES)))
    p = np.exp(decisions)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    p = np.exp(sharper * decisions)
    return p / p.sum(axis=1, keepdims=True), y


def fitted_on(levels, p, y, **how):
    return fitted_levels(levels, p, levels.true_nodes([CLASSES[code] for code in y]), **how)


def wrong_at(levels, p, y):
    """Answers at each level or below it, and wrong ones, of records that have the level."""
    tree, nodes = levels.tree, levels.nodes(p)
    own, true = lineages(tree)[nodes.node], lineages(tree)[tree.leaf[y]]
    for level in range(1, len(levels.thresholds) + 1):
        told = (own[:, level] >= 0) & (true[:, level] >= 0)
        yield told.sum(), np.sum(own[told, level] != true[told, level])


@pytest.mark.parametrize("least", [None, ABOVE_HALF])
@pytest.mark.parametrize("sharper", [1.0, 3.0])
def test_what_is_answered_at_a_level_is_as_often_wrong_as_was_promised(sharper, least):
    """Over seeds: thresholds from 400 records, errors among 4,000 new ones."""
    kept, plain = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        levels = Levels.of(CLASSES, ".", 0.9)
        fitted = fitted_on(levels, *drawn(rng, 400, sharper), least=least)
        assert (fitted.thresholds >= (least or 0.9)).all()
        assert (np.diff(fitted.thresholds) >= 0).all()
        p, y = drawn(rng, 4000, sharper)
        kept.append([wrong <= 0.1 * told for told, wrong in wrong_at(fitted, p, y)])
        plain.append([wrong <= 0.1 * told for told, wrong in wrong_at(levels, p, y)])
    # 90 % of the trainings keep it at each level; 33 of 40 is the 5 % quantile of that.
    assert (np.sum(kept, axis=0) >= 33).all()
    if sharper > 1:  # without thresholds that are found this test would fail
        assert (np.sum(plain, axis=0) < 33).any()


def test_the_nodes_on_the_path_of_a_label():
    levels = Levels.of(CLASSES, ".", 0.8)
    nodes = levels.tree.nodes
    paths = ["1.1.2", "1.3.1", "2", "1.1.9", "9.1", "1.1.2", "1.2.1.4"]
    found = levels.true_nodes(paths).tolist()
    shown = [[nodes[node] if node >= 0 else node for node in row] for row in found]
    assert shown == [
        ["", "1", "1.1", "1.1.2"],
        ["", "1", NOT_LEARNED, NOT_LEARNED],
        ["", "2", NO_NODE, NO_NODE],
        ["", "1", "1.1", NOT_LEARNED],
        ["", NOT_LEARNED, NOT_LEARNED, NO_NODE],
        ["", "1", "1.1", "1.1.2"],
        ["", "1", "1.2", "1.2.1"],  # no class is deeper than the tree
    ]
    known = levels.true_nodes(CLASSES)
    np.testing.assert_array_equal(known, lineages(levels.tree)[levels.tree.leaf])
    assert levels.true_nodes([]).shape == (0, 4)


def test_an_answer_to_what_no_class_has_is_wrong():
    """Sure of a sibling, where the true leaf is not learned: it takes a larger threshold."""
    levels = Levels.of(CLASSES, ".", 0.9)
    p = np.full((400, len(CLASSES)), 0.001)
    p[:, 0] = np.where(np.arange(400) % 4, 0.97, 0.92)
    paths = ["1.1.1" if i % 4 else "1.1.9" for i in range(400)]
    fitted = fitted_levels(levels, p, levels.true_nodes(paths))
    assert fitted.thresholds[:2].tolist() == [0.9, 0.9]
    assert 0.92 < fitted.thresholds[2] <= 0.97
    # Of labels that end there nothing is known below.
    ended = [path.removesuffix(".9") for path in paths]
    fitted = fitted_levels(levels, p, levels.true_nodes(ended))
    np.testing.assert_array_equal(fitted.thresholds, 0.9)


def test_probabilities_that_keep_their_word_need_no_larger_threshold():
    rng = np.random.default_rng(1)
    levels = fitted_on(Levels.of(CLASSES, ".", 0.8), *drawn(rng, 5000, 1.0))
    np.testing.assert_array_equal(levels.thresholds, 0.8)


def test_a_threshold_is_as_low_as_the_promise_allows():
    """Probabilities that are too careful do not keep a level from an answer."""
    rng = np.random.default_rng(1)
    asked = Levels.of(CLASSES, ".", 0.8)
    for sharper in (1.0, 0.7):
        fitted = fitted_on(asked, *drawn(rng, 5000, sharper), least=ABOVE_HALF)
        assert (fitted.thresholds < 0.8).all()
        p, y = drawn(rng, 20000, sharper)
        for told, wrong in wrong_at(fitted, p, y):
            assert 0.1 < wrong / told <= 0.2 or told == 20000


def test_nothing_is_answered_where_nothing_can_be_promised():
    p = np.full((44, len(CLASSES)), 0.04 / (len(CLASSES) - 1))
    p[:, 0] = 0.96
    y = np.zeros(44, dtype=np.int64)
    few = fitted_on(Levels.of(CLASSES, ".", 0.95), p, y)
    np.testing.assert_array_equal(few.thresholds, NOTHING_ACCEPTED)
    assert set(few.nodes(p).level) == {0}
    assert "95 % of the answers are right at level 1 and those below it, so" in few.unkept()
    enough = fitted_on(Levels.of(CLASSES, ".", 0.95), np.vstack([p, p[:1]]), np.append(y, 0))
    np.testing.assert_array_equal(enough.thresholds, 0.95)
    assert enough.unkept() is None
    # records of class 3 have one level: of the levels below it nothing is known
    shallow = np.eye(len(CLASSES))[np.full(60, 7)]
    some = fitted_on(Levels.of(CLASSES, ".", 0.95), shallow, np.full(60, 7))
    np.testing.assert_array_equal(some.thresholds, [0.95, NOTHING_ACCEPTED, NOTHING_ACCEPTED])
