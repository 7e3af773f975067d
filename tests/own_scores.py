"""Scores of a user's own, for tests: functions of two lists, and what counts the pairs."""

import itertools

import numpy as np

SHARED = '''
import os
import signal
import time
from pathlib import Path

import numpy as np

from kreinflow.alignment import segments

HERE = Path(__file__).parent
if (HERE / "slow").exists():
    segments._SECONDS_PER_SEGMENT = 0  # a segment after each call


def shared(a, b):
    """The share of pairs of letters in common; each pair is counted, and a call may be the last."""
    with (HERE / "asked.txt").open("a") as file:
        file.writelines(f"{x} {y}\\n" for x in a for y in b)
    calls = len(list(HERE.glob("call_*")))
    if (HERE / "slow").exists():
        (HERE / f"call_{calls}").touch()
        time.sleep(0.01)
        if calls == 30:
            os.kill(os.getpid(), signal.SIGKILL)
    A, B = ([set(zip(text, text[1:])) for text in side] for side in (a, b))
    return np.array([[2 * len(x & y) / (len(x) + len(y)) for y in B] for x in A])


def directed(a, b):
    """The share of the first file's pairs of letters that the second one has."""
    A, B = ([Path(name).read_text() for name in side] for side in (a, b))
    A, B = ([set(zip(text, text[1:])) for text in side] for side in (A, B))
    return np.array([[len(x & y) / len(x) for y in B] for x in A])
'''
"""A module of the user's."""


def pairs_of(text):
    return set(itertools.pairwise(text))


def shared(a, b):
    A, B = ([pairs_of(text) for text in side] for side in (a, b))
    return np.array([[2 * len(x & y) / (len(x) + len(y)) for y in B] for x in A])


def distance(a, b):
    return np.array([[abs(x - y) for y in b] for x in a])


class Counting:
    """A function that keeps the pairs that it is asked for."""

    def __init__(self, function):
        self.function, self.pairs = function, []

    def __call__(self, a, b):
        self.pairs += [(x, y) for x in a for y in b]
        return self.function(a, b)


def write_texts(folder, records):
    """Write a table of objects, and return the source that reads it."""
    lines = [f"{id},{text},{label}\n" for id, label, text in records]
    (folder / "texts.csv").write_text("id,object,label\n" + "".join(lines))
    (folder / "own.py").write_text(SHARED)
    return {
        "type": "objects",
        "objects": "texts.csv",
        "score": {"function": "own:shared"},
        "labels": {"table": "texts.csv"},
    }


def result(run, *path):
    """Return a path in the results of a workflow."""
    return run.folder.joinpath("results", *path)


def asked_of(run):
    """Return a line for each pair that a function of a workflow was asked for."""
    return (run.folder / "data" / "asked.txt").read_text().splitlines()
