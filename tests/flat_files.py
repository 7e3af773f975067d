"""UniProtKB flat files that tests write, in the format of the releases of today."""

import gzip
import textwrap

import numpy as np

LINES = "DT   01-OCT-1996, sequence version 2.\n"


def entry(
    accession,
    residues,
    prosite=(),
    pfam=(),
    interpro=(),
    ec=(),
    keywords=(),
    flags="",
    organism=("9606", "Homo sapiens (Human)"),
    length=None,
    also=(),
):
    """One entry, with lines that are read and lines that are not."""
    name = f"{accession}_HUMAN"
    numbers = "".join(f"DE            EC={number} {{ECO:0000269|PubMed:1}};\n" for number in ec)
    references = [f"PROSITE; {p}; A_NAME; 1." if ";" not in p else f"PROSITE; {p}" for p in prosite]
    references += [f"Pfam; {p}; A_name; 1." for p in pfam]
    references += [f"InterPro; {p}; A_name." for p in interpro]
    words = f"KW   {'; '.join(keywords)}.\n" if keywords else ""
    rows = textwrap.wrap(residues, 60)
    sequence = "".join(f"     {' '.join(textwrap.wrap(row, 10))}\n" for row in rows)
    return (
        f"ID   {name:<24}Reviewed;{length or len(residues):>12} AA.\n"
        f"AC   {'; '.join([accession, *also])};\n{LINES}"
        f"DE   RecName: Full=Elongation factor of {name};\n{numbers}"
        f"{f'DE   Flags: {flags};' + chr(10) if flags else ''}"
        f"GN   Name=TUF1; OrderedLocusNames=YOR187W;\n"
        f"OS   {organism[1]}.\n"
        "OC   Eukaryota; Metazoa; Chordata; Craniata; Vertebrata; Mammalia.\n"
        f"OX   NCBI_TaxID={organism[0]} {{ECO:0000312|EMBL:1}};\n"
        "RN   [1]\nRP   NUCLEOTIDE SEQUENCE.\nRX   PubMed=3033800; DOI=10.1093/x;\n"
        'RA   Nagata S.;\nRT   "A title";\nRL   EMBO J. 1:1-2(1986).\n'
        "CC   -!- FUNCTION: Promotes binding.\n"
        "DR   EMBL; X00001; CAA1.1; -; mRNA.\n"
        + "".join(f"DR   {reference}\n" for reference in references)
        + f"PE   1: Evidence at protein level;\n{words}"
        'FT   CHAIN           1..100\nFT                   /note="broken over\n'
        'FT                   two lines"\n'
        f"SQ   SEQUENCE   {len(residues)} AA;  12345 MW;  0123456789ABCDEF CRC64;\n{sequence}//\n"
    )


def write_flat_file(path, entries):
    data = "".join(entries).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def residues(number, length=75):
    """Residues that are always the same for a number."""
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


def labels_from(source="prosite", **changes):
    """The part labels of the source."""
    return {"from": source, "levels": 4, "multiple": "drop", "classes": None} | changes
