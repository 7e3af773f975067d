"""Inputs made at random, right and wrong, and whether each is taken for what it is.

    python tests/fuzz.py --number 100000            some minutes of one core
    python tests/fuzz.py --only matrix --case 7     one input again, with all that was said of it

Each input is made right by construction. Then it is left so (it must be accepted, and what is read
must be what was written), or given one fault that its maker knows (it must be refused by one
message that names the file, and the line or record), or damaged at random (either will do, but not
a traceback; and what is accepted may have no control character, none that turns the direction of
text, no space without a width, no residue that is none, no number that is not finite). One that
takes more than five seconds, or 200 MB, fails.

The files are those that users give: see KINDS. Inputs are numbered; the same number and seed make
the same input. The table has a line for each kind. The exit code is 1 if one input was not taken
for what it is.
"""

import argparse
import random
import resource
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import fuzzed_numbers
import fuzzed_texts
from fuzzing import BAD, GOOD, judge

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


def made(kind, number, seed):
    """Return an input by its number."""
    return KINDS[kind][0](random.Random(f"{seed} {kind} {number}"))


def numbers(total):
    """Return the kind and the number of each input."""
    shares = [(kind, share) for kind, (_, share) in KINDS.items()]
    return [(kind, i) for kind, share in shares for i in range(-(-total * share // 100))]


def run(part, seed):
    """Return how often each outcome was met by kind, and the inputs that were not taken right."""
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    counts, wrong = Counter(), []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for kind, number in part:
            case = made(kind, number, seed)
            outcome = judge(case, Path(folder))
            counts[kind, outcome.what] += 1
            if outcome.what not in GOOD:
                wrong.append((kind, number, case.verdict, case.what, outcome))
    return counts, wrong


def tried(total, seed=0, jobs=1, only=""):
    """Try inputs; return what :func:`run` returns, of all."""
    inputs = [which for which in numbers(total) if only in ("", which[0])]
    parts = [inputs[i : i + PART] for i in range(0, len(inputs), PART)]
    counts, wrong = Counter(), []
    with ProcessPoolExecutor(jobs) as pool:
        for some, faults in pool.map(run, parts, [seed] * len(parts)):
            counts += some
            wrong += faults
    return counts, wrong


def as_table(counts):
    """Return the table as Markdown: a line for each kind, a column for each outcome."""
    shown = [*GOOD, *BAD]
    lines = [["kind", "inputs", *shown]]
    for kind in [*KINDS, "all"]:
        row = [sum(n for (k, o), n in counts.items() if o == what and kind in (k, "all"))
               for what in shown]  # fmt: skip
        if sum(row):
            lines.append([kind, *(f"{n:,}" for n in (sum(row), *row))])
    lines.insert(1, ["---"] + ["---:"] * (len(shown) + 1))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def again(kind, number, seed):
    """Print an input and what became of it."""
    case = made(kind, number, seed)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        outcome = judge(case, Path(folder))
    for name, data in case.files.items():
        print(f"{name}: {data[:2000]!r}{'...' if len(data) > 2000 else ''}")
    print(f"{case.what}: {case.verdict}; {outcome.what}\n{outcome.said}")


def main():
    """Try inputs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--number", type=int, default=1000, help="inputs to make")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", choices=["", *KINDS], help="one kind of input")
    parser.add_argument("--case", type=int, help="one input of this kind, by its number")
    asked = parser.parse_args()
    if asked.case is not None:
        again(asked.only, asked.case, asked.seed)
        return
    counts, wrong = tried(asked.number, asked.seed, asked.jobs, asked.only)
    for kind, number, verdict, what, outcome in wrong:
        last = (outcome.said.strip().splitlines() or [""])[-1]
        print(f"{kind} {number}: {what}: {verdict}; {outcome.what}: {last[:300]}")
    print(as_table(counts))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
