"""The arguments that subcommands share."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options
from kreinflow.commands.proposing.tables import find_sequences
from kreinflow.files.text_files import check_file, name_endings
from kreinflow.sequences.fasta import Columns


def add_vectors_and_threads(parser: argparse.ArgumentParser) -> None:
    """Add what all commands take that compare new objects."""
    parser.add_argument(
        "--vectors",
        metavar="TABLE",
        help="TSV or CSV of ids and numbers, for a model that looks at vectors",
    )
    parser.add_argument(
        "--score",
        metavar="NAME",
        help="for a model that compares by your own score: its package.module:function, or its "
        "command; nothing is imported or run without it",
    )
    parser.add_argument(
        "--threads",
        type=at_least_one,
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
        choices=("auto", "given", "both"),
        default="auto",
        help="of nucleotides: the strand of more seeds in common with a training record (auto, the "
        "default), or with the better score with a landmark (both, and auto without such records)",
    )
    parser.add_argument(
        "--translate",
        action="store_true",
        help="take DNA for a model of proteins: each record as its best of six frames",
    )


def at_least_one(text: str) -> int:
    """Return a whole number from 1, the type of an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number from 1")
    return int(text)


def vectors_of(options: argparse.Namespace) -> Path | None:
    """Return the table of vectors that the options name, if they name one."""
    return None if options.vectors is None else Path(options.vectors)


def inputs_of(options: argparse.Namespace) -> tuple[str, ...]:
    """Return what is read; an InputError says that standard input cannot be read twice."""
    given = [options.input] if isinstance(options.input, str) else options.input
    inputs = options.model, *given, options.vectors, *options.records
    if inputs.count("-") > 1:
        raise InputError("standard input (-) can be read once. Name a file for the other input.")
    return inputs


def columns_of(model: Model, path: Path) -> Columns | None:
    """Return the columns of a table of sequences for a model of them; None if it is no table."""
    if model.scheme is None or name_endings(path)[1] not in (".csv", ".tsv", ".tab"):
        return None
    check_file(path)
    if (found := find_sequences(str(path))) is None:
        raise InputError(f"{path}: no column has sequences. Give a table that has one, or FASTA.")
    return Columns(found.id_column, found.sequence_column)


def asked(options: argparse.Namespace, model: Model, path: Path, **more: Any) -> Options:
    """Return how new objects of a file are scored, as the options say, and more."""
    how = {"strand": options.strand, "translate": options.translate}
    more["columns"] = columns_of(model, path)
    return Options(options.threads, **how, vectors=vectors_of(options), **more)


def with_score(model: Model, options: argparse.Namespace) -> Model:
    """Return the model with the user's own score, if the options name it."""
    return model if options.score is None else model.asking(options.score)


def model_to_ask(options: argparse.Namespace) -> Model:
    """Read the model with the records that the options name, and say so if it lacks some."""
    model = with_score(Model.load(options.model, options.records), options)
    if model.lacks_records:
        print(
            "kreinflow: the model's training records are apart, so its first stage alone answers, "
            "and nothing is rejected as unknown or without a relative. Give them with --records.",
            file=sys.stderr,
        )
    return model
