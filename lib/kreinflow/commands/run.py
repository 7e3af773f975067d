"""``kreinflow run`` and ``compare``: Snakemake, with one line of progress and clear exit codes."""

import argparse
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from logging import WARNING
from pathlib import Path
from types import FrameType
from typing import Any

from kreinflow.alignment.progress import LISTENS, MARK
from kreinflow.base.errors import InputError, exit_code_of
from kreinflow.base.wording import plural
from kreinflow.commands.progress import ProgressLine
from kreinflow.config.configuration import read_configuration
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER
from kreinflow.report.names import PAGE, TEXT, short

_PLUGINS = Path(__file__).parent / "plugins"
_FLAGS = "-[FSDafklptv]*"  # those of one letter that may stand together
_DRY = re.compile(rf"{_FLAGS}n|--dry-?run$")
_CORES = re.compile(rf"{_FLAGS}[cj]|--jobs(=|$)")
_SHOWN_BY_US = ("job_error", "group_error", "RuleException")
"""Events of Snakemake whose text has pages; the workflow says at its end why jobs failed."""

_NOT_SHOWN = (
    "At least one job did not complete successfully",
    "Exiting because a job execution failed",
    "WorkflowError:",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", metavar="CONFIG", help="YAML file, as config.yaml")
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Run the workflow on the data of a config, or its target ``compare``."""
    if options.command == "compare":
        run_workflow(options, options.config, "compare", page="compare.html")
    else:
        run_workflow(options, options.config)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of all commands that run the workflow."""
    parser.add_argument(
        "--cores",
        metavar="N",
        type=_cores,
        help="cores to use (default: all, or those of the profile)",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="profile of Snakemake: a folder of yours, or one that is shipped, such as slurm",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="Snakemake's own output in place of one line"
    )
    parser.epilog = "All further arguments go to Snakemake, such as --dry-run, or a target."


def _cores(text: str) -> str:
    if text != "all" and not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 1, or 'all'")
    return text


def run_workflow(
    options: argparse.Namespace,
    config: str | Path,
    *targets: str,
    values: Sequence[str] = (),
    page: str = PAGE,
) -> None:
    """Run Snakemake, and exit unless all went well.

    ``values`` are ``KEY=VALUE``, which go before the config's. The exit code is 2 for the user's
    fault, 1 for ours, and 128 and the number of the signal after an interrupt.
    """
    dry = any(map(_DRY.match, options.more))
    run = _Run(ProgressLine(sys.stderr), options.verbose)
    code = run.follow(_command(options, config, targets, values))
    if code:
        sys.exit(code)
    if run.nothing_to_do:
        print("kreinflow: nothing to do, all that was asked for is there.")
    if dry:
        run.show_jobs()
    else:
        run.show_end(page)


def _command(
    options: argparse.Namespace,
    config: str | Path,
    targets: Sequence[str],
    values: Sequence[str],
) -> list[str]:
    if not Path(config).is_file():
        raise InputError(f"{config}: there is no such file. `kreinflow init` writes a config.")
    read_configuration(config)  # refuses what is no YAML better than Snakemake does
    given = options.profile or any(map(_CORES.match, options.more))
    cores = options.cores or (None if given else "all")
    # Of these Snakemake takes the last alone: ours and those of the user go together.
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", "-C", nargs="*", action="extend", default=[*values])
    parser.add_argument("--logger", nargs="+", action="extend", default=["kreinflow"])
    joined, more = parser.parse_known_args(options.more)
    return [  # what takes several values stands before an option
        *(sys.executable, "-P", "-m", "snakemake", *targets),  # -P: no module of this folder
        *(("--config", *joined.config) if joined.config else ()),
        *(("--profile", _profile(options.profile)) if options.profile else ()),
        *("--logger", *joined.logger),
        *("--snakefile", str(WORKFLOW_FOLDER / "Snakefile"), "--configfile", str(config)),
        *("--workflow-profile", str(WORKFLOW_FOLDER / "profiles" / "default")),
        *(("--cores", cores) if cores else ()),
        *more,
    ]


def _profile(name: str) -> str:
    """Return a profile of the current folder, or a shipped one; else Snakemake knows it."""
    shipped = WORKFLOW_FOLDER / "profiles" / name
    return str(shipped) if not Path(name).exists() and shipped.is_dir() else name


class _Run:
    """What is known of a run: it reads what Snakemake and the jobs write to standard error."""

    def __init__(self, line: ProgressLine, verbose: bool) -> None:
        self.line, self.verbose = line, verbose
        self.told: dict[str, Any] = {}
        self.nothing_to_do = False
        self._all: dict[str, int] = {}
        self._signal = 0

    def follow(self, command: list[str]) -> int:
        """Run the command to its end, and return the exit code."""
        path = os.pathsep.join(filter(None, [str(_PLUGINS), os.environ.get("PYTHONPATH")]))
        heard = {} if self.verbose else {LISTENS: "yes"}
        process = subprocess.Popen(
            command,
            env={**os.environ, **heard, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=0,  # signals reach all of it once, by us, wherever they come from
            preexec_fn=_hear_interrupts,
        )
        with self._passing_on(process.pid):
            assert process.stderr is not None
            for text in _lines(process.stderr.fileno()):
                if text is None and process.poll() is not None:  # a process left behind has it too
                    break
                if text is not None:
                    self._hear(text)
                if not self.verbose:
                    self.line.tick()
            code = process.wait()
        self.line.close()
        if self._signal:
            print("kreinflow: interrupted. The same command goes on where it was.", file=sys.stderr)
            return exit_code_of(KeyboardInterrupt(self._signal))
        if code == 1:
            return int(self.told.get("exit_code", 1))
        if code < 0:
            _interrupt(process.pid)  # its jobs
            why = f"{-code} ({signal.strsignal(-code)})"
            print(
                f"kreinflow error: Snakemake was ended by signal {why}, as the system does where "
                "memory is short. The same command goes on where it was.",
                file=sys.stderr,
            )
        return code if code >= 0 else 1

    @contextlib.contextmanager
    def _passing_on(self, group: int) -> Iterator[None]:
        """Let signals that end this process reach Snakemake and its jobs."""

        def end(number: int, frame: FrameType | None) -> None:
            self._signal = number
            _interrupt(group)

        before = {
            number: signal.signal(number, end)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN  # as nohup has it
        }
        try:
            yield
        except BaseException:
            _interrupt(group)
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, text: bytes) -> None:
        plain, *told = text.decode("utf-8", "replace").split(MARK)
        shown = self.verbose or not (self._signal or plain.startswith("Using "))  # which profile
        if shown and (plain or not told):
            self.line.message(plain)
        for one in told:
            with contextlib.suppress(ValueError):  # another process wrote in between
                self._take(json.loads(one))

    def _take(self, told: dict[str, Any]) -> None:
        event, text = told.get("event"), told.get("text")
        if text is not None:
            self.nothing_to_do |= text.startswith("Nothing to be done")
            shown = text and event not in _SHOWN_BY_US and not text.startswith(_NOT_SHOWN)
            if self.verbose or (shown and told["level"] >= WARNING):
                self.line.message(text)
            return
        self.line.aligned += told.get("aligned", 0)
        self.told |= told.get("kreinflow", {})
        if "stats" in told:
            self._all = {rule: n for rule, n in told["stats"].items() if rule != "total"}
            self.line.total = sum(self._all.values())
        if event == "progress":
            self.line.jobs, self.line.total = told["done"], told["total"]

    def show_jobs(self) -> None:
        """Print how many jobs a dry run found, by rule."""
        if not self.nothing_to_do and not self.verbose:
            print(f"kreinflow: {plural(self.line.total, 'job')} would run; --verbose has each.")
            for rule, number in self._all.items():
                print(f"{number:5}  {rule}")

    def show_end(self, page: str) -> None:
        """Print what the page begins with, and where it and the models are."""
        if "results" not in self.told:
            return
        results = Path(os.path.relpath(self.told["results"]))
        made = self.nothing_to_do or "write_report" in self._all
        if page == PAGE and made and (results / TEXT).is_file():
            print(f"\n{short((results / TEXT).read_text(encoding='utf-8'))}")
            for name in self.told["config"]["datasets"]:
                if (model := results / name / "model.safetensors").is_file():
                    print(f"The model: {model}")
        if (results / page).is_file():
            print(f"The report: {results / page}")


def _hear_interrupts() -> None:
    """Undo that a shell script starts its background processes with interrupts ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(group: int) -> None:
    """Tell Snakemake and its jobs what they take for Ctrl-C."""
    with contextlib.suppress(ProcessLookupError):  # it has ended
        os.killpg(group, signal.SIGINT)


def _lines(file: int) -> Iterator[bytes | None]:
    """Yield the lines of a pipe as they come, and None when there is none for half a second."""
    rest = b""
    while True:
        if not select.select([file], [], [], 0.5)[0]:
            yield None
            continue
        piece = os.read(file, 65536)
        if not piece:
            break
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest
