"""``kreinflow export``: the landmarks of a model, as a file."""

import argparse

from kreinflow.classify.inspection import exported_landmarks
from kreinflow.classify.model_file import Model
from kreinflow.commands.outputs import output


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument(
        "--landmarks",
        metavar="FILE",
        required=True,
        help="FASTA, or for vectors and strings a file of them; packed if it ends in .gz; "
        "- is standard output",
    )


def run(options: argparse.Namespace) -> None:
    """Write the landmarks."""
    with output("--landmarks", options.landmarks, options.model) as write:
        write(exported_landmarks(Model.load(options.model), options.landmarks))
