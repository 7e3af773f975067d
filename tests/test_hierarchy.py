import numpy as np
import pytest

from kreinflow.errors import InputError
from kreinflow.hierarchy import Tree, path_of


def random_labels(seed, separator):
    """Distinct paths of one to four parts; some parts sort before the separator, some behind."""
    rng = np.random.default_rng(seed)
    parts = ["1", "10", "2", "a", "a b", "+", "~"]
    paths = {tuple(rng.choice(parts, rng.integers(1, 5))) for _ in range(30)}
    labels = [separator.join(path) for path in paths]
    rng.shuffle(labels)
    return labels


@pytest.mark.parametrize("separator", [".", ";", "::"])
@pytest.mark.parametrize("seed", range(5))
def test_a_tree_is_that_of_all_beginnings_of_the_labels(seed, separator):
    labels = random_labels(seed, separator)
    tree = Tree.of(labels, separator)
    beginnings = {""}
    for label in labels:
        parts = label.split(separator)
        beginnings |= {separator.join(parts[:size]) for size in range(1, len(parts) + 1)}
    assert set(tree.nodes) == beginnings
    assert len(tree.nodes) == len(beginnings)
    assert tree.nodes[0] == ""
    assert [tree.nodes[node] for node in tree.leaf] == labels
    for number, node in enumerate(tree.nodes):
        parts = node.split(separator) if node else []
        assert tree.depth[number] == len(parts)
        above = separator.join(parts[:-1])
        assert tree.parent[number] == (tree.nodes.index(above) if parts else -1)
        starts = [(label + separator).startswith(node + separator) for label in labels]
        np.testing.assert_array_equal(tree.below[number], starts if node else True)


@pytest.mark.parametrize("seed", range(5))
def test_the_nodes_below_a_node_follow_it_at_once(seed):
    labels = random_labels(seed, ".")
    tree = Tree.of(labels, ".")
    for number, node in enumerate(tree.nodes[1:], 1):
        inside = [(other + ".").startswith(node + ".") for other in tree.nodes]
        places = np.flatnonzero(inside)
        np.testing.assert_array_equal(places, number + np.arange(len(places)))


def test_the_order_of_the_classes_changes_only_their_order():
    labels = random_labels(0, ".")
    one, other = Tree.of(labels, "."), Tree.of(labels[::-1], ".")
    assert one.nodes == other.nodes
    np.testing.assert_array_equal(one.parent, other.parent)
    np.testing.assert_array_equal(one.leaf, other.leaf[::-1])


def test_an_ec_number_that_is_not_known_to_its_end_stands_at_an_inner_node():
    tree = Tree.of(["3.6.5.-", "3.6.5.3", "3.-.-.-", "3.6.-.n1"], ".")
    assert tree.nodes == ("", "3", "3.6", "3.6.-", "3.6.-.n1", "3.6.5", "3.6.5.3")
    assert [tree.nodes[node] for node in tree.leaf] == ["3.6.5", "3.6.5.3", "3", "3.6.-.n1"]
    assert tree.below[tree.nodes.index("3.6.5")].tolist() == [True, True, False, False]


def test_labels_without_the_separator_are_children_of_the_root():
    tree = Tree.of(["b", "a"], ".")
    assert tree.nodes == ("", "a", "b")
    assert tree.parent.tolist() == [-1, 0, 0]
    assert tree.leaf.tolist() == [2, 1]


@pytest.mark.parametrize("label", ["", ".", "1..2", ".1", "1.", "1. .2"])
def test_an_empty_part_is_refused(label):
    with pytest.raises(InputError, match="has an empty part"):
        path_of(label, ".")


@pytest.mark.parametrize("label", ["-", "-.-.-.-"])
def test_a_label_of_dashes_alone_is_refused(label):
    with pytest.raises(InputError, match="names no level"):
        Tree.of(["1.1", label], ".")


def test_two_labels_of_one_path_are_refused():
    with pytest.raises(InputError, match=r"'3.6.-.-' and '3.6' are one place"):
        Tree.of(["1", "3.6.-.-", "3.6"], ".")
