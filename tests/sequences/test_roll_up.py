"""Small classes at their parents, against a walk through a tree of dicts, and invariants."""

from collections import Counter

import numpy as np
import pytest

from kreinflow.sequences.roll_up import common_ancestor, level_counts, rolled_up


def random_labels(seed, n=120, separator=";"):
    """Labels of one to four parts, some of which are beginnings of others; most are rare."""
    rng = np.random.default_rng(seed)
    wide = [rng.integers(1, 1 + size, n) ** 2 // size for size in (4, 5, 6, 8)]
    depth = rng.integers(1, 5, n)
    labels = [separator.join(f"t{wide[d][i]}" for d in range(depth[i])) for i in range(n)]
    return labels, [f"s{i}" for i in rng.integers(0, n, n)]  # some objects stand twice


def naive(labels, objects, separator, least):
    """The same by recursion: a node keeps what its children hand up, if it is enough."""
    tree = {"own": [], "all": [], "below": {}}
    for i, label in enumerate(labels):
        node = tree
        for part in label.split(separator):
            node = node["below"].setdefault(part, {"own": [], "all": [], "below": {}})
            node["all"].append(i)
        node["own"].append(i)
    found = [""] * len(labels)

    def left(node, path):
        mine = list(node["own"])
        for part, child in node["below"].items():
            mine += left(child, [*path, part])
        enough = {objects[i] for i in (node["all"] if len(path) == 1 else mine)}
        if not path or len(enough) < least:
            return mine
        for i in mine:
            found[i] = separator.join(path)
        return []

    left(tree, [])
    return found


@pytest.mark.parametrize("separator", [";", "::"])
@pytest.mark.parametrize("least", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("seed", range(8))
def test_it_is_what_a_recursive_walk_finds(seed, least, separator):
    labels, objects = random_labels(seed, separator=separator)
    found = rolled_up(labels, objects, separator, least)
    assert found == naive(labels, objects, separator, least)
    assert least < 3 or found != labels


@pytest.mark.parametrize("least", [2, 3, 7])
@pytest.mark.parametrize("seed", range(8, 28))
def test_no_record_is_lost_unless_a_child_of_the_root_is_too_small(seed, least):
    labels, objects = random_labels(seed)
    found = rolled_up(labels, objects, ";", least)
    sizes = Counter(node for node, _ in set(zip(found, objects, strict=True)))
    assert all(size >= least for node, size in sizes.items() if ";" in node)
    for label, node in zip(labels, found, strict=True):
        assert f"{label};".startswith(f"{node};" if node else "")
        # What it left behind was too small: nobody is learned there or on the way.
        way = label.split(";")
        depth = len(node.split(";")) if node else 0
        between = {";".join(way[:size]) for size in range(len(way), depth, -1)}
        assert not between & {*found}
        if not node:
            below = [j for j, other in enumerate(labels) if other.split(";")[0] == way[0]]
            assert len({objects[j] for j in below}) < least
    again = rolled_up(found, objects, ";", least)  # nothing is left to be done
    assert again == found


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_records_does_not_matter(seed):
    labels, objects = random_labels(seed)
    order = np.random.default_rng(seed).permutation(len(labels))
    turned = rolled_up([labels[i] for i in order], [objects[i] for i in order], ";", 3)
    whole = rolled_up(labels, objects, ";", 3)
    assert turned == [whole[i] for i in order]


def test_labels_of_one_level_are_kept_or_dropped():
    labels, objects = random_labels(3)
    labels = [label.split(";")[-1] for label in labels]
    sizes = Counter(label for label, _ in set(zip(labels, objects, strict=True)))
    least = sorted(sizes.values())[len(sizes) // 2]
    found = rolled_up(labels, objects, ";", least)
    assert found == [label if sizes[label] >= least else "" for label in labels]
    assert "" in found


def test_a_node_that_is_kept_has_what_is_too_small_below_it():
    labels = ["a;b;c", "a;b;d", "a;e", "f;g"]
    assert rolled_up(labels, range(4), ";", 2) == ["a;b", "a;b", "a", ""]
    assert rolled_up(labels, range(4), ";", 2, ["f"]) == ["a;b", "a;b", "a", "f"]
    assert rolled_up(labels, range(4), ";", 2, ["a;b;c"]) == ["a;b;c", "a", "a", ""]
    assert rolled_up(labels, range(4), ";", 2, ["f;g"])[3] == "f;g"


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ("a;b;c a;b;d", "a;b"),
        ("a;b a;b;d a;b;e", "a;b"),
        ("a;b;c ab;b;c", ""),  # names that begin alike are no common node
        ("a;bc a;bd", "a"),
        ("a;b;c", "a;b;c"),
        ("a;x;c a;y;c", "a"),
    ],
)
def test_the_lowest_common_ancestor(labels, node):
    assert common_ancestor(labels.split(), ";") == node
    assert common_ancestor(labels.replace(";", "::").split(), "::") == node.replace(";", "::")


def test_how_many_stand_at_each_level():
    assert level_counts(["a::b::c", "a", "a::b::d", "e", "a::b;c::d"], "::") == [2, 0, 3]
    assert level_counts([], ";") == []
