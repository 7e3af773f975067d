"""``kreinflow inspect``: what a model is, and how it was made."""

import argparse
import json

from kreinflow.base.errors import printable
from kreinflow.classify.inspection import describe_model, description_text
from kreinflow.classify.model_file import Model


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--json", action="store_true", help="as JSON, with all digits")


def run(options: argparse.Namespace) -> None:
    """Print the description."""
    description = describe_model(Model.load(options.model))
    if options.json:
        print(json.dumps(description, indent=2, ensure_ascii=False))
    else:
        print(printable(description_text(description)), end="")
