import pytest

from kreinflow.alignment.alphabet import ResidueAlphabet

PROTEIN = "ARNDCQEGHILKMFPSTWYVBZX*"
NUCLEOTIDE = "ATGCSWRYKMBVHDN*"


@pytest.fixture
def protein():
    return ResidueAlphabet(PROTEIN, "protein")


@pytest.mark.parametrize(
    ("residues", "cleaned"),
    [
        (b"mkvl", b"MKVL"),
        (b"MUOJ", b"MCKX"),
        (b"muoj", b"MCKX"),
        (b"MBZX", b"MBZX"),
        (b"MK*", b"MK"),
        (b"MK--.*", b"MK"),
        (b"***", b""),
    ],
)
def test_proteins_are_rewritten(protein, residues, cleaned):
    assert protein.clean(residues) == cleaned
    assert protein.illegal(cleaned) is None


@pytest.mark.parametrize(
    ("residues", "position", "letter"),
    [(b"MK*L", 3, "*"), (b"-MK", 1, "-"), (b"MK.L", 3, "."), (b"MK1", 3, "1"), (b"A\tC", 2, "\t")],
)
def test_illegal_residues_are_found(protein, residues, position, letter):
    assert protein.illegal(protein.clean(residues)) == (position, letter)


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
def test_nucleotides_among_proteins_are_known(protein, residues, are):
    assert protein.are_nucleotides(protein.clean(residues)) == are
    own = ResidueAlphabet(NUCLEOTIDE, "nucleotide")
    assert not own.are_nucleotides(own.clean(residues))
    few = ResidueAlphabet("ACGTN", "protein")  # a matrix of the user's own
    assert not few.are_nucleotides(few.clean(residues))


@pytest.mark.parametrize(
    ("letters", "molecule", "residues", "cleaned", "illegal"),
    [
        (PROTEIN + "UOJ", "protein", b"UOJ", b"UOJ", None),  # what the matrix has stays
        ("ARND", "protein", b"AJ", b"AJ", (2, "J")),  # nor is it rewritten to what it lacks
        ("acgt", "nucleotide", b"acGT", b"ACGT", None),
        (NUCLEOTIDE, "nucleotide", b"acgu", b"ACGT", None),
        (NUCLEOTIDE, "nucleotide", b"ACGJ", b"ACGJ", (4, "J")),
        ("ACGU", "nucleotide", b"ACGU", b"ACGU", None),
        ("ACGT\u00c4", "nucleotide", b"acgn", b"ACGN", (4, "N")),  # a letter beyond ASCII
    ],
)
def test_letters_follow_the_matrix(letters, molecule, residues, cleaned, illegal):
    alphabet = ResidueAlphabet(letters, molecule)
    assert alphabet.clean(residues) == cleaned
    assert alphabet.illegal(cleaned) == illegal


def test_substitutions_are_counted_by_kind(protein):
    counts = protein.substitutions(b"UuOJA*-*")
    assert counts == {"U to C": 2, "O to K": 1, "J to X": 1, "* at the end": 2, "- at the end": 1}
