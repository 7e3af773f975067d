"""Long series, by hand or weekly: ``python tests/series NAME ...``, see ``docs/scale.md``."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

NAMES = {"kills": 100, "flips": 320, "surroundings": 0, "fuzz": 1000, "mutants": 100, "formats": 0}
"""The series, and how many kills, flips, inputs or mutants each has if ``--number`` is not given.

A module has ``run``, which takes the options and returns the exit code.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/series", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--number", type=int, help="what is tried; of other words see the module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="words in the names of rows, or a module")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--case", type=int, help="fuzz: one input of the kind --only")
    asked = parser.parse_args()
    asked.number = NAMES[asked.name] if asked.number is None else asked.number
    sys.path[:0] = [str(Path(__file__).parents[1])]
    return import_module(f"series.{asked.name}").run(asked)


if __name__ == "__main__":
    sys.exit(main())
