"""The reader of UniProtKB flat files."""

import tracemalloc

from Bio import SwissProt

from flat_files import ENTRIES, entry, labels_from, residues, write_flat_file
from kreinflow.sequences.swissprot import read_swissprot


def test_gzip_and_whole_entries_agree_with_biopython(tmp_path):
    """Lines that are left out change nothing of what is read."""
    path = write_flat_file(tmp_path / "x.dat", ENTRIES)
    packed = write_flat_file(tmp_path / "y.dat.gz", ENTRIES)
    ours = list(read_swissprot(packed, labels_from("pfam")))
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
    next(read_swissprot(path, labels_from()))  # imports
    tracemalloc.start()
    assert sum(len(e.residues) for e in read_swissprot(path, labels_from())) == 2000 * 600
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 5_000_000
    assert peak < 500_000
