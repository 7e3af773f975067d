"""``kreinflow report``: the page of finished results, made again from what is in their folder."""

import argparse
import fcntl
from pathlib import Path

from kreinflow.base.errors import InputError, unwritable
from kreinflow.config.configuration import (  # slow to import
    complete_configuration,
    read_configuration,
)
from kreinflow.report.names import CONFIG, PAGE
from kreinflow.report.page import write_report


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("results", metavar="RESULTS", help="folder that a run has written")


def run(options: argparse.Namespace) -> None:
    """Write the page and its text."""
    results = Path(options.results)
    if not (results / CONFIG).is_file():
        raise InputError(
            f"{results}: there is no {CONFIG}, which a run writes with its page. Give the folder "
            "of finished results, or run `kreinflow run` first."
        )
    try:
        lock = open(results / ".lock", "w")  # noqa: SIM115
    except OSError as error:
        raise unwritable(results, error) from error
    with lock:  # as the workflow has it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{results}: a run is writing there. Wait for it.") from None
        config = read_configuration(results / CONFIG)  # of an older version, it may lack keys
        write_report(results, complete_configuration(config, str(results / CONFIG)), again=True)
    print(f"The report: {results / PAGE}")
