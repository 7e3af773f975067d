"""What texts could be labels: in headers or columns; one a record, several, or paths."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural, shortened
from kreinflow.commands.proposing.lineages import names_of, separator_of_lineages, taxa
from kreinflow.commands.proposing.writing import scalar
from kreinflow.sequences.labels import SEPARATOR, HeaderPattern
from kreinflow.sequences.matrix_files import is_number
from kreinflow.sequences.user_tables import NO, NONE, YES, Column

Texts = Mapping[str, Sequence[str]]
"""Of each record that has any: its texts, one for each line of a table."""

_LABELS = (
    *("label", "class", "target", "categor", "superfamil", "famil", "clan", "ec", "enzyme"),
    *("domain", "function", "pfam", "interpro", "prosite", "scop", "cath", "keyword"),
    *("subtype", "type", "annotation", "group"),
)
"""How words begin that name a column of labels, the most telling first."""

_OTHERS = ("species", "organism", "taxon", "os", "ox", "strain", "cluster", "split", "fold", "name")
"""How words begin that name something else."""

_MOST_NUMBERS, _FOLDED = 30, 5
_RECURRING = 0.8
_OF_RECORDS = 0.05


@dataclass(frozen=True)
class Candidate:
    """Texts of the records that could be their labels.

    ``where`` says where they are: the pattern that finds them in a header, or the column of a
    table, or columns that say by 0 and 1 which labels a record has. The config has it under the
    ``key``.
    """

    name: str
    texts: Texts
    where: str | int | list[Column] = ""
    key: str = "label_column"

    @cached_property
    def ranks(self) -> str | None:
        """What stands between the ranks of lineages, if they are some."""
        if isinstance(self.where, list) or any(len(set(own)) > 1 for own in self.texts.values()):
            return None
        return separator_of_lineages(text for (text, *_) in self.texts.values())

    @cached_property
    def separator(self) -> str | None:
        """What stands between the labels of records that have several, if any have."""
        if isinstance(self.where, list):
            return SEPARATOR if any(SEPARATOR in text for (text,) in self.texts.values()) else None
        return None if self.ranks else separator_of_several(self.texts)

    @cached_property
    def taxa(self) -> list[Counter[tuple[str, ...]]]:
        """How many records each taxon of lineages has, by its rank."""
        return taxa(names_of(text, self.ranks or "") for (text, *_) in self.texts.values())

    @cached_property
    def sizes(self) -> Counter[str]:
        """How many records each label has."""
        if self.separator is None:
            return Counter(text for (text, *_) in self.texts.values())
        return Counter(
            label
            for texts in self.texts.values()
            for label in {part.strip() for text in texts for part in text.split(self.separator)}
            if label
        )

    @property
    def classes(self) -> int:
        """How many labels have two records or more."""
        return sum(size > 1 for size in self.sizes.values())

    @property
    def many(self) -> str:
        """How many classes it would make."""
        what = ("class", "classes") if self.separator is None else ("label", "labels")
        return plural(len(self.sizes), "lineage") if self.ranks else plural(self.classes, *what)

    def in_classes(self, least: int = 2) -> int:
        """Return how many records are in classes of so many or more."""
        return sum(size for size in self.sizes.values() if size >= least)

    @property
    def is_named(self) -> bool:
        """Whether its name says that it has labels."""
        return is_called_labels(self.name)

    def usable(self) -> bool:
        """Return whether it makes two classes or more, of most of the records that have a text.

        Lineages are usable if two taxa of a rank have two records: they are learned there.
        """
        if self.ranks:
            return any(sum(size > 1 for size in rank.values()) > 1 for rank in self.taxa)
        return self.classes > 1 and self.in_classes() > len(self.texts) / 2

    @property
    def line(self) -> str:
        """The line of the config that takes it."""
        return f"{self.key}: {scalar(self.where)}"

    def rank(self) -> tuple[bool, int, bool, float, int, int]:
        """Return what candidates are sorted by: the most plausible labels first."""
        many = len(self.sizes) > _MOST_NUMBERS or any("." in text for text in self.sizes)
        numbers = not self.is_named and all(map(is_number, self.sizes))
        named, other = _place(self.name, _LABELS), _place(self.name, _OTHERS) < len(_OTHERS)
        place = named + int(other and not self.is_named)
        place = min(place, len(_LABELS) - 1) if self.ranks else place
        share = 1.0 if self.ranks else self.in_classes() / max(sum(self.sizes.values()), 1)
        order = -share, -self.in_classes(_FOLDED), -self.classes
        return numbers and many, place, numbers and len(self.sizes) > 2, *order


def is_called_labels(name: str) -> bool:
    """Return whether a column or key has a name of labels."""
    return _place(name, _LABELS) < len(_LABELS)


def _place(name: str, beginnings: Sequence[str]) -> int:
    """Return the place of the first beginning that a word of a name has; short words are whole."""
    words = re.findall(r"[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", name).casefold())
    for place, beginning in enumerate(beginnings):
        if any(w.startswith(beginning) if len(beginning) > 3 else w == beginning for w in words):
            return place
    return len(beginnings)


def indicators(columns: Sequence[Candidate]) -> list[Candidate]:
    """Return the columns that say by 0 and 1 which labels a record has, as one candidate, if any.

    Examples
    --------
    >>> columns = [Candidate("a", {"r": ["1"], "s": ["0"]}, "a")]
    >>> columns += [Candidate("b", {"r": ["1"], "s": ["0"]}, "b")]
    >>> [dict(one.texts) for one in indicators(columns)]
    [{'r': ['a;b'], 's': ['none']}]
    """
    said = [
        one
        for one in columns
        if {text.casefold() for (text, *_) in one.texts.values()} <= YES | NO
        and _place(one.name, _OTHERS) == len(_OTHERS)
    ]
    if len(said) < 2:
        return []
    texts: dict[str, list[str]] = {}
    for one in said:
        for id, (text, *_) in one.texts.items():
            texts.setdefault(id, []).extend([str(one.where)] * (text.casefold() in YES))
    joined = {id: [SEPARATOR.join(labels) or NONE] for id, labels in texts.items()}
    columns_said: list[Any] = [one.where for one in said]
    return [
        Candidate(f"{abridged([one.name for one in said], 3)} by 0 and 1", joined, columns_said)
    ]


def separator_of_several(texts: Texts) -> str | None:
    """Return what stands between the labels of records that have several, None if none have.

    The parts of a text must be labels of other records too, or all are EC numbers. Where ids have
    several lines, the texts of a line are taken as they are if they have no separator. One in
    twenty may be a slip.

    Examples
    --------
    >>> one = {"a": ["kinase; membrane"], "b": ["kinase"], "c": ["membrane"], "d": ["kinase"]}
    >>> separator_of_several(one)
    ';'
    >>> separator_of_several({"a": ["kinase, cytosolic"], "b": ["lipase"], "c": ["lipase"]}) is None
    True
    """
    cells = [text for own in texts.values() for text in own]
    for separator in (";", ",", "|"):
        of_cells = [{part.strip() for part in cell.split(separator)} - {""} for cell in cells]
        wide = [parts for parts in of_cells if len(parts) > 1]
        if wide and all(_EC.fullmatch(part) for parts in of_cells for part in parts):
            return separator
        if len(wide) <= _OF_RECORDS * len(cells):
            continue
        of_kinds = {frozenset(parts) for parts in of_cells}
        kinds = Counter(part for parts in of_kinds for part in parts)
        recurring = [kinds[part] > 1 for parts in wide for part in parts]
        if sum(recurring) >= _RECURRING * len(recurring):
            return separator
    in_lines = sum(len(set(own)) > 1 for own in texts.values())
    return ";" if in_lines > _OF_RECORDS * len(texts) else None


def separator_of_levels(labels: Sequence[str]) -> str | None:
    """Return what stands between the levels of labels that are paths, None if they are none.

    EC numbers are, and so are labels that all have a separator, where what follows it has one
    beginning alone, or, if it is a number, where beginnings are shared.

    Examples
    --------
    >>> separator_of_levels(["3.6.5.3", "3.6.5.-", "1.1.1.1"])
    '.'
    >>> separator_of_levels(["Bacteria;Firmicutes", "Bacteria;Bacteroidota", "Archaea;Asgard"])
    ';'
    >>> separator_of_levels(["PF00001.21", "PF00002.3", "PF00003.4"]) is None
    True
    """
    kinds = sorted(set(labels))
    if all(map(_EC.fullmatch, kinds)):
        return "."
    for separator in (".", "/", ";", "|", ">", "::", ":"):
        paths = [[part.strip() for part in label.split(separator)] for label in kinds]
        if not all(len(path) > 1 and all(path) for path in paths):
            continue
        roots = Counter(path[0] for path in paths)
        if len(roots) < 2 or max(roots.values()) < 2:
            continue
        above: dict[tuple[int, str], set[str]] = {}
        for path in paths:
            for depth, part in enumerate(path[1:], 1):
                if part != "-" and not part.isdecimal():
                    above.setdefault((depth, part), set()).add(path[depth - 1])
        ordered = all(len(parents) == 1 for parents in above.values())
        shared = sum(size for size in roots.values() if size > 1) >= len(kinds) / 2
        if ordered and shared:
            return separator
    return None


_EC = re.compile(r"[1-7](\.(\d+|n\d+|-)){3}")
_MOST_FIELDS = 12
_OF_HEADERS = 0.5
WHOLE = r"^(.+)$"
"""The pattern of headers that are labels and nothing else."""

_KEYED = re.compile(r"(?:^|[\s;,\[|])([A-Za-z]\w*)([=:])(?=\S)")


def look_at_headers(ids: Sequence[str], headers: Sequence[str], place: str) -> list[Candidate]:
    r"""Return what in the headers of records could be their labels, the most plausible first.

    Lineages; keys with a value (``family=kinase``, ``[family=kinase]``, UniProt's ``OS=``), a name
    in brackets at the end (NCBI's organisms), fields between separators, the rest of the header
    behind the id, and the id without its number. If the whole header is a lineage, so that it has
    no id, that is the only one, with the pattern :data:`WHOLE` and numbers as ids.

    An InputError names the ``place`` of the headers if there is nothing.

    Examples
    --------
    >>> headers = ["a family=x;", "b family=x;", "c family=y;", "d family=y;"]
    >>> look_at_headers("abcd", headers, "x.fasta")[0].where
    '\\bfamily=([^\\s;,\\]|]+)'
    """
    numbers = [str(i) for i in range(1, len(headers) + 1)]
    whole = Candidate("the whole header", _found(WHOLE, numbers, headers), WHOLE, "pattern")
    if all(";" in id for id in ids) and whole.ranks and "=" not in headers[0] and whole.usable():
        return [whole]
    found = []
    for pattern, name in _patterns(headers):
        own = _found(pattern, ids, headers)
        if len(own) >= _OF_HEADERS * len(headers):
            found.append(Candidate(name, own, pattern, "pattern"))
    usable = [one for one in found if one.usable()]
    # What stands under a key is meant; fields and the parts of an id may be anything.
    keyed = [one for one in usable if one.ranks or any(sign in one.name for sign in "=:[")]
    others = [one for one in usable if one not in keyed]
    candidates = sorted(keyed, key=Candidate.rank) + sorted(others, key=lambda one: one.rank()[2:])
    if not candidates:
        raise InputError(
            f"{place}: no labels. Give a table with --labels, or a folder with one FASTA file a "
            f"class. The headers ({abridged([repr(shortened(h)) for h in headers[:2]])}) have "
            "nothing that two records share and others have not."
        )
    return candidates


def _found(pattern: str, ids: Sequence[str], headers: Sequence[str]) -> dict[str, list[str]]:
    texts = zip(ids, map(HeaderPattern(pattern).label, headers), strict=True)
    return {id: [text] for id, text in texts if text is not None}


def _patterns(headers: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield patterns that find something in half of the headers, and a name for each."""
    least = _OF_HEADERS * len(headers)
    yield r"\btax=([^;\s]+)", "the lineage behind tax="  # SINTAX
    yield r"(?:^|[\s|=])([dk]__[^\[|]*?)\s*(?:[\[|]|$)", "the lineage"
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
    behind = True
    for start, sort, of in ((r"^", r"\S", "of the id"), (r"^\S+\s+", ".", "behind the id")):
        for sign in ("~~~", "__"):  # abricate's ids, Prokka's products
            found = [re.search(f"{start}({sort}+)", header) for header in headers]
            parts = [match[1] for match in found if match]
            parts = [part for part in parts if sign in part and not re.search(r"\b[a-z]__", part)]
            if len(parts) < max(least, 1):
                continue
            behind = behind and sort != "."
            for field in range(min(_MOST_FIELDS, max(part.count(sign) for part in parts) + 1)):
                other = rf"(?:(?!{sign}){sort})"
                pattern = rf"{start}(?:{other}*{sign}){{{field}}}({other}+)(?=\s|$|{sign})"
                yield pattern, f"field {field + 1} {of}, between {sign}"
    if behind:
        yield r"^\S+\s+(.+?)\s*$", "all behind the id"
        yield r"^\S+\s+(\S+)", "the first word behind the id"
    yield r"^(\S+?)[_.|/-]+\d+(?:\s|$)", "the id without its number"
    yield r"^(\S*?[A-Za-z]{2})\d+(?:\s|$)", "the letters of the id"
    yield r"^\S+_([A-Za-z]\w*)", "what follows the last _ of the id"
