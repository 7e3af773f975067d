import gzip
import io
import os
import random
import threading

import pytest
from Bio.SeqIO.FastaIO import SimpleFastaParser

from kreinflow.base.errors import InputError
from kreinflow.sequences.fasta import read_any_fasta, read_fasta


def write(tmp_path, content, name="x.fasta"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def read(path):
    return [(r.id, r.residues) for r in read_fasta(path)]


PLAIN = [("a", b"MKVL"), ("b", b"ACDE")]


ODDITIES = {
    "plain": b">a one\nMK\nVL\n>b\nACDE\n",
    "windows": b">a one\r\nMK\r\nVL\r\n>b\r\nACDE\r\n",
    "mac": b">a one\rMK\rVL\r>b\rACDE\r",
    "blank_lines": b"\n\n>a one\n\nMK\n\nVL\n\n\n>b\nACDE\n\n",
    "no_final_newline": b">a one\nMKVL\n>b\nACDE",
    "bom": b"\xef\xbb\xbf>a one\nMKVL\n>b\nACDE\n",
    "spaces": b">a one\nMK VL \n>b\t two\n ACDE\n",
    "space_before_id": b"> a one\nMKVL\n> b\nACDE\n",
    "utf8": ">a Bötzinger\nMKVL\n>b\nACDE\n".encode(),
}


@pytest.mark.parametrize("content", ODDITIES.values(), ids=ODDITIES)
@pytest.mark.parametrize("packed", [False, True])
def test_harmless_oddities(tmp_path, content, packed):
    path = write(tmp_path, gzip.compress(content) if packed else content)
    assert read(path) == PLAIN


def test_a_record_at_fault_does_not_lose_the_others(tmp_path):
    path = write(tmp_path, b">a\nMK\n>\nMK\n>b\n>\xe4\nMK\n>c\nM\xe4\n>d one\nVL\n")
    records = list(read_any_fasta(path))
    assert [r.id for r in records] == ["a", "", "b", "\\xe4", "c", "d"]
    assert [r.residues for r in records] == [b"MK", b"", b"", b"", b"", b"VL"]
    begin = (
        "None",
        "has no id",
        "has no residues",
        "its header is not",
        "residue 2 is not",
        "None",
    )
    for record, fault in zip(records, begin, strict=True):
        assert str(record.fault).startswith(fault)
    assert records[1].named == records[1].place == f"{path}, record 2 (line 3)"
    assert records[5].named == f"{path}, record 6 (line 10), d"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.fasta: is empty"),
        (b"\n \n", "x.fasta: holds no records"),
        (b"id\tlabel\n", r"x.fasta, line 1: not FASTA, .* with 'id\\tlabel'"),
        (b"\x89PNG\xff", r"x.fasta, line 1: not FASTA, .* this line with '\\x89PNG\\xff'"),
        (b">a\nMK\n>b\n", r"x.fasta, record 2 \(line 3\), b: has no residues"),
        (b">a\nMK\nV\xe4L\n", r"record 1 \(line 1\), a: residue 4 is not an ASCII letter"),
        (">e\u202ef\nMK\n".encode(), r"record 1 \(line 1\), e\\u202ef: its id has a control"),
        (">e\u200b\nMK\n".encode(), r"e\\u200b: its id has a control character, or one that is"),
        (b">e\0\nMK\n", r"record 1 \(line 1\), e\\x00: its id has a control character"),
        (gzip.compress(b"", mtime=0), "x.fasta: holds no records"),
    ],
)
def test_each_fault_has_its_message(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, content))


@pytest.mark.parametrize("kept", [5, 12, -20, -8, -3])
def test_truncated_gzip(tmp_path, kept):
    content = b"".join(b">s%d\n%s\n" % (i, b"MKVLA" * (i % 7 + 1)) for i in range(999))
    path = write(tmp_path, gzip.compress(content)[:kept], "x.fasta.gz")
    with pytest.raises(InputError, match=r"x.fasta.gz: truncated or damaged gzip file"):
        read(path)


def test_records_are_those_of_biopython(tmp_path):
    rng = random.Random(0)
    ends = ("\n", "\n", "\r\n", "\r", "\t\n", " \t\n", "\v\n", "\u00a0\n")
    parts = (">", ">id", " two words", "MKVLAAGH", "K", " ", "  ", "\t", "-*", *ends)
    for _ in range(300):
        text = ">first " + "".join(rng.choices(parts, k=rng.randint(1, 60)))
        path = write(tmp_path, text.encode())
        ours = [(r.header, r.residues.decode()) for r in read_any_fasta(path) if not r.fault]
        theirs = SimpleFastaParser(io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n")))
        assert ours == [(t.strip(), s) for t, s in theirs if t.strip() and s], text


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_read_to_the_last_byte(tmp_path, packed):
    content = b"".join(b">s%d\n%s\n" % (i, b"MKVLA" * (i % 7 + 1)) for i in range(9999))
    os.mkfifo(tmp_path / "pipe")
    sent = gzip.compress(content, 1) if packed else content
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(sent,))
    writer.start()
    records = read(tmp_path / "pipe")
    writer.join()
    assert records == read(write(tmp_path, content))
