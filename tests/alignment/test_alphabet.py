import pytest

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.base.errors import InputError

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


def test_letters_that_the_matrix_has_stay():
    rich = ResidueAlphabet(PROTEIN + "UOJ", "protein")
    assert rich.clean(b"UOJ") == b"UOJ"
    assert not rich.substitutions(b"UOJ")


def test_a_letter_is_not_rewritten_to_one_that_the_matrix_lacks():
    poor = ResidueAlphabet("ARND", "protein")
    assert poor.illegal(poor.clean(b"AJ")) == (2, "J")


def test_a_matrix_in_lower_case():
    lower = ResidueAlphabet("acgt", "nucleotide")
    assert lower.illegal(lower.clean(b"acGT")) is None


def test_nucleotides():
    nucleotide = ResidueAlphabet(NUCLEOTIDE, "nucleotide")
    assert nucleotide.clean(b"acgu") == b"ACGT"
    assert nucleotide.substitutions(b"acgu") == {"U to T": 1}
    assert nucleotide.illegal(b"ACGJ") == (4, "J")
    assert ResidueAlphabet("ACGU", "nucleotide").clean(b"ACGU") == b"ACGU"


def test_substitutions_are_counted_by_kind(protein):
    counts = protein.substitutions(b"UuOJA*-*")
    assert counts == {"U to C": 2, "O to K": 1, "J to X": 1, "* at the end": 2, "- at the end": 1}


def test_bad_molecule_and_empty_matrix():
    with pytest.raises(InputError, match="molecule 'rna' is unknown"):
        ResidueAlphabet(PROTEIN, "rna")
    with pytest.raises(InputError, match="has no letters"):
        ResidueAlphabet("*", "protein")


def test_a_letter_beyond_ascii_hinders_no_other():
    odd = ResidueAlphabet("ACGTÄ", "nucleotide")
    assert odd.illegal(odd.clean(b"acgt")) is None
    assert odd.illegal(b"ACGN") == (4, "N")
