import gzip

import pytest

from kreinflow.base.errors import InputError
from kreinflow.sequences.labels import (
    HeaderPattern,
    check_columns,
    check_matched,
    differ_in_case,
    read_lines,
    read_pairs,
    read_several,
    read_table,
    refuse_lookalikes,
)


def write(tmp_path, text, name="l.tsv"):
    path = tmp_path / name
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.tsv", "id\tlabel\na\tNA\nb\t007\n"),
        ("l.tsv", "label\tx\tid\nNA\t1\ta\n007\t2\tb\n"),
        ("l.csv", 'id,label\na,NA\nb,"007"\n'),
        ("l.csv.gz", "id,label\na,NA\nb,007\n"),
        ("l.tsv", "\ufeffid\tlabel\r\na\tNA\r\n\r\nb\t007"),
        ("l.txt", "id\tlabel\na \t NA\nb\t007\n"),
        ("l.tsv", "id\tlabel\na\tNA\t\t\nb\t007\t \n"),
        ("l.tsv", "id\tlabel\t\t \na\tNA\nb\t007\t\n"),
        ("l.csv", 'id,"x, y",label\na,1,NA\nb,"2\n3",007\n'),
        ("l.csv", "id;label\na;NA\nb;007\n"),
        ("l.csv.gz", 'id;"x, y";label\r\na;1,5;NA\r\nb;"2;3";"007"\r\n'),
        ("l.csv", '"id";"label";"x\n,y"\na;NA;\nb;007;3\n'),
        ("l.csv", 'id,"x;y",label\na,1;2,NA\nb,;,007\n'),
    ],
)
def test_tables(tmp_path, name, text):
    path = write(tmp_path, text, name)
    check_columns(path, "id", "label")
    assert read_pairs(path, "id", "label") == {"a": "NA", "b": "007"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "l.tsv",
            "id\tlabel\na\tx\na\ty\n",
            r"l.tsv, line 3: id 'a' stands twice, first in line 2",
        ),
        ("l.tsv", "id\tlabel\na\t\n", r"l.tsv, line 2: the 'label' is empty"),
        ("l.tsv", "id\tlabel\n\tx\n", r"l.tsv, line 2: the 'id' is empty"),
        ("l.tsv", "id\tlabel\na\n", r"l.tsv, line 2: has 1 field, the header 2\. Put a tab for"),
        (
            "l.csv",
            "id,label,x\na,x,\nb,y\n",
            r"l.csv, line 3: has 2 fields, the header 3\. Put a c",
        ),
        (
            "l.tsv",
            "id\tlabel\na\tx\u202ey\n",
            r"line 2: the label 'x\\u202ey' has a control char",
        ),
        (
            "l.tsv",
            "id\tlabel\na\u200b\tx\n",
            r"line 2: the id 'a\\u200b' has a control character, or",
        ),
        ("l.tsv", "id\tlabels\na\tx\n", r"column 'label' is missing; did you mean 'labels'\?"),
        ("l.tsv", "id\tx\na\tx\n", r"column 'label' is missing; it has id, x"),
        ("l.tsv", '"na\nme"\tlabel\na\tx\n', r"column 'id' is missing; it has na me, label"),
        ("l.tsv", "id\tlabel\tid\na\tx\tb\n", r"column 'id' stands twice"),
        ("l.tsv", "ID\tlabel\na\tx\n", r"column 'id' is missing; did you mean 'ID'\?"),
        ("l.tsv", "id,label\na,x\n", r"it has id,label\. Are its fields separated by a tab\?"),
        ("l.csv", "id,label\na,x\nb,x, y\n", r"l.csv, line 3: has 3 fields, the header 2\. Put"),
        ("l.csv", "id;label\na;x\nb;x; y\n", r"line 3: has 3 fields, .* holds a semicolon into"),
        ("l.csv", "id;label\na,x\n", r"line 2: has 1 field, the header 2\. Put a semicolon for"),
        ("l.tsv", "id;label\na;x\n", r"it has id;label\. Are its fields separated by a tab\?"),
        ("l.tsv", "id\tlabel\n1\ta\tx\n", r"l.tsv, line 2: has 3 fields, the header 2"),
        ("l.tsv", 'id\tlabel\na\t"x\nb\ty"\n', r"label 'x\\nb\\ty' has a control"),
        ("l.tsv", "id\tlabel\n", r"has no line below its header"),
        ("l.tsv", "", r"l.tsv: is empty"),
        ("l.xlsx", "id\tlabel\na\tx\n", r"the ending '.xlsx' is not one of a table"),
        ("l.tsv", b"id\tlabel\na\t\xe4\n", r"not UTF-8 text \(byte 0xe4\)"),
        ("l.csv", 'id,label\na,"x\n', r"line 2: not a table"),
    ],
)
def test_each_fault_of_a_table_has_its_message(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message):
        read_pairs(write(tmp_path, text, name), "id", "label")


WITH_JOINERS = (
    "می\u200cرود",  # Persian
    "ශ\u0dca\u200dරී",  # Sinhala
    "क\u094d\u200dष",  # Devanagari
    "\U0001f469\u200d\U0001f52c",  # a picture of two
    "Flug\u00adhafen",
    "\u06001403",  # the sign of a number in Arabic: it is shown
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # a flag
)


@pytest.mark.parametrize("label", WITH_JOINERS)
def test_labels_have_all_the_characters_that_their_letters_need(tmp_path, label):
    path = write(tmp_path, f"id\tlabel\na\t{label}\n{label}\tb\n")
    assert read_pairs(path, "id", "label") == {"a": label, label: "b"}
    assert read_lines(path)[1:] == [f"a\t{label}", f"{label}\tb"]


DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    "sign", DIRECTIONS + "\0\x1b\x7f\x9f\u2028\u2029\u200b\u2060\ufeff\ufffe\uffff"
)
def test_characters_that_no_letter_needs_are_refused(tmp_path, sign):
    with pytest.raises(InputError, match="line 2: the label .* has a control character, or one"):
        read_pairs(write(tmp_path, f"id\tlabel\na\tx{sign}y\n"), "id", "label")


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


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(", "not a regular expression"), ("OS", "has 0 groups"), ("(a)(b)", "has 2 groups")],
)
def test_bad_patterns(pattern, message):
    with pytest.raises(InputError, match=message):
        HeaderPattern(pattern)


def test_unmatched():
    check_matched(["a", "b"], {"a": "x", "b": "y"}, "l.tsv")
    with pytest.raises(InputError, match=r"no label for 7 of 8 ids: b, c, d, e, f and 2 more"):
        check_matched("abcdefgh", {"a": "x"}, "l.tsv")
    with pytest.raises(InputError, match=r"Add them, or set 'unmatched' to drop, or to classify"):
        check_matched("ab", {"a": "x"}, "l.tsv")
    with pytest.raises(InputError, match=r"It has z; the sequences have a, b. Give the"):
        check_matched("ab", {"z": "x"}, "l.tsv")
    with pytest.raises(InputError, match=r"l.tsv: no sequence for 1 of 2 labels: z"):
        check_matched(["a"], {"a": "x", "z": "y"}, "l.tsv")


def test_several_columns_are_the_parts_of_a_path(tmp_path):
    text = "id\tfamily\tclan\na\tglobin\tCL1\nb\t\tCL1\nc\t-\tCL2\n"
    path = write(tmp_path, text)
    columns = ["clan", "family"]
    assert read_pairs(path, "id", columns, separator=";") == {
        "a": "CL1;globin",
        "b": "CL1",
        "c": "CL2;-",
    }
    assert read_pairs(path, "id", ["clan"], separator=";") == {"a": "CL1", "b": "CL1", "c": "CL2"}
    with pytest.raises(InputError, match=r"l.tsv, line 3: the 'family' is empty"):
        read_pairs(path, "id", ["family", "clan"], separator=";")
    assert "b" not in read_pairs(path, "id", "family", skip_empty=True)
    with pytest.raises(InputError, match=r"l.tsv, line 2: 'globin' has 'l' in it, which separates"):
        read_pairs(path, "id", columns, separator="l")


def test_several_labels_of_an_id(tmp_path):
    text = "id\tlabel\na\tx; y;\nb\tz\na\tw;x\n"
    path = write(tmp_path, text)
    assert read_several(path, "id", "label", ";") == {"a": "w;x;y", "b": "z"}
    with pytest.raises(InputError, match="line 2: the label 'x; y;' holds ';'.*'labels.separator'"):
        read_several(path, "id", "label", "|")
    path = write(tmp_path, "id\tlabel\na\t| |\n")
    with pytest.raises(InputError, match=r"line 2: has no label but '\| \|'. Fill it in"):
        read_several(path, "id", "label", "|")
    path = write(tmp_path, "id\tlabel\n")
    with pytest.raises(InputError, match="has no line below its header"):
        read_several(path, "id", "label", ";")
    path = write(tmp_path, "id\tlabel\na\t\nb\tx\n")
    assert read_several(path, "id", "label", ";", skip_empty=True) == {"b": "x"}


def test_whole_tables(tmp_path):
    path = write(tmp_path, 'id,"x, y",label,\n a,NA, 007,\n\nb,"1\n2",,\n', "l.csv")
    names, rows = read_table(path)
    assert names == ["id", "x, y", "label"]
    assert rows == [("a", "NA", "007"), ("b", "1\n2", "")]
    with pytest.raises(InputError, match="line 3: has 1 field, the header 2"):
        read_table(write(tmp_path, "id\tx\n\na\n"))
