"""A config as YAML text, with a comment beside each key that needs one."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z][\w/-]*(?:\.[A-Za-z][\w/-]*)*", re.ASCII)
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
"""That YAML, of one version or another, takes for something else than text."""


class Noted(NamedTuple):
    """A value, or keys with values, and what is said beside it."""

    value: Any
    note: str


def yaml_text(content: Mapping[str, Any], head: Sequence[str] = ()) -> str:
    """Return a config as YAML.

    Parameters
    ----------
    content : mapping
        Keys with text, numbers, booleans, lists of text, mappings, and :class:`Noted` ones.
    head : sequence of str
        Paragraphs that stand above it, as comments.
    """
    lines = [line for paragraph in head for line in _comment(paragraph, "")]
    return "\n".join([*lines, *_lines(content, "")]) + "\n"


def _lines(content: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, entry in content.items():
        value, note = entry if isinstance(entry, Noted) else (entry, "")
        note = _one_line(note)
        line = f"{indent}{scalar(key)}:"
        if not isinstance(value, Mapping):
            line += f" {scalar(value)}"
        beside = f"{line} # {note}"
        if note and len(beside) <= _WIDTH:
            yield beside
        else:
            yield from _comment(note, indent)
            yield line
        if isinstance(value, Mapping):
            yield from _lines(value, f"{indent}  ")


def scalar(value: Any) -> str:
    """Return a value as any version of YAML reads it.

    Examples
    --------
    >>> [scalar(value) for value in ("family", "no", "a: b", "x.fasta", 1e-9, ["a", "007"])]
    ['family', '"no"', '"a: b"', 'x.fasta', '1.0e-09', '[a, "007"]']
    """
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.casefold() not in _WORDS
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(scalar, value))}]"
    text = json.dumps(value)
    return text if "." in text else text.replace("e", ".0e") if isinstance(value, float) else text


def _one_line(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(shown.split())


def _comment(text: str, indent: str) -> list[str]:
    wrapped = textwrap.wrap(
        _one_line(text), _WIDTH - len(indent) - 2, break_long_words=False, break_on_hyphens=False
    )
    return [f"{indent}# {line}" for line in wrapped]
