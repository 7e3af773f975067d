"""What ``tests/fuzz.py`` tries: an input, and what must become of it."""

import gzip
import os
import signal
import traceback
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from kreinflow.base.errors import InputError

ACCEPTED, REFUSED, EITHER = "must be accepted", "must be refused", "either"

SECONDS = 5
"""Of the processor: more is too slow. An input is a few kilobytes."""

MEGABYTES = 200
"""More than before: too much memory."""


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


class Outcome(NamedTuple):
    """What became of an input: one of OUTCOMES, and the message."""

    what: str
    said: str


GOOD = ("accepted", "refused")
BAD = (
    "wrongly accepted",
    "wrongly refused",
    "other content",
    "unclear message",
    "traceback",
    "too slow",
    "too much memory",
)


OF_ALL = ("the data have ", "the labels ")
"""How messages on all records together begin: they are of no file alone."""


class TooSlow(BaseException):
    """Not an Exception: nothing that is tried catches it."""


@contextmanager
def _limited(seconds: float):
    def stop(number, frame):
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _memory(what: str) -> float:
    """Return megabytes of this process: ``VmRSS`` now, or ``VmHWM``, the most."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1e3 for line in status if line.startswith(what))


def judge(case: Case, folder: Path) -> Outcome:
    """Write the files of a case, read them, and compare with what must become of them."""
    for file in os.scandir(folder):
        os.unlink(file)
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    Path("/proc/self/clear_refs").write_text("5")  # the most begins again with what there is now
    before = _memory("VmRSS")
    try:
        with _limited(SECONDS):
            found = case.read(folder)
    except TooSlow:
        return Outcome("too slow", "")
    except MemoryError:
        return Outcome("too much memory", "")
    except InputError as error:
        outcome = _of_refusal(case, str(error), folder)
    except Exception:
        return Outcome("traceback", traceback.format_exc())
    else:
        outcome = _of_content(case, found)
    grown = _memory("VmHWM") - before
    return Outcome("too much memory", f"{grown:.0f} MB") if grown > MEGABYTES else outcome


def _of_refusal(case: Case, said: str, folder: Path) -> Outcome:
    if case.verdict == ACCEPTED:
        return Outcome("wrongly refused", said)
    named = said.startswith(OF_ALL) or any(name in said for name in case.files)
    named = named and case.named in said
    if not named or "\n" in said or len(said) > 1000 or not said.isprintable():
        return Outcome("unclear message", f"{said[:1000]} [wanted: {case.named!r}]")
    return Outcome("refused", said)


def _of_content(case: Case, found: Any) -> Outcome:
    if case.verdict == REFUSED:
        return Outcome("wrongly accepted", "")
    if case.expected is not None and found != case.expected:
        return Outcome("other content", f"{found!r:.300} in place of {case.expected!r:.300}")
    if fault := case.fault(found):
        return Outcome("wrongly accepted", fault)
    return Outcome("accepted", "")


UNSEEN = (
    "\u202e",
    "\u202d",
    "\u2066",
    "\u200f",
    "\u200b",
    "\u2060",
    "\ufeff",
    "\u2028",
    "\x1b[31m",
)
"""What turns the direction of text, has no width, ends a line, or is obeyed by a terminal."""


_NEVER = {
    chr(code)
    for first, last in (
        (0x61C, 0x61C),
        (0x200B, 0x200B),
        (0x200E, 0x200F),
        (0x2028, 0x202E),
        (0x2060, 0x2060),
        (0x2066, 0x2069),
        (0xD800, 0xDFFF),
        (0xFEFF, 0xFEFF),
        (0xFFFE, 0xFFFF),
    )
    for code in range(first, last + 1)
}


def unseen(texts) -> str:
    """Return what is wrong with ids or labels that were accepted."""
    for text in texts:
        if not text or text != text.strip():
            return f"{text!r} is empty or has spaces around it"
        if any(c < " " or "\x7f" <= c <= "\x9f" or c in _NEVER for c in text):
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


def damaged_or_packed(random: Random, name: str, data: bytes, share=0.25):
    """Return the name, the bytes and the verdict of a file that is packed, now and then damaged."""
    if random.random() < 0.5:
        data, verdict = damaged(random, data), EITHER
    else:
        verdict = ACCEPTED
    if random.random() < share:
        name, data = f"{name}.gz", gzip.compress(data, 1)
        if random.random() < 0.5:
            data, verdict = damaged(random, data), EITHER
    return name, data, verdict


def word(random: Random, letters: str = "abcdefghijklmnopqrstuvwxyz", least=1, most=8) -> str:
    """Return a random word."""
    return "".join(random.choices(letters, k=random.randint(least, most)))
