import pytest

from kreinflow.base.errors import InputError
from kreinflow.sequences.labels import (
    HeaderPattern,
    differ_in_case,
    read_lines,
    read_pairs,
    refuse_lookalikes,
)


def write(tmp_path, text, name="l.tsv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_lines(tmp_path):
    assert read_lines(write(tmp_path, "1\r\nNA\n 2 \n\n")) == ["1", "NA", "2"]
    with pytest.raises(InputError, match=r"line 2: the label is empty"):
        read_lines(write(tmp_path, "1\n\n2\n"))
    with pytest.raises(InputError, match="is empty"):
        read_lines(write(tmp_path, "\n\n"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "a\u00a0b"),
        ("ab", "a\u200bb"),
        ("a", "a\ufeff"),
        ("", "\u200d"),
        ("ab", "a\u00adb"),
        ("caf\u00e9", "cafe\u0301"),
    ],
)
def test_labels_that_look_the_same(one, other):
    with pytest.raises(InputError) as caught:
        refuse_lookalikes(["x", one, "y", one, other])
    assert f"the labels {one!a} and {other!a} look the same" in str(caught.value)


def test_labels_that_look_different():
    refuse_lookalikes(["a", "A", "ab", "a b", "\u00e9", "e", "a-b", "a_b", "2", "\u00b2"])
    assert differ_in_case(["a", "B", "b", "c", "A", "ab"]) == [("B", "b"), ("a", "A")]


def test_patterns():
    assert HeaderPattern(r"OS=(\w+)").label("P1 x OS=Homo y") == "Homo"
    assert HeaderPattern(r"(a|b)(?P<label>\d)").label("b7") == "7"
    assert HeaderPattern(r"OS=(\w*)").label("P1 OS= x") is None
    assert HeaderPattern(r"x(y)?").label("x") is None
    for bad, message in (("(", "not a regular"), ("OS", "has 0 groups"), ("(a)(b)", "has 2 g")):
        with pytest.raises(InputError, match=message):
            HeaderPattern(bad)


def test_several_labels_of_an_id(tmp_path):
    def read(text, separator, **more):
        path = write(tmp_path, text)
        return read_pairs(path, "id", "label", separator=separator, several=True, **more)

    text = "id\tlabel\na\tx; y;\nb\tz\na\tw;x\n"
    assert read(text, ";") == {"a": "w;x;y", "b": "z"}
    assert read("id\tlabel\na\t\nb\tx\n", ";", skip_empty=True) == {"b": "x"}
    for given, separator, message in (
        (text, "|", "line 2: the label 'x; y;' holds ';'.*'labels.separator'"),
        ("id\tlabel\na\t| |\n", "|", r"line 2: has no label but '\| \|'. Fill it in"),
        ("id\tlabel\n", ";", "has no line below its header"),
    ):
        with pytest.raises(InputError, match=message):
            read(given, separator)


def test_columns_of_0_and_1_are_labels(tmp_path):
    lines = ["id\tx\ty\tz", "a\t1\t0\tyes", "b\t0\t\tNo", "c\t1.0\tFALSE\t0"]
    path = write(tmp_path, "\n".join(lines))
    found = read_pairs(path, "id", ["x", "y", "z"], several=True)
    assert found == {"a": "x;z", "b": "none", "c": "x"}
    assert read_pairs(path, "id", ["x"]) == {"a": "x", "b": "none", "c": "x"}
    with pytest.raises(InputError, match="line 2: has the labels x;z. Set 'labels.multiple: all'"):
        read_pairs(path, "id", ["x", "z"])
    write(tmp_path, "\n".join([*lines, "d\t1\t2\t0"]))
    with pytest.raises(
        InputError, match="line 5: the column 'y' is '2', and not 0 or 1 as where each"
    ):
        read_pairs(path, "id", ["x", "y"], several=True)
    assert read_pairs(path, None, "x") == {"1": "1", "2": "0", "3": "1.0", "4": "1"}
