import pytest

from kreinflow.base.errors import InputError
from kreinflow.commands.proposing.source import look_at_table

IDS = ["sp|P00001|A_HUMAN", "sp|P00002|B_HUMAN", "c/3-90", "d"]


def write(tmp_path, text):
    path = tmp_path / "y.tsv"
    path.write_text(text)
    return path


def test_the_column_that_has_most_records_has_the_ids(tmp_path):
    lines = ["d\tP00001\tx\t1", "d\tB_HUMAN\tx\t2", "d\tc\ty\t3", "q\td\ty\t4", "q\te\t\t5"]
    found = look_at_table(write(tmp_path, "\n".join(["hit\tentry\tclass\tn", *lines])), IDS)
    assert (found.id_column, found.lines, found.matched) == ("entry", 5, 4)
    assert [one.name for one in found.candidates] == ["class"]
    assert found.candidates[0].texts == dict(zip(IDS, [["x"], ["x"], ["y"], ["y"]], strict=True))


def test_one_line_may_serve_several_records(tmp_path):
    ids = ["p/1-9", "p/12-30", "q/1-5", "q/9-20"]
    found = look_at_table(write(tmp_path, "id\tc\np\tx\nq\ty\n"), ids)
    assert found.candidates[0].texts == {id: ["x" if id[0] == "p" else "y"] for id in ids}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\tc\n", "has no line below its header"),
        ("id\tc\nD\tx\n", r"no column has the ids of the records\. These are sp\|P00001\|A_HUM"),
        ("id\tc\nd\tx\n", "no column could be the labels"),
    ],
)
def test_what_is_no_table_of_labels(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        look_at_table(write(tmp_path, text), IDS)
