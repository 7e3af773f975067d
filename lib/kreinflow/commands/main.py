"""The command ``kreinflow``: run the workflow, classify new objects."""

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from kreinflow import __version__
from kreinflow.base.errors import (
    KreinflowError,
    disk_error,
    ending_tidily,
    exit_code_of,
    memory_shortage,
)

COMMANDS = {
    "init": ("init", "look at your data and write a commented config for them"),
    "demo": ("demo", "run the demonstration: 960 domains of 16 protein families"),
    "check": ("check", "check a configuration and its input, run nothing"),
    "run": ("run", "run the workflow: from a config to a report and a model"),
    "report": ("report", "make the page of finished results again"),
    "compare": ("run", "compare with BLAST and other tools on the same folds"),
    "classify": ("classify", "classify new objects with a model"),
    "inspect": ("inspect", "tell what a model is and how it was made"),
    "export": ("export", "write the landmarks of a model to a file"),
    "explain": ("explain", "tell what speaks for one answer: nearest members, contributions"),
    "update": ("update", "train a model again with more records, keeping their scores"),
    "schema": ("schema", "print the JSON schema of the config: all keys, defaults"),
}
"""The subcommands, as the help lists them: the module, and a line of help."""

_OF_SNAKEMAKE = ("demo", "run", "compare")
"""Those that hand arguments which they do not know to Snakemake."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 2 for the user's fault, 1 for ours."""
    # Where they are closed, print would write messages to whatever is open.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        if isinstance(sys.stdout.buffer, io.RawIOBase):  # unbuffered: it forgets what does not fit
            sys.stdout = open(  # noqa: SIM115
                sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, closefd=False
            )
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error: no letter is a fault
    try:
        with ending_tidily():
            options = _options(sys.argv[1:] if arguments is None else arguments)
            options.run(options)
        sys.stdout.flush()  # else what cannot be written is noticed only behind the exit code
    except KeyboardInterrupt as interrupt:
        print("kreinflow: interrupted; no file is left half-written.", file=sys.stderr)
        _give_up_output()
        return exit_code_of(interrupt)
    except BrokenPipeError:  # the reader of our output has seen enough
        _give_up_output()
    except Exception as error:
        return _tell(error)
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command, whose module alone is imported."""
    parser = argparse.ArgumentParser(
        prog="kreinflow",
        description="Classifiers from indefinite similarities, with a few landmarks.",
    )
    parser.add_argument("--version", action="version", version=f"kreinflow {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, line) in COMMANDS.items():
        abbreviated = name not in _OF_SNAKEMAKE  # options of Snakemake may begin alike
        command = commands.add_parser(name, help=line, allow_abbrev=abbreviated)
        if arguments and name == arguments[0]:
            chosen = import_module(f"kreinflow.commands.{module}")
            chosen.add(command)
            command.set_defaults(run=chosen.run)
    options, more = parser.parse_known_args(arguments)
    options.more = more
    if more and options.command not in _OF_SNAKEMAKE:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    return options


def _tell(error: Exception) -> int:
    fault: Exception | None = error
    if missing := memory_shortage(error):
        fault = KreinflowError(f"{missing}. Use a machine that has more.")
    elif isinstance(error, OSError):
        fault = disk_error(error, "standard output, or a cache")
        if fault is not None:
            _give_up_output()
    if isinstance(fault, KreinflowError):
        print(fault.line(), file=sys.stderr)
        return fault.exit_code
    traceback.print_exception(error)
    print("kreinflow error: a fault of the program; please report it.", file=sys.stderr)
    return 1


def _give_up_output() -> None:
    """Let what standard output still holds go nowhere: it cannot be written at the end, either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
