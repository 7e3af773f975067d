"""``kreinflow init``: look at data and write a config for them."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.commands.check import checked
from kreinflow.commands.outputs import is_standard_output, output
from kreinflow.commands.proposing.proposal import propose
from kreinflow.commands.proposing.writing import yaml_text
from kreinflow.config.paths import check_files

CORES = 8
"""Of the estimate in the config, which is the same on any machine."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="+",
        help="FASTA, FASTQ or GenBank: a file, several, or a folder with one a class; a table "
        "with a column of sequences; or a matrix or vectors (.npy, .csv, .tsv, .mat)",
    )
    parser.add_argument(
        "--labels",
        metavar="TABLE",
        help="TSV or CSV with ids and labels; without it labels are looked for in the headers, or "
        "each of several files is a class",
    )
    parser.add_argument(
        "-o", "--output", metavar="CONFIG", default="kreinflow.yaml", help="default: %(default)s"
    )
    parser.add_argument("--force", action="store_true", help="replace a config that is there")


def run(options: argparse.Namespace) -> None:
    """Look, check, write the config, and print what was found."""
    name = options.output
    if Path(name).is_file() and not options.force and not is_standard_output(name):
        raise InputError(f"{name}: is there already. Name another file with -o, or give --force.")
    made = propose(options.input, options.labels)
    data = Path(made.config["data"])
    check_files(made.config, data)
    one = checked(made.config, made.name, data, made.groups)
    advice = [*made.advice, *one.advice()]
    given = [*options.input, *(["--labels", options.labels] if options.labels else [])]
    head = [
        f"Written by: kreinflow init {shlex.join(given)}",
        "Check it: kreinflow check, run it: kreinflow run. Paths start in the folder where you "
        "run. All other keys have defaults: kreinflow schema prints them.",
        *(f"Estimate: {text}." for text in one.costs(CORES)),
        *(f"Look at this: {text}" for text in advice),
    ]
    with output("--output", name, *options.input, options.labels) as write:
        write(yaml_text(made.content, head))
    screen = sys.stderr if is_standard_output(name) else sys.stdout
    for text in advice:
        print(f"kreinflow: {made.name}: {text}", file=sys.stderr)
    for text in [*made.found, one.ready(), *one.costs(os.cpu_count() or 1)]:
        print(f"{made.name}: {text}", file=screen)
    if not is_standard_output(name):
        shown = shlex.quote(name)
        print(f"{name}: written. Next: kreinflow run {shown} --cores {os.cpu_count() or 1}")
