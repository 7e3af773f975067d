import pytest

from kreinflow.alignment.alphabet import ResidueAlphabet

PROTEIN = "ARNDCQEGHILKMFPSTWYVBZX*"
NUCLEOTIDE = "ATGCSWRYKMBVHDN*"


@pytest.mark.parametrize(
    ("letters", "molecule", "residues", "cleaned", "illegal"),
    [
        (PROTEIN, "protein", b"mkUOJuojBZX", b"MKCKXCKXBZX", None),
        (PROTEIN, "protein", b"MK--.*", b"MK", None),
        (PROTEIN, "protein", b"***", b"", None),
        (PROTEIN, "protein", b"MK*L", b"MK*L", (3, "*")),
        (PROTEIN, "protein", b"-MK", b"-MK", (1, "-")),
        (PROTEIN, "protein", b"A\tC", b"A\tC", (2, "\t")),
        (PROTEIN + "UOJ", "protein", b"UOJ", b"UOJ", None),  # what the matrix has stays
        ("ARND", "protein", b"AJ", b"AJ", (2, "J")),  # nor is it rewritten to what it lacks
        ("acgt", "nucleotide", b"acGT", b"ACGT", None),
        (NUCLEOTIDE, "nucleotide", b"acguJ", b"ACGTJ", (5, "J")),
        ("ACGU", "nucleotide", b"ACGU", b"ACGU", None),
        ("ACGT\u00c4", "nucleotide", b"acgn", b"ACGN", (4, "N")),  # a letter beyond ASCII
    ],
)
def test_letters_follow_the_matrix(letters, molecule, residues, cleaned, illegal):
    alphabet = ResidueAlphabet(letters, molecule)
    assert alphabet.clean(residues) == cleaned
    assert alphabet.illegal(cleaned) == illegal


@pytest.mark.parametrize(
    ("residues", "are"),
    [
        (b"ACGTN" * 10, True),
        (b"acgu" * 13, True),
        (b"ACGT" * 12, False),  # 48
        (b"AG" * 100, False),
        (b"ACGT" * 99 + b"M", False),
        (b"", False),
    ],
)
def test_nucleotides_among_proteins_are_known(residues, are):
    few = "ACGTN"  # a matrix of the user's own
    for letters, molecule in ((PROTEIN, "protein"), (NUCLEOTIDE, "nucleotide"), (few, "protein")):
        alphabet = ResidueAlphabet(letters, molecule)
        found = alphabet.are_nucleotides(alphabet.clean(residues))
        assert found == (are and letters == PROTEIN)


def test_substitutions_are_counted_by_kind():
    counts = ResidueAlphabet(PROTEIN, "protein").substitutions(b"UuOJA*-*")
    assert counts == {"U to C": 2, "O to K": 1, "J to X": 1, "* at the end": 2, "- at the end": 1}
