"""``kreinflow demo``: the demonstration, in the folder ``results`` of the current one."""

import argparse
import json
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.commands.run import add_run_arguments, run_workflow
from kreinflow.config.configuration import read_configuration
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER
from kreinflow.report.names import CONFIG


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Run the workflow on the shipped config and data."""
    data = json.dumps(str(WORKFLOW_FOLDER), ensure_ascii=False)  # Snakemake reads it as YAML
    own, there = WORKFLOW_FOLDER / "config.yaml", Path("results", CONFIG)
    results = read_configuration(there) if there.is_file() else {}
    if others := set(results.get("datasets") or ()) - set(read_configuration(own)["datasets"]):
        raise InputError(
            f"results: has results of other data ({', '.join(sorted(map(str, others)))}). Run the "
            "demonstration in another folder."
        )
    run_workflow(options, own, values=[f"data={data}"])
