import pytest

from kreinflow.base.errors import InputError
from kreinflow.commands.proposing.tables import find_sequences
from small_inputs import families

SEQUENCES = [residues for _, _, residues in families(2, each=4, length=9)]


def found(tmp_path, *columns, head=None, name="t.csv"):
    rows = zip(*columns, strict=True)
    lines = [",".join(row) for row in ([head, *rows] if head else rows)]
    (tmp_path / name).write_text("\n".join(lines))
    return find_sequences(str(tmp_path / name))


def test_letters_tell_sequences_from_other_texts(tmp_path):
    labels, ids = ["kinase", "lipase"] * 6, [f"GENE{i}" for i in range(12)]
    mixed = [f"{text[:4]}{text[4:].lower()}" for text in SEQUENCES]
    assert found(tmp_path, ids, SEQUENCES, head=("x", "y")) == (True, "x", "y")
    for other in (labels, ids, mixed, [text[:4] for text in SEQUENCES], ["ACDEFG"] * 12):
        assert found(tmp_path, ids, other, head=("x", "y")) is None
    # What is called so may have short ones, and the same ones.
    assert found(tmp_path, ids, ["ACD", "KL"] * 6, head=("x", "CDR3")) == (True, "x", "CDR3")
    # One of ten may be something else.
    assert found(tmp_path, ids, [*SEQUENCES[:-1], "n.d."], head=("x", "y")) == (True, "x", "y")
    assert found(tmp_path, ids, [*SEQUENCES[:-2], "n.d.", "n.d."], head=("x", "y")) is None
    # And half of the cells may be empty.
    halves = [[*SEQUENCES[:n], *[""] * (12 - n)] for n in (6, 5)]
    assert found(tmp_path, ids, halves[0], head=("x", "y")) == (True, "x", "y")
    assert found(tmp_path, ids, halves[1], head=("x", "y")) is None


def test_ids_have_a_text_of_their_own_in_each_row(tmp_path):
    masses, years = [f"{i}.5" for i in range(12)], [str(1990 + i) for i in range(12)]
    assert found(tmp_path, masses, years, SEQUENCES, head=("m", "y", "seq")) == (True, None, "seq")
    assert found(tmp_path, masses, years, SEQUENCES, head=("m", "id", "seq")) == (True, "id", "seq")
    spaced = [f"p {i}" for i in range(12)]
    assert found(tmp_path, spaced, SEQUENCES, head=("id", "seq")) == (True, None, "seq")


def test_a_first_line_like_the_others_is_a_row(tmp_path):
    labels = ["kinase", "lipase"] * 6
    assert found(tmp_path, SEQUENCES, labels) == (False, None, 1)
    assert found(tmp_path, SEQUENCES, labels, head=("CHAIN", "KINASE")) == (True, None, "CHAIN")
    assert found(tmp_path, SEQUENCES, labels, head=("CHAIN", "kinase")) == (False, None, 1)
    assert found(tmp_path, SEQUENCES, labels, head=("CHAIN", "label")) == (True, None, "CHAIN")


def test_one_called_so_comes_first_and_two_are_refused(tmp_path):
    columns = SEQUENCES, [text[::-1] for text in SEQUENCES]
    assert found(tmp_path, *columns, head=("Peptide", "core")) == (True, "core", "Peptide")
    for head in (("alpha", "beta"), ("seq A", "seq B")):
        with pytest.raises(InputError, match=f"several columns have sequences, '{head[0]}' and"):
            found(tmp_path, *columns, head=head)


@pytest.mark.parametrize("name", ["x.fasta", "x.txt", "x.csv", "no.csv"])
def test_what_is_no_table_of_sequences(tmp_path, name):
    for text in (">a\nACDEFGHIKL\n>b\nMMKLVACDEF\n", "1,2\n3,4\n", "a\tb\nx\n"):
        if name != "no.csv":
            (tmp_path / name).write_text(text)
        assert find_sequences(str(tmp_path / name)) is None
    assert find_sequences(str(tmp_path)) is None
