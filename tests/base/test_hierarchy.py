import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.base.hierarchy import Tree, path_of


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
        inside = [(other + separator).startswith(node + separator) for other in tree.nodes]
        places = np.flatnonzero(inside)  # the nodes below a node follow it at once
        assert not node or np.array_equal(places, number + np.arange(len(places)))


def test_an_ec_number_that_is_not_known_to_its_end_stands_at_an_inner_node():
    tree = Tree.of(["3.6.5.-", "3.6.5.3", "3.-.-.-", "3.6.-.n1"], ".")
    assert tree.nodes == ("", "3", "3.6", "3.6.-", "3.6.-.n1", "3.6.5", "3.6.5.3")
    assert [tree.nodes[node] for node in tree.leaf] == ["3.6.5", "3.6.5.3", "3", "3.6.-.n1"]


@pytest.mark.parametrize(
    ("label", "separator", "path"),
    [
        ("a;b;", ";", "a b"),
        ("a;;", ";", "a"),
        ("k__A; p__B; c__; s__ ", ";", "k__A p__B"),
        ("d:A,p:B,g:,s:", ",", "d:A p:B"),
        ("k__A;p__;g__X", ";", "k__A p__ g__X"),
        ("k__A;sh__SH1", ";", "k__A sh__SH1"),
        ("a;s__", ";", "a"),
        ("gene:x/a", "/", "gene:x a"),
    ],
)
def test_a_lineage_ends_above_what_has_no_name(label, separator, path):
    assert [part.strip() for part in path_of(label, separator)] == path.split()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("k__A;c__B;p__C", "ranks out of order, or one twice"),
        ("k__A;p__B;p__C", "ranks out of order, or one twice"),
        ("k__A;p__B;C", "no rank for its part 'C': is it cut short"),
        ("k__A;B;g__C;s__D", "no rank for its part 'B'"),
        ("k__A;;p__C", "an empty part"),
        ("k__;p__", "names no level"),
    ],
)
def test_ranks_out_of_order_or_missing_are_refused(label, message):
    with pytest.raises(InputError, match=message):
        path_of(label, ";")


def test_labels_without_a_level_and_two_of_one_path_are_refused():
    for label in ("", ".", "1..2", ".1", "1.", "1. .2", "-", "-.-.-.-"):
        with pytest.raises(InputError, match="The label .* has an empty part"):
            path_of(label, ".")
    with pytest.raises(InputError, match=r"'3.6.-.-' and '3.6' are one place"):
        Tree.of(["1", "3.6.-.-", "3.6"], ".")


@pytest.mark.parametrize("seed", range(8))
def test_forks_are_the_nodes_at_which_classes_part(seed):
    """At each, classes are numbered by the node that they go on to; what ends there comes first."""
    tree = Tree.of(random_labels(seed, "."), ".")
    forks, expected = tree.forks, []
    paths = [("", *path_of(tree.nodes[leaf], ".")) for leaf in tree.leaf]
    for node in {path[:size] for path in paths for size in range(1, len(path) + 1)}:
        inside = [path[: len(node)] == node for path in paths]
        goes_on = [path[len(node) : len(node) + 1] for path in paths]
        order = sorted({way for way, here in zip(goes_on, inside, strict=True) if here})
        codes = [order.index(w) if here else -1 for w, here in zip(goes_on, inside, strict=True)]
        expected += [codes] if len(order) > 1 else []
    assert sorted(forks.codes.tolist()) == sorted(expected)
    sizes = [part.stop - part.start for part in forks.branches]
    assert sum(sizes) == len(forks.above) <= 2 * len(tree.leaf) - 2
    assert min(sizes) >= 2


@pytest.mark.parametrize("seed", range(8))
def test_log_probabilities_are_the_products_of_those_at_the_forks(seed):
    tree = Tree.of(random_labels(seed, "."), ".")
    forks = tree.forks
    values = np.random.default_rng(seed).normal(scale=3, size=(7, len(forks.above)))
    expected = np.ones((7, len(tree.leaf)))
    for part, codes in zip(forks.branches, forks.codes, strict=True):
        odds = np.exp(values[:, part])
        conditional = odds / odds.sum(axis=1, keepdims=True)
        for code, branch in enumerate(codes):
            if branch >= 0:
                expected[:, code] *= conditional[:, branch]
    found = forks.log_probabilities(values)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-12)
    sums = np.exp(forks.branch_log_probabilities(found))
    for part, codes in zip(forks.branches, forks.codes, strict=True):
        for branch in range(part.stop - part.start):
            own = expected[:, codes == branch].sum(axis=1)
            np.testing.assert_allclose(sums[:, part.start + branch], own, rtol=1e-12)


def test_log_probabilities_of_a_row_do_not_depend_on_other_rows():
    forks = Tree.of([f"{i % 9}.{i}" for i in range(120)] + ["x"], ".").forks
    values = np.random.default_rng(0).normal(size=(500, len(forks.above)))
    found = forks.log_probabilities(values)
    sums = forks.branch_log_probabilities(found)
    for rows in (slice(0, 1), slice(7, 10), slice(499, None)):
        np.testing.assert_array_equal(forks.log_probabilities(values[rows]), found[rows])
        np.testing.assert_array_equal(forks.branch_log_probabilities(found[rows]), sums[rows])
