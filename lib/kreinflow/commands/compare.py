"""``kreinflow compare``: BLAST and other tools on the data and the folds of a config."""

import argparse

from kreinflow.commands.arguments import add_run_arguments

HELP = "compare with BLAST and other tools on the same folds"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", metavar="CONFIG", help="YAML file, as config.yaml")
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Run the target ``compare``."""
    from kreinflow.commands.workflow import run_workflow  # slow to import

    run_workflow(options, options.config, "compare", page="compare.html")
