import pytest

from kreinflow.commands.proposing.labels import Candidate, separator_of_levels, separator_of_several


def column(name, texts):
    return Candidate(name, {f"r{i}": [text] for i, text in enumerate(texts)})


def order(*columns):
    return [one.name for one in sorted(columns, key=Candidate.rank)]


def test_names_tell_labels_from_other_texts():
    texts = ["x", "y"] * 4
    columns = [column(name, texts) for name in ("organism", "colour", "Protein families", "Label")]
    assert order(*columns) == ["Label", "Protein families", "colour", "organism"]
    # EC is a word of its own, and no part of another.
    assert order(column("record", texts), column("EcNumber", texts)) == ["EcNumber", "record"]


def test_what_is_measured_comes_last():
    weights = column("weight", ["1.5", "2.5"] * 4)
    assert order(weights, column("organism", ["x", "y"] * 4)) == ["organism", "weight"]
    numbers = [str(i) for i in range(40)] * 2
    assert order(column("age", numbers), column("organism", ["x", "y"] * 40))[0] == "organism"
    # Numbers may be labels where the name says so, and EC numbers of two levels are no decimals.
    assert order(column("class", numbers), column("colour", ["x", "y"] * 40))[0] == "class"
    assert order(column("ec", ["1.5", "2.5"] * 4), column("colour", ["x", "y"] * 4))[0] == "ec"


def test_a_candidate_makes_two_classes_of_most_records():
    assert column("a", ["x", "x", "y", "y", "z"]).usable()
    assert not column("a", ["x", "x", "y", "z"]).usable()
    assert not column("a", ["x", "x", "y", "y", *"bcdefg"]).usable()
    several = column("a", ["x; y", "x; z", "y; z", "x; y; z"])
    assert (several.separator, several.sizes) == (";", {"x": 3, "y": 3, "z": 3})
    assert several.usable()


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        (["a,b", "a", "b", "b,a"], ","),
        (["a|b", "a|c", "b|c"], "|"),
        (["a;", "b;", "a;"], None),
        (["a, the first", "b", "a, the first", "b"], None),
        (["a/b", "a", "b"], None),
        (["a;b", *"ababababababababababab"], None),  # one in twenty may be a slip
    ],
)
def test_several_labels_are_labels_of_other_records_too(texts, separator):
    assert separator_of_several({str(i): [text] for i, text in enumerate(texts)}) == separator


def test_several_lines_of_a_record():
    assert separator_of_several({"r": ["a", "b"], "s": ["a"]}) == ";"
    assert separator_of_several({"r": ["a", "a"], "s": ["a"]}) is None
    once = {str(i): ["ab"[i % 2]] for i in range(20)}
    assert separator_of_several(once | {"0": ["a", "b"]}) is None  # one in twenty may be a slip


@pytest.mark.parametrize(
    ("labels", "separator"),
    [
        (["a.1.1.2", "a.1.2.1", "b.3.1.1"], "."),
        (["cell/wall/a", "cell/wall/b", "core/x"], "/"),
        (["a>x", "a>y", "b>z"], ">"),
        (["a>x", "a>y", "b>x"], None),  # x below both
        (["GO:1", "GO:2", "GO:3"], None),  # one root alone
        (["a.1", "a.2", "b"], None),
        (["a..1", "a..2", "b..1"], None),
    ],
)
def test_paths(labels, separator):
    assert separator_of_levels(labels) == separator
