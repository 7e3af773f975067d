"""A table of pairs that is there already, such as of foldseek, MMseqs2 or BLAST: nothing is run.

Objects are ids, one a line. In a config, with landmarks whose columns are complete:

    score: {function: "table:score", kind: similarity, self: 1}
    selectors: {mine: {method: given, table: complete.txt}}

``python table.py ids.txt > complete.txt`` lists the ids that have a score with all others.
"""

import sys
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "pairs.m8"
COLUMNS = 0, 1, 11  # of the two ids and the score, from 0: as in m8
SELF = 1.0  # the score of an id with itself
MISSING = None  # the score of pairs that are not there, such as 0; None: all have to be


@cache
def scores():
    """Return the best score of each pair, in the order of the table."""
    found = {}
    for line in TABLE.read_text().splitlines():
        fields = line.split("\t")
        a, b, score = (fields[column] for column in COLUMNS)
        found[a, b] = max(float(score), found.get((a, b), float("-inf")))
    return found


def of_pair(a, b):
    """Return the score of a with b, or of b with a: leave that out if scores have a direction."""
    found = SELF if a == b else scores().get((a, b), scores().get((b, a), MISSING))
    if found is None:
        raise ValueError(f"{TABLE.name} has no line for {a} and {b}")
    return found


def score(a, b):
    """Return the scores of two lists of ids."""
    return [[of_pair(x, y) for y in b] for x in a]


if __name__ == "__main__":
    ids = Path(sys.argv[1]).read_text().split()
    both = {*scores(), *((b, a) for a, b in scores())}
    complete = [y for y in ids if all(x == y or (x, y) in both for x in ids)]
    print("id", *complete, sep="\n")
