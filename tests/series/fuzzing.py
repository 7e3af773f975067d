"""Inputs for ``fuzz.py``: what must become of each, and how bytes are damaged."""

import gzip
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ACCEPTED, REFUSED, EITHER = "must be accepted", "must be refused", "either"


class Case(NamedTuple):
    """An input with what its maker knows of it."""

    files: Mapping[str, bytes]
    read: Callable[[Path], Any]
    """Reads the files of a folder, as the program does."""
    verdict: str
    what: str
    """What was done to it, for people."""
    expected: Any = None
    """What must be read, if it is accepted and this is known."""
    named: str = ""
    """What the message must have in it beside the name of a file: line, record, id."""
    fault: Callable[[Any], str] = lambda found: ""
    """What nothing that is accepted may have, in words."""


UNSEEN = (*"\u202e\u202d\u2066\u200f\u200b\u2060\ufeff\u2028", "\x1b[31m")
"""What turns the direction of text, has no width, ends a line, or is obeyed by a terminal."""


_NEVER = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


def unseen(texts) -> str:
    """Return what is wrong with ids or labels that were accepted."""
    for text in texts:
        if not text or text != text.strip():
            return f"{text!r} is empty or has spaces around it"
        if _NEVER.search(text):
            return f"{text!r} has a character that is obeyed, or has no width"
    return ""


TOKENS = [
    *(b"\0", b"\x1b[31m", b"\xff\xfe", b"\r", b"\n", b"\n\n", b'"', b"\t", b",", b";", b" ", b">"),
    *(b"nan", b"-inf", b"1e999", b"-", b"_", b"8.5", b"0", b"//\n", b"ID   ", b"#", b"&a *a", b"{"),
    *(b"\xc2\xa0", b"9" * 5000, b"A" * 70_000, b"\xf0\x9f\x98\x80"),
    *(c.encode() for c in (*UNSEEN, "\u0663", "\u00e9", "\u0301")),
]


def damaged(random: Random, data: bytes) -> bytes:
    """Return data with one to three places changed at random."""
    for _ in range(random.randint(1, 3)):
        a = random.randrange(len(data) + 1)
        b = min(len(data), a + int(2 ** random.uniform(0, 8)))
        c = random.randrange(len(data) + 1)
        before, part, behind = data[:a], data[a:b], data[b:]
        way = random.randrange(7)
        if way == 0:
            data = before + random.choice(TOKENS) + part + behind
        elif way == 1:
            data = before + random.randbytes(b - a) + behind
        elif way == 2:
            flipped = bytes(byte ^ 1 << random.randrange(8) for byte in part[:1])
            data = before + flipped + part[1:] + behind
        elif way == 3:
            data = before + behind
        elif way == 4:
            data = before + part * random.randint(2, 40) + behind
        elif way == 5:
            data = data[:c] + part + data[c:]
        else:
            data = before
    return data


def file_case(
    random: Random,
    name: str,
    data: bytes,
    read: Callable[[Path], Any],
    expected: Any = None,
    wrong: tuple[str, str] | None = None,
    fault: Callable[[Any], str] = lambda found: "",
    packed: float = 0.25,
    **others: bytes,
) -> Case:
    """Return the case of a file that is ``wrong`` (how, what the message names), or right.

    One that is right may be damaged at random, and in a share of cases it is packed. ``others``
    are files beside it, by their names without an ending.
    """
    verdict, (what, named) = REFUSED, wrong or ("nothing", "")
    if wrong is None:
        verdict = ACCEPTED
        if random.random() < 0.5:
            data, verdict = damaged(random, data), EITHER
        if random.random() < packed:
            name, data = f"{name}.gz", gzip.compress(data, 1)
            if random.random() < 0.5:
                data, verdict = damaged(random, data), EITHER
    files = {name: data} | {f"{other}.txt": text for other, text in others.items()}
    expected = expected if verdict == ACCEPTED else None
    return Case(files, lambda folder: read(folder / name), verdict, what, expected, named, fault)


def word(random: Random, letters: str = "abcdefghijklmnopqrstuvwxyz", least=1, most=8) -> str:
    """Return a random word."""
    return "".join(random.choices(letters, k=random.randint(least, most)))
