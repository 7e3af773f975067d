"""``kreinflow explain``: what speaks for one answer, and what carried its decision."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from kreinflow.classify.explanation import explain
from kreinflow.classify.explanation_text import alignments, explanation_text
from kreinflow.commands.arguments import (
    add_scoring_arguments,
    asked,
    at_least_one,
    inputs_of,
    model_to_ask,
)
from kreinflow.commands.outputs import is_standard_output, output
from kreinflow.files.tables import table_text


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("input", metavar="INPUT", help="as for classify")
    parser.add_argument("--id", required=True, help="the record to explain")
    parser.add_argument(
        "--show",
        type=at_least_one,
        default=10,
        metavar="N",
        help="members of each class to show, and rows of each further table (default: 10)",
    )
    parser.add_argument(
        "--alignment",
        action="store_true",
        help="show N alignments too: with the member of another class that the answer names, if it "
        "does, then with the nearest members of the predicted class and of the runner-up in turn",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="TSV",
        help="write the contributions of all landmarks or records; - is standard output, .gz packs",
    )
    add_scoring_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the explanation, and write its table if asked to."""
    inputs, screen = inputs_of(options), sys.stdout
    with ExitStack() as stack:
        if options.output is not None:
            write = stack.enter_context(output("-o", options.output, *inputs))
        model = model_to_ask(options)
        path = Path(options.input)
        found = explain(model, path, options.id, options.show, asked(options, model, path))
        text = explanation_text(found, options.show)
        if options.alignment:
            for id, alignment in alignments(model, found, options.show):
                text += "\n" + "\n".join(alignment.lines((found.id, id))) + "\n"
        if options.output is not None:
            write(table_text(found.table))
            # The table stays one where both would go to standard output.
            screen = sys.stderr if is_standard_output(options.output) else screen
    print(text, end="", file=screen)
