import pytest

from kreinflow.base.errors import InputError
from kreinflow.sequences.headers import known_by, organism, short_forms


@pytest.mark.parametrize(
    ("id", "forms"),
    [
        ("tr|A0A024R161|A0A024R161_HUMAN", ("A0A024R161", "A0A024R161_HUMAN")),
        ("sp|P12345-2|AATM_RABIT", ("P12345-2", "AATM_RABIT")),
        ("gi|4557225|ref|NP_000005.1|", ("NP_000005.1", "NP_000005", "4557225")),
        ("gb|AAA12345.2|", ("AAA12345.2", "AAA12345")),
        ("pdb|1ABC|A", ("1ABC_A",)),
        ("P12345.2/12-130", ("P12345.2", "P12345")),
        ("sp|P12345|AATM_RABIT/12-130", ("sp|P12345|AATM_RABIT", "P12345", "AATM_RABIT")),
        ("a0", ()),
        ("0.5", ()),
        ("my|own", ()),
        ("a/b", ()),
    ],
)
def test_short_forms(id, forms):
    assert short_forms(id) == forms


def test_long_and_short_ids_on_either_side():
    table = {"P12345": "a", "sp|P67890|XYZ_HUMAN": "b", "NP_000005.2": "c", "unused": "d"}
    ids = ["sp|P12345|AATM_RABIT", "P67890", "ref|NP_000005.2|"]
    found = dict(zip(ids, "abc", strict=True)) | {"unused": "d"}
    assert known_by([*ids, "other"], table, "y.tsv") == found
    # Domains of one protein share its line.
    found = known_by(["ABL1_HUMAN/61-120", "ABL1_HUMAN/242-493"], {"ABL1_HUMAN": "k"}, "y.tsv")
    assert found == {"ABL1_HUMAN/61-120": "k", "ABL1_HUMAN/242-493": "k"}
    both = known_by(["P12345", "P12345/1-9"], {"P12345": "k"}, "y.tsv")
    assert both == {"P12345": "k", "P12345/1-9": "k"}


def test_ambiguous_ids_are_refused_and_versions_of_one_accession_are_different_sequences():
    """NP_1.1 is not NP_1.2, but NP_1 may be either."""
    table = {"P12345": "a", "AATM_RABIT": "b", "NP_1.1": "c", "NP_1.2": "d"}
    with pytest.raises(InputError) as error:
        known_by(["sp|P12345|AATM_RABIT", "NP_1", "P12345"], table, "y.tsv")
    assert "AATM_RABIT (AATM_RABIT or P12345), NP_1 (NP_1.1 or NP_1.2)." in str(error.value)
    assert known_by(["NP_1.1"], {"NP_1.2": "a"}, "y.tsv") == {"NP_1.2": "a"}
    assert known_by(["NP_1.1"], {"NP_1": "a"}, "y.tsv") == {"NP_1.1": "a"}


def test_organism():
    header = "sp|P1|N_X A protein OS=Escherichia coli (strain K12) OX=83333 GN=x PE=1 SV=2"
    assert organism(header) == ("83333", "Escherichia coli (strain K12)")
    assert organism("x OS=Homo sapiens OX=9606") == ("9606", "Homo sapiens")
    assert organism("x [Homo sapiens]") is None
