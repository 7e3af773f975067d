"""A config as YAML text, with a comment beside each key that needs one."""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

_WIDTH = 100


class Noted(NamedTuple):
    """A value, or keys with values, and what is said beside it."""

    value: Any
    note: str


def yaml_text(content: Mapping[str, Any], head: Sequence[str] = ()) -> str:
    """Return a config as YAML, with the paragraphs of ``head`` above it, as comments."""
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
    """Return a value, or a list of them, as YAML in one line.

    Examples
    --------
    >>> [scalar(value) for value in ("family", "no", "a: b", "x.fasta", 1e-9, ["a", "007"])]
    ['family', "'no'", "'a: b'", 'x.fasta', '1.0e-09', "[a, '007']"]
    """
    style = '"' if "\n" in str(value) else None
    whole = yaml.safe_dump(
        value, default_style=style, default_flow_style=True, allow_unicode=True, width=math.inf
    )
    return str(whole).removesuffix("\n").removesuffix("\n...")


def _one_line(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(shown.split())


def _comment(text: str, indent: str) -> list[str]:
    wrapped = textwrap.wrap(
        _one_line(text), _WIDTH - len(indent) - 2, break_long_words=False, break_on_hyphens=False
    )
    return [f"{indent}# {line}" for line in wrapped]
