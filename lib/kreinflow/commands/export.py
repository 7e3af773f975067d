"""``kreinflow export``: the landmarks of a model, as a file."""

import argparse
from pathlib import Path

from kreinflow.commands.outputs import check_writable, refuse_same

HELP = "write the landmarks of a model to a file"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument(
        "--landmarks",
        metavar="FILE",
        required=True,
        help="FASTA; or, for vectors and strings, a file of them",
    )


def run(options: argparse.Namespace) -> None:
    """Write the landmarks."""
    from kreinflow.classify.inspection import export_landmarks
    from kreinflow.classify.model_file import Model

    path = Path(options.landmarks)
    refuse_same("--landmarks", options.landmarks, options.model)
    model = Model.load(options.model)
    check_writable("--landmarks", path)
    export_landmarks(model, path)
