import gzip
import tracemalloc

import numpy as np
import pytest
from Bio import SwissProt

from flat_files import entry, write_flat_file
from kreinflow.errors import InputError
from kreinflow.sequences.dataset import check_source, load_dataset, read_dataset, write_dataset
from kreinflow.sequences.swissprot import read_swissprot

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX*"


def way(source="prosite", **changes):
    return {"from": source, "levels": 4, "multiple": "drop", "classes": None} | changes


def source(labels=None, **changes):
    return {
        "type": "swissprot",
        "swissprot": "x.dat",
        "labels": labels or way(),
        "fragments": "drop",
        "download": None,
        "illegal_residues": "refuse",
        "conflicting_labels": "drop",
        "max_length": 40000,
        "too_long": "refuse",
        "min_class_size": 2,
    } | changes


def residues(number, length=75):
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    return np.random.default_rng(number).choice(letters, length).tobytes().decode()


ENTRIES = [
    entry("P00001", residues(1), ["PS00301"], ["PF00009"], ["IPR000795"], ["3.6.5.3"]),
    entry("P00002", residues(2), ["PS00301"], ["PF00009"], ["IPR000795"], ["3.6.5.-"]),
    entry("P00003", residues(3), ["PS00301", "PS00107"], ["PF00009", "PF00069"], ec=["3.6.5.2"]),
    entry("P00004", residues(4), ["PS00107"], ["PF00069"], ["IPR000719"], ["2.7.11.1"]),
    entry("P00005", residues(5), ["PS00107"], ["PF00069"], ["IPR000719"], ["2.7.11.1"]),
    entry("P00006", residues(6), ["PS00107"], ["PF00069"], flags="Precursor; Fragment"),
    entry("P00007", residues(7), ["PS00107; A_NAME; UNKNOWN_1."], ["PF00069"], also=("Q11111",)),
    entry("P00008", residues(8), ec=["2.7.11.1", "2.7.11.22", "3.6.5.3"]),
]


@pytest.fixture
def folder(tmp_path):
    write_flat_file(tmp_path / "x.dat", ENTRIES)
    return tmp_path


def load(folder, labels=None, **changes):
    return load_dataset(source(labels, **changes), folder, LETTERS, seed=1)


def by_id(data):
    labels = [data.classes[code] for code in data.labels]
    return dict(zip(data.ids, labels, strict=True))


def counts(data):
    return {reason: what["count"] for reason, what in data.statistics["dropped"].items()}


def test_labels_from_prosite_and_what_is_counted(folder):
    data = load(folder)
    assert by_id(data) == {
        "P00001": "PS00301",
        "P00002": "PS00301",
        "P00004": "PS00107",
        "P00005": "PS00107",
    }
    assert counts(data) == {"several labels": 1, "fragment": 1, "no label": 2}
    assert data.statistics["several_labels"] == 1
    assert data.statistics["records_read"] == 8
    assert data.statistics["release"] is None
    assert data.sequences[0].decode() == residues(1)
    assert data.statistics["dropped"]["fragment"]["examples"] == ["P00006"]


def test_the_first_of_several_labels(folder):
    data = load(folder, way(multiple="first"), fragments="keep")
    assert by_id(data)["P00003"] == "PS00301"
    assert by_id(data)["P00006"] == "PS00107"
    assert counts(data) == {"no label": 2}
    assert data.statistics["several_labels"] == 1


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (way("pfam"), {"1": "PF00009", "2": "PF00009", "4": "PF00069", "5": "PF00069"}),
        (way("interpro"), {"1": "IPR000795", "2": "IPR000795", "4": "IPR000719"}),
        (way("ec", levels=3), {"1": "3.6.5", "2": "3.6.5", "3": "3.6.5", "4": "2.7.11"}),
        (way("ec", levels=1), {"1": "3", "3": "3", "4": "2", "5": "2"}),
        (way("ec", levels=4, multiple="first"), {"4": "2.7.11.1", "8": "2.7.11.1"}),
        (way("prosite", classes=["PS00301", "PS00107"]), {"1": "PS00301", "5": "PS00107"}),
    ],
)
def test_other_labels(folder, labels, expected):
    if labels["from"] == "ec" and labels["levels"] == 4:
        more = [entry("P00009", residues(9), ec=["3.6.5.3"])]
        write_flat_file(folder / "x.dat", [*ENTRIES, *more])
    found = by_id(load(folder, labels))
    for number, label in expected.items():
        assert found[f"P0000{number}"] == label
    assert ("P00002" in found) == (labels["from"] != "ec" or labels["levels"] < 4)


def test_keywords_that_count(tmp_path):
    words = [("GTP-binding", "Membrane"), ("Membrane", "Kinase {ECO:0000256}"), ("Membrane",)]
    entries = [entry(f"P{i:05}", residues(i), keywords=words[i % 3]) for i in range(9)]
    write_flat_file(tmp_path / "x.dat", entries)
    data = load(tmp_path, way("keyword", classes=["GTP-binding", "Kinase"]))
    assert data.statistics["class_sizes"] == {"GTP-binding": 3, "Kinase": 3}
    assert counts(data) == {"no label": 3}
    with pytest.raises(InputError, match=r"1 class left \(Membrane; dropped 6 several labels\)"):
        load(tmp_path, way("keyword"))


def test_gzip_and_whole_entries_agree_with_biopython(tmp_path):
    """Lines that are left out change nothing of what is read."""
    path = write_flat_file(tmp_path / "x.dat", ENTRIES)
    packed = write_flat_file(tmp_path / "y.dat.gz", ENTRIES)
    ours = list(read_swissprot(packed, way("pfam")))
    with path.open() as file:
        whole = list(SwissProt.parse(file))
    assert len(ours) == len(whole) == 8
    for mine, theirs in zip(ours, whole, strict=True):
        assert mine.id == theirs.accessions[0]
        assert mine.residues.decode() == theirs.sequence
        assert list(mine.labels) == [r[1] for r in theirs.cross_references if r[0] == "Pfam"]
        assert mine.taxonomy == theirs.taxonomy_id[0] == "9606"
        assert mine.organism + "." == theirs.organism
    assert [e.fragment for e in ours] == [False] * 5 + [True, False, False]
    assert ours[1].place == f"{packed}, entry 2 (line {ENTRIES[0].count(chr(10)) + 1})"


def test_one_entry_at_a_time_is_in_memory(tmp_path):
    """Comments and sequences of 2,000 entries are ten times what reading them may hold."""
    bulk = "CC   -!- FUNCTION: " + "very long " * 200 + "\n"
    long = [
        entry(f"P{i:05}", residues(i, 600), ["PS00301"]).replace("PE   1", f"{bulk}PE   1")
        for i in range(2000)
    ]
    path = write_flat_file(tmp_path / "x.dat", long)
    next(read_swissprot(path, way()))  # imports
    tracemalloc.start()
    assert sum(len(e.residues) for e in read_swissprot(path, way())) == 2000 * 600
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 5_000_000
    assert peak < 500_000


def test_organisms_are_kept_on_the_way_through_files(folder, tmp_path):
    mouse = entry("P00009", residues(9), ["PS00107"], organism=("10090", "Mus musculus (Mouse)"))
    write_flat_file(folder / "x.dat", [*ENTRIES, mouse])
    data = load(folder)
    write_dataset(tmp_path / "out", data)
    again = read_dataset(tmp_path / "out")
    assert again.organisms == data.organisms
    assert again.organisms["taxonomy"] == ("9606",) * 4 + ("10090",)
    assert again.organisms["organism"][-1] == "Mus musculus (Mouse)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"x.dat: is empty"),
        (b">P00001 kinase\nMKV\n", r"x.dat, line 1: not a UniProtKB flat file, .*'>P00001 kinase'"),
        (b"<!DOCTYPE html>\n", r"line 1: not a UniProtKB flat file"),
        (
            b"ID   X; SV 1; linear; mRNA; STD; PLN; 1859 BP.\n//\n",
            r"entry 1 \(line 1\): not an ent",
        ),
    ],
)
def test_foreign_files(tmp_path, content, message):
    (tmp_path / "x.dat").write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(tmp_path)
    if b"linear" not in content:
        with pytest.raises(InputError, match=message):
            check_source(source(), tmp_path)


def test_truncated_files(folder):
    text = (folder / "x.dat").read_text()
    (folder / "x.dat").write_text(text[: text.rindex("SQ ")])
    line = text[: text.rindex("ID   ")].count("\n") + 1
    with pytest.raises(InputError, match=rf"x.dat, entry 8 \(line {line}\): the file ends inside"):
        load(folder)
    packed = gzip.compress("".join(ENTRIES * 50).encode())
    (folder / "x.dat").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"x.dat: truncated or damaged gzip file"):
        for _ in read_swissprot(folder / "x.dat", way()):
            pass


def test_damaged_entries(folder):
    bad = entry("P00009", residues(9), ["PS00107"], length=80)
    write_flat_file(folder / "x.dat", [*ENTRIES, bad])
    with pytest.raises(InputError, match=r"entry 9 .*P00009: has 75 residues, its line ID says 80"):
        load(folder)
    write_flat_file(folder / "x.dat", [*ENTRIES, ENTRIES[0]])
    with pytest.raises(InputError, match=r"entry 9 .*'P00001' stands twice, first in .*entry 1 "):
        load(folder)
    odd = entry("P00009", residues(9)[:-1] + "1", ["PS00107"])
    write_flat_file(folder / "x.dat", [*ENTRIES, odd])
    with pytest.raises(InputError, match=r"entry 9 .*P00009: residue 75 is '1'"):
        load(folder)
    assert counts(load(folder, illegal_residues="drop"))["illegal residues"] == 1


def test_a_file_without_the_labels_that_are_asked_for(tmp_path):
    write_flat_file(tmp_path / "x.dat", [entry("P00001", residues(1), ["PS00301"])])
    with pytest.raises(InputError, match=r"none of 1 entry has a Pfam cross-reference\. Take"):
        load(tmp_path, way("pfam"))
    with pytest.raises(InputError, match=r"has an EC number known to 3 levels"):
        load(tmp_path, way("ec", levels=3))


def test_a_file_that_is_still_to_be_downloaded(folder):
    download = {"url": "http://localhost/x", "release": "2025_01", "sha256": "0" * 64, "md5": None}
    with pytest.raises(InputError, match=r"x.dat: its sha256 is [0-9a-f]{64}, not 0{64} as down"):
        load(folder, download=download)
    check_source(source(swissprot="none.dat", download=download), folder)
    with pytest.raises(InputError, match=r"none.dat: not there yet. `snakemake dataset`"):
        load(folder, swissprot="none.dat", download=download)
    with pytest.raises(InputError, match=r"none.dat: no such file"):
        check_source(source(swissprot="none.dat"), folder)
    import hashlib

    right = hashlib.md5((folder / "x.dat").read_bytes()).hexdigest()
    data = load(folder, download=download | {"sha256": None, "md5": right.upper()})
    assert data.statistics["release"] == "2025_01"
