"""FASTA headers of UniProt, NCBI and Pfam: short forms of ids, organisms."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged

_UNIPROT = re.compile(r"(?:sp|tr)\|([A-Z0-9]{6,10}(?:-\d+)?)\|(\w+)")
_NCBI_TAGS = frozenset(
    ("gi", "ref", "gb", "emb", "dbj", "pir", "prf", "sp", "tr", "tpg", "tpe", "tpd", "lcl", "gnl")
)
_REGION = re.compile(r"(.+)/\d+-\d+")
_VERSION = re.compile(r"([A-Za-z][A-Za-z0-9_]*\d)\.\d+")
_ORGANISM = re.compile(r"\bOS=(.+?)(?= [A-Z]{2}=|$)")
_TAXONOMY = re.compile(r"\bOX=(\d+)")


def short_forms(id: str) -> tuple[str, ...]:
    """Return the shorter ids that are known to mean the same sequence, the most exact first.

    UniProt's ``sp|ACCESSION|NAME``, NCBI's ``gi|NUMBER|ref|ACCESSION.VERSION|`` and
    ``pdb|ENTRY|CHAIN``, and Pfam's ``ID/START-END``, one inside the other where they are.

    Examples
    --------
    >>> short_forms("gi|4557225|ref|NP_000005.1|")
    ('NP_000005.1', 'NP_000005', '4557225')
    """
    forms: list[str] = []
    waiting = [id]
    while waiting:
        found = list(_shorter(waiting.pop(0)))
        forms += [form for form in found if form not in forms]
        waiting += found
    return tuple(sorted(forms, key=str.isdecimal))  # NCBI's bare numbers last


def _shorter(id: str) -> Iterator[str]:
    if region := _REGION.fullmatch(id):
        yield region[1]
    elif uniprot := _UNIPROT.fullmatch(id):
        yield from uniprot.groups()
    elif id.startswith("pdb|"):
        fields = id.split("|")
        yield "_".join(field for field in fields[1:3] if field)
    elif "|" in id:
        fields = id.split("|")
        for tag, value in pairwise(fields):
            if tag in _NCBI_TAGS and value and value not in _NCBI_TAGS:
                yield value
    elif version := _VERSION.fullmatch(id):
        yield version[1]


def known_by(ids: Iterable[str], table: Mapping[str, str], place: str) -> dict[str, str]:
    """Return the table with the ids of the sequences in place of short or long forms of them.

    An id that is not in the table is found if one of its short forms is, or if it is a short form
    of an id there: not if both only share one, as two versions of an accession do. One line may
    serve several sequences: the domains of a protein. An id that may mean several lines is refused.

    Examples
    --------
    >>> known_by(["sp|P12345|AATM_RABIT", "x"], {"P12345": "kinase", "x": "lipase"}, "labels.tsv")
    {'x': 'lipase', 'sp|P12345|AATM_RABIT': 'kinase'}
    """
    ids = list(ids)
    left = [id for id in ids if id not in table]
    if not left:
        return dict(table)
    lines: dict[str, set[str]] = {}
    for line in table:
        for form in short_forms(line):
            lines.setdefault(form, set()).add(line)
    found: dict[str, str] = {}
    ambiguous: list[str] = []
    for id in left:
        meant = {form for form in short_forms(id) if form in table} | lines.get(id, set())
        if len(meant) > 1:
            ambiguous.append(f"{id} ({' or '.join(sorted(meant))})")
        elif meant:
            found[id] = meant.pop()
    if ambiguous:
        raise InputError(
            f"{place}: {len(ambiguous)} ids may mean several lines: {abridged(ambiguous, 3)}. "
            "Write the ids there as the FASTA file has them."
        )
    used = {*found.values()} - {*ids}
    values = {line: value for line, value in table.items() if line not in used}
    return values | {id: table[line] for id, line in found.items()}


def organism(header: str) -> tuple[str, str] | None:
    """Return NCBI's number and the name of the organism in a UniProt header, if it has them."""
    taxonomy, name = _TAXONOMY.search(header), _ORGANISM.search(header)
    return (taxonomy[1], name[1]) if taxonomy and name else None
