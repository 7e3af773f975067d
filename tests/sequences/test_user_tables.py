import gzip

import pytest

from kreinflow.base.errors import InputError
from kreinflow.sequences.labels import read_lines, read_pairs
from kreinflow.sequences.user_tables import check_columns, read_user_table


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
        ("l.csv", "id\tlabel\na\tNA\nb\t007\n"),
        ("l.tsv", "id;label\na;NA\nb;007\n"),
        ("l.txt", "id,label\na,NA\nb,007\n"),
        ("l.csv", 'id,"x;y",label\na,1;2,NA\nb,;,007\n'),
    ],
)
def test_tables(tmp_path, name, text):
    path = write(tmp_path, text, name)
    check_columns(path, "id", "label")
    assert read_pairs(path, "id", "label") == {"a": "NA", "b": "007"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\tlabel\na\tx\na\ty\n", r"l.tsv, line 3: id 'a' stands twice, first in line 2"),
        ("id\tlabel\na\t\n", r"l.tsv, line 2: the column 'label' is empty"),
        ("id\tlabel\n\tx\n", r"l.tsv, line 2: the column 'id' is empty"),
        ("id\tlabel\na\n", r"l.tsv, line 2: has 1 field, the header 2"),
        ("id\tlabel\n1\ta\tx\n", r"l.tsv, line 2: has 3 fields, the header 2"),
        ("id\tlabel\na\u200b\tx\n", r"line 2: the id 'a\\u200b' has a control character, or"),
        ('id\tlabel\na\t"x\nb\ty"\n', r"label 'x\\nb\\ty' has a control"),
        ("id\tlabels\na\tx\n", r"column 'label' is missing; did you mean 'labels'\?"),
        ("id\tx\na\tx\n", r"column 'label' is missing; it has id, x"),
        ('"na\nme"\tlabel\na\tx\n', r"column 'id' is missing; it has na me, label"),
        ("id\tlabel\tid\na\tx\tb\n", r"column 'id' stands twice"),
        ("ID\tlabel\na\tx\n", r"column 'id' is missing; did you mean 'ID'\?"),
        ("id:label\na:x\n", r"it has id:label\. Are its fields separated by a tab\?"),
        ("id\tlabel\n", r"has no line below its header"),
        ("", r"l.tsv: is empty"),
        (b"id\tlabel\na\t\xe4\n", r"not UTF-8 text \(byte 0xe4\)"),
        ("id,label,x\na,x,\nb,y\n", r"l.csv, line 3: has 2 fields, the header 3"),
        ("id;label\na;x\nb;x; y\n", r"l.csv, line 3: has 3 fields, the header 2"),
        ('id,label\na,"x\n', r"l.csv, line 2: not a table"),
        ("id\tlabel\na\tx\n", r"l.xlsx: the ending '.xlsx' is not one of a table"),
    ],
)
def test_each_fault_of_a_table_has_its_message(tmp_path, text, message):
    name = next((name for name in ("l.csv", "l.xlsx") if message.startswith(name)), "l.tsv")
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
UNSEEN = DIRECTIONS + "\0\x1b\x7f\x9f\u2028\u2029\u200b\u2060\ufeff\ufffe\uffff"


def test_characters_that_no_letter_needs_are_refused(tmp_path):
    for sign in UNSEEN:
        with pytest.raises(InputError, match="line 2: the label .* has a control character, or"):
            read_pairs(write(tmp_path, f"id\tlabel\na\tx{sign}y\n"), "id", "label")


def test_several_columns_are_the_parts_of_a_path(tmp_path):
    text = "id\tfamily\tclan\na\tglobin\tCL1\nb\t\tCL1\nc\t-\tCL2\n"
    path = write(tmp_path, text)
    columns = ["clan", "family"]
    found = read_pairs(path, "id", columns, separator=";")
    assert found == {"a": "CL1;globin", "b": "CL1", "c": "CL2;-"}
    assert read_pairs(path, "id", ["clan"], separator=";") == {"a": "CL1", "b": "CL1", "c": "CL2"}
    with pytest.raises(InputError, match=r"l.tsv, line 3: the column 'family' is empty"):
        read_pairs(path, "id", ["family", "clan"], separator=";")
    assert "b" not in read_pairs(path, "id", "family", skip_empty=True)
    with pytest.raises(InputError, match=r"l.tsv, line 2: 'globin' has 'l' in it, which separates"):
        read_pairs(path, "id", columns, separator="l")


def test_whole_tables(tmp_path):
    path = write(tmp_path, 'id,"x, y",label,\n a,NA, 007,\n\nb,"1\n2",,\n', "l.csv")
    names, rows = read_user_table(path)
    assert names == ["id", "x, y", "label"]
    assert rows == [("a", "NA", "007"), ("b", "1\n2", "")]


def test_a_table_without_a_header_has_numbers_of_columns(tmp_path):
    path = write(tmp_path, "a\tx\t\nb\ty\t\n")
    check_columns(path, 1, 2)
    assert read_pairs(path, 1, 2) == {"a": "x", "b": "y"}
    assert read_pairs(path, 2, [1, 2], separator=";") == {"x": "a;x", "y": "b;y"}
    assert read_user_table(path, header=False) == ([1, 2, 3], [("a", "x", ""), ("b", "y", "")])
    for columns in ((1, 4), (1, "label")):
        with pytest.raises(InputError, match=f"column {columns[1]!r} is none of its 3. Where one"):
            check_columns(path, *columns)
    with pytest.raises(InputError, match="line 2: has 1 field, the first line 2"):
        read_pairs(write(tmp_path, "a\tx\nb\n"), 1, 2)
