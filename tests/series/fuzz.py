"""Inputs made at random, right and wrong, and whether each is taken for what it is.

    python tests/series fuzz --number 100000            some minutes of one core
    python tests/series fuzz --only matrix --case 7     one input again, with what was said of it

Each input is made right by construction. Then it is left so (it must be accepted, and what is read
must be what was written), or given one fault that its maker knows (it must be refused by one
message that names the file, and the line or record), or damaged at random (either will do, but not
a traceback; and what is accepted may have no control character, none that turns the direction of
text, no space without a width, no residue that is none, no number that is not finite). One that
takes more than five seconds, or 200 MB, fails.

The same number and seed make the same input. The exit code is 1 if one was not taken for what it
is.
"""

import argparse
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

from kreinflow.base.errors import InputError
from series import fuzzed_numbers, fuzzed_texts
from series.fuzzing import ACCEPTED, REFUSED, Case

KINDS = {
    "FASTA": (fuzzed_texts.fasta, 20),
    "table of labels": (fuzzed_texts.table, 15),
    "UniProtKB flat file": (fuzzed_texts.flat_file, 10),
    "table of folds": (fuzzed_texts.folds, 10),
    "substitution matrix": (fuzzed_texts.substitution, 10),
    "matrix": (fuzzed_numbers.matrix, 15),
    "vectors and strings": (fuzzed_numbers.vectors, 10),
    "config": (fuzzed_numbers.config, 3),
    "model file": (fuzzed_numbers.model, 5),
    "FASTA to classify": (fuzzed_numbers.query, 2),
}
"""What makes an input, and of 100 inputs how many are such."""

PART = 100  # inputs that a process is given at once
SPACE = 2_500_000_000  # bytes that a process may ask for
SECONDS = 5  # of the processor: an input is a few kilobytes
MEGABYTES = 200  # more than before
GOOD = ("accepted", "refused")
OF_ALL = ("the data have ", "the labels ")
"""How messages on all records together begin: they are of no file alone."""


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


def _memory(what: str) -> float:
    """Return megabytes of this process: ``VmRSS`` now, or ``VmHWM``, the most."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1e3 for line in status if line.startswith(what))


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Write the files of a case and read them; return one of GOOD or what is wrong, and words."""
    for file in folder.iterdir():
        file.unlink()
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    Path("/proc/self/clear_refs").write_text("5")  # the most begins again with what there is now
    before = _memory("VmRSS")
    try:
        with _limited(SECONDS):
            found = case.read(folder)
    except TooSlowError:
        return "too slow", ""
    except MemoryError:
        return "too much memory", ""
    except InputError as error:
        outcome = _of_refusal(case, str(error))
    except Exception:
        return "traceback", traceback.format_exc()
    else:
        outcome = _of_content(case, found)
    grown = _memory("VmHWM") - before
    return ("too much memory", f"{grown:.0f} MB") if grown > MEGABYTES else outcome


def _of_refusal(case: Case, said: str) -> tuple[str, str]:
    if case.verdict == ACCEPTED:
        return "wrongly refused", said
    named = said.startswith(OF_ALL) or any(name in said for name in case.files)
    if not (named and case.named in said and len(said) <= 1000 and said.isprintable()):
        return "unclear message", f"{said[:1000]} [wanted: {case.named!r}]"
    return "refused", said


def _of_content(case: Case, found: object) -> tuple[str, str]:
    if case.verdict == REFUSED:
        return "wrongly accepted", ""
    if case.expected is not None and found != case.expected:
        return "other content", f"{found!r:.300} in place of {case.expected!r:.300}"
    fault = case.fault(found)
    return ("wrongly accepted", fault) if fault else ("accepted", "")


def made(kind: str, number: int, seed: int) -> Case:
    """Return an input by its number."""
    return KINDS[kind][0](Random(f"{seed} {kind} {number}"))


def run(part, seed):
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
                wrong.append(f"{kind} {number}: {case.what}: {case.verdict}; {what}: {last}")
    return counts, wrong


def tried(total, seed=0, jobs=1, only=""):
    """Try inputs; return what :func:`run` returns, of all."""
    inputs = [
        (kind, i)
        for kind, (_, share) in KINDS.items()
        for i in range(-(-total * share // 100))
        if only in ("", kind)
    ]
    parts = [inputs[i : i + PART] for i in range(0, len(inputs), PART)]
    counts, wrong = Counter(), []
    with ProcessPoolExecutor(jobs) as pool:
        for some, faults in pool.map(run, parts, [seed] * len(parts)):
            counts += some
            wrong += faults
    return counts, wrong


def main() -> int:
    """Try inputs and print how many of each kind there were."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--number", type=int, default=1000, help="inputs to make")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", choices=["", *KINDS], help="one kind of input")
    parser.add_argument("--case", type=int, help="one input of this kind, by its number")
    asked = parser.parse_args()
    if asked.case is not None:
        case = made(asked.only, asked.case, asked.seed)
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            outcome = judge(case, Path(folder))
        print(case.files, f"{case.what}: {case.verdict}", *outcome, sep="\n")
        return 0
    counts, wrong = tried(asked.number, asked.seed, asked.jobs, asked.only)
    print(*wrong, "| kind | accepted | refused | other |\n|---|---|---|---|", sep="\n")
    for kind in KINDS:
        good = [counts[kind, what] for what in GOOD]
        rest = sum(n for (k, _), n in counts.items() if k == kind) - sum(good)
        print(f"| {kind} | {good[0]:,} | {good[1]:,} | {rest} |")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
