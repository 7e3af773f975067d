"""``kreinflow explain``: which landmarks carried one decision."""

import argparse
from pathlib import Path

from kreinflow.commands.arguments import add_alignment_arguments, check_at_least_one
from kreinflow.commands.outputs import output, refuse_same

HELP = "tell which landmarks carried one decision"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("input", metavar="INPUT", help="as for classify")
    parser.add_argument("--id", required=True, help="the record to explain")
    parser.add_argument(
        "--show", type=int, default=10, metavar="N", help="landmarks to show (default: 10)"
    )
    parser.add_argument(
        "--alignment", action="store_true", help="show the alignments with these landmarks too"
    )
    parser.add_argument("-o", "--output", metavar="TSV", help="write the table of all landmarks")
    add_alignment_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the explanation, and write its table if asked to."""
    from kreinflow.artifacts import table_text
    from kreinflow.classify.explanation import alignments, explain, explanation_text
    from kreinflow.classify.model_file import Model

    check_at_least_one("--threads", options.threads)
    refuse_same("-o", options.output, options.model, options.input)
    check_at_least_one("--show", options.show)
    model = Model.load(options.model)
    path, both = Path(options.input), options.strand == "both"
    found = explain(model, path, options.id, options.threads, both)
    text = explanation_text(found, options.show)
    if options.alignment:
        for id, alignment in alignments(model, found, options.show):
            text += "\n" + "\n".join(alignment.lines((found.id, id))) + "\n"
    if options.output is not None:
        with output(options.output) as write:
            write(table_text(found.table))
    print(text, end="")
