"""UniProtKB flat files as data sets."""

import hashlib
import tracemalloc

import pytest
from Bio import SwissProt

from data_sets import LETTERS, dropped, load
from flat_files import ENTRIES, entry, labels_from, residues, write_flat_file
from kreinflow.base.errors import InputError
from kreinflow.sequences.sources import flat_file as module
from kreinflow.sequences.sources.registry import make_source


@pytest.fixture
def folder(tmp_path):
    write_flat_file(tmp_path / "x.dat", ENTRIES)
    return tmp_path


def flat_file(labels=None, **changes):
    return {"type": "swissprot", "swissprot": "x.dat", "labels": labels or labels_from(), **changes}


def by_id(data):
    labels = [data.classes[code] for code in data.labels]
    return dict(zip(data.ids, labels, strict=True))


def test_gzip_and_needed_lines_are_whole_entries_of_biopython(tmp_path):
    path = write_flat_file(tmp_path / "x.dat", ENTRIES)
    packed = write_flat_file(tmp_path / "y.dat.gz", ENTRIES)
    places, ours = zip(*module._entries(packed), strict=True)
    with path.open() as file:
        whole = list(SwissProt.parse(file))
    assert len(ours) == len(whole) == 8
    read = ("accessions", "sequence", "cross_references", "description", "keywords")
    for mine, theirs in zip(ours, whole, strict=True):
        for name in (*read, "organism", "taxonomy_id", "sequence_length"):
            assert getattr(mine, name) == getattr(theirs, name)
    assert places[1] == f"{packed}, entry 2 (line {ENTRIES[0].count(chr(10)) + 1})"


def test_one_entry_at_a_time_is_in_memory(tmp_path):
    """Comments and sequences of 2,000 entries are ten times what reading them may hold."""
    bulk = "CC   -!- FUNCTION: " + "very long " * 200 + "\n"
    long = [
        entry(f"P{i:05}", residues(i, 600), ["PS00301"]).replace("PE   1", f"{bulk}PE   1")
        for i in range(2000)
    ]
    path = write_flat_file(tmp_path / "x.dat", long)
    next(module._entries(path))  # imports
    tracemalloc.start()
    assert sum(len(record.sequence) for _, record in module._entries(path)) == 2000 * 600
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 5_000_000
    assert peak < 500_000


def test_labels_from_prosite_and_what_is_counted(folder):
    data = load(flat_file(), folder)
    assert data.ids == ("P00001", "P00002", "P00004", "P00005")
    assert data.joined_labels == ["PS00301", "PS00301", "PS00107", "PS00107"]
    assert dropped(data) == {"several labels": 1, "fragment": 1, "no label": 2}
    assert data.statistics["several_labels"] == 1
    assert data.statistics["records_read"] == 8
    assert data.sequences[0].decode() == residues(1)
    assert data.statistics["dropped"]["fragment"]["examples"] == ["P00006"]
    data = load(flat_file(labels_from(multiple="first"), fragments="keep"), folder)
    assert by_id(data)["P00003"] == "PS00301"
    assert by_id(data)["P00006"] == "PS00107"
    assert dropped(data) == {"no label": 2}


def test_all_labels_and_the_organism_of_each_entry(folder):
    more = [entry("P00009", residues(1), ["PS00107"]), entry("P00010", residues(9), ["PS00301"])]
    more += [entry("P00011", residues(11), ["PS00107"], organism=("10090", "Mus musculus (Mouse)"))]
    write_flat_file(folder / "x.dat", [*ENTRIES, *more])
    data = load(flat_file(labels_from(multiple="all")), folder)
    assert data.organisms["taxonomy"] == ("9606",) * 7 + ("10090",)
    assert data.organisms["organism"][-1] == "Mus musculus (Mouse)"
    both, one, two = "PS00107;PS00301", "PS00301", "PS00107"
    assert [int(id[1:]) for id in data.ids] == [1, 2, 3, 4, 5, 9, 10, 11]
    # P00009 has the residues of P00001.
    assert data.joined_labels == [both, one, both, two, two, both, one, two]
    ec = load(flat_file(labels_from("ec", multiple="all", levels=3)), folder)
    assert ec.joined_labels[ec.ids.index("P00008")] == "2.7.11;3.6.5"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (labels_from("pfam"), {"1": "PF00009", "2": "PF00009", "4": "PF00069", "5": "PF00069"}),
        (labels_from("interpro"), {"1": "IPR000795", "2": "IPR000795", "4": "IPR000719"}),
        (labels_from("ec", levels=3), {"1": "3.6.5", "2": "3.6.5", "3": "3.6.5", "4": "2.7.11"}),
        (labels_from("ec", levels=1), {"1": "3", "3": "3", "4": "2", "5": "2"}),
        (labels_from("ec", levels=4, multiple="first"), {"4": "2.7.11.1", "8": "2.7.11.1"}),
    ],
)
def test_other_labels(folder, labels, expected):
    if labels["from"] == "ec" and labels["levels"] == 4:
        more = [entry("P00009", residues(9), ec=["3.6.5.3"])]
        write_flat_file(folder / "x.dat", [*ENTRIES, *more])
    found = by_id(load(flat_file(labels), folder))
    for number, label in expected.items():
        assert found[f"P0000{number}"] == label
    assert ("P00002" in found) == (labels["from"] != "ec" or labels["levels"] < 4)


def test_ec_numbers_are_taken_as_far_as_they_are_known(folder):
    numbers = ["3.6.5.3", "3.6.5.-", "3.6.-.-", "3.-.-.-", "-.-.-.-", "2.7.11.n1"]
    entries = [entry(f"P0001{i}", residues(10 + i), ec=[ec]) for i, ec in enumerate(numbers)]
    entries += [entry(f"P0002{i}", residues(20 + i), ec=[ec]) for i, ec in enumerate(numbers)]
    write_flat_file(folder / "x.dat", entries)
    whole = load(flat_file(labels_from("ec")), folder, separator=".")
    assert whole.classes == ("2.7.11.n1", "3", "3.6", "3.6.5", "3.6.5.3")
    assert whole.statistics["class_sizes"] == dict.fromkeys(whole.classes, 2)
    assert dropped(whole) == {"no label": 2}
    cut = load(flat_file(labels_from("ec", levels=3)), folder, separator=".")
    assert cut.statistics["class_sizes"] == {"2.7.11": 2, "3": 2, "3.6": 2, "3.6.5": 4}
    assert load(flat_file(labels_from("ec")), folder).classes == ("2.7.11.n1", "3.6.5.3")


def test_keywords_that_count(tmp_path):
    words = [("GTP-binding", "Membrane"), ("Membrane", "Kinase {ECO:0000256}"), ("Membrane",)]
    entries = [entry(f"P{i:05}", residues(i), keywords=words[i % 3]) for i in range(9)]
    write_flat_file(tmp_path / "x.dat", entries)
    data = load(flat_file(labels_from("keyword", classes=["GTP-binding", "Kinase"])), tmp_path)
    assert data.statistics["class_sizes"] == {"GTP-binding": 3, "Kinase": 3}
    assert dropped(data) == {"no label": 3}
    with pytest.raises(InputError, match=r"1 class left \(Membrane; dropped 6 several labels\)"):
        load(flat_file(labels_from("keyword")), tmp_path)


WHOLE = "".join(ENTRIES)
LAST = WHOLE.count("\n", 0, WHOLE.rindex("ID   ")) + 1
SHORT = entry("P00009", residues(9), ["PS00107"], length=80)
ODD = entry("P00009", residues(9)[:-1] + "1", ["PS00107"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"x.dat: is empty"),
        (">P00001 kinase\nMKV\n", r"x.dat, line 1: not a UniProtKB flat file, .*'>P00001 kinase'"),
        ("ID   X; SV 1; linear; mRNA; STD; 9 BP.\n//\n", r"entry 1 \(line 1\): not an entry"),
        (WHOLE[: WHOLE.rindex("SQ ")], rf"x.dat, entry 8 \(line {LAST}\): the file ends inside"),
        (WHOLE + SHORT, r"entry 9 .*P00009: has 75 residues, its line ID says 80"),
        (WHOLE + ENTRIES[0], r"entry 9 .*'P00001' stands twice, first in .*entry 1 "),
        (WHOLE + ODD, r"entry 9 .*P00009: residue 75 is '1'"),
        (WHOLE + ODD.replace("AC   P00009", "AC   P 9"), r"entry 9 .*: 'P 9' is no accession"),
        (WHOLE + ODD.replace("AC   P", "AC   \u200bP"), r"entry 9 .*: '\\u200bP00009' is no acc"),
    ],
)
def test_each_fault_has_its_message(tmp_path, text, message):
    (tmp_path / "x.dat").write_text(text)
    source = make_source(flat_file(), tmp_path)
    with pytest.raises(InputError, match=message):
        source.load(LETTERS, 1)
    if not text.startswith("ID"):
        with pytest.raises(InputError, match=message):
            source.check()


def test_a_file_that_has_no_such_labels_or_is_still_to_be_downloaded(folder):
    download = {"url": "http://localhost/x", "release": "2025_01", "sha256": "0" * 64, "md5": None}
    with pytest.raises(InputError, match=r"none of 8 entries has a label from keyword that counts"):
        load(flat_file(labels_from("keyword")), folder)
    with pytest.raises(InputError, match=r"x.dat: its sha256 is [0-9a-f]{64}, not 0{64} as down"):
        load(flat_file(download=download), folder)
    make_source(flat_file(swissprot="none.dat", download=download), folder).check()
    with pytest.raises(InputError, match=r"none.dat: not there yet. `snakemake dataset`"):
        load(flat_file(swissprot="none.dat", download=download), folder)
    with pytest.raises(InputError, match=r"none.dat: no such file"):
        make_source(flat_file(swissprot="none.dat"), folder).check()
    right = hashlib.md5((folder / "x.dat").read_bytes()).hexdigest()
    data = load(flat_file(download=download | {"sha256": None, "md5": right.upper()}), folder)
    assert data.statistics["release"] == "2025_01"
