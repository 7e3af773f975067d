import numpy as np
import pytest

from kreinflow.commands.proposing.lineages import names_of, separator_of_lineages, taxa


def lineages(separator=";", roots=1, unknown=False):
    """Lineages of unequal depth: each name stands below one other, but for those of nobody."""
    found = []
    for number in range(60):
        path = [f"R{number % roots}", f"P{number // 12}", f"F{number // 4}", f"G{number // 2}"]
        path += ["uncultured"] if unknown else [f"s{number}"] * (number % 3 > 0)
        found.append(separator.join(path))
    return found


@pytest.mark.parametrize("separator", [";", "; ", "|", ",", ">"])
def test_names_below_one_path_alone_are_lineages(separator):
    assert separator_of_lineages(lineages(separator)) == separator.strip()
    # A name that stands below many parents says nothing, if it is one of those that do.
    unknown = lineages(separator, unknown=True)
    assert separator_of_lineages(unknown) == separator.strip()
    others = [text.replace("uncultured", "membrane") for text in unknown]
    assert separator_of_lineages(others) is None


def test_sets_of_labels_are_none():
    rng = np.random.default_rng(1)
    words = [f"keyword {i}" for i in range(12)]
    sets = ["; ".join(sorted(rng.choice(words, rng.integers(2, 6), False))) for _ in range(200)]
    assert separator_of_lineages(sets) is None
    assert separator_of_lineages(["kinase, cytosolic, 2", "lipase", "globin, alpha, chain"]) is None
    assert separator_of_lineages(["kinase"] * 9) is None


@pytest.mark.parametrize("sign", ["__", ":"])
def test_letters_of_ranks_tell_lineages_however_shallow(sign):
    texts = [f"k{sign}Fungi;p{sign}{name};c{sign}" for name in "ABCABC"]
    assert separator_of_lineages([*texts, "Unassigned"][1:]) is None  # one of seven has none
    assert separator_of_lineages(texts * 2 + [f"k{sign}Fungi"]) == ";"
    assert separator_of_lineages([text.replace(f"k{sign}", f"x{sign}") for text in texts]) is None


def test_taxa_are_counted_by_rank():
    paths = [names_of(text, ";") for text in ("a; b;", "a;b; c", "a;d;s__", "e")]
    assert paths == [("a", "b"), ("a", "b", "c"), ("a", "d"), ("e",)]
    counts = [{";".join(node): n for node, n in rank.items()} for rank in taxa(paths)]
    assert counts == [{"a": 3, "e": 1}, {"a;b": 2, "a;d": 1}, {"a;b;c": 1}]
