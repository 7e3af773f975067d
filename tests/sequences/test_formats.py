"""FASTQ and GenBank are read as Biopython reads them."""

import gzip
import io

import numpy as np
import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqFeature import SeqFeature, SimpleLocation
from Bio.SeqIO.QualityIO import FastqGeneralIterator
from Bio.SeqRecord import SeqRecord

from kreinflow.base.errors import InputError
from kreinflow.sequences.fasta import read_any_fasta, read_fasta
from small_inputs import DNA, families

FASTQ = "@r1 one\nACGT\n+\n@III\n\n@r2\nAC\n+r2\n>+\n@r3\nA\n+\nI\n\n"


def entries(molecule="DNA", **more):
    """Entries as Biopython writes them, with a gene of their own each."""
    kind = "aa" if molecule == "protein" else "bp"
    letters = {} if molecule == "protein" else {"letters": DNA}
    found = []
    for id, label, residues in families(8, classes=("Mus", "Rattus"), each=3, length=70, **letters):
        record = SeqRecord(Seq(residues), id=f"{id}.1", name=id, description=f"a {kind} of {label}")
        record.annotations = {"molecule_type": molecule, "organism": f"{label} [x] y"}
        record.annotations["taxonomy"] = ["Eukaryota", "Chordata", label]
        whole = {"organism": ["is said"], "strain": [f"s{id}"], "note": ["a", "b"], **more}
        record.features = [
            SeqFeature(SimpleLocation(0, 70), "source", qualifiers=whole),
            SeqFeature(SimpleLocation(0, 9), "CDS", qualifiers={"product": [f"{label}in"]}),
        ]
        found.append(record)
    return found


def genbank(records):
    text = io.StringIO()
    SeqIO.write(records, text, "genbank")
    return text.getvalue()


def write(tmp_path, text, name="x.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["x.fastq", "x.fq.gz", "reads"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_fastq(tmp_path, name, ends):
    found = list(read_fasta(write(tmp_path, FASTQ.replace("\n", ends), name)))
    theirs = SeqIO.parse(io.StringIO(FASTQ.replace("\n\n", "\n")), "fastq")
    assert [(r.id, r.header, r.residues) for r in found] == [
        (r.id, r.description, bytes(r.seq)) for r in theirs
    ]
    assert [r.line for r in found] == [1, 6, 10]


@pytest.mark.parametrize("width", [1, 3, 4, 100])
def test_wrapped_fastq_is_read_as_biopython_reads_it(tmp_path, width):
    """Lines of qualities may begin with the signs of a record."""
    rng, lines = np.random.default_rng(width), []
    for number in range(40):
        residues = "".join(rng.choice(list("ACGTN"), rng.integers(1, 12)))
        told = "".join(rng.choice(list("@+!I"), len(residues)))
        title = f"r{number} x"
        again = title * (number % 2)
        lines += [f"@{title}", *cut(residues, width), f"+{again}", *cut(told, width)]
    text = "".join(f"{line}\n" for line in lines)
    found = list(read_fasta(write(tmp_path, text)))
    theirs = FastqGeneralIterator(io.StringIO(text))
    assert [(r.header, r.residues.decode()) for r in found] == [one[:2] for one in theirs]
    assert [lines[r.line - 1] for r in found] == [f"@{r.header}" for r in found]


def cut(text, width):
    return [text[i : i + width] for i in range(0, len(text), width)]


def test_an_empty_read_is_at_fault_alone(tmp_path):
    found = list(read_any_fasta(write(tmp_path, "@a\n\n+\n\n@b\nAC\n+\nII\n")))
    assert [(r.id, r.residues, bool(r.fault)) for r in found] == [("a", b"", True), ("b", b"AC", 0)]


@pytest.mark.parametrize("molecule", ["DNA", "protein"])
def test_genbank(tmp_path, molecule):
    records = entries(molecule)
    found = list(read_fasta(write(tmp_path, "\n" + genbank(records), "x.gb.gz")))
    assert [(r.id, r.residues) for r in found] == [(r.id, bytes(r.seq)) for r in records]
    kind = "aa" if molecule == "protein" else "bp"
    assert found[0].header == (
        f"Mus0.1 a {kind} of Mus [organism=Mus  x  y] [lineage=Eukaryota;Chordata;Mus;Mus  x  y] "
        "[strain=sMus0] [product=Musin]"
    )
    assert found[1].line > found[0].line == 2


WHOLE = genbank(entries())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FASTQ[:-5], r"x.txt, line 10: not a whole record of FASTQ"),
        ("@r1\nACGT\n+\nIII\n", r"line 1: not a whole record of FASTQ"),
        ("@r1\nAC\nGT\n+\nIII\nII\n", r"line 1: not a whole record of FASTQ"),
        ("@r1\nAC\nII\n@r2\nAC\n+\nII\n", r"line 1: not a whole record of FASTQ"),
        ("@r1\nAC\n+\n@r2\nAC\n+\nII\n", r"line 1: not a whole record of FASTQ"),
        ("@r1\nAC\n+\nII\n>r2\nAC\n", r"line 5: not a whole record of FASTQ"),
        (WHOLE[:-20], r"x.txt, line \d+: the file ends inside this entry. Copy it again"),
        (WHOLE.replace("       61", "//\n       61", 1), "has 60 residues, its line LOCUS says 70"),
        (WHOLE.replace("ORIGIN", "ORI", 1), r"line 1: not an entry of GenBank"),
        ("LOCUS       x\n//\n", r"x.txt, line 1: not an entry of GenBank"),
    ],
)
def test_each_fault_has_its_message(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        list(read_fasta(write(tmp_path, text)))
