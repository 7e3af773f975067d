"""Inputs made at random, right and damaged, and whether each is taken for what it is.

    python tests/series fuzz --number 100000            some minutes of one core
    python tests/series fuzz --only matrix --case 7     one input again, with what was said of it

Each input is made right by construction. Then it is left so (it must be accepted, and what is read
must be what was written), or damaged at random: either will do, but not a traceback; a refusal is
one message that names the file; and what is accepted may have no control character, none that turns
the direction of text, no space without a width, no residue that is none, no number that is not
finite. One that takes more than five seconds fails. Single known faults, and the line
or record that their messages name, have tests where the files are read.

The same number and seed make the same input. The exit code is 1 if one was not taken for what it
is.
"""

import gzip
import resource
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from kreinflow.base.errors import InputError
from series.fuzz_inputs import KINDS, UNSEEN, Case

PART = 100  # inputs that a process is given at once
SPACE = 2_500_000_000  # bytes that a process may ask for
SECONDS = 5  # of the processor: an input is a few kilobytes
GOOD = ("accepted", "refused")
OF_ALL = ("the data have ", "the labels ")
"""How messages on all records together begin: they are of no file alone."""
TOKENS = [
    *(b"\0", b"\x1b[31m", b"\xff\xfe", b"\r", b"\n", b"\n\n", b'"', b"\t", b",", b";", b" ", b">"),
    *(b"nan", b"-inf", b"1e999", b"-", b"_", b"8.5", b"0", b"//\n", b"ID   ", b"#", b"&a *a", b"{"),
    *(b"\xc2\xa0", b"9" * 5000, b"A" * 70_000, b"\xf0\x9f\x98\x80"),
    *(c.encode() for c in (*UNSEEN, "\u0663", "\u00e9", "\u0301")),
]


def with_damage(random: Random, case: Case) -> Case:
    """Return a case that is packed, or damaged, or both, or neither."""
    name, data, right = case.name, case.data, True
    if random.random() < 0.6:
        data, right = damaged(random, data), False
    if random.random() < case.packed:
        name, data = f"{name}.gz", gzip.compress(data, 1)
        if random.random() < 0.5:
            data, right = damaged(random, data), False
    return case._replace(name=name, data=data, right=right)


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


class TooSlowError(BaseException):
    """Not an Exception: nothing that is tried catches it."""


@contextmanager
def _limited(seconds: float):
    def stop(number, frame):
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Write the files of a case and read them; return one of GOOD or what is wrong, and words."""
    for file in folder.iterdir():
        file.unlink()
    for name, text in case.beside:
        (folder / name).write_text(text)
    (folder / case.name).write_bytes(case.data)
    try:
        with _limited(SECONDS):
            found = case.read(folder / case.name)
    except TooSlowError:
        return "too slow", ""
    except MemoryError:
        return "too much memory", ""
    except InputError as error:
        return _of_refusal(case, str(error))
    except Exception:
        return "traceback", traceback.format_exc()
    return _of_content(case, found)


def _of_refusal(case: Case, said: str) -> tuple[str, str]:
    if case.right:
        return "wrongly refused", said
    named = said.startswith(OF_ALL) or case.name in said or any(n in said for n, _ in case.beside)
    clear = named and len(said) <= 1000 and said.isprintable()
    return "refused" if clear else "unclear message", said[:1000]


def _of_content(case: Case, found: object) -> tuple[str, str]:
    if case.right and found != case.expected:
        return "other content", f"{found!r:.300} in place of {case.expected!r:.300}"
    fault = case.fault(found)
    return ("wrongly accepted", fault) if fault else ("accepted", "")


def made(kind: str, number: int, seed: int) -> Case:
    """Return an input by its number."""
    random = Random(f"{seed} {kind} {number}")
    return with_damage(random, KINDS[kind][0](random))


def outcomes(part, seed):
    """Return how often each outcome was met by kind, and what was not taken right."""
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    counts, wrong = Counter(), []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for kind, number in part:
            case = made(kind, number, seed)
            what, said = judge(case, Path(folder))
            counts[kind, what] += 1
            if what not in GOOD:
                last = (said.strip().splitlines() or [""])[-1][:300]
                wrong.append(
                    f"{kind} {number}, {'right' if case.right else 'damaged'}: {what}: {last}"
                )
    return counts, wrong


def tried(total, seed=0, jobs=1, only=""):
    """Try inputs; return what :func:`outcomes` does, of all."""
    inputs = [
        (kind, i)
        for kind, (_, share) in KINDS.items()
        for i in range(-(-total * share // 100))
        if only in ("", kind)
    ]
    parts = [inputs[i : i + PART] for i in range(0, len(inputs), PART)]
    counts, wrong = Counter(), []
    with ProcessPoolExecutor(jobs) as pool:
        for some, faults in pool.map(outcomes, parts, [seed] * len(parts)):
            counts += some
            wrong += faults
    return counts, wrong


def run(asked: Any) -> int:
    """Try inputs and print how many of each kind there were."""
    if asked.case is not None:
        case = made(asked.only, asked.case, asked.seed)
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            outcome = judge(case, Path(folder))
        print(case.name, case.data, "right" if case.right else "damaged", *outcome, sep="\n")
        return 0
    counts, wrong = tried(asked.number, asked.seed, asked.jobs, asked.only)
    print(*wrong, "| kind | accepted | refused | other |\n|---|---|---|---|", sep="\n")
    for kind in KINDS:
        good = [counts[kind, what] for what in GOOD]
        rest = sum(n for (k, _), n in counts.items() if k == kind) - sum(good)
        print(f"| {kind} | {good[0]:,} | {good[1]:,} | {rest} |")
    return int(bool(wrong))
