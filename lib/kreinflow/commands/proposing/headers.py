"""Labels in the headers of a FASTA file: patterns that find them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, shortened
from kreinflow.commands.proposing.labels import Candidate
from kreinflow.sequences.labels import HeaderPattern

_MOST_HEADERS = 20_000
"""That patterns are tried on: the first ones, and each so many behind them."""

_MOST_FIELDS = 12
_OF_HEADERS = 0.5
_KEYED = re.compile(r"(?:^|[\s;,\[|])([A-Za-z]\w*)([=:])(?=\S)")


def look_at_headers(ids: Sequence[str], headers: Sequence[str], place: str) -> list[Candidate]:
    r"""Return what in the headers of records could be their labels, the most plausible first.

    Keys with a value (``family=kinase``, ``[family=kinase]``, UniProt's ``OS=``), a name in
    brackets at the end (NCBI's organisms), fields between bars, the rest of the header behind the
    id, and the id without its number.

    Parameters
    ----------
    ids, headers : sequence of str
        Of the records.
    place : str
        Where they stand, for the message.

    Raises
    ------
    InputError
        If there is nothing.

    Examples
    --------
    >>> headers = ["a family=x;", "b family=x;", "c family=y;", "d family=y;"]
    >>> look_at_headers("abcd", headers, "x.fasta")[0].pattern
    '\\bfamily=([^\\s;,\\]|]+)'
    """
    step = -(-len(headers) // _MOST_HEADERS)
    shown = list(zip(ids, headers, strict=True))[::step]
    tried = dict(_patterns([header for _, header in shown]))
    found = []
    for pattern, name in tried.items():
        label = HeaderPattern(pattern).label
        texts = {id: [text] for id, header in shown if (text := label(header)) is not None}
        if len(texts) >= _OF_HEADERS * len(shown):
            found.append(Candidate(name, texts, pattern))
    usable = [one for one in found if one.usable()]
    # What stands under a key is meant; fields and the parts of an id may be anything.
    keyed = [one for one in usable if _is_keyed(one)]
    others = [one for one in usable if one not in keyed]
    candidates = sorted(keyed, key=Candidate.rank) + sorted(others, key=lambda one: one.rank()[2])
    if not candidates:
        raise InputError(
            f"{place}: no labels. Give a table with --labels, or a folder with one FASTA file a "
            f"class. The headers ({abridged([repr(shortened(h)) for h in headers[:2]])}) have "
            "nothing that two records share and others have not."
        )
    return candidates


def is_guess(candidate: Candidate) -> bool:
    """Return whether what stands in headers has no key, or that of something else, as ``OS=``."""
    return not _is_keyed(candidate) or candidate.is_doubtful()


def _is_keyed(candidate: Candidate) -> bool:
    return any(sign in candidate.name for sign in "=:[")


def _patterns(headers: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield patterns that find something in half of the headers, and a name for each."""
    least = _OF_HEADERS * len(headers)
    keys = Counter(found for header in headers for found in {*_KEYED.findall(header)})
    for (key, sign), count in sorted(keys.items()):
        if count < least:
            continue
        if sign == "=" and len(key) == 2 and key.isupper():  # UniProt's: up to the next one
            yield rf"\b{key}=(.+?)(?= [A-Z]{{2}}=|$)", f"{key}="
        elif sum(f"[{key}{sign}" in header for header in headers) >= least:
            yield rf"\[{key}{sign}([^\]]+)\]", f"[{key}{sign}]"
        else:
            yield rf"\b{key}{sign}([^\s;,\]|]+)", f"{key}{sign}"
    if sum(header.rstrip().endswith("]") for header in headers) >= least:
        yield r"\[([^\[\]=]+)\]\s*$", "[organism] at the end"
    for field in range(1, min(_MOST_FIELDS, max(header.count("|") for header in headers)) + 1):
        yield rf"^(?:[^|]*\|){{{field}}}\s*([^|]+?)\s*(?:\||$)", f"field {field + 1} between bars"
    yield r"^\S+\s+(.+?)\s*$", "all behind the id"
    yield r"^\S+\s+(\S+)", "the first word behind the id"
    yield r"^(\S+?)[_.|/-]+\d+(?:\s|$)", "the id without its number"
    yield r"^(\S*?[A-Za-z]{2})\d+(?:\s|$)", "the letters of the id"
    yield r"^\S+_([A-Za-z]\w*)", "what follows the last _ of the id"
