"""The arguments that subcommands share."""

import argparse
import os
import sys
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.classify.model_file import Model


def add_vectors_and_threads(parser: argparse.ArgumentParser) -> None:
    """Add what all commands take that align new objects."""
    parser.add_argument(
        "--vectors",
        metavar="TABLE",
        help="TSV or CSV of ids and numbers, for a model that looks at vectors",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="threads to use (default: all); the result does not depend on them",
    )


def add_scoring_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how new objects are scored: vectors, threads, records that are asked, and strand."""
    add_vectors_and_threads(parser)
    parser.add_argument(
        "--records",
        metavar="FASTA",
        action="append",
        default=[],
        help="FASTA with training records, for a model that asks them and has them apart; give it "
        "again for a further file",
    )
    parser.add_argument(
        "--strand",
        choices=("given", "both"),
        default="given",
        help="both: take the better strand of nucleotides (default: given)",
    )


def vectors_of(options: argparse.Namespace) -> Path | None:
    """Return the table of vectors that the options name, if they name one."""
    return None if options.vectors is None else Path(options.vectors)


def model_to_ask(options: argparse.Namespace) -> "Model":
    """Read the model with the records that the options name, and say so if it lacks some."""
    model = Model.load(options.model, options.records)
    if model.lacks_records:
        print(
            "kreinflow: the model's training records are apart, so its first stage alone answers, "
            "and nothing is rejected as unknown or without a relative. Give them with --records.",
            file=sys.stderr,
        )
    return model


def check_read_once(options: argparse.Namespace) -> None:
    """Refuse by an InputError that several options read standard input."""
    if [options.input, options.vectors, *options.records].count("-") > 1:
        raise InputError("standard input (-) can be read once. Name a file for the other input.")


def check_at_least_one(option: str, value: int) -> None:
    """Refuse a number below 1 by an InputError."""
    if value < 1:
        raise InputError(f"{option} {value}: give at least 1.")
