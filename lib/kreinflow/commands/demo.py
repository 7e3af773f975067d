"""``kreinflow demo``: the demonstration, in the folder ``results`` of the current one."""

import argparse
import json

from kreinflow.commands.run import add_run_arguments, run_workflow
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Run the workflow on the shipped config and data."""
    data = json.dumps(str(WORKFLOW_FOLDER), ensure_ascii=False)  # Snakemake reads it as YAML
    run_workflow(options, WORKFLOW_FOLDER / "config.yaml", values=[f"data={data}"])
