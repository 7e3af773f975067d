"""``kreinflow run``: the workflow on the data of a config."""

import argparse

from kreinflow.commands.arguments import add_run_arguments

HELP = "run the workflow: from a config to a report and a model"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", metavar="CONFIG", help="YAML file, as config.yaml")
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Run the workflow."""
    from kreinflow.commands.workflow import run_workflow  # slow to import

    run_workflow(options, options.config)
