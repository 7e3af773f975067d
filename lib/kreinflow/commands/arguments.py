"""The arguments that subcommands share."""

import argparse
import os

from kreinflow.errors import InputError


def add_alignment_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how new sequences are aligned: ``--threads`` and ``--strand``."""
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="threads of the alignment (default: all); the result does not depend on them",
    )
    parser.add_argument(
        "--strand",
        choices=("given", "both"),
        default="given",
        help="both: take the better strand of nucleotides (default: given)",
    )


def check_at_least_one(option: str, value: int) -> None:
    """Refuse a number below 1 by an InputError."""
    if value < 1:
        raise InputError(f"{option} {value}: give at least 1.")
