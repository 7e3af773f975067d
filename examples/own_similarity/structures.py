"""Protein structures (files of PDB): the TM-score of TM-align, a program that compares two files.

Needs the program TMalign. In a config, with a folder of files as objects:

    score: {command: "python structures.py {a} {b}", kind: similarity, self: 1}

TM-align is not quite the same the other way round: the file whose name comes first is the first.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path


def tm_score(pair):
    """Return the TM-score by the average length of two structures."""
    done = subprocess.run(["TMalign", *sorted(pair), "-a"], capture_output=True, text=True)
    found = re.search(r"TM-score= *([\d.]+) \(if normalized by average", done.stdout)
    if found is None:
        sys.exit(f"TMalign of {' and '.join(pair)}: {done.stderr or done.stdout}")
    return found[1]


if __name__ == "__main__":
    pairs = [*product(*(Path(name).read_text().splitlines() for name in sys.argv[1:]))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for pair, score in zip(pairs, pool.map(tm_score, pairs), strict=True):
            print(*pair, score, sep="\t")
