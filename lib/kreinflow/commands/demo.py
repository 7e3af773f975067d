"""``kreinflow demo``: the demonstration, in the folder ``results`` of the current one."""

import argparse
import json

from kreinflow.commands.arguments import add_run_arguments

HELP = "run the demonstration: 960 domains of 16 protein families, which are shipped"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Run the workflow on the shipped config and data."""
    from kreinflow.commands.workflow import run_workflow  # slow to import
    from kreinflow.workflow_folder import WORKFLOW_FOLDER

    data = json.dumps(str(WORKFLOW_FOLDER), ensure_ascii=False)  # Snakemake reads it as YAML
    run_workflow(options, WORKFLOW_FOLDER / "config.yaml", "--config", f"data={data}")
